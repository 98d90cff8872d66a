//! Groups whose topic of offsets is deleted: whoever waits for others is told to look for another coordinator, whoever asks meanwhile too, and with a new topic all groups
//! begin anew.
//!
//! It must not know what else is in that topic.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse};
use klamm::protocol::messages::describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse};
use klamm::protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse};
use klamm::protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic, OffsetDeleteResponse,
};
use klamm::protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse};

use super::groups::{self, Joining, ask_join, ask_sync, gathered, hear_joined, hear_synced, heartbeat, named};
use super::stage::{Played, Stage, same, told};
use super::topics;
use crate::client::versions::ANY;

const TOPIC: &str = "orphans";
const OFFSETS: &str = "__consumer_offsets";
const JOINING: &str = "orphans-joining";
const SYNCING: &str = "orphans-syncing";
/// Whoever waits for others waits for longer than the scene takes.
const PATIENCE_MS: i32 = 30_000;
const MOMENT_MS: u64 = 300;
const ANNA: usize = 0;
const BEN: usize = 1;
const CAROL: usize = 2;
const DAVE: usize = 3;
const ASKER: usize = 4;
const GONE: ErrorCode = ErrorCode::NotCoordinator;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create(&stage, TOPIC, 1).await?;
    // One waits for another one to join, one for the leader of its group.
    groups::find(&stage, ANNA, JOINING).await?;
    let joining = Joining::new(JOINING, PATIENCE_MS);
    let anna = joining.with_id(&named(&stage, ANNA, &joining).await?);
    ask_join(&stage, ANNA, anna.clone());
    let hers = hear_joined(&stage, ANNA).await?;
    same("a join", hers.error, ErrorCode::None)?;
    ask_sync(&stage, ANNA, &anna, hers.generation, Vec::new());
    same("a part", hear_synced(&stage, ANNA).await?.0, ErrorCode::None)?;
    same("a commit", groups::commit(&stage, ANNA, &anna, hers.generation, (TOPIC, 3)).await?, ErrorCode::None)?;
    let ben = joining.with_id(&named(&stage, BEN, &joining).await?);
    ask_join(&stage, BEN, ben);
    groups::find(&stage, CAROL, SYNCING).await?;
    let syncing = Joining::new(SYNCING, PATIENCE_MS);
    let carol = syncing.with_id(&named(&stage, CAROL, &syncing).await?);
    let dave = syncing.with_id(&named(&stage, DAVE, &syncing).await?);
    let [theirs, _] = gathered(&stage, [(CAROL, &carol), (DAVE, &dave)]).await?;
    let (other, other_role) = if theirs.leader == carol.member_id { (dave, DAVE) } else { (carol, CAROL) };
    ask_sync(&stage, other_role, &other, theirs.generation, Vec::new());
    stage.rest(MOMENT_MS).await;
    same("somebody waits", (stage.is_answered(BEN), stage.is_answered(other_role)), (false, false))?;

    topics::ask_delete(&stage, OFFSETS);
    topics::hear_deleted(&stage).await?;
    same("who waits to join", hear_joined(&stage, BEN).await?.error, GONE)?;
    same("who waits for its part", hear_synced(&stage, other_role).await?.0, GONE)?;
    same("a heartbeat", heartbeat(&stage, ANNA, &anna, hers.generation).await?, GONE)?;
    same("a late commit", groups::commit(&stage, ANNA, &anna, hers.generation, (TOPIC, 4)).await?, GONE)?;
    ask_join(&stage, ANNA, joining.clone());
    same("a late join", hear_joined(&stage, ANNA).await?.error, GONE)?;
    ask_sync(&stage, ANNA, &anna, hers.generation, Vec::new());
    same("a late sync", hear_synced(&stage, ANNA).await?.0, GONE)?;
    nobody_knows_groups(&stage).await?;

    groups::find(&stage, ANNA, JOINING).await?;
    let found = groups::committed(&stage, ANNA, JOINING, Some(TOPIC)).await?;
    same("an offset that is gone with its topic", found, vec![(TOPIC.to_owned(), -1)])?;
    same("a member of before", heartbeat(&stage, ANNA, &anna, hers.generation).await?, ErrorCode::UnknownMemberId)
}

/// What admins ask of groups.
async fn nobody_knows_groups(stage: &Stage) -> Played {
    let answer = stage.call(ASKER, ApiKey::DescribeGroups, ANY, |question| {
        question.put(&DescribeGroupsRequest { groups: vec![JOINING], ..Default::default() });
    });
    let answer = answer.await;
    let described = answer.read::<DescribeGroupsResponse<'_>>()?;
    told("a description", described.groups.first().map_or(-1, |group| group.error_code), GONE)?;
    let answer = stage.call(ASKER, ApiKey::DeleteGroups, ANY, |question| {
        question.put(&DeleteGroupsRequest { groups_names: vec![JOINING, SYNCING] });
    });
    let answer = answer.await;
    let deleted = answer.read::<DeleteGroupsResponse<'_>>()?;
    let errors = deleted.results.iter().map(|result| ErrorCode::from_code(result.error_code));
    same("deletions", errors.collect::<Vec<_>>(), vec![GONE, GONE])?;
    let answer = stage.call(ASKER, ApiKey::LeaveGroup, ANY, |question| {
        question.put(&LeaveGroupRequest { group_id: JOINING, member_id: "nobody", members: Vec::new() });
    });
    told("a leave", answer.await.read::<LeaveGroupResponse<'_>>()?.error_code, GONE)?;
    let answer = stage.call(ASKER, ApiKey::OffsetDelete, ANY, |question| {
        let partitions = vec![OffsetDeleteRequestPartition { partition_index: 0 }];
        let topics = vec![OffsetDeleteRequestTopic { name: TOPIC, partitions }];
        question.put(&OffsetDeleteRequest { group_id: JOINING, topics });
    });
    told("a deletion of offsets", answer.await.read::<OffsetDeleteResponse<'_>>()?.error_code, GONE)?;
    for versions in [1..=1, 2..=7] {
        let answer = stage.call(ASKER, ApiKey::OffsetFetch, versions, |question| {
            let topics = vec![OffsetFetchRequestTopic { name: TOPIC, partition_indexes: vec![0] }];
            question.put(&OffsetFetchRequest { group_id: JOINING, topics: Some(topics), ..Default::default() });
        });
        let answer = answer.await;
        let response = answer.read::<OffsetFetchResponse<'_>>()?;
        // The oldest version has no error but those of partitions.
        let of_partition = response.topics.first().and_then(|topic| topic.partitions.first());
        let error =
            if answer.version < 2 { of_partition.map_or(-1, |found| found.error_code) } else { response.error_code };
        told("a request for offsets", error, GONE)?;
    }
    Ok(())
}
