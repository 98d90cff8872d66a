//! A segment of which one record is read, or looked up by its time: the broker reads little of it, however much there is before.
//!
//! It must not know indexes.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};

use super::stage::{Played, Stage, same, told};
use super::topics::{self, BY_NAME};

const NAME: &str = "glances";
const WRITER: usize = 0;
const READER: usize = 1;
const RECORDS: i64 = 40;
const VALUE_BYTES: usize = 1_500;
/// The one that is looked for: nearly all of the segment lies before it.
const WANTED: i64 = RECORDS - 2;
/// Longer than a segment may span.
const LATE_MS: i64 = 60_000;
/// Of 60 kB.
const BYTES_READ_MAX: u64 = 20_000;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create_with(&stage, NAME, 1, [("segment.ms", "10000")]).await?;
    let began = stage.wall_ms();
    for offset in 0..RECORDS {
        topics::ask_produce_at(&stage, WRITER, NAME, 1, vec![b'v'; VALUE_BYTES], began + offset);
        same("a produce", topics::produced(&stage.hear(WRITER).await)?, (ErrorCode::None, offset))?;
    }
    // What is written to is another segment.
    topics::produce_at(&stage, WRITER, NAME, began + LATE_MS, RECORDS).await?;

    let before = stage.bytes_read();
    fetch(&stage).await?;
    is_little(&stage, "what is read for a fetch", before)?;
    let before = stage.bytes_read();
    let found = topics::offset_at(&stage, READER, NAME, began + WANTED).await?;
    same("the record of a time", found, (ErrorCode::None, WANTED))?;
    is_little(&stage, "what is read for a look-up by time", before)
}

fn is_little(stage: &Stage, what: &str, before: u64) -> Played {
    let bytes = stage.bytes_read() - before;
    same(&format!("{what} is little: {bytes} bytes"), bytes <= BYTES_READ_MAX, true)
}

async fn fetch(stage: &Stage) -> Played {
    let answer = stage.call(READER, ApiKey::Fetch, BY_NAME, |question| {
        let partition = FetchPartition { fetch_offset: WANTED, partition_max_bytes: 1, ..Default::default() };
        let topics = vec![FetchTopic { topic: NAME, partitions: vec![partition], ..Default::default() }];
        question.put(&FetchRequest { max_bytes: 1, topics, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<FetchResponse<'_>>()?;
    let partition = response.responses.first().and_then(|topic| topic.partitions.first());
    told("a fetch", partition.map_or(-1, |partition| partition.error_code), ErrorCode::None)
}
