//! Tests of what a restart keeps, what it may lose, and of giving a coordinator up.
//!
//! It must not know how the coordinator is made inside.

use crate::coordinator::group::test_world::{GROUP, World, join_of};
use crate::coordinator::group::{GroupSettings, GroupState};
use crate::error_code::ErrorCode;

#[test]
fn a_stable_group_goes_on_after_a_restart_as_if_nothing_had_been() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(3);
    world.commit(GROUP, &ids[0], generation, 42);
    let before = world.coordinator.describe_group(GROUP);
    world.restart();
    assert_eq!(world.coordinator.describe_group(GROUP), before);
    assert!(ids.iter().all(|id| world.heartbeat(id, generation) == ErrorCode::None));
    assert_eq!(world.fetch(GROUP), 42);
    let sync = world.sync(&ids[2], generation, Vec::new());
    assert_eq!(&world.synced(sync).assignment[..], [2]);
    world.pass_ms(9_999);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Stable);
    world.pass_ms(1);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Empty, "nobody has been heard of for a whole session");
}

#[test]
fn a_rebalance_that_a_restart_cuts_off_is_begun_again_by_the_members() {
    let mut world = World::new();
    let (ids, generation) = world.stable_group(2);
    let leader = world.join(&join_of(&ids[0]));
    let follower = world.join(&join_of(&ids[1]));
    assert_eq!(world.joined(leader).generation, generation + 1);
    assert_eq!(world.joined(follower).generation, generation + 1);
    world.restart();
    let sync = world.sync(&ids[0], generation + 1, vec![(&ids[0], b"L")]);
    assert_eq!(world.synced(sync).error, ErrorCode::IllegalGeneration);
    assert_eq!(
        world.heartbeat(&ids[1], generation),
        ErrorCode::None,
        "the former generation is the last that is durable"
    );
}

#[test]
fn a_group_that_only_ever_had_pending_members_is_empty_after_a_restart() {
    let mut world = World::new();
    let id = world.member_id();
    world.restart();
    assert_eq!(world.coordinator.state(GROUP), GroupState::Empty);
    let join = world.join(&join_of(&id));
    assert_eq!(world.joined(join).error, ErrorCode::UnknownMemberId);
}

#[test]
fn a_group_that_is_larger_than_it_may_be_rebalances_after_a_restart() {
    let mut world = World::new();
    let (ids, _) = world.stable_group(3);
    world.coordinator.settings = GroupSettings { members_max: 2, ..GroupSettings::default() };
    world.restart();
    assert_eq!(world.coordinator.state(GROUP), GroupState::PreparingRebalance);
    let [first, second, third] = [0, 1, 2].map(|index| world.join(&join_of(&ids[index])));
    assert_eq!(world.joined(third).error, ErrorCode::GroupMaxSizeReached);
    world.pass_ms(60_000);
    assert_eq!((world.joined(first).error, world.joined(second).error), (ErrorCode::None, ErrorCode::None));
}

#[test]
fn whoever_waits_when_the_coordinator_is_given_up_is_sent_to_look_for_another() {
    let mut world = World::new();
    let (ids, _) = world.stable_group(2);
    let join = world.join(&join_of(&ids[0]));
    let result = world.coordinator.unload(world.now);
    world.settle(result);
    assert_eq!(world.joined(join).error, ErrorCode::NotCoordinator);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Dead);
}
