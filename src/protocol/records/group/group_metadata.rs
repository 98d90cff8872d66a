//! Records of `__consumer_offsets` about classic groups.
//!
//! It must not know what replaying them does.

use crate::protocol::declare::{NEVER, messages};

messages! {
    /// Names a classic group.
    pub struct GroupMetadataKey<'a>: versions 0..=0, flexible NEVER.. {
        group: &'a str => 0..;
    }

    /// A generation of a classic group with its members.
    pub struct GroupMetadataValue<'a>: versions 0..=4, flexible 4.. {
        protocol_type: &'a str => 0..;
        generation: i32 => 0..;
        protocol: Option<&'a str> = Some("") => 0..;
        leader: Option<&'a str> = Some("") => 0..;
        current_state_timestamp: i64 = -1 => 2..;
        members: Vec<MemberMetadata<'a>> => 0..;
    }

    /// One member of a generation.
    pub struct MemberMetadata<'a> {
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 3..;
        client_id: &'a str => 0..;
        client_host: &'a str => 0..;
        rebalance_timeout: i32 = -1 => 1..;
        session_timeout: i32 => 0..;
        subscription: &'a [u8] => 0..;
        assignment: &'a [u8] => 0..;
    }
}
