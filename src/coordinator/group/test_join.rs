//! Tests of JoinGroup and the join phase.
//!
//! It must not know how the coordinator is made inside.

use std::sync::Arc;

use crate::coordinator::group::test_world::{GROUP, READS_T, World, join_of};
use crate::coordinator::group::{GroupSettings, GroupState, JoinProtocol, JoinRequest};
use crate::error_code::ErrorCode;
use crate::types::Ticket;

fn refusal(world: &mut World, request: &JoinRequest<'_>) -> ErrorCode {
    let ticket = world.join(request);
    world.joined(ticket).error
}

fn protocols<'a>(names: &[&'a str]) -> Vec<JoinProtocol<'a>> {
    names.iter().map(|name| JoinProtocol { name, metadata: READS_T }).collect()
}

/// Members join a new group with these protocols; returns which one was chosen.
fn chosen(preferences: &[&[&str]]) -> Arc<str> {
    let mut world = World::new();
    let ids: Vec<Arc<str>> = preferences.iter().map(|_| world.member_id()).collect();
    let tickets: Vec<Ticket> = ids
        .iter()
        .zip(preferences)
        .map(|(id, names)| world.join(&JoinRequest { protocols: protocols(names), ..join_of(id) }))
        .collect();
    world.pass_ms(6_000);
    world.joined(tickets[0]).protocol_name.unwrap()
}

#[test]
fn a_single_member_joins_syncs_beats_commits_and_fetches() {
    let mut world = World::new();
    let id = world.member_id();
    assert!(id.starts_with("client-"));
    let join = world.join(&join_of(&id));
    world.pass_ms(2_999);
    assert!(world.waits(join));
    world.pass_ms(1);
    let joined = world.joined(join);
    assert_eq!((joined.error, joined.generation), (ErrorCode::None, 1));
    assert_eq!((&joined.leader, &joined.member_id), (&id, &id));
    assert_eq!((joined.protocol_name.as_deref(), joined.protocol_type.as_deref()), (Some("range"), Some("consumer")));
    assert_eq!((joined.members.len(), &joined.members[0].metadata[..]), (1, READS_T));
    assert_eq!(world.coordinator.state(GROUP), GroupState::CompletingRebalance);

    let sync = world.sync(&id, 1, vec![(&id, b"all")]);
    assert_eq!(&world.synced(sync).assignment[..], b"all");
    assert_eq!(world.coordinator.state(GROUP), GroupState::Stable);
    assert_eq!(world.heartbeat(&id, 1), ErrorCode::None);
    assert_eq!(world.commit(GROUP, &id, 1, 42), ErrorCode::None);
    assert_eq!(world.fetch(GROUP), 42);
}

#[test]
fn a_join_that_can_never_succeed_is_refused_at_once_and_leaves_no_group() {
    let mut world = World::new();
    let cases = [
        (JoinRequest { group_id: "", ..join_of("") }, ErrorCode::InvalidGroupId),
        (JoinRequest { session_timeout_ms: 5_999, ..join_of("") }, ErrorCode::InvalidSessionTimeout),
        (JoinRequest { session_timeout_ms: 1_800_001, ..join_of("") }, ErrorCode::InvalidSessionTimeout),
        (join_of("made-up"), ErrorCode::UnknownMemberId),
        (JoinRequest { protocols: Vec::new(), ..join_of("") }, ErrorCode::InconsistentGroupProtocol),
        (JoinRequest { protocol_type: "", ..join_of("") }, ErrorCode::InconsistentGroupProtocol),
    ];
    for (request, error) in cases {
        assert_eq!(refusal(&mut world, &request), error);
        assert_eq!(world.coordinator.state(GROUP), GroupState::Dead);
    }
}

#[test]
fn a_member_that_shares_no_protocol_with_the_group_stays_out() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(1);
    let other_protocol = JoinRequest { protocols: protocols(&["sticky"]), ..join_of("") };
    assert_eq!(refusal(&mut world, &other_protocol), ErrorCode::InconsistentGroupProtocol);
    let other_type = JoinRequest { protocol_type: "connect", ..join_of("") };
    assert_eq!(refusal(&mut world, &other_type), ErrorCode::InconsistentGroupProtocol);
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::None);
}

#[test]
fn a_client_that_does_not_come_back_with_its_id_is_forgotten_after_its_session_timeout() {
    let mut world = World::new();
    let id = world.member_id();
    world.pass_ms(9_999);
    let early = world.join(&join_of(&id));
    assert!(world.waits(early));
    let late_id = world.member_id();
    world.pass_ms(10_000);
    assert_eq!(refusal(&mut world, &join_of(&late_id)), ErrorCode::UnknownMemberId);
}

#[test]
fn a_client_that_does_not_come_back_does_not_cut_the_first_rebalance_short() {
    let settings = GroupSettings { initial_rebalance_delay_ms: 12_000, ..GroupSettings::default() };
    let mut world = World::with(settings);
    world.member_id();
    world.pass_ms(1_000);
    let join =
        world.join(&JoinRequest { requires_known_member_id: false, rebalance_timeout_ms: 60_000, ..join_of("") });
    world.pass_ms(11_000);
    assert!(world.waits(join), "the pending member's time was over after 10 s, the first round is after 13");
    world.pass_ms(1_000);
    assert_eq!(world.joined(join).generation, 1);
}

#[test]
fn an_old_client_needs_no_member_id_to_join() {
    let mut world = World::new();
    let join = world.join(&JoinRequest { requires_known_member_id: false, ..join_of("") });
    assert!(world.waits(join));
    world.pass_ms(3_000);
    assert_eq!(world.joined(join).generation, 1);
}

#[test]
fn the_first_rebalance_waits_in_rounds_as_long_as_members_come_but_no_longer_than_they_bear() {
    let mut world = World::new();
    let request = JoinRequest { requires_known_member_id: false, rebalance_timeout_ms: 7_000, ..join_of("") };
    let first = world.join(&request);
    world.pass_ms(2_000);
    world.join(&request);
    world.pass_ms(3_000);
    assert!(world.waits(first), "a second member came within the first round");
    world.join(&request);
    world.pass_ms(1_500);
    assert!(world.waits(first), "a third came within the second round");
    world.join(&request);
    world.pass_ms(499);
    assert!(world.waits(first));
    world.pass_ms(1);
    assert_eq!(world.joined(first).members.len(), 4, "7 seconds are the most that the members bear");
}

#[test]
fn only_the_leader_learns_who_the_members_are() {
    let mut world = World::new();
    let ids = [world.member_id(), world.member_id()];
    let tickets = ids.clone().map(|id| world.join(&join_of(&id)));
    world.pass_ms(6_000);
    let (leader, follower) = (world.joined(tickets[0]), world.joined(tickets[1]));
    assert_eq!((&leader.leader, &follower.leader), (&ids[0], &ids[0]));
    assert_eq!((leader.members.len(), follower.members.len()), (2, 0));
}

#[test]
fn the_protocol_is_the_one_most_like_best_among_those_that_all_support() {
    assert_eq!(&*chosen(&[&["a", "b"], &["b", "a"], &["b", "a"]]), "b");
    assert_eq!(&*chosen(&[&["a", "b"], &["c", "b"], &["c", "b", "a"]]), "b");
    assert_eq!(&*chosen(&[&["b", "a"], &["a", "b"]]), "b", "of equals the leader's favourite");
}

#[test]
fn a_protocol_that_a_member_names_twice_counts_once() {
    assert_eq!(&*chosen(&[&["a", "a", "b"], &["b"]]), "b");
    assert_eq!(&*chosen(&[&["a", "a"]]), "a");
}

#[test]
fn a_member_that_does_not_rejoin_in_time_is_dropped_and_a_new_leader_found() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(3);
    let changed = [JoinProtocol { name: "range", metadata: b"changed" }];
    let second = world.join(&JoinRequest { protocols: changed.to_vec(), ..join_of(&ids[1]) });
    assert_eq!(world.coordinator.state(GROUP), GroupState::PreparingRebalance);
    for _ in 0..7 {
        assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::RebalanceInProgress);
        assert_eq!(world.heartbeat(&ids[2], generation), ErrorCode::RebalanceInProgress);
        world.pass_ms(8_500);
    }
    assert!(world.waits(second));
    world.pass_ms(500);
    let joined = world.joined(second);
    assert_eq!((joined.generation, &joined.leader, joined.members.len()), (generation + 1, &ids[1], 1));
    assert_eq!(world.heartbeat(&ids[0], generation), ErrorCode::UnknownMemberId);
}

#[test]
fn in_a_stable_group_an_unchanged_follower_is_answered_at_once_and_a_leader_makes_all_rejoin() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(2);
    let follower = world.join(&join_of(&ids[1]));
    assert_eq!(world.joined(follower).generation, generation);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Stable);

    let leader = world.join(&join_of(&ids[0]));
    assert!(world.waits(leader));
    assert_eq!(world.heartbeat(&ids[1], generation), ErrorCode::RebalanceInProgress);
    let follower = world.join(&join_of(&ids[1]));
    assert_eq!(world.joined(leader).generation, generation + 1);
    assert_eq!(world.joined(follower).generation, generation + 1);
}

#[test]
fn a_member_that_lost_its_answer_gets_it_again_while_the_assignment_is_awaited() {
    let mut world = World::new();
    let id = world.member_id();
    let first = world.join(&join_of(&id));
    world.pass_ms(3_000);
    let again = world.join(&join_of(&id));
    assert_eq!(world.joined(first), world.joined(again));
    let changed = JoinRequest { protocols: protocols(&["range", "sticky"]), ..join_of(&id) };
    let changed = world.join(&changed);
    assert_eq!(world.joined(changed).generation, 2);
}

#[test]
fn a_second_join_of_the_same_member_takes_the_place_of_the_first() {
    let mut world = World::new();
    let id = world.member_id();
    let first = world.join(&join_of(&id));
    let second = world.join(&join_of(&id));
    assert_eq!(world.joined(first).error, ErrorCode::RebalanceInProgress);
    world.pass_ms(3_000);
    assert_eq!(world.joined(second).error, ErrorCode::None);
}

#[test]
fn a_full_group_takes_nobody_else() {
    let mut world = World::with(GroupSettings { members_max: 2, ..GroupSettings::default() });
    let (ids, _) = world.stable_group(2);
    assert_eq!(refusal(&mut world, &join_of("")), ErrorCode::GroupMaxSizeReached);
    let leader = world.join(&join_of(&ids[0]));
    let pending = world.member_id();
    let follower = world.join(&join_of(&ids[1]));
    assert!(world.waits(leader), "somebody else may still come");
    assert_eq!(refusal(&mut world, &join_of(&pending)), ErrorCode::GroupMaxSizeReached);
    world.pass_ms(60_000);
    assert_eq!((world.joined(leader).error, world.joined(follower).error), (ErrorCode::None, ErrorCode::None));
}

#[test]
fn members_that_never_come_back_are_bounded() {
    let mut world = World::with(GroupSettings { pending_members_max: 3, ..GroupSettings::default() });
    for _ in 0..3 {
        world.member_id();
    }
    assert_eq!(refusal(&mut world, &join_of("")), ErrorCode::GroupMaxSizeReached);
    world.pass_ms(10_000);
    world.member_id();
}

#[test]
fn without_an_initial_delay_the_first_generation_begins_in_the_same_moment() {
    let mut world = World::with(GroupSettings { initial_rebalance_delay_ms: 0, ..GroupSettings::default() });
    let join = world.join(&JoinRequest { requires_known_member_id: false, ..join_of("") });
    world.pass_ms(0);
    assert_eq!(world.joined(join).generation, 1);
}

#[test]
fn a_new_member_whose_first_join_waits_too_long_is_given_up() {
    let mut world = World::new();
    let patient = JoinRequest {
        session_timeout_ms: 1_000_000,
        rebalance_timeout_ms: 1_000_000,
        requires_known_member_id: false,
        ..join_of("")
    };
    let first = world.join(&patient);
    world.pass_ms(3_000);
    let first = world.joined(first);
    world.assign(std::slice::from_ref(&first.member_id), 1);
    let second = world.join(&patient);
    world.pass_ms(299_999);
    assert!(world.waits(second), "the first member has not rejoined");
    world.pass_ms(1);
    assert_eq!(world.joined(second).error, ErrorCode::UnknownMemberId);
}

#[test]
fn a_group_whose_first_record_cannot_be_written_never_was() {
    let mut world = World::new();
    world.holds_appends = true;
    let join = world.join(&JoinRequest { requires_known_member_id: false, ..join_of("") });
    world.fail(ErrorCode::NotEnoughReplicas);
    assert_eq!(world.joined(join).error, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Dead);
    world.pass_ms(400_000);
}

#[test]
fn a_join_whose_group_is_not_on_the_disk_in_time_is_told_so_and_the_group_goes_when_its_record_fails() {
    let mut world = World::new();
    world.holds_appends = true;
    let join = world.join(&JoinRequest { requires_known_member_id: false, ..join_of("") });
    world.be_late();
    assert_eq!(world.joined(join).error, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(world.coordinator.state(GROUP), GroupState::PreparingRebalance);
    world.fail(ErrorCode::NotEnoughReplicas);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Dead);
    world.pass_ms(400_000);
    assert!(world.answers.is_empty(), "nobody is answered twice");
}
