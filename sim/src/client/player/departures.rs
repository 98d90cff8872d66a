//! A topic that is deleted while others wait for its records, write to it, and commit offsets of it: whoever waits is told at once, and nothing of theirs stays.
//!
//! It must not know how a topic goes.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::types::TopicId;

use super::groups::{self, Joining, committed};
use super::stage::{Answer, Otherwise, Played, Stage, same};
use super::topics;

const NAME: &str = "departures";
const RACED: &str = "departures-raced";
const GROUP: &str = "departures";
const READER: usize = 0;
const READER_BY_ID: usize = 1;
const WRITER: usize = 2;
const COMMITTER: usize = 3;
const KEEPER: usize = 4;
const BY_NAME: std::ops::RangeInclusive<i16> = 7..=12;
const BY_ID: std::ops::RangeInclusive<i16> = 13..=17;
/// Who waits for records waits for longer than the scene takes.
const WAIT_MS: i32 = 30_000;
const MOMENT_MS: u64 = 300;
/// Longer than from one upkeep of the logs to the next.
const UPKEEP_MS: u64 = 700;
/// Who waited is told within so much time.
const TOLD_NS_MAX: u64 = 5_000_000_000;
const RACES: u32 = 4;
/// Half of what a deletion takes that is slow.
const DELETION_MS: u64 = 1_000;
const LOOKS_MAX: u32 = 20;

pub(super) async fn play(stage: Stage) -> Played {
    groups::find(&stage, COMMITTER, GROUP).await?;
    let simple = Joining::new(GROUP, WAIT_MS);
    let topic_id = topics::create(&stage, NAME, 1).await?;
    topics::produce(&stage, WRITER, NAME, b"first", 0).await?;
    same("a commit", groups::commit(&stage, COMMITTER, &simple, -1, (NAME, 1)).await?, ErrorCode::None)?;
    stage.arrive(READER).await;
    stage.arrive(READER_BY_ID).await;
    ask_fetch(&stage, READER, BY_NAME, TopicId::ZERO);
    ask_fetch(&stage, READER_BY_ID, BY_ID, topic_id);
    let session = fetched_in(&stage, topic_id, (0, 0)).await?;
    same("a session", (session.0 > 0, session.1), (true, ErrorCode::None))?;
    stage.rest(MOMENT_MS).await;
    same("a fetch waits", (stage.is_answered(READER), stage.is_answered(READER_BY_ID)), (false, false))?;

    topics::ask_delete(&stage, NAME);
    topics::hear_deleted(&stage).await?;
    let deleted = stage.now();
    let unknown = ErrorCode::UnknownTopicOrPartition;
    same("a fetch of a topic that is gone", fetched(&stage.hear(READER).await)?, unknown)?;
    same("a fetch of one by its id", fetched(&stage.hear(READER_BY_ID).await)?, unknown)?;
    same("whoever waits is told at once", stage.now().0.saturating_sub(deleted.0) < TOLD_NS_MAX, true)?;
    // The session knows what the topic was called.
    same("a fetch in a session", fetched_in(&stage, topic_id, (session.0, 1)).await?, (session.0, unknown))?;
    [READER, READER_BY_ID, KEEPER].into_iter().for_each(|role| stage.leave(role));
    topics::ask_produce(&stage, WRITER, NAME, -1, b"late".to_vec());
    same("a produce that is late", topics::produced(&stage.hear(WRITER).await)?.0, unknown)?;
    same("a commit that is late", groups::commit(&stage, COMMITTER, &simple, -1, (NAME, 1)).await?, unknown)?;
    is_forgotten(&stage, NAME).await?;
    for _ in 0..RACES {
        race(&stage, &simple).await?;
    }
    in_the_midst(&stage, &simple).await?;
    // Whoever would remove the files of deleted topics too early has had a chance.
    stage.rest(UPKEEP_MS).await;
    Ok(())
}

fn ask_fetch(stage: &Stage, role: usize, versions: std::ops::RangeInclusive<i16>, topic_id: TopicId) {
    stage.ask(role, ApiKey::Fetch, versions, move |question| {
        let partition = FetchPartition { fetch_offset: 1, partition_max_bytes: 1_000, ..Default::default() };
        let topics = vec![FetchTopic { topic: NAME, topic_id, partitions: vec![partition] }];
        question.put(&FetchRequest {
            max_wait_ms: WAIT_MS,
            min_bytes: 1,
            max_bytes: 1_000,
            topics,
            ..Default::default()
        });
    });
}

/// The error of the only partition of a fetch.
fn fetched(answer: &Answer) -> Played<ErrorCode> {
    let response = answer.read::<FetchResponse<'_>>()?;
    let partition = response.responses.first().and_then(|topic| topic.partitions.first());
    Ok(ErrorCode::from_code(partition.map_or(response.error_code, |partition| partition.error_code)))
}

/// Asks for the topic in a session, and says which session it is and what is told of the topic.
async fn fetched_in(stage: &Stage, topic_id: TopicId, session: (i32, i32)) -> Played<(i32, ErrorCode)> {
    let answer = stage.call(KEEPER, ApiKey::Fetch, BY_ID, move |question| {
        let (session_id, session_epoch) = session;
        let partition = FetchPartition { fetch_offset: 1, partition_max_bytes: 1_000, ..Default::default() };
        let topics = vec![FetchTopic { topic: NAME, topic_id, partitions: vec![partition] }];
        question.put(&FetchRequest { max_bytes: 1_000, session_id, session_epoch, topics, ..Default::default() });
    });
    let answer = answer.await;
    Ok((answer.read::<FetchResponse<'_>>()?.session_id, fetched(&answer)?))
}

/// Somebody writes, somebody commits and somebody deletes, all at once.
async fn race(stage: &Stage, simple: &Joining) -> Played {
    topics::create(stage, RACED, 1).await?;
    topics::ask_produce(stage, WRITER, RACED, -1, b"raced".to_vec());
    groups::ask_commit(stage, COMMITTER, simple, -1, (RACED, 1));
    topics::ask_delete(stage, RACED);
    topics::hear_deleted(stage).await?;
    hear_raced(stage).await
}

/// Who writes and who commits come before a deletion or after it, and nothing is left.
async fn hear_raced(stage: &Stage) -> Played {
    let is_expected = |error| matches!(error, ErrorCode::None | ErrorCode::UnknownTopicOrPartition);
    let produced = topics::produced(&stage.hear(WRITER).await)?.0;
    let committed = groups::hear_committed(stage, COMMITTER).await?;
    if !is_expected(produced) || !is_expected(committed) {
        return Err(Otherwise(format!(
            "a produce and a commit beside a deletion come to {produced:?} and {committed:?}"
        )));
    }
    is_forgotten(stage, RACED).await
}

/// Somebody writes and somebody commits while a deletion is on its way to the disk.
async fn in_the_midst(stage: &Stage, simple: &Joining) -> Played {
    topics::create(stage, RACED, 1).await?;
    stage.slow_syncs(2 * DELETION_MS);
    topics::ask_delete(stage, RACED);
    stage.rest(DELETION_MS).await;
    topics::ask_produce(stage, WRITER, RACED, -1, b"raced".to_vec());
    groups::ask_commit(stage, COMMITTER, simple, -1, (RACED, 1));
    stage.rest(MOMENT_MS).await;
    stage.slow_syncs(0);
    topics::hear_deleted(stage).await?;
    hear_raced(stage).await
}

/// No offset of a topic is there any more, soon.
async fn is_forgotten(stage: &Stage, name: &'static str) -> Played {
    let mut found = Vec::new();
    for _ in 0..LOOKS_MAX {
        found = committed(stage, COMMITTER, GROUP, Some(name)).await?;
        if found == vec![(name.to_owned(), -1)] {
            return Ok(());
        }
        stage.rest(MOMENT_MS).await;
    }
    Err(Otherwise(format!("offsets of a topic that is gone: {found:?}")))
}
