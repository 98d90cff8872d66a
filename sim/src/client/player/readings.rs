//! Fetches of several partitions: each topic is told once, a batch that just fits is told, what is not there ends nobody's wait, and what is written does.
//!
//! It must not know sessions, nor how bytes are found.

use std::ops::RangeInclusive;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::{ApiKey, RecordsField};
use klamm::types::{Instant, TopicId};

use super::stage::{Answer, Played, Stage, same, told};
use super::topics::{self, BY_NAME};

const FIRST: &str = "readings-a";
const SECOND: &str = "readings-b";
const WRITER: usize = 0;
const READER: usize = 1;
const FOLLOWER: usize = 2;
const BY_ID: RangeInclusive<i16> = 13..=i16::MAX;
const BYTES_MAX: i32 = 10_000;
/// A partition that neither topic has.
const NOWHERE: i32 = 7;
/// A broker that wants to replicate.
const OTHER_BROKER: i32 = 5;
/// Whoever waits does so for longer than the scene takes, but is told within so much time of what it waits for.
const WAIT_MS: i32 = 60_000;
const TOLD_NS_MAX: u64 = 5_000_000_000;
const MOMENT_MS: u64 = 300;

pub(super) async fn play(stage: Stage) -> Played {
    let first = topics::create(&stage, FIRST, 2).await?;
    let second = topics::create(&stage, SECOND, 1).await?;
    for name in [FIRST, SECOND] {
        topics::produce(&stage, WRITER, name, b"first", 0).await?;
    }
    let of_all = [(FIRST, first, vec![0, 1]), (SECOND, second, vec![0])];
    let by_name = read(&stage, BY_NAME, &of_all, BYTES_MAX).await?;
    let bytes = by_name.first().and_then(|topic| topic.partitions.first()).map_or(0, |partition| partition.bytes);
    same("a record has bytes", bytes > 0, true)?;
    let of = |name: &str, topic_id, bytes: &[(i32, usize)]| Topic {
        name: name.to_owned(),
        topic_id,
        partitions: bytes.iter().map(|(index, bytes)| Partition { index: *index, error: 0, bytes: *bytes }).collect(),
    };
    let named = vec![of(FIRST, TopicId::ZERO, &[(0, bytes), (1, 0)]), of(SECOND, TopicId::ZERO, &[(0, bytes)])];
    same("topics by their names", by_name, named.clone())?;
    let known = vec![of("", first, &[(0, bytes), (1, 0)]), of("", second, &[(0, bytes)])];
    same("topics by their ids", read(&stage, BY_ID, &of_all, BYTES_MAX).await?, known)?;
    let both = i32::try_from(2 * bytes).unwrap_or(0);
    same("two batches that just fit", read(&stage, BY_NAME, &of_all, both).await?, named)?;
    let short = vec![of(FIRST, TopicId::ZERO, &[(0, bytes), (1, 0)]), of(SECOND, TopicId::ZERO, &[(0, 0)])];
    same("two batches that do not", read(&stage, BY_NAME, &of_all, both - 1).await?, short)?;
    waits(&stage).await
}

/// What is told of a topic, and of a partition: how many bytes of records it has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Topic {
    name: String,
    topic_id: TopicId,
    partitions: Vec<Partition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Partition {
    index: i32,
    error: i16,
    bytes: usize,
}

/// Reads partitions of topics from their beginnings, so many bytes of each and of all.
async fn read(
    stage: &Stage,
    versions: RangeInclusive<i16>,
    wanted: &[(&'static str, TopicId, Vec<i32>)],
    max_bytes: i32,
) -> Played<Vec<Topic>> {
    let wanted = wanted.to_vec();
    let answer = stage.call(READER, ApiKey::Fetch, versions, move |question| {
        let topics = wanted.iter().map(|(topic, topic_id, partitions)| {
            let partition = |partition: &i32| FetchPartition {
                partition: *partition,
                partition_max_bytes: max_bytes,
                ..Default::default()
            };
            FetchTopic { topic, topic_id: *topic_id, partitions: partitions.iter().map(partition).collect() }
        });
        question.put(&FetchRequest { max_bytes, topics: topics.collect(), ..Default::default() });
    });
    topics_in(&answer.await)
}

fn topics_in(answer: &Answer) -> Played<Vec<Topic>> {
    let response = answer.read::<FetchResponse<'_>>()?;
    told("a fetch", response.error_code, ErrorCode::None)?;
    let topics = response.responses.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let RecordsField::Bytes(records) = partition.records else {
                return Partition { index: partition.partition_index, error: partition.error_code, bytes: usize::MAX };
            };
            Partition { index: partition.partition_index, error: partition.error_code, bytes: records.len() }
        });
        Topic { name: topic.topic.to_owned(), topic_id: topic.topic_id, partitions: partitions.collect() }
    });
    Ok(topics.collect())
}

/// Who waits beside what is not there goes on waiting, until a record is written that readers may see at once. What no other broker may have is refused without a wait.
async fn waits(stage: &Stage) -> Played {
    stage.arrive(READER).await;
    ask_waiting(stage, READER, -1, vec![0, NOWHERE]);
    stage.rest(MOMENT_MS).await;
    same("a fetch beside what is not there is answered", stage.is_answered(READER), false)?;
    topics::ask_produce(stage, WRITER, SECOND, 1, b"second".to_vec());
    let written = stage.now();
    same("a produce", topics::produced(&stage.hear(WRITER).await)?, (ErrorCode::None, 1))?;
    let found = topics_in(&stage.hear(READER).await)?;
    let found: Vec<(i32, i16, bool)> = found
        .iter()
        .flat_map(|topic| &topic.partitions)
        .map(|found| (found.index, found.error, found.bytes > 0))
        .collect();
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    same("what a fetch has waited for", found, vec![(0, 0, true), (NOWHERE, unknown, false)])?;
    is_soon(stage, "who waits for a record is told at once", written)?;

    stage.arrive(FOLLOWER).await;
    let asked = stage.now();
    ask_waiting(stage, FOLLOWER, OTHER_BROKER, vec![0]);
    let refused = topics_in(&stage.hear(FOLLOWER).await)?;
    let error = refused.first().and_then(|topic| topic.partitions.first()).map(|partition| partition.error);
    same("another broker's fetch", error, Some(ErrorCode::NotLeaderOrFollower.code()))?;
    is_soon(stage, "another broker's fetch is refused at once", asked)
}

fn ask_waiting(stage: &Stage, role: usize, replica_id: i32, partitions: Vec<i32>) {
    stage.ask(role, ApiKey::Fetch, BY_NAME, move |question| {
        let wanted = |partition| FetchPartition {
            partition,
            fetch_offset: 1,
            partition_max_bytes: BYTES_MAX,
            ..Default::default()
        };
        let partitions = partitions.into_iter().map(wanted).collect();
        let topics = vec![FetchTopic { topic: SECOND, partitions, ..Default::default() }];
        question.put(&FetchRequest {
            replica_id,
            max_wait_ms: WAIT_MS,
            min_bytes: 1,
            max_bytes: BYTES_MAX,
            topics,
            ..Default::default()
        });
    });
}

fn is_soon(stage: &Stage, what: &str, since: Instant) -> Played {
    same(what, stage.now().0.saturating_sub(since.0) < TOLD_NS_MAX, true)
}
