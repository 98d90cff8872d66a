//! Fetch sessions that are put out for others: one that was not used for two minutes goes for any new one, one that has lived for so long goes for a larger
//! one, and nobody else does.
//!
//! The broker has two slots. It must not know what lies in the topic.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};

use super::stage::{Played, Stage, same, told};
use super::topics;

const TOPIC: &str = "evictions";
const PARTITIONS: i32 = 3;
/// The versions of Fetch that have sessions and name topics by their names.
const HAS_SESSIONS: std::ops::RangeInclusive<i16> = 7..=12;
/// A session that was not used for so long is put out for another.
const OLD_MS: u64 = 120_000;
const SPARE_MS: u64 = 1_000;
const READER: usize = 0;
/// The session that there is none of.
const NONE: i32 = 0;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create(&stage, TOPIC, PARTITIONS).await?;
    // Whatever sessions others have left, they are old after this.
    stage.rest(OLD_MS + SPARE_MS).await;
    let first = opened(&stage, 1).await?;
    let second = opened(&stage, 1).await?;
    same("there is a session for an old one, twice", (first != NONE, second != NONE), (true, true))?;
    same("a third session", opened(&stage, 2).await?, NONE)?;

    stage.rest(OLD_MS - 2 * SPARE_MS).await;
    goes_on(&stage, (first, 1), ErrorCode::None).await?;
    same("a third session before any is old", opened(&stage, 2).await?, NONE)?;
    stage.rest(3 * SPARE_MS).await;
    let third = opened(&stage, 1).await?;
    same("there is a session for one that is old", third != NONE, true)?;
    goes_on(&stage, (second, 1), ErrorCode::FetchSessionIdNotFound).await?;
    goes_on(&stage, (third, 1), ErrorCode::None).await?;

    // The first was used when it had lived for long, and is no larger than the new one must be.
    goes_on(&stage, (first, 2), ErrorCode::None).await?;
    same("a session in the place of one as large", opened(&stage, 1).await?, NONE)?;
    let larger = opened(&stage, 2).await?;
    same("there is a session for one that is smaller and has lived for long", larger != NONE, true)?;
    goes_on(&stage, (first, 3), ErrorCode::FetchSessionIdNotFound).await?;
    goes_on(&stage, (third, 2), ErrorCode::None).await?;
    goes_on(&stage, (larger, 1), ErrorCode::None).await
}

async fn fetched(stage: &Stage, (session_id, session_epoch): (i32, i32), partitions: i32) -> Played<(i32, i16)> {
    let answer = stage.call(READER, ApiKey::Fetch, HAS_SESSIONS, move |question| {
        let wanted = |partition| FetchPartition { partition, partition_max_bytes: 1_000, ..Default::default() };
        let partitions: Vec<FetchPartition> = (0..partitions).map(wanted).collect();
        let topics = vec![FetchTopic { topic: TOPIC, partitions, ..Default::default() }];
        let topics = topics.into_iter().filter(|topic| !topic.partitions.is_empty()).collect();
        question.put(&FetchRequest { max_bytes: 1_000, session_id, session_epoch, topics, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<FetchResponse<'_>>()?;
    Ok((response.session_id, response.error_code))
}

/// The number of a new session with so many partitions, if there is room for it.
async fn opened(stage: &Stage, partitions: i32) -> Played<i32> {
    let (session_id, error) = fetched(stage, (0, 0), partitions).await?;
    told("a fetch that opens a session", error, ErrorCode::None)?;
    Ok(session_id)
}

async fn goes_on(stage: &Stage, session: (i32, i32), expected: ErrorCode) -> Played {
    let (_, error) = fetched(stage, session, 0).await?;
    told("a fetch in a session", error, expected)
}
