//! A group that has settled, and has committed what was not on the disk when it was read. Then the power is cut: its member goes on as if nothing had been, and what it has committed tells of
//! records that are there.
//!
//! It must not know what is synced together.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse};

use super::groups::{self, Joining, ask_join, ask_sync, committed, hear_joined, hear_synced, heartbeat, leave, named};
use super::stage::{Otherwise, Played, Stage, same};
use super::topics::{self, LATEST};
use crate::client::versions::ANY;

const NAME: &str = "regulars";
const GROUP: &str = "regulars";
const MEMBER: usize = 0;
const WRITER: usize = 1;
const ASKER: usize = 2;
const REBALANCE_MS: i32 = 10_000;
/// That of the first members of a new group.
const GENERATION: i32 = 1;
const RECORDS: i64 = 3;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create(&stage, NAME, 1).await?;
    groups::find(&stage, MEMBER, GROUP).await?;
    let joining = Joining::new(GROUP, REBALANCE_MS);
    let member = joining.with_id(&named(&stage, MEMBER, &joining).await?);
    ask_join(&stage, MEMBER, member.clone());
    let joined = hear_joined(&stage, MEMBER).await?;
    same("a join", (joined.error, joined.generation), (ErrorCode::None, GENERATION))?;
    ask_sync(&stage, MEMBER, &member, GENERATION, vec![(member.member_id.clone(), vec![7])]);
    same("a part", hear_synced(&stage, MEMBER).await?, (ErrorCode::None, vec![7]))?;
    for offset in 0..RECORDS {
        topics::ask_produce(&stage, WRITER, NAME, 1, b"regular".to_vec());
        same("a produce", topics::produced(&stage.hear(WRITER).await)?, (ErrorCode::None, offset))?;
    }
    let told = groups::commit(&stage, MEMBER, &member, GENERATION, (NAME, RECORDS)).await?;
    same("a commit", told, ErrorCode::None)
}

pub(super) async fn play_on(stage: Stage) -> Played {
    groups::find(&stage, MEMBER, GROUP).await?;
    let found = committed(&stage, ASKER, GROUP, Some(NAME)).await?;
    same("what was committed", found, vec![(NAME.to_owned(), RECORDS)])?;
    let end = topics::offset_at(&stage, ASKER, NAME, LATEST).await?;
    same("the records of which the commit tells", end, (ErrorCode::None, RECORDS))?;
    let (state, members) = described(&stage).await?;
    same("the group", (state.as_str(), members.len()), ("Stable", 1))?;
    let member_id = members.first().ok_or_else(|| Otherwise("a group without members".to_string()))?;
    let member = Joining::new(GROUP, REBALANCE_MS).with_id(member_id);
    same("a heartbeat", heartbeat(&stage, MEMBER, &member, GENERATION).await?, ErrorCode::None)?;
    ask_sync(&stage, MEMBER, &member, GENERATION, Vec::new());
    same("a part, again", hear_synced(&stage, MEMBER).await?, (ErrorCode::None, vec![7]))?;
    same("a leave", leave(&stage, MEMBER, &member).await?, ErrorCode::None)
}

/// The state of the group, and the ids of its members.
async fn described(stage: &Stage) -> Played<(String, Vec<String>)> {
    let answer = stage.call(ASKER, ApiKey::DescribeGroups, ANY, |question| {
        question.put(&DescribeGroupsRequest { groups: vec![GROUP], ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<DescribeGroupsResponse<'_>>()?;
    let group = response.groups.first().ok_or_else(|| Otherwise("no group is told of".to_string()))?;
    Ok((group.group_state.to_owned(), group.members.iter().map(|member| member.member_id.to_owned()).collect()))
}
