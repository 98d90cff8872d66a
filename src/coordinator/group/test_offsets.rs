//! Tests of committing, fetching and deleting offsets, and of their retention.
//!
//! It must not know how the coordinator is made inside.

use std::sync::Arc;

use crate::coordinator::group::test_world::{GROUP, World, commit_of, join_of};
use crate::coordinator::group::{
    CommitPartition, CommitRequest, CommitTopic, DeleteOffsetsRequest, FetchRequest, FetchTopic, FetchedPartition,
    GroupAnswer, GroupSettings, GroupState, TransactionalCommitRequest,
};
use crate::error_code::ErrorCode;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, ProducerId, Ticket, TopicId};

const DAY_MS: i64 = 24 * 3_600_000;

fn partition(partition: i32, offset: i64) -> CommitPartition<'static> {
    CommitPartition { partition: PartitionIndex(partition), offset: Offset(offset), leader_epoch: None, metadata: None }
}

fn send(world: &mut World, request: &CommitRequest<'_>) -> Ticket {
    let ticket = world.ticket();
    let result = world.coordinator.handle_commit(world.now, ticket, request);
    world.settle(result);
    ticket
}

fn errors(world: &mut World, ticket: Ticket) -> Vec<ErrorCode> {
    match world.answers.remove(&ticket) {
        Some(GroupAnswer::Commit(answer)) => {
            answer.topics.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn delete(world: &mut World, group_id: &str, topics: &[(&str, i32)]) -> (ErrorCode, Vec<ErrorCode>) {
    let ticket = world.ticket();
    let topics = topics.iter().map(|(name, partition)| (*name, vec![PartitionIndex(*partition)])).collect();
    let result = world.coordinator.handle_delete_offsets(ticket, &DeleteOffsetsRequest { group_id, topics });
    world.settle(result);
    match world.answers.remove(&ticket) {
        Some(GroupAnswer::DeleteOffsets(answer)) => {
            let errors = answer.topics.iter().map(|topic| topic.partitions[0].error).collect();
            (answer.error, errors)
        }
        other => panic!("{other:?}"),
    }
}

/// Commits `t-0` within a transaction.
fn commit_in_transaction(world: &mut World, producer_id: ProducerId, offset: i64) -> ErrorCode {
    let ticket = world.ticket();
    let topics = vec![CommitTopic { name: "t", topic_id: TopicId::ZERO, partitions: vec![partition(0, offset)] }];
    let request = TransactionalCommitRequest {
        group_id: GROUP,
        producer_id,
        generation: -1,
        member_id: "",
        group_instance_id: None,
        topics,
    };
    let result = world.coordinator.handle_transactional_commit(world.now, ticket, &request);
    world.producer_id = producer_id;
    world.settle(result);
    world.producer_id = ProducerId::NONE;
    world.committed(ticket)
}

fn fetch_stable(world: &World) -> FetchedPartition {
    let topics = vec![FetchTopic { name: "t", topic_id: TopicId::ZERO, partitions: vec![PartitionIndex(0)] }];
    let request = FetchRequest { group_id: GROUP, topics: Some(topics), require_stable: true };
    world.coordinator.fetch_offsets(&request).topics[0].partitions[0].clone()
}

#[test]
fn an_offset_is_seen_and_acknowledged_only_once_it_is_durable() {
    let mut world = World::new();
    world.holds_appends = true;
    let ticket = send(&mut world, &commit_of("simple", "", -1, 7));
    assert!(world.waits(ticket));
    assert_eq!(world.fetch("simple"), -1);
    world.release();
    assert_eq!(world.committed(ticket), ErrorCode::None);
    assert_eq!(world.fetch("simple"), 7);
}

#[test]
fn a_commit_that_cannot_be_written_changes_nothing() {
    let mut world = World::new();
    world.commit("simple", "", -1, 7);
    world.holds_appends = true;
    for (cause, told) in [
        (ErrorCode::NotEnoughReplicas, ErrorCode::CoordinatorNotAvailable),
        (ErrorCode::KafkaStorageError, ErrorCode::NotCoordinator),
        (ErrorCode::RecordListTooLarge, ErrorCode::UnknownServerError),
        (ErrorCode::InvalidProducerEpoch, ErrorCode::InvalidProducerEpoch),
    ] {
        let ticket = send(&mut world, &commit_of("simple", "", -1, 8));
        world.fail(cause);
        assert_eq!(world.committed(ticket), told);
    }
    assert_eq!(world.fetch("simple"), 7);
}

#[test]
fn only_members_of_the_present_generation_commit() {
    let mut world = World::new();
    assert_eq!(world.commit(GROUP, "nobody", 1, 5), ErrorCode::GroupIdNotFound);
    let old_client = CommitRequest { understands_group_id_not_found: false, ..commit_of(GROUP, "nobody", 1, 5) };
    let ticket = send(&mut world, &old_client);
    assert_eq!(world.committed(ticket), ErrorCode::IllegalGeneration);
    let (ids, generation) = world.stable_group(1);
    let id = ids[0].clone();
    assert_eq!(world.commit(GROUP, &id, generation, 5), ErrorCode::None);
    assert_eq!(world.commit(GROUP, &id, generation - 1, 6), ErrorCode::IllegalGeneration);
    assert_eq!(world.commit(GROUP, &id, -1, 6), ErrorCode::IllegalGeneration);
    assert_eq!(world.commit(GROUP, "nobody", generation, 6), ErrorCode::UnknownMemberId);
    assert_eq!(world.commit(GROUP, "", -1, 6), ErrorCode::UnknownMemberId);
    assert_eq!(world.fetch(GROUP), 5);
    let join = world.join(&join_of(&id));
    assert_eq!(world.joined(join).generation, generation + 1);
    assert_eq!(world.commit(GROUP, &id, generation + 1, 6), ErrorCode::RebalanceInProgress);
    assert_eq!(world.commit(GROUP, &id, generation, 6), ErrorCode::IllegalGeneration);
    assert_eq!(world.leave(&[(&id, None)]), [ErrorCode::None]);
    assert_eq!(world.commit(GROUP, "", -1, 9), ErrorCode::None, "an empty group lets everybody commit");
    assert_eq!(world.fetch(GROUP), 9);
}

#[test]
fn members_may_commit_what_they_have_read_while_they_are_to_rejoin() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(2);
    world.join(&join_of(&ids[0]));
    assert_eq!(world.coordinator.state(GROUP), GroupState::PreparingRebalance);
    assert_eq!(world.commit(GROUP, &ids[1], generation, 5), ErrorCode::None);
}

#[test]
fn metadata_is_bounded_as_java_counts_it_and_too_much_fails_its_own_partition_only() {
    let mut world = World::new();
    let (fits, too_long) = ("\u{1F600}".repeat(2_048), "\u{1F600}".repeat(2_049));
    let mut request = commit_of("simple", "", -1, 1);
    request.topics[0].partitions = vec![
        CommitPartition { metadata: Some(&fits), ..partition(0, 1) },
        CommitPartition { metadata: Some(&too_long), ..partition(1, 1) },
        partition(2, 1),
    ];
    let ticket = send(&mut world, &request);
    assert_eq!(errors(&mut world, ticket), [ErrorCode::None, ErrorCode::OffsetMetadataTooLarge, ErrorCode::None]);
    let all =
        world.coordinator.fetch_offsets(&FetchRequest { group_id: "simple", topics: None, require_stable: false });
    let partitions: Vec<i32> = all.topics[0].partitions.iter().map(|partition| partition.partition.0).collect();
    assert_eq!(partitions, [0, 2]);
}

#[test]
fn an_offset_comes_back_as_it_was_committed() {
    let mut world = World::new();
    let mut request = commit_of("simple", "", -1, 1);
    request.topics[0].topic_id = TopicId::METADATA;
    request.topics[0].partitions[0].leader_epoch = Some(LeaderEpoch(4));
    request.topics[0].partitions[0].metadata = Some("note");
    send(&mut world, &request);
    world.restart();
    let fetched =
        world.coordinator.fetch_offsets(&FetchRequest { group_id: "simple", topics: None, require_stable: false });
    let expected = FetchedPartition {
        partition: PartitionIndex(0),
        offset: Offset(1),
        leader_epoch: Some(LeaderEpoch(4)),
        metadata: Arc::from("note"),
        error: ErrorCode::None,
    };
    assert_eq!((fetched.topics[0].topic_id, &fetched.topics[0].partitions[..]), (TopicId::METADATA, &[expected][..]));
}

#[test]
fn an_offset_of_a_topic_that_was_made_anew_does_not_count() {
    let mut world = World::new();
    let (old, new) = (TopicId([1; 16]), TopicId([2; 16]));
    let mut request = commit_of("simple", "", -1, 5);
    request.topics[0].topic_id = old;
    send(&mut world, &request);
    let fetch = |topic_id| {
        let topics = vec![FetchTopic { name: "t", topic_id, partitions: vec![PartitionIndex(0)] }];
        let request = FetchRequest { group_id: "simple", topics: Some(topics), require_stable: false };
        world.coordinator.fetch_offsets(&request).topics[0].partitions[0].offset.0
    };
    assert_eq!([fetch(old), fetch(new), fetch(TopicId::ZERO)], [5, -1, 5]);
    let result = world.coordinator.topic_deleted("t", new);
    assert!(result.append.is_none(), "it is the other topic that is gone");
    let result = world.coordinator.topic_deleted("t", old);
    world.settle(result);
    assert_eq!(world.fetch("simple"), -1);
}

#[test]
fn what_a_transaction_commits_is_unstable_until_it_ends() {
    let mut world = World::new();
    let producer_id = ProducerId(9);
    world.commit(GROUP, "", -1, 3);
    assert_eq!(commit_in_transaction(&mut world, producer_id, 8), ErrorCode::None);
    assert_eq!(world.fetch(GROUP), 3);
    let unstable = fetch_stable(&world);
    assert_eq!((unstable.error, unstable.offset), (ErrorCode::UnstableOffsetCommit, Offset(-1)));
    world.coordinator.end_transaction(producer_id, true);
    let stable = fetch_stable(&world);
    assert_eq!((stable.error, stable.offset), (ErrorCode::None, Offset(8)));
}

#[test]
fn offsets_that_a_member_reads_are_not_deleted() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(1);
    world.commit(GROUP, &ids[0], generation, 5);
    let subscribed = delete(&mut world, GROUP, &[("t", 0), ("other", 0)]);
    assert_eq!(subscribed, (ErrorCode::None, vec![ErrorCode::GroupSubscribedToTopic, ErrorCode::None]));
    assert_eq!(world.fetch(GROUP), 5);
    world.leave(&[(&ids[0], None)]);
    assert_eq!(delete(&mut world, GROUP, &[("t", 0)]), (ErrorCode::None, vec![ErrorCode::None]));
    assert_eq!(world.fetch(GROUP), -1);
    assert_eq!(delete(&mut world, "", &[]).0, ErrorCode::InvalidGroupId);
    assert_eq!(delete(&mut world, "nobody", &[]).0, ErrorCode::GroupIdNotFound);
}

#[test]
fn offsets_of_a_group_that_is_not_of_consumers_are_not_deleted_while_it_has_members() {
    let mut world = World::new();
    let join = world.join(&crate::coordinator::group::JoinRequest {
        protocol_type: "connect",
        requires_known_member_id: false,
        ..join_of("")
    });
    world.pass_ms(3_000);
    assert_eq!(world.joined(join).error, ErrorCode::None);
    assert_eq!(delete(&mut world, GROUP, &[("t", 0)]).0, ErrorCode::NonEmptyGroup);
}

#[test]
fn without_membership_offsets_age_from_their_commit_and_the_group_goes_with_the_last() {
    let mut world = World::new();
    world.commit("simple", "", -1, 5);
    world.pass_ms(6 * DAY_MS);
    let mut request = commit_of("simple", "", -1, 6);
    request.topics[0].partitions = vec![partition(1, 6)];
    send(&mut world, &request);
    world.pass_ms(DAY_MS + 600_000);
    assert_eq!(world.fetch("simple"), -1);
    assert_eq!(world.coordinator.state("simple"), GroupState::Empty);
    world.pass_ms(6 * DAY_MS);
    assert_eq!(world.coordinator.state("simple"), GroupState::Dead);
    assert!(world.rebuilt().durable().groups().is_empty());
}

#[test]
fn an_empty_groups_offsets_age_from_the_moment_it_became_empty() {
    let settings = GroupSettings { offsets_retention_ms: 1_800_000, ..GroupSettings::default() };
    let mut world = World::with(settings);
    let (ids, generation) = world.stable_group(1);
    world.commit(GROUP, &ids[0], generation, 5);
    for _ in 0..300 {
        world.pass_ms(9_000);
        assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::None);
    }
    assert_eq!(world.fetch(GROUP), 5, "a member subscribes to the topic");
    world.leave(&[(&ids[0], None)]);
    world.pass_ms(1_200_000);
    assert_eq!(world.fetch(GROUP), 5);
    world.restart();
    world.pass_ms(1_200_000);
    assert_eq!(world.fetch(GROUP), -1);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Dead);
}

#[test]
fn a_stable_group_loses_old_offsets_of_topics_that_nobody_reads_any_more() {
    let settings = GroupSettings { offsets_retention_ms: 600_000, ..GroupSettings::default() };
    let mut world = World::with(settings);
    let (ids, generation) = world.stable_group(1);
    let mut request = commit_of(GROUP, &ids[0], generation, 5);
    request.topics.push(CommitTopic { name: "old", topic_id: TopicId::ZERO, partitions: vec![partition(0, 5)] });
    send(&mut world, &request);
    for _ in 0..140 {
        world.pass_ms(9_000);
        assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::None);
    }
    let all = world.coordinator.fetch_offsets(&FetchRequest { group_id: GROUP, topics: None, require_stable: false });
    assert_eq!(all.topics.iter().map(|topic| &*topic.name).collect::<Vec<_>>(), ["t"]);
}

#[test]
fn an_end_that_the_client_set_goes_before_all() {
    let mut world = World::new();
    send(&mut world, &CommitRequest { retention_ms: Some(1_000), ..commit_of("brief", "", -1, 5) });
    world.restart();
    world.pass_ms(600_000);
    assert_eq!(world.fetch("brief"), -1);
}

#[test]
fn a_fresh_commit_on_its_way_is_not_deleted_for_the_age_of_the_one_before() {
    let mut world = World::new();
    world.commit("simple", "", -1, 5);
    world.now.wall.0 += 8 * DAY_MS;
    world.holds_appends = true;
    let fresh = send(&mut world, &commit_of("simple", "", -1, 6));
    world.pass_ms(600_000);
    world.release();
    assert_eq!((world.committed(fresh), world.fetch("simple")), (ErrorCode::None, 6));
    world.holds_appends = false;
    world.pass_ms(600_000);
    assert_eq!(world.fetch("simple"), 6);
}

#[test]
fn a_deletion_reaches_what_is_still_on_its_way_but_not_what_is_for_another_topic() {
    let mut world = World::new();
    let (old, new) = (TopicId([1; 16]), TopicId([2; 16]));
    let mut request = commit_of("simple", "", -1, 5);
    request.topics[0].topic_id = old;
    world.holds_appends = true;
    send(&mut world, &request);
    let result = world.coordinator.topic_deleted("t", old);
    world.settle(result);
    world.release();
    assert_eq!(world.fetch("simple"), -1);

    send(&mut world, &request);
    world.release();
    request.topics[0].topic_id = new;
    send(&mut world, &request);
    let result = world.coordinator.topic_deleted("t", old);
    world.settle(result);
    world.release();
    assert_eq!(world.fetch("simple"), 5);

    send(&mut world, &commit_of("other", "", -1, 5));
    let ticket = world.ticket();
    world.release();
    send(&mut world, &commit_of("other", "", -1, 6));
    let topics = vec![("t", vec![PartitionIndex(0)])];
    let request = DeleteOffsetsRequest { group_id: "other", topics };
    let result = world.coordinator.handle_delete_offsets(ticket, &request);
    world.settle(result);
    world.release();
    assert_eq!(world.fetch("other"), -1);
}

#[test]
fn the_search_for_old_offsets_goes_on_where_it_left_off() {
    let mut world = World::with(GroupSettings { retention_offsets_per_turn: 10, ..GroupSettings::default() });
    for group in 0..3 {
        let group_id = format!("simple{group}");
        let mut request = commit_of(&group_id, "", -1, 5);
        request.topics[0].partitions = (0..6).map(|index| partition(index, 5)).collect();
        send(&mut world, &request);
    }
    world.now.wall.0 += 8 * DAY_MS;
    world.pass_ms(600_000);
    let states = |world: &World| [0, 1, 2].map(|group| world.coordinator.state(&format!("simple{group}")));
    let (dead, empty) = (GroupState::Dead, GroupState::Empty);
    assert_eq!(states(&world), [dead, dead, empty]);
    world.pass_ms(1);
    assert_eq!(states(&world), [dead, dead, dead]);
}

#[test]
fn an_open_transaction_keeps_offsets_and_group() {
    let mut world = World::new();
    world.commit(GROUP, "", -1, 3);
    commit_in_transaction(&mut world, ProducerId(9), 8);
    world.pass_ms(8 * DAY_MS);
    assert_eq!((world.fetch(GROUP), world.coordinator.state(GROUP)), (3, GroupState::Empty));
}
