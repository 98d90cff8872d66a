//! What is just allowed, and what is just too much: words beside a commit, and a name that is as long as a name may be, under which a topic is made, written, deleted and made again.
//!
//! It must not know why there is a bound.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest, CreateTopicsResponse};
use klamm::protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use klamm::protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse};

use super::stage::{Otherwise, Played, Stage, same, told};
use super::{groups, topics};
use crate::client::versions::ANY;

const NAME: &str = "bounds";
const GROUP: &str = "bounds";
const ASKER: usize = 0;
/// `offset.metadata.max.bytes`, which counts as Java counts.
const WORDS_MAX: usize = 4_096;
const COMMITS: std::ops::RangeInclusive<i16> = 2..=9;
const FETCHES: std::ops::RangeInclusive<i16> = 1..=7;
/// As many characters as a name may have: 249.
const LONGEST: &str = concat!(
    "bounds-of-a-name--------------------------------------------------------------------------------",
    "------------------------------------------------------------------------------------------------",
    "---------------------------------------------------------",
);
const TOO_LONG: &str = concat!(
    "bounds-of-a-name--------------------------------------------------------------------------------",
    "------------------------------------------------------------------------------------------------",
    "----------------------------------------------------------",
);

pub(super) async fn play(stage: Stage) -> Played {
    topics::create(&stage, NAME, 1).await?;
    groups::find(&stage, ASKER, GROUP).await?;
    let allowed = "w".repeat(WORDS_MAX);
    same("words that are just allowed", committed(&stage, 1, allowed.clone()).await?, ErrorCode::None)?;
    let refused = committed(&stage, 2, "w".repeat(WORDS_MAX + 1)).await?;
    same("words that are just too many", refused, ErrorCode::OffsetMetadataTooLarge)?;
    same("what was committed", found(&stage).await?, (1, allowed))?;
    // Beyond the basic plane each character counts twice, and takes four bytes.
    let wide = "\u{1f980}".repeat(WORDS_MAX / 2);
    same("wide words", committed(&stage, 3, wide.clone()).await?, ErrorCode::None)?;
    same("what was committed then", found(&stage).await?, (3, wide))?;

    for _ in 0..2 {
        topics::create(&stage, LONGEST, 1).await?;
        topics::produce(&stage, ASKER, LONGEST, b"long", 0).await?;
        topics::ask_delete(&stage, LONGEST);
        topics::hear_deleted(&stage).await?;
    }
    let answer = stage.call(ASKER, ApiKey::CreateTopics, ANY, |question| {
        let topic = CreatableTopic { name: TOO_LONG, num_partitions: 1, replication_factor: 1, ..Default::default() };
        question.put(&CreateTopicsRequest { topics: vec![topic], timeout_ms: 30_000, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<CreateTopicsResponse<'_>>()?;
    let error = response.topics.first().map_or(-1, |topic| topic.error_code);
    told("a name that is just too long", error, ErrorCode::InvalidTopicException)
}

/// Commits an offset with these words, and says what came of it.
async fn committed(stage: &Stage, committed_offset: i64, words: String) -> Played<ErrorCode> {
    stage.ask(ASKER, ApiKey::OffsetCommit, COMMITS, move |question| {
        let committed_metadata = Some(words.as_str());
        let partition = OffsetCommitRequestPartition { committed_offset, committed_metadata, ..Default::default() };
        let topic = OffsetCommitRequestTopic { name: NAME, partitions: vec![partition], ..Default::default() };
        question.put(&OffsetCommitRequest { group_id: GROUP, topics: vec![topic], ..Default::default() });
    });
    groups::hear_committed(stage, ASKER).await
}

/// The offset that is committed, and the words beside it.
async fn found(stage: &Stage) -> Played<(i64, String)> {
    let answer = stage.call(ASKER, ApiKey::OffsetFetch, FETCHES, |question| {
        let topics = Some(vec![OffsetFetchRequestTopic { name: NAME, partition_indexes: vec![0] }]);
        question.put(&OffsetFetchRequest { group_id: GROUP, topics, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<OffsetFetchResponse<'_>>()?;
    let partition = response.topics.first().and_then(|topic| topic.partitions.first());
    let partition = partition.map(|found| (found.committed_offset, found.metadata.unwrap_or_default().to_owned()));
    partition.ok_or_else(|| Otherwise("an offset is not told of".to_string()))
}
