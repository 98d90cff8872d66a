//! Offsets that are looked up: the record with the largest time, wherever it stands, the first one from a time on, both ends; and a partition that is asked for twice in one request,
//! which is refused and told once.
//!
//! It must not know indexes or segments.

use std::ops::RangeInclusive;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use klamm::protocol::{ApiKey, RecordsField};
use klamm::record::RecordBatchBuilder;

use super::stage::{Played, Stage, same};
use super::topics::{self, BY_NAME, EARLIEST, LATEST};
use crate::client::versions::ANY;

const NAME: &str = "lookups";
const ASKER: usize = 0;
const TIMEOUT_MS: i32 = 30_000;
const MAX_TIMESTAMP: i64 = -3;
/// The versions that know the largest time.
const KNOWS_MAX: RangeInclusive<i16> = 7..=i16::MAX;
const NONE: i64 = -1;
/// Longer than a segment may span.
const STEP_MS: i64 = 50_000;
const COMMITTED: i8 = 1;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create_with(&stage, NAME, 2, [("segment.ms", "1000")]).await?;
    let began = stage.wall_ms();
    let nothing = found(&stage, KNOWS_MAX, 0, &[(0, MAX_TIMESTAMP), (1, began)]).await?;
    let none = |index| (index, 0, NONE, NONE);
    same("what an empty topic has", nothing, vec![none(0), none(1)])?;

    // The second record is the youngest for a while; then one in the midst of a batch is.
    let late = began + STEP_MS;
    for (offset, time) in [(0, began), (1, late), (2, began + 20)] {
        topics::produce_at(&stage, ASKER, NAME, time, offset).await?;
    }
    let youngest = found(&stage, KNOWS_MAX, 0, &[(0, MAX_TIMESTAMP)]).await?;
    same("the youngest record", youngest, vec![(0, 0, late, 1)])?;
    append(&stage, vec![late + 1, late + 9, late + 5], 3).await?;
    let youngest = found(&stage, KNOWS_MAX, COMMITTED, &[(0, MAX_TIMESTAMP)]).await?;
    same("the youngest record of a batch", youngest, vec![(0, 0, late + 9, 4)])?;

    let times = [
        (EARLIEST, NONE, 0),
        (LATEST, NONE, 6),
        (began, began, 0),
        (began + 1, late, 1),
        (late, late, 1),
        (late + 1, late + 1, 3),
        (late + 2, late + 9, 4),
        (late + 9, late + 9, 4),
        (late + 10, NONE, NONE),
    ];
    for (asked, time, offset) in times {
        let first = found(&stage, ANY, 0, &[(0, asked)]).await?;
        same(&format!("the first record from {} on", asked - began), first, vec![(0, 0, time, offset)])?;
    }
    let twice = found(&stage, ANY, 0, &[(0, LATEST), (1, LATEST), (0, EARLIEST)]).await?;
    let refused = (0, ErrorCode::InvalidRequest.code(), NONE, NONE);
    same("a partition that is asked for twice", twice, vec![refused, (1, 0, NONE, 0)])
}

/// Appends one batch with these times.
async fn append(stage: &Stage, times: Vec<i64>, offset: i64) -> Played {
    stage.ask(ASKER, ApiKey::Produce, BY_NAME, move |question| {
        let mut builder = RecordBatchBuilder::new();
        for time in times {
            builder.append(time, None, Some(b"one of several")).expect("a batch of the scene can be built");
        }
        let bytes = builder.build().expect("a batch of the scene can be built");
        let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(&bytes) }];
        let topic_data = vec![TopicProduceData { name: NAME, partition_data, ..Default::default() }];
        question.put(&ProduceRequest { acks: -1, timeout_ms: TIMEOUT_MS, topic_data, ..Default::default() });
    });
    same("a produce", topics::produced(&stage.hear(ASKER).await)?, (ErrorCode::None, offset))
}

/// Index, error, time and offset of each partition that is told.
async fn found(
    stage: &Stage,
    versions: RangeInclusive<i16>,
    isolation_level: i8,
    asked: &[(i32, i64)],
) -> Played<Vec<(i32, i16, i64, i64)>> {
    let asked = asked.to_vec();
    let answer = stage.call(ASKER, ApiKey::ListOffsets, versions, move |question| {
        let partition =
            |(partition_index, timestamp)| ListOffsetsPartition { partition_index, timestamp, ..Default::default() };
        let topics = vec![ListOffsetsTopic { name: NAME, partitions: asked.into_iter().map(partition).collect() }];
        question.put(&ListOffsetsRequest { replica_id: -1, isolation_level, topics, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<ListOffsetsResponse<'_>>()?;
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    Ok(partitions.map(|told| (told.partition_index, told.error_code, told.timestamp, told.offset)).collect())
}
