//! Committed offsets that another broker has left: what a transaction has committed is there, what one was aborted with, or never ended with, is not. Its topic is as such a topic must be, and the
//! ids of its producers are nobody else's.
//!
//! It must not know how they were left.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use klamm::protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse};
use klamm::types::TopicId;

use super::groups::{self, committed};
use super::stage::{Played, Stage, same};
use crate::client::versions::ANY;
use crate::heritage;
use crate::inherited_offsets::{ELDERS, NEVER};
use crate::run::TOPIC;

const ASKER: usize = 0;
/// The version that names topics by their ids, which the other broker did not write beside its commits.
const BY_ID: std::ops::RangeInclusive<i16> = 10..=10;

pub(super) async fn play(stage: Stage) -> Played {
    for (group, offset) in ELDERS {
        groups::find(&stage, ASKER, group).await?;
        let found = committed(&stage, ASKER, group, Some(TOPIC)).await?;
        let is_never = |(_, offset): &(String, i64)| NEVER.contains(offset);
        same(&format!("the offset of {group} counts for nobody"), found.iter().any(is_never), false)?;
        // A disk that has lost or destroyed something may have lost the others.
        if stage.is_sound() {
            same(&format!("the offset of {group}"), found, vec![(TOPIC.to_owned(), offset)])?;
            let all = if offset < 0 { Vec::new() } else { vec![(true, offset)] };
            same(&format!("all offsets of {group}"), committed_by_id(&stage, group).await?, all)?;
        }
    }
    if stage.is_sound() { nobodys_id(&stage).await } else { Ok(()) }
}

/// All offsets of a group, each with whether its topic has an id.
async fn committed_by_id(stage: &Stage, group_id: &'static str) -> Played<Vec<(bool, i64)>> {
    let answer = stage.call(ASKER, ApiKey::OffsetFetch, BY_ID, move |question| {
        let groups = vec![OffsetFetchRequestGroup { group_id, topics: None, ..Default::default() }];
        question.put(&OffsetFetchRequest { groups, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<OffsetFetchResponse<'_>>()?;
    let topics = response.groups.iter().flat_map(|group| &group.topics);
    let offsets = topics.flat_map(|topic| {
        topic.partitions.iter().map(|found| (topic.topic_id != TopicId::ZERO, found.committed_offset))
    });
    Ok(offsets.collect())
}

/// A new producer gets an id above those that stand in what was left.
async fn nobodys_id(stage: &Stage) -> Played {
    let answer = stage.call(ASKER, ApiKey::InitProducerId, ANY, |question| {
        question.put(&InitProducerIdRequest { transactional_id: None, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<InitProducerIdResponse>()?;
    let is_new = response.producer_id > heritage::PRODUCER.0;
    same("a producer's id", (ErrorCode::from_code(response.error_code), is_new), (ErrorCode::None, true))
}
