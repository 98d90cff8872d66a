//! Topics that say how their batches are compressed: what comes otherwise is written anew, and holds the same.
//!
//! It must not know how a codec works.

use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::{ApiKey, RecordsField};
use klamm::record::{BatchIterator, CompressionType, Decompressor};

use super::stage::{Otherwise, Played, Stage, same};
use super::topics;

/// The versions of Fetch that know every codec and name topics by their names.
const KNOWS_ALL: std::ops::RangeInclusive<i16> = 10..=12;
const WRITER: usize = 0;
const READER: usize = 1;
const VALUE_BYTES: usize = 2_000;
const BYTES_MAX: i32 = 1 << 20;

pub(super) async fn play(stage: Stage) -> Played {
    let codecs = [
        ("codecs-gzip", "gzip", CompressionType::Gzip),
        ("codecs-snappy", "snappy", CompressionType::Snappy),
        ("codecs-lz4", "lz4", CompressionType::Lz4),
        ("codecs-zstd", "zstd", CompressionType::Zstd),
        ("codecs-none", "uncompressed", CompressionType::None),
        ("codecs-own", "producer", CompressionType::None),
    ];
    for (name, codec, expected) in codecs {
        topics::create_with(&stage, name, 1, Some(("compression.type", codec))).await?;
        let value: Vec<u8> = (0..VALUE_BYTES).map(|place| (place / 7) as u8).collect();
        topics::produce(&stage, WRITER, name, &value, 0).await?;
        same(&format!("a batch of topic {name}"), read(&stage, name).await?, (expected, Some(value)))?;
    }
    Ok(())
}

/// The codec of the first batch of a topic, and the value of its first record.
async fn read(stage: &Stage, name: &'static str) -> Played<(CompressionType, Option<Vec<u8>>)> {
    let answer = stage.call(READER, ApiKey::Fetch, KNOWS_ALL, move |question| {
        let partitions = vec![FetchPartition { partition_max_bytes: BYTES_MAX, ..Default::default() }];
        let topics = vec![FetchTopic { topic: name, partitions, ..Default::default() }];
        question.put(&FetchRequest { max_bytes: BYTES_MAX, topics, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<FetchResponse<'_>>()?;
    let data = response.responses.first().and_then(|topic| topic.partitions.first());
    let Some(RecordsField::Bytes(records)) = data.map(|data| data.records) else {
        return Err(Otherwise("a fetch without records".to_string()));
    };
    let batch = BatchIterator::new(records).next().and_then(Result::ok);
    let batch = batch.ok_or_else(|| Otherwise("records that are no batch".to_string()))?;
    let mut decompressor = Decompressor::default();
    let body = batch.decompressed_body(&mut decompressor, VALUE_BYTES * 2);
    let body = body.map_err(|error| Otherwise(error.to_string()))?;
    let record = batch.records_in(&body).next().and_then(Result::ok);
    Ok((batch.compression(), record.and_then(|record| record.value.map(<[u8]>::to_vec))))
}
