//! A topic from whose beginning records were deleted, and which goes on in another leader epoch after the broker was killed: it begins where it was said to begin, and the former epoch ends where
//! its last record was, whatever is deleted of it.
//!
//! It must not know what is written down of either.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition, OffsetForLeaderTopic,
};

use super::stage::{Played, Stage, same};
use super::topics::{self, EARLIEST, LATEST};
use crate::client::versions::ANY;

const NAME: &str = "remnants";
const WRITER: usize = 0;
const ASKER: usize = 1;
/// Longer than from one checkpoint to the next.
const CHECKPOINT_MS: u64 = 2_500;
const FORMER: i64 = 4;
const DELETED: i64 = 2;
const PRESENT: i64 = 6;
/// The epoch in which a topic is made.
const FIRST_EPOCH: i32 = 0;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create(&stage, NAME, 1).await?;
    for offset in 0..FORMER {
        topics::produce(&stage, WRITER, NAME, b"former", offset).await?;
    }
    topics::delete_records(&stage, ASKER, NAME, DELETED).await?;
    stage.rest(CHECKPOINT_MS).await;
    Ok(())
}

pub(super) async fn play_on(stage: Stage) -> Played {
    is_from_to(&stage, DELETED, FORMER).await?;
    for offset in FORMER..PRESENT {
        topics::produce(&stage, WRITER, NAME, b"present", offset).await?;
    }
    let (epoch, end) = end_of(&stage, FIRST_EPOCH).await?;
    same("where the former epoch ends", (epoch, end), (FIRST_EPOCH, FORMER))?;
    topics::delete_records(&stage, ASKER, NAME, DELETED + 1).await?;
    let found = end_of(&stage, FIRST_EPOCH).await?;
    same("where it ends when more of it is deleted", found, (FIRST_EPOCH, FORMER))?;
    is_from_to(&stage, DELETED + 1, PRESENT).await
}

async fn is_from_to(stage: &Stage, start: i64, end: i64) -> Played {
    let found = topics::offset_at(stage, ASKER, NAME, EARLIEST).await?;
    same("where a topic begins from which records were deleted", found, (ErrorCode::None, start))?;
    let found = topics::offset_at(stage, ASKER, NAME, LATEST).await?;
    same("where it ends", found, (ErrorCode::None, end))
}

/// The epoch that is told of, and where it ends.
async fn end_of(stage: &Stage, leader_epoch: i32) -> Played<(i32, i64)> {
    let answer = stage.call(ASKER, ApiKey::OffsetForLeaderEpoch, ANY, move |question| {
        let partitions = vec![OffsetForLeaderPartition { partition: 0, leader_epoch, ..Default::default() }];
        let topics = vec![OffsetForLeaderTopic { topic: NAME, partitions }];
        question.put(&OffsetForLeaderEpochRequest { replica_id: -1, topics });
    });
    let answer = answer.await;
    let response = answer.read::<OffsetForLeaderEpochResponse<'_>>()?;
    let told = response.topics.first().and_then(|topic| topic.partitions.first());
    Ok(told.map_or((-1, -1), |told| (told.leader_epoch, told.end_offset)))
}
