//! Groups whose members have left: one that has committed offsets stays, and stays what it was, and one that has none is gone when the coordinator looks.
//!
//! It must not know how old an offset may be.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse};

use super::groups::{self, Joining, ask_join, ask_sync, committed, hear_joined, hear_synced, leave, named};
use super::stage::{Played, Stage, same};
use super::topics;

const NAME: &str = "vacancies";
const KEPT: &str = "vacancies-kept";
const VACANT: &str = "vacancies-vacant";
const SIMPLE: &str = "vacancies-simple";
const MEMBER: usize = 0;
const ASKER: usize = 1;
const REBALANCE_MS: i32 = 1_000;
const OFFSET: i64 = 5;
/// Longer than a group may wait for others and than from one look at what is old to the next, together.
const LOOK_MS: u64 = 4_000;
/// The versions that say by an error that there is no such group.
const SAYS_SO: std::ops::RangeInclusive<i16> = 6..=6;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create(&stage, NAME, 1).await?;
    come_and_go(&stage, KEPT, true).await?;
    come_and_go(&stage, VACANT, false).await?;
    groups::find(&stage, MEMBER, SIMPLE).await?;
    let simple = Joining::new(SIMPLE, REBALANCE_MS);
    same("a commit", groups::commit(&stage, MEMBER, &simple, -1, (NAME, OFFSET)).await?, ErrorCode::None)?;
    stage.rest(LOOK_MS).await;
    let consumer = "consumer".to_string();
    let kept = (ErrorCode::None, "Empty".to_string(), consumer);
    same("a group with offsets", described(&stage, KEPT).await?, kept)?;
    let simple = (ErrorCode::None, "Empty".to_string(), String::new());
    same("a group that never had members", described(&stage, SIMPLE).await?, simple)?;
    let gone = (ErrorCode::GroupIdNotFound, "Dead".to_string(), String::new());
    same("a group with nothing", described(&stage, VACANT).await?, gone)?;
    for group in [KEPT, SIMPLE] {
        let found = committed(&stage, ASKER, group, Some(NAME)).await?;
        same(&format!("the offset of {group}"), found, vec![(NAME.to_owned(), OFFSET)])?;
    }
    Ok(())
}

/// A member joins a group of its own, commits or does not, and leaves.
async fn come_and_go(stage: &Stage, group: &'static str, commits: bool) -> Played {
    groups::find(stage, MEMBER, group).await?;
    let joining = Joining::new(group, REBALANCE_MS);
    let member = joining.with_id(&named(stage, MEMBER, &joining).await?);
    ask_join(stage, MEMBER, member.clone());
    let joined = hear_joined(stage, MEMBER).await?;
    same("a join", joined.error, ErrorCode::None)?;
    ask_sync(stage, MEMBER, &member, joined.generation, vec![(member.member_id.clone(), vec![1])]);
    same("a part", hear_synced(stage, MEMBER).await?.0, ErrorCode::None)?;
    if commits {
        let told = groups::commit(stage, MEMBER, &member, joined.generation, (NAME, OFFSET)).await?;
        same("a member's commit", told, ErrorCode::None)?;
    }
    same("a leave", leave(stage, MEMBER, &member).await?, ErrorCode::None)
}

/// Error, state and kind of a group.
async fn described(stage: &Stage, group: &'static str) -> Played<(ErrorCode, String, String)> {
    let answer = stage.call(ASKER, ApiKey::DescribeGroups, SAYS_SO, move |question| {
        question.put(&DescribeGroupsRequest { groups: vec![group], ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<DescribeGroupsResponse<'_>>()?;
    let told = response.groups.first();
    Ok(told.map_or((ErrorCode::UnknownServerError, String::new(), String::new()), |told| {
        (ErrorCode::from_code(told.error_code), told.group_state.to_owned(), told.protocol_type.to_owned())
    }))
}
