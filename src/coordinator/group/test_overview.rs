//! Tests of listing, describing and deleting groups.
//!
//! It must not know how the coordinator is made inside.

use std::sync::Arc;

use crate::coordinator::group::test_world::{GROUP, READS_T, World, join_of};
use crate::coordinator::group::{GroupAnswer, GroupState};
use crate::error_code::ErrorCode;

fn listed(world: &World, states: &[&str], types: &[&str]) -> Vec<Arc<str>> {
    world.coordinator.list_groups(states, types).into_iter().map(|group| group.group_id).collect()
}

fn delete(world: &mut World, group_ids: &[&str]) -> Vec<(Arc<str>, ErrorCode)> {
    let ticket = world.ticket();
    let result = world.coordinator.handle_delete_groups(ticket, group_ids);
    world.settle(result);
    match world.answers.remove(&ticket) {
        Some(GroupAnswer::DeleteGroups(answer)) => answer.groups,
        other => panic!("{other:?}"),
    }
}

#[test]
fn groups_are_listed_by_id_and_filtered_by_state_and_type_whatever_the_case() {
    let mut world = World::new();
    world.stable_group(1);
    world.commit("simple", "", -1, 1);
    let all = world.coordinator.list_groups(&[], &[]);
    let seen: Vec<_> =
        all.iter().map(|group| (&*group.group_id, &*group.protocol_type, group.state, group.group_type)).collect();
    assert_eq!(seen, [(GROUP, "consumer", "Stable", "classic"), ("simple", "", "Empty", "classic")]);
    assert_eq!(listed(&world, &["stable", "Dead"], &[]), [Arc::from(GROUP)]);
    assert_eq!(listed(&world, &["EMPTY"], &["Classic"]), [Arc::from("simple")]);
    assert!(listed(&world, &[], &["consumer"]).is_empty());
}

#[test]
fn a_group_is_described_with_metadata_only_while_it_is_stable() {
    let mut world = World::new();
    let missing = world.coordinator.describe_group(GROUP);
    assert_eq!((missing.error, missing.state), (ErrorCode::GroupIdNotFound, "Dead"));
    let (ids, _) = world.stable_group(2);
    let stable = world.coordinator.describe_group(GROUP);
    assert_eq!((stable.state, &*stable.protocol_type, &*stable.protocol), ("Stable", "consumer", "range"));
    let described = &stable.members[1];
    assert_eq!((&described.member_id, &*described.client_id), (&ids[1], "client"));
    assert_eq!(
        (&*described.client_host, &described.metadata[..], &described.assignment[..]),
        ("/127.0.0.1", READS_T, &[1][..])
    );

    world.join(&join_of(&ids[0]));
    let preparing = world.coordinator.describe_group(GROUP);
    assert_eq!((preparing.state, &*preparing.protocol), ("PreparingRebalance", ""));
    let described = &preparing.members[1];
    assert_eq!(
        (&described.metadata[..], &described.assignment[..]),
        (&b""[..], &[1][..]),
        "the assignment is the last one"
    );
}

#[test]
fn only_groups_without_members_are_deleted_and_their_offsets_with_them() {
    let mut world = World::new();
    world.stable_group(1);
    world.commit("simple", "", -1, 1);
    world.commit("", "", -1, 1);
    let deleted = delete(&mut world, &[GROUP, "nobody", "simple", "", "simple"]);
    let errors: Vec<_> = deleted.iter().map(|(group_id, error)| (&**group_id, *error)).collect();
    let expected = [
        (GROUP, ErrorCode::NonEmptyGroup),
        ("nobody", ErrorCode::GroupIdNotFound),
        ("simple", ErrorCode::None),
        ("", ErrorCode::None),
    ];
    assert_eq!(errors, expected);
    assert_eq!((world.fetch("simple"), world.coordinator.state("simple")), (-1, GroupState::Dead));
    assert_eq!(world.coordinator.state(GROUP), GroupState::Stable);
}

#[test]
fn a_group_is_deleted_although_somebody_was_given_an_id_who_then_has_to_begin_anew() {
    let mut world = World::new();
    let id = world.member_id();
    assert_eq!(world.coordinator.state(GROUP), GroupState::Empty);
    assert_eq!(delete(&mut world, &[GROUP]), [(Arc::from(GROUP), ErrorCode::None)]);
    assert_eq!(world.coordinator.state(GROUP), GroupState::Dead);
    assert!(listed(&world, &[], &[]).is_empty());
    let late = world.join(&join_of(&id));
    assert_eq!(world.joined(late).error, ErrorCode::UnknownMemberId);
    world.pass_ms(10_000);
    let id = world.member_id();
    let join = world.join(&join_of(&id));
    assert!(world.waits(join), "the session of the forgotten id ends nothing");
}

#[test]
fn a_group_that_somebody_joins_while_its_deletion_is_on_its_way_goes_on() {
    let mut world = World::new();
    let (ids, _) = world.stable_group(1);
    world.leave(&[(&ids[0], None)]);
    world.commit(GROUP, "", -1, 1);
    world.holds_appends = true;
    let ticket = world.ticket();
    let result = world.coordinator.handle_delete_groups(ticket, &[GROUP]);
    world.settle(result);
    let id = world.member_id();
    let join = world.join(&join_of(&id));
    world.release();
    world.holds_appends = false;
    assert_eq!(world.fetch(GROUP), -1);
    world.pass_ms(3_000);
    let joined = world.joined(join);
    assert_eq!(joined.error, ErrorCode::None);
    world.assign(&[id], joined.generation);
    assert_eq!(world.coordinator.durable().groups()[GROUP].generation, joined.generation);
}
