//! Tests of JoinGroup and the join phase.
//!
//! It must not know how the coordinator is made inside.

use crate::coordinator::group::test_world::{GROUP, World, join_of};
use crate::coordinator::group::{GroupState, JoinAnswer};
use crate::error_code::ErrorCode;

#[test]
fn a_single_member_joins_syncs_beats_commits_and_fetches() {
    let mut world = World::new();
    let id = world.member_id();
    assert!(id.starts_with("client-"));
    let join = world.join(&join_of(&id));
    world.pass_ms(2_999);
    assert!(world.waits(join));
    world.pass_ms(1);
    let joined: JoinAnswer = world.joined(join);
    assert_eq!((joined.error, joined.generation), (ErrorCode::None, 1));
    assert_eq!((&joined.leader, &joined.member_id), (&id, &id));
    assert_eq!((joined.protocol_name.as_deref(), joined.protocol_type.as_deref()), (Some("range"), Some("consumer")));
    assert_eq!(joined.members.len(), 1);
    assert_eq!(world.coordinator.state(GROUP), GroupState::CompletingRebalance);

    let sync = world.sync(&id, 1, vec![(&id, b"all")]);
    assert_eq!(&world.synced(sync).assignment[..], b"all");
    assert_eq!(world.coordinator.state(GROUP), GroupState::Stable);
    assert_eq!(world.heartbeat(&id, 1), ErrorCode::None);
    assert_eq!(world.commit(GROUP, &id, 1, 42), ErrorCode::None);
    assert_eq!(world.fetch(GROUP), 42);
}
