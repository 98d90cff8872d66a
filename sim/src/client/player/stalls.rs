//! A disk that takes long for each sync: whoever waits for it is told so when its time is over, not before and not long after, and what it wanted comes about all the same.
//!
//! In the second act the broker has just started, and has no producer ids. It must not know who watches deadlines.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::RecordsField;
use klamm::protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest, CreateTopicsResponse};
use klamm::protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use klamm::record::RecordBatchBuilder;
use klamm::types::Instant;

use super::groups::{self, Joining};
use super::stage::{Played, Stage, same, told};
use super::topics::{self, BY_NAME, LATEST};
use crate::client::versions::ANY;

const NAME: &str = "stalls";
const LATE: &str = "stalls-late";
const GROUP: &str = "stalls";
const ASKER: usize = 0;
/// What each sync takes, and what nobody waits for as long: a commit as the scene's setting has it, a producer id as long as whoever says nothing.
const SYNC_MS: u64 = 20_000;
const LONG_SYNC_MS: u64 = 40_000;
const CREATE_MS: u64 = 2_000;
const COMMIT_MS: u64 = 3_000;
const PRODUCE_MS: u64 = 1_500;
const ID_MS: u64 = 30_000;
/// Nobody is told later than that.
const SPARE_MS: u64 = 1_000;
const NANOS_PER_MS: u64 = 1_000_000;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create(&stage, NAME, 1).await?;
    groups::find(&stage, ASKER, GROUP).await?;

    let began = begin(&stage, SYNC_MS);
    let answer = stage.call(ASKER, ApiKey::CreateTopics, ANY, |question| {
        let topic = CreatableTopic { name: LATE, num_partitions: 1, replication_factor: 1, ..Default::default() };
        let timeout_ms = i32::try_from(CREATE_MS).unwrap_or(i32::MAX);
        question.put(&CreateTopicsRequest { topics: vec![topic], timeout_ms, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<CreateTopicsResponse<'_>>()?;
    let error = response.topics.first().map_or(-1, |topic| topic.error_code);
    told("a creation", error, ErrorCode::RequestTimedOut)?;
    end(&stage, began, CREATE_MS, SYNC_MS).await?;
    topics::appeared(&stage, LATE, 1).await?;

    let began = begin(&stage, SYNC_MS);
    let simple = Joining::new(GROUP, 1_000);
    let told = groups::commit(&stage, ASKER, &simple, -1, (NAME, 7)).await?;
    same("a commit", told, ErrorCode::CoordinatorNotAvailable)?;
    end(&stage, began, COMMIT_MS, SYNC_MS).await?;
    let found = groups::committed(&stage, ASKER, GROUP, Some(NAME)).await?;
    same("what was committed", found, vec![(NAME.to_owned(), 7)])?;

    let began = begin(&stage, SYNC_MS);
    ask_produce(&stage);
    same("a produce", topics::produced(&stage.hear(ASKER).await)?.0, ErrorCode::RequestTimedOut)?;
    end(&stage, began, PRODUCE_MS, SYNC_MS).await?;
    same("what was written", topics::offset_at(&stage, ASKER, NAME, LATEST).await?, (ErrorCode::None, 1))
}

pub(super) async fn play_on(stage: Stage) -> Played {
    stage.arrive(ASKER).await;
    let began = begin(&stage, LONG_SYNC_MS);
    let refused = producer_id(&stage).await?;
    same("a producer's id", refused, (ErrorCode::CoordinatorLoadInProgress, false))?;
    end(&stage, began, ID_MS, LONG_SYNC_MS).await?;
    same("a producer's id, later", producer_id(&stage).await?, (ErrorCode::None, true))
}

fn begin(stage: &Stage, sync_ms: u64) -> Instant {
    stage.slow_syncs(sync_ms);
    stage.now()
}

/// Somebody was told after so much time, and soon. Nothing is on its way to the disk when this ends.
async fn end(stage: &Stage, began: Instant, told_ms: u64, sync_ms: u64) -> Played {
    let took_ms = (stage.now().0 - began.0) / NANOS_PER_MS;
    let is_due = (told_ms..told_ms + SPARE_MS).contains(&took_ms);
    same(&format!("who waits for {told_ms} ms is told after {took_ms}, in time"), is_due, true)?;
    stage.slow_syncs(0);
    stage.rest(sync_ms).await;
    Ok(())
}

fn ask_produce(stage: &Stage) {
    let wall_ms = stage.wall_ms();
    stage.ask(ASKER, ApiKey::Produce, BY_NAME, move |question| {
        let mut builder = RecordBatchBuilder::new();
        builder.append(wall_ms, None, Some(b"late")).expect("a batch of the scene can be built");
        let bytes = builder.build().expect("a batch of the scene can be built");
        let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(&bytes) }];
        let topic_data = vec![TopicProduceData { name: NAME, partition_data, ..Default::default() }];
        let timeout_ms = i32::try_from(PRODUCE_MS).unwrap_or(i32::MAX);
        question.put(&ProduceRequest { acks: -1, timeout_ms, topic_data, ..Default::default() });
    });
}

/// The error of somebody who wants to be a producer, and whether there is an id.
async fn producer_id(stage: &Stage) -> Played<(ErrorCode, bool)> {
    let answer = stage.call(ASKER, ApiKey::InitProducerId, ANY, |question| {
        question.put(&InitProducerIdRequest { transactional_id: None, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<InitProducerIdResponse>()?;
    Ok((ErrorCode::from_code(response.error_code), response.producer_id >= 0))
}
