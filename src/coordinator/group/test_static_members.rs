//! Tests of static membership (KIP-345, KIP-814).
//!
//! It must not know how the coordinator is made inside.

use std::sync::Arc;

use crate::coordinator::group::test_world::{GROUP, READS_T, World, commit_of, join_of, static_join_of};
use crate::coordinator::group::{
    CommitRequest, GroupAnswer, GroupState, HeartbeatRequest, JoinProtocol, JoinRequest, SyncRequest,
};
use crate::error_code::ErrorCode;

/// A stable group of static members; the first leads.
fn stable(world: &mut World, instances: &[&str]) -> (Vec<Arc<str>>, i32) {
    let tickets: Vec<_> = instances.iter().map(|instance| world.join(&static_join_of(instance))).collect();
    world.pass_ms(6_000);
    let joined: Vec<_> = tickets.into_iter().map(|ticket| world.joined(ticket)).collect();
    let ids: Vec<Arc<str>> = joined.iter().map(|answer| answer.member_id.clone()).collect();
    world.assign(&ids, joined[0].generation);
    (ids, joined[0].generation)
}

#[test]
fn a_static_member_needs_no_second_join_to_get_its_id() {
    let mut world = World::new();
    let (ids, _) = stable(&mut world, &["i1"]);
    assert!(ids[0].starts_with("i1-"));
}

#[test]
fn a_static_member_that_restarts_keeps_its_assignment_and_nobody_rebalances() {
    let mut world = World::new();
    let (ids, generation) = stable(&mut world, &["i1", "i2"]);
    world.holds_appends = true;
    let restarted = JoinRequest { session_timeout_ms: 20_000, client_id: "renamed", ..static_join_of("i2") };
    let join = world.join(&restarted);
    assert!(world.waits(join), "the new id must be durable first");
    world.release();
    let joined = world.joined(join);
    assert_eq!((joined.error, joined.generation, &joined.leader), (ErrorCode::None, generation, &ids[0]));
    assert_eq!((joined.skip_assignment, joined.members.len()), (false, 0));
    assert_ne!(joined.member_id, ids[1]);
    let sync = world.sync(&joined.member_id, generation, Vec::new());
    assert_eq!(&world.synced(sync).assignment[..], [1]);
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::None);
    assert_eq!(world.heartbeat(&ids[1], generation), ErrorCode::UnknownMemberId);

    let metadata = &world.coordinator.durable().groups()[GROUP];
    let member = metadata.members.iter().find(|member| member.member_id == joined.member_id).unwrap();
    assert_eq!((&*member.client_id, member.session_timeout_ms), ("client", 20_000));
}

#[test]
fn a_leader_that_restarts_is_told_to_skip_the_assignment_or_that_another_leads() {
    let mut world = World::new();
    let (ids, generation) = stable(&mut world, &["i1", "i2"]);
    let join = world.join(&static_join_of("i1"));
    let joined = world.joined(join);
    assert_eq!((joined.generation, joined.skip_assignment, joined.members.len()), (generation, true, 2));
    assert_eq!(joined.leader, joined.member_id);

    let old_client = JoinRequest { supports_skipping_assignment: false, ..static_join_of("i1") };
    let second = world.join(&old_client);
    let second = world.joined(second);
    assert_eq!((second.skip_assignment, second.members.len()), (false, 0));
    assert_eq!(second.leader, joined.member_id, "its former self");
    assert_ne!(second.leader, ids[0]);
}

#[test]
fn the_former_self_of_a_restarted_member_is_fenced_everywhere() {
    let mut world = World::new();
    let (ids, generation) = stable(&mut world, &["i1"]);
    world.join(&static_join_of("i1"));
    let instance = Some("i1");
    let ticket = world.ticket();
    let request = HeartbeatRequest { group_id: GROUP, generation, member_id: &ids[0], group_instance_id: instance };
    let result = world.coordinator.handle_heartbeat(world.now, ticket, &request);
    assert_eq!(result.answers, [(ticket, GroupAnswer::Heartbeat(ErrorCode::FencedInstanceId))]);

    let request = SyncRequest {
        group_id: GROUP,
        generation,
        member_id: &ids[0],
        group_instance_id: instance,
        protocol_type: None,
        protocol_name: None,
        assignments: Vec::new(),
    };
    let result = world.coordinator.handle_sync(world.now, ticket, &request);
    world.settle(result);
    assert_eq!(world.synced(ticket).error, ErrorCode::FencedInstanceId);

    let request = CommitRequest { group_instance_id: instance, ..commit_of(GROUP, &ids[0], generation, 1) };
    let result = world.coordinator.handle_commit(world.now, ticket, &request);
    world.settle(result);
    assert_eq!(world.committed(ticket), ErrorCode::FencedInstanceId);

    let join = world.join(&JoinRequest { group_instance_id: instance, ..join_of(&ids[0]) });
    assert_eq!(world.joined(join).error, ErrorCode::FencedInstanceId);
    assert_eq!(world.leave(&[(&ids[0], instance)]), [ErrorCode::FencedInstanceId]);
    let join = world.join(&JoinRequest { group_instance_id: Some("other"), ..join_of(&ids[0]) });
    assert_eq!(world.joined(join).error, ErrorCode::UnknownMemberId);
}

#[test]
fn what_the_former_self_has_parked_is_fenced_when_the_member_restarts() {
    let mut world = World::new();
    let first = world.join(&static_join_of("i1"));
    let second = world.join(&static_join_of("i1"));
    assert_eq!(world.joined(first).error, ErrorCode::FencedInstanceId);
    world.pass_ms(3_000);
    let joined = world.joined(second);
    assert_eq!((joined.error, joined.members.len()), (ErrorCode::None, 1));
    assert_eq!(joined.leader, joined.member_id);
}

#[test]
fn a_restart_that_cannot_be_written_brings_the_former_self_back() {
    let mut world = World::new();
    let (ids, generation) = stable(&mut world, &["i1", "i2"]);
    world.holds_appends = true;
    let join = world.join(&JoinRequest { session_timeout_ms: 20_000, ..static_join_of("i1") });
    world.fail(ErrorCode::NotEnoughReplicasAfterAppend);
    assert_eq!(world.joined(join).error, ErrorCode::CoordinatorNotAvailable);
    world.pass_ms(9_000);
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::None);
    assert_eq!(world.heartbeat(&ids[1], generation), ErrorCode::None);
    let leader = world.join(&JoinRequest { group_instance_id: Some("i1"), ..join_of(&ids[0]) });
    assert!(world.waits(leader), "it leads again, so its join starts a rebalance");
}

#[test]
fn a_restart_whose_record_is_late_brings_the_former_self_back_until_the_next_try() {
    let mut world = World::new();
    let (ids, generation) = stable(&mut world, &["i1", "i2"]);
    world.holds_appends = true;
    let late = world.join(&static_join_of("i2"));
    world.be_late();
    assert_eq!(world.joined(late).error, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(world.heartbeat(&ids[1], generation), ErrorCode::None);
    let again = world.join(&static_join_of("i2"));
    world.holds_appends = false;
    world.release();
    let joined = world.joined(again);
    assert_eq!((joined.error, joined.generation), (ErrorCode::None, generation));
    assert_eq!(world.heartbeat(&joined.member_id, generation), ErrorCode::None);
    let members = &world.coordinator.durable().groups()[GROUP].members;
    assert!(members.iter().any(|member| member.member_id == joined.member_id));
}

#[test]
fn a_restart_that_a_rebalance_overtakes_on_its_way_to_the_disk_is_answered_by_the_rebalance() {
    let mut world = World::new();
    let (ids, generation) = stable(&mut world, &["i1", "i2", "i3"]);
    let rejoin = |instance, id| JoinRequest { group_instance_id: Some(instance), ..join_of(id) };
    for fails in [false, true] {
        let offset = i32::from(fails);
        world.holds_appends = true;
        let restarted = world.join(&static_join_of("i3"));
        let first = world.join(&rejoin("i1", &ids[0]));
        if fails {
            world.fail(ErrorCode::NotEnoughReplicas);
        } else {
            world.release();
        }
        world.holds_appends = false;
        assert!(world.waits(restarted));
        let second = world.join(&rejoin("i2", &ids[1]));
        let joined = [first, second, restarted].map(|ticket| world.joined(ticket));
        assert!(joined.iter().all(|answer| answer.generation == generation + 1 + offset));
        world.assign(&joined.map(|answer| answer.member_id), generation + 1 + offset);
    }
}

#[test]
fn a_member_that_restarts_before_it_has_synced_is_still_to_sync_under_its_new_id_only() {
    let mut world = World::new();
    let tickets = ["i1", "i2"].map(|instance| world.join(&static_join_of(instance)));
    world.pass_ms(6_000);
    let [first, second] = tickets.map(|ticket| world.joined(ticket).member_id);
    let lead = world.sync(&first, 1, vec![(&second, b"S")]);
    assert_eq!(world.synced(lead).error, ErrorCode::None);
    let restarted = world.join(&static_join_of("i2"));
    let restarted = world.joined(restarted).member_id;
    let sync = world.sync(&restarted, 1, Vec::new());
    assert_eq!(&world.synced(sync).assignment[..], b"S");
    for _ in 0..10 {
        world.pass_ms(9_000);
        assert_eq!((world.heartbeat(&first, 1), world.heartbeat(&restarted, 1)), (ErrorCode::None, ErrorCode::None));
    }
}

#[test]
fn a_restart_that_changes_the_choice_of_protocol_makes_all_rejoin() {
    let mut world = World::new();
    let both = |names: [&'static str; 2]| names.map(|name| JoinProtocol { name, metadata: READS_T }).to_vec();
    let tickets = ["i1", "i2"]
        .map(|instance| world.join(&JoinRequest { protocols: both(["a", "b"]), ..static_join_of(instance) }));
    world.pass_ms(6_000);
    let joined = tickets.map(|ticket| world.joined(ticket));
    world.assign(&joined.clone().map(|answer| answer.member_id), 1);
    let only = vec![JoinProtocol { name: "b", metadata: READS_T }];
    let restarted = world.join(&JoinRequest { protocols: only, ..static_join_of("i2") });
    assert!(world.waits(restarted));
    assert_eq!(world.heartbeat(&joined[0].member_id, 1), ErrorCode::RebalanceInProgress);
    let request =
        JoinRequest { protocols: both(["a", "b"]), group_instance_id: Some("i1"), ..join_of(&joined[0].member_id) };
    world.join(&request);
    assert_eq!(world.joined(restarted).protocol_name.as_deref(), Some("b"));
}

#[test]
fn a_restart_while_the_assignment_is_awaited_starts_a_rebalance() {
    let mut world = World::new();
    let tickets = ["i1", "i2"].map(|instance| world.join(&static_join_of(instance)));
    world.pass_ms(6_000);
    let [first, _] = tickets.map(|ticket| world.joined(ticket));
    let restarted = world.join(&static_join_of("i2"));
    assert!(world.waits(restarted));
    let lead = world.sync(&first.member_id, 1, Vec::new());
    assert_eq!(world.synced(lead).error, ErrorCode::RebalanceInProgress);
    world.join(&JoinRequest { group_instance_id: Some("i1"), ..join_of(&first.member_id) });
    assert_eq!(world.joined(restarted).generation, 2);
}

#[test]
fn a_rebalance_waits_for_a_static_member_until_its_session_ends_and_then_goes_on_without_it() {
    let mut world = World::new();
    let (ids, generation) = stable(&mut world, &["i1", "i2"]);
    let patient = JoinRequest { session_timeout_ms: 1_000_000, ..static_join_of("i3") };
    let third = world.join(&patient);
    world.pass_ms(9_000);
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::RebalanceInProgress);
    let first = world.join(&JoinRequest { group_instance_id: Some("i1"), ..join_of(&ids[0]) });
    assert!(world.waits(third));
    world.pass_ms(1_000);
    assert_eq!(world.joined(first).members.len(), 2, "the silent one is gone");
    assert_eq!(world.joined(third).generation, generation + 1);
}

#[test]
fn an_administrator_removes_a_static_member_by_its_instance_id() {
    let mut world = World::new();
    let (ids, generation) = stable(&mut world, &["i1", "i2"]);
    assert_eq!(world.leave(&[("", Some("i2")), ("", Some("i9"))]), [ErrorCode::None, ErrorCode::UnknownMemberId]);
    assert_eq!(world.heartbeat(&ids[1], generation), ErrorCode::UnknownMemberId);
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::RebalanceInProgress);
}

#[test]
fn a_static_member_survives_a_restart_of_the_broker() {
    let mut world = World::new();
    let (ids, generation) = stable(&mut world, &["i1", "i2"]);
    world.restart();
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::None);
    let join = world.join(&static_join_of("i2"));
    assert_eq!(world.joined(join).generation, generation);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Stable);
}
