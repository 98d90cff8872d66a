//! Two consumers that agree on a protocol, are given their parts, commit, and keep the offsets of what they read from an admin.
//!
//! It must not know time: nobody is late here.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic, OffsetDeleteResponse,
};

use super::groups::{self, Joining, ask_join, ask_sync, committed, hear_joined, hear_synced, heartbeat, leave, named};
use super::stage::{Otherwise, Played, Stage, same};
use super::topics;
use crate::client::versions::ANY;

const GROUP: &str = "assembly";
const READ: &str = "assembly-read";
const UNREAD: &str = "assembly-unread";
const REBALANCE_MS: i32 = 10_000;
const ANNA: usize = 0;
const BEN: usize = 1;
const STRANGER: usize = 2;
const ADMIN: usize = 3;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create(&stage, READ, 1).await?;
    topics::create(&stage, UNREAD, 1).await?;
    groups::find(&stage, ANNA, GROUP).await?;
    let spoken = |protocols: &[&'static str]| {
        let protocols = protocols.iter().map(|name| (*name, subscription(READ)));
        Joining { protocols: protocols.collect(), ..Joining::new(GROUP, REBALANCE_MS) }
    };
    // What one likes best the other does not know; of the two that both know each likes another one better.
    let anna = spoken(&["own", "range", "sticky"]);
    let ben = spoken(&["sticky", "range", "sticky"]);
    let anna = anna.with_id(&named(&stage, ANNA, &anna).await?);
    let ben = ben.with_id(&named(&stage, BEN, &ben).await?);
    let [hers, his] = groups::gathered(&stage, [(ANNA, &anna), (BEN, &ben)]).await?;
    let leads = hers.leader == anna.member_id;
    same("the leader", (&hers.leader, hers.members.len() + his.members.len()), (&his.leader, 2))?;
    let favourite = if leads { "range" } else { "sticky" };
    same("the protocol", (hers.protocol.as_str(), his.protocol.as_str()), (favourite, favourite))?;
    strangers_are_refused(&stage, &anna).await?;

    let chosen = |member: &Joining| Joining { protocols: vec![(favourite, Vec::new())], ..member.clone() };
    let (anna, ben) = (chosen(&anna), chosen(&ben));
    let generation = hers.generation;
    ask_sync(&stage, STRANGER, &anna, generation + 1, Vec::new());
    same("a sync of another generation", hear_synced(&stage, STRANGER).await?.0, ErrorCode::IllegalGeneration)?;
    for (protocol_type, protocol) in [("consumer", "foreign"), ("connect", favourite)] {
        let foreign = Joining { protocol_type, protocols: vec![(protocol, Vec::new())], ..anna.clone() };
        groups::ask_sync_by_protocol(&stage, STRANGER, &foreign, generation);
        let refused = hear_synced(&stage, STRANGER).await?.0;
        same("a sync by another protocol", refused, ErrorCode::InconsistentGroupProtocol)?;
    }
    let parts = |leads: bool| {
        let parts =
            [(anna.member_id.clone(), vec![1]), (ben.member_id.clone(), vec![2]), ("nobody".to_string(), vec![3])];
        if leads { parts.to_vec() } else { Vec::new() }
    };
    ask_sync(&stage, ANNA, &anna, generation, parts(leads));
    ask_sync(&stage, BEN, &ben, generation, parts(!leads));
    same("her part", hear_synced(&stage, ANNA).await?, (ErrorCode::None, vec![1]))?;
    same("his part", hear_synced(&stage, BEN).await?, (ErrorCode::None, vec![2]))?;
    offsets_of_what_is_read_stay(&stage, &anna, generation).await?;

    // He leaves, she is told, and goes too. A group without members gives its offsets up.
    same("his leave", leave(&stage, BEN, &ben).await?, ErrorCode::None)?;
    same("her heartbeat", heartbeat(&stage, ANNA, &anna, generation).await?, ErrorCode::RebalanceInProgress)?;
    same("her leave", leave(&stage, ANNA, &anna).await?, ErrorCode::None)?;
    same("her second leave", leave(&stage, ANNA, &anna).await?, ErrorCode::UnknownMemberId)?;
    same("an offset of an empty group", deleted(&stage, READ).await?, (ErrorCode::None, ErrorCode::None))?;
    same("what is committed", committed(&stage, ADMIN, GROUP, None).await?, vec![])
}

/// Who is no consumer, or knows none of their protocols, or makes its id up, is kept out.
async fn strangers_are_refused(stage: &Stage, member: &Joining) -> Played {
    let inconsistent = ErrorCode::InconsistentGroupProtocol;
    let stranger = Joining { member_id: String::new(), ..member.clone() };
    let refused = [
        (Joining { protocol_type: "connect", ..stranger.clone() }, inconsistent),
        (Joining { protocols: vec![("foreign", Vec::new())], ..stranger.clone() }, inconsistent),
        (Joining { protocols: Vec::new(), ..stranger.clone() }, inconsistent),
        (Joining { instance: Some("nobody"), ..member.clone() }, ErrorCode::UnknownMemberId),
        (stranger.with_id("nobody"), ErrorCode::UnknownMemberId),
    ];
    for (stranger, expected) in refused {
        ask_join(stage, STRANGER, stranger.clone());
        same("a stranger's join", hear_joined(stage, STRANGER).await?.error, expected)?;
    }
    Ok(())
}

/// An admin may delete what was committed for a topic that nobody in the group reads, and only that.
async fn offsets_of_what_is_read_stay(stage: &Stage, member: &Joining, generation: i32) -> Played {
    for topic in [READ, UNREAD] {
        same("a commit", groups::commit(stage, ANNA, member, generation, (topic, 5)).await?, ErrorCode::None)?;
    }
    let outsider = Joining::new(GROUP, REBALANCE_MS);
    let refused = groups::commit(stage, STRANGER, &outsider, -1, (READ, 9)).await?;
    same("a commit by nobody in particular", refused, ErrorCode::UnknownMemberId)?;
    let refused = groups::commit(stage, STRANGER, member, -1, (READ, 9)).await?;
    same("a member's commit in no generation", refused, ErrorCode::IllegalGeneration)?;
    same("all offsets", committed(stage, ADMIN, GROUP, None).await?, told_of(&[(READ, 5), (UNREAD, 5)]))?;
    same("an offset that is read", deleted(stage, READ).await?, (ErrorCode::None, ErrorCode::GroupSubscribedToTopic))?;
    same("an offset that is not read", deleted(stage, UNREAD).await?, (ErrorCode::None, ErrorCode::None))?;
    same("the offsets that are left", committed(stage, ADMIN, GROUP, None).await?, told_of(&[(READ, 5)]))?;
    same("one that is gone", committed(stage, ADMIN, GROUP, Some(UNREAD)).await?, told_of(&[(UNREAD, -1)]))
}

fn told_of(offsets: &[(&str, i64)]) -> Vec<(String, i64)> {
    offsets.iter().map(|(topic, offset)| ((*topic).to_owned(), *offset)).collect()
}

/// Deletes what is committed for the first partition of a topic: the error of the whole, and of the partition.
async fn deleted(stage: &Stage, name: &'static str) -> Played<(ErrorCode, ErrorCode)> {
    let answer = stage.call(ADMIN, ApiKey::OffsetDelete, ANY, move |question| {
        let partitions = vec![OffsetDeleteRequestPartition { partition_index: 0 }];
        let topics = vec![OffsetDeleteRequestTopic { name, partitions }];
        question.put(&OffsetDeleteRequest { group_id: GROUP, topics });
    });
    let answer = answer.await;
    let response = answer.read::<OffsetDeleteResponse<'_>>()?;
    let partition = response.topics.first().and_then(|topic| topic.partitions.first());
    let partition = partition.ok_or_else(|| Otherwise("an answer without its partition".to_string()))?;
    Ok((ErrorCode::from_code(response.error_code), ErrorCode::from_code(partition.error_code)))
}

/// What a consumer of one topic joins with, in the third version: the topic, no data of its own, no partitions that it had, in no generation, and no rack.
fn subscription(topic: &str) -> Vec<u8> {
    let length = i16::try_from(topic.len()).unwrap_or(0).to_be_bytes();
    let rest = [(-1_i32).to_be_bytes(), 0_i32.to_be_bytes(), (-1_i32).to_be_bytes()].concat();
    [&[0, 3, 0, 0, 0, 1][..], &length, topic.as_bytes(), &rest, &(-1_i16).to_be_bytes()].concat()
}
