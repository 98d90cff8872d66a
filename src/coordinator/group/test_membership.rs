//! Tests of heartbeats, sessions, leaving, and connections that close.
//!
//! It must not know how the coordinator is made inside.

use crate::coordinator::group::test_world::{GROUP, World, join_of};
use crate::coordinator::group::{GroupAnswer, GroupState, HeartbeatRequest, LeaveRequest};
use crate::error_code::ErrorCode;

#[test]
fn a_heartbeat_tells_a_member_where_it_stands() {
    let mut world = World::new();
    assert_eq!(world.heartbeat("nobody", 1), ErrorCode::UnknownMemberId);
    let id = world.member_id();
    world.join(&join_of(&id));
    assert_eq!(world.heartbeat(&id, 0), ErrorCode::RebalanceInProgress);
    world.pass_ms(3_000);
    assert_eq!(world.heartbeat(&id, 1), ErrorCode::None, "while the assignment is awaited all is well");
    assert_eq!(world.heartbeat(&id, 0), ErrorCode::IllegalGeneration);
    assert_eq!(world.heartbeat("nobody", 1), ErrorCode::UnknownMemberId);
    world.assign(std::slice::from_ref(&id), 1);
    assert_eq!(world.heartbeat(&id, 1), ErrorCode::None);
    assert_eq!(world.leave(&[(&id, None)]), [ErrorCode::None]);
    assert_eq!(world.heartbeat(&id, 1), ErrorCode::UnknownMemberId);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Empty);

    let ticket = world.ticket();
    let request = HeartbeatRequest { group_id: "", generation: 1, member_id: &id, group_instance_id: None };
    let result = world.coordinator.handle_heartbeat(world.now, ticket, &request);
    assert_eq!(result.answers, [(ticket, GroupAnswer::Heartbeat(ErrorCode::InvalidGroupId))]);
}

#[test]
fn a_silent_member_is_removed_at_the_end_of_its_session_and_the_others_rebalance() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(2);
    world.pass_ms(9_000);
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::None);
    world.pass_ms(999);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Stable);
    world.pass_ms(1);
    assert_eq!(world.heartbeat(&ids[1], generation), ErrorCode::UnknownMemberId);
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::RebalanceInProgress);
    let join = world.join(&join_of(&ids[0]));
    assert_eq!(world.joined(join).members.len(), 1);
}

#[test]
fn when_the_last_session_ends_the_group_is_empty_and_the_log_knows() {
    let mut world = World::new();
    let (_, generation) = world.stable_group(2);
    world.pass_ms(80_000);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Empty);
    let metadata = &world.coordinator.durable().groups()[GROUP];
    assert_eq!((metadata.generation, metadata.members.len()), (generation + 1, 0));
    assert_eq!((&*metadata.protocol_type, &metadata.protocol, &metadata.leader), ("consumer", &None, &None));
}

#[test]
fn a_commit_keeps_the_session_alive() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(1);
    for _ in 0..3 {
        world.pass_ms(9_000);
        assert_eq!(world.commit(GROUP, &ids[0], generation, 1), ErrorCode::None);
    }
    assert_eq!(world.coordinator.state(GROUP), GroupState::Stable);
}

#[test]
fn a_member_whose_own_request_is_parked_owes_no_heartbeat() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(2);
    let leader = world.join(&join_of(&ids[0]));
    for _ in 0..5 {
        world.pass_ms(9_000);
        assert_eq!(world.heartbeat(&ids[1], generation), ErrorCode::RebalanceInProgress);
    }
    assert!(world.waits(leader));
    let follower = world.join(&join_of(&ids[1]));
    assert_eq!((world.joined(leader).error, world.joined(follower).error), (ErrorCode::None, ErrorCode::None));
}

#[test]
fn several_members_leave_at_once_and_each_is_answered_for_itself() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(3);
    let pending = world.member_id();
    let left = world.leave(&[(&ids[1], None), ("nobody", None), ("", None), (&pending, None), (&ids[1], None)]);
    let unknown = ErrorCode::UnknownMemberId;
    assert_eq!(left, [ErrorCode::None, unknown, unknown, ErrorCode::None, unknown]);
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::RebalanceInProgress);
    assert_eq!(world.heartbeat(&ids[1], generation), unknown);
}

#[test]
fn leaving_a_group_that_does_not_exist_is_an_error_of_each_member() {
    let mut world = World::new();
    assert_eq!(world.leave(&[("a", None), ("b", None)]), [ErrorCode::UnknownMemberId; 2]);
    let ticket = world.ticket();
    let request = LeaveRequest { group_id: "", members: Vec::new() };
    let result = world.coordinator.handle_leave(world.now, ticket, &request);
    let [(_, GroupAnswer::Leave(answer))] = &result.answers[..] else { panic!() };
    assert_eq!(answer.error, ErrorCode::InvalidGroupId);
}

#[test]
fn the_last_to_leave_is_answered_when_the_log_knows_that_the_group_is_empty() {
    let mut world = World::new();
    let (ids, _) = world.stable_group(1);
    world.holds_appends = true;
    let ticket = world.ticket();
    let members = vec![crate::coordinator::group::LeavingMember { member_id: &ids[0], group_instance_id: None }];
    let result =
        world.coordinator.handle_leave(world.now, ticket, &LeaveRequest { group_id: GROUP, members: members.clone() });
    world.settle(result);
    assert!(world.waits(ticket));
    world.release();
    assert!(
        matches!(&world.answers[&ticket], GroupAnswer::Leave(answer) if answer.members[0].error == ErrorCode::None)
    );
}

#[test]
fn a_member_that_leaves_while_its_own_join_is_parked_elsewhere_frees_that_too() {
    let mut world = World::new();
    let (ids, _) = world.stable_group(2);
    let leader = world.join(&join_of(&ids[0]));
    assert_eq!(world.leave(&[(&ids[0], None)]), [ErrorCode::None]);
    assert_eq!(world.joined(leader).error, ErrorCode::UnknownMemberId);
}

#[test]
fn a_closed_connection_is_never_answered_and_its_member_stays_for_one_session() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(2);
    let leader = world.join(&join_of(&ids[0]));
    world.coordinator.connection_closed(world.now, leader.connection);
    let follower = world.join(&join_of(&ids[1]));
    assert!(world.waits(leader), "nobody is there to be answered");
    let joined = world.joined(follower);
    assert_eq!((joined.generation, joined.error), (generation + 1, ErrorCode::None));
    assert_eq!(joined.leader, ids[0], "it counts as joined");
    world.pass_ms(9_999);
    assert_eq!(world.heartbeat(&ids[1], generation + 1), ErrorCode::None);
    world.pass_ms(1);
    assert_eq!(world.heartbeat(&ids[1], generation + 1), ErrorCode::RebalanceInProgress);
    assert!(world.waits(leader));
}

#[test]
fn a_new_member_whose_connection_closes_does_not_hold_the_group_for_five_minutes() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(1);
    let id = world.member_id();
    let join = world.join(&join_of(&id));
    world.coordinator.connection_closed(world.now, join.connection);
    world.pass_ms(9_000);
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::RebalanceInProgress);
    world.pass_ms(1_000);
    let leader = world.join(&join_of(&ids[0]));
    assert_eq!(world.joined(leader).members.len(), 1);
}

#[test]
fn a_new_member_that_reconnects_waits_as_long_as_any_other() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(1);
    let id = world.member_id();
    let first = world.join(&join_of(&id));
    world.coordinator.connection_closed(world.now, first.connection);
    let second = world.join(&join_of(&id));
    for _ in 0..4 {
        world.pass_ms(9_000);
        assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::RebalanceInProgress);
    }
    assert!(world.waits(second));
    let leader = world.join(&join_of(&ids[0]));
    assert_eq!((world.joined(leader).members.len(), world.joined(second).error), (2, ErrorCode::None));
}

#[test]
fn a_member_whose_connection_closes_late_in_its_wait_still_has_a_whole_session() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(2);
    let leader = world.join(&join_of(&ids[0]));
    world.pass_ms(9_500);
    assert_eq!(world.heartbeat(&ids[1], generation), ErrorCode::RebalanceInProgress);
    world.coordinator.connection_closed(world.now, leader.connection);
    world.pass_ms(9_900);
    let follower = world.join(&join_of(&ids[1]));
    assert_eq!(world.joined(follower).leader, ids[0], "it still counts as joined");
}

#[test]
fn a_member_that_reconnects_and_joins_again_is_answered_on_its_new_connection() {
    let mut world = World::new();
    let id = world.member_id();
    let first = world.join(&join_of(&id));
    world.coordinator.connection_closed(world.now, first.connection);
    let second = world.join(&join_of(&id));
    world.pass_ms(3_000);
    assert_eq!(world.joined(second).error, ErrorCode::None);
    assert!(world.waits(first));
}
