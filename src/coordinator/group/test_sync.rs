//! Tests of SyncGroup: the assignment reaches every member once it is durable, and only in its generation.
//!
//! It must not know how the coordinator is made inside.

use std::sync::Arc;

use crate::coordinator::group::test_world::{GROUP, World, join_of};
use crate::coordinator::group::{GroupState, SyncRequest};
use crate::error_code::ErrorCode;

/// Two members that have joined generation 1 and not yet synced; the first leads.
fn joined_pair(world: &mut World) -> [Arc<str>; 2] {
    let ids = [world.member_id(), world.member_id()];
    let tickets = ids.clone().map(|id| world.join(&join_of(&id)));
    world.pass_ms(6_000);
    assert!(tickets.into_iter().all(|ticket| world.joined(ticket).generation == 1));
    ids
}

#[test]
fn nobody_gets_an_assignment_before_it_is_durable() {
    let mut world = World::new();
    let [leader, follower] = joined_pair(&mut world);
    world.holds_appends = true;
    let before = world.sync(&follower, 1, Vec::new());
    let lead = world.sync(&leader, 1, vec![(&leader, b"L"), (&follower, b"F")]);
    assert!(world.waits(before) && world.waits(lead));
    assert_eq!(world.coordinator.state(GROUP), GroupState::CompletingRebalance);
    world.release();
    assert_eq!(&world.synced(before).assignment[..], b"F");
    assert_eq!(&world.synced(lead).assignment[..], b"L");
    let again = world.sync(&follower, 1, Vec::new());
    assert_eq!(&world.synced(again).assignment[..], b"F");
}

#[test]
fn a_follower_that_comes_while_the_assignment_is_on_its_way_gets_it_too() {
    let mut world = World::new();
    let [leader, follower] = joined_pair(&mut world);
    world.holds_appends = true;
    world.sync(&leader, 1, vec![(&follower, b"F")]);
    let late = world.sync(&follower, 1, Vec::new());
    world.release();
    assert_eq!(&world.synced(late).assignment[..], b"F");
}

#[test]
fn a_member_that_the_leader_left_out_gets_an_empty_assignment_and_a_stranger_none() {
    let mut world = World::new();
    let [leader, follower] = joined_pair(&mut world);
    world.sync(&leader, 1, vec![("stranger", b"S"), (&leader, b"L")]);
    let left_out = world.sync(&follower, 1, Vec::new());
    let answer = world.synced(left_out);
    assert_eq!((answer.error, &answer.assignment[..]), (ErrorCode::None, &b""[..]));
    assert_eq!(world.coordinator.durable().groups()[GROUP].members.len(), 2);
}

#[test]
fn a_sync_of_another_generation_group_or_protocol_is_refused() {
    let mut world = World::new();
    let nobody = world.sync("nobody", 1, Vec::new());
    assert_eq!(world.synced(nobody).error, ErrorCode::UnknownMemberId);
    let [leader, _] = joined_pair(&mut world);
    let stranger = world.sync("nobody", 1, Vec::new());
    assert_eq!(world.synced(stranger).error, ErrorCode::UnknownMemberId);
    for generation in [0, 2] {
        let other = world.sync(&leader, generation, Vec::new());
        assert_eq!(world.synced(other).error, ErrorCode::IllegalGeneration);
    }
    let said = [(Some("connect"), None), (None, Some("sticky"))];
    for (protocol_type, protocol_name) in said {
        let request = SyncRequest {
            group_id: GROUP,
            generation: 1,
            member_id: &leader,
            group_instance_id: None,
            protocol_type,
            protocol_name,
            assignments: Vec::new(),
        };
        let ticket = world.ticket();
        let result = world.coordinator.handle_sync(world.now, ticket, &request);
        world.settle(result);
        assert_eq!(world.synced(ticket).error, ErrorCode::InconsistentGroupProtocol);
    }
    let ticket = world.ticket();
    let request = SyncRequest {
        group_id: "",
        generation: 1,
        member_id: &leader,
        group_instance_id: None,
        protocol_type: None,
        protocol_name: None,
        assignments: Vec::new(),
    };
    let result = world.coordinator.handle_sync(world.now, ticket, &request);
    world.settle(result);
    assert_eq!(world.synced(ticket).error, ErrorCode::InvalidGroupId);
}

#[test]
fn a_rebalance_sends_away_those_who_wait_for_an_assignment() {
    let mut world = World::new();
    let [leader, follower] = joined_pair(&mut world);
    let waiting = world.sync(&follower, 1, Vec::new());
    let third = world.member_id();
    world.join(&join_of(&third));
    assert_eq!(world.synced(waiting).error, ErrorCode::RebalanceInProgress);
    let late = world.sync(&leader, 1, vec![(&leader, b"L")]);
    assert_eq!(world.synced(late).error, ErrorCode::RebalanceInProgress);
}

#[test]
fn an_assignment_that_a_rebalance_overtakes_on_its_way_to_the_disk_reaches_nobody() {
    let mut world = World::new();
    let [leader, follower] = joined_pair(&mut world);
    world.holds_appends = true;
    let lead = world.sync(&leader, 1, vec![(&leader, b"L"), (&follower, b"F")]);
    let third = world.member_id();
    world.join(&join_of(&third));
    assert_eq!(world.synced(lead).error, ErrorCode::RebalanceInProgress);
    world.release();
    assert_eq!(world.coordinator.state(GROUP), GroupState::PreparingRebalance);
    assert!(world.coordinator.describe_group(GROUP).members.iter().all(|member| member.assignment.is_empty()));
}

#[test]
fn an_assignment_of_the_generation_before_does_not_pass_for_that_of_the_present_one() {
    let mut world = World::new();
    let [leader, follower] = joined_pair(&mut world);
    world.holds_appends = true;
    world.sync(&leader, 1, vec![(&leader, b"L"), (&follower, b"F")]);
    assert_eq!(world.leave(&[(&follower, None)]), [ErrorCode::None]);
    let join = world.join(&join_of(&leader));
    assert_eq!(world.joined(join).generation, 2);
    let waiting = world.sync(&leader, 2, vec![(&leader, b"all")]);
    let first = world.held.remove(0);
    let second = std::mem::replace(&mut world.held, vec![first]);
    world.release();
    assert_eq!(world.coordinator.state(GROUP), GroupState::CompletingRebalance);
    world.held = second;
    world.release();
    assert_eq!(&world.synced(waiting).assignment[..], b"all");
}

#[test]
fn an_assignment_that_cannot_be_written_is_refused_to_all_and_they_rejoin() {
    let mut world = World::new();
    let [leader, follower] = joined_pair(&mut world);
    world.holds_appends = true;
    let waiting = world.sync(&follower, 1, Vec::new());
    let lead = world.sync(&leader, 1, vec![(&leader, b"L"), (&follower, b"F")]);
    world.fail(ErrorCode::KafkaStorageError);
    assert_eq!(world.synced(waiting).error, ErrorCode::NotCoordinator);
    assert_eq!(world.synced(lead).error, ErrorCode::NotCoordinator);
    assert_eq!(world.coordinator.state(GROUP), GroupState::PreparingRebalance);
    let tickets = [&leader, &follower].map(|id| world.join(&join_of(id)));
    assert!(tickets.into_iter().all(|ticket| world.joined(ticket).generation == 2));
}

#[test]
fn an_assignment_that_is_late_sends_everybody_to_join_again_and_reaches_nobody_afterwards() {
    let mut world = World::new();
    let [leader, follower] = joined_pair(&mut world);
    world.holds_appends = true;
    let waiting = world.sync(&follower, 1, Vec::new());
    let lead = world.sync(&leader, 1, vec![(&leader, b"L"), (&follower, b"F")]);
    world.be_late();
    assert_eq!(world.synced(waiting).error, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(world.synced(lead).error, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(world.coordinator.state(GROUP), GroupState::PreparingRebalance);
    world.be_late();
    world.release();
    assert!(world.answers.is_empty(), "nobody is answered twice");
    assert_eq!(world.coordinator.durable().groups()[GROUP].members.len(), 2, "the record counts all the same");
    let tickets = [&leader, &follower].map(|id| world.join(&join_of(id)));
    assert!(tickets.into_iter().all(|ticket| world.joined(ticket).generation == 2));
}

#[test]
fn a_member_that_does_not_sync_in_time_is_removed() {
    let mut world = World::new();
    let [leader, follower] = joined_pair(&mut world);
    world.assign(std::slice::from_ref(&leader), 1);
    for _ in 0..7 {
        world.pass_ms(8_500);
        let expected = ErrorCode::None;
        assert_eq!((world.heartbeat(&leader, 1), world.heartbeat(&follower, 1)), (expected, expected));
    }
    world.pass_ms(500);
    assert_eq!(world.heartbeat(&leader, 1), ErrorCode::RebalanceInProgress);
    assert_eq!(world.heartbeat(&follower, 1), ErrorCode::UnknownMemberId);
}

#[test]
fn a_second_sync_of_the_same_member_takes_the_place_of_the_first() {
    let mut world = World::new();
    let [leader, follower] = joined_pair(&mut world);
    let first = world.sync(&follower, 1, Vec::new());
    let second = world.sync(&follower, 1, Vec::new());
    assert_eq!(world.synced(first).error, ErrorCode::RebalanceInProgress);
    world.sync(&leader, 1, vec![(&follower, b"F")]);
    assert_eq!(&world.synced(second).assignment[..], b"F");
}
