//! API 11, JoinGroup: enters a classic group or stays in it across a rebalance.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks to join a group, with the assignment protocols that the member can speak.
    pub struct JoinGroupRequest<'a>: versions 0..=9, flexible 6.. {
        group_id: &'a str => 0..;
        session_timeout_ms: i32 => 0..;
        rebalance_timeout_ms: i32 = -1 => 1..;
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 5..;
        protocol_type: &'a str => 0..;
        protocols: Vec<JoinGroupRequestProtocol<'a>> => 0..;
        reason: Option<&'a str> => 8..;
    }

    /// An assignment protocol that the member can speak, with its opaque subscription.
    pub struct JoinGroupRequestProtocol<'a> {
        name: &'a str => 0..;
        metadata: &'a [u8] => 0..;
    }

    /// The new generation; its leader also gets all members.
    pub struct JoinGroupResponse<'a>: versions 0..=9, flexible 6.. {
        throttle_time_ms: i32 => 2..;
        error_code: i16 => 0..;
        generation_id: i32 = -1 => 0..;
        protocol_type: Option<&'a str> => 7..;
        protocol_name: Option<&'a str> = Some("") => 0.., nullable 7..;
        leader: &'a str => 0..;
        skip_assignment: bool => 9..;
        member_id: &'a str => 0..;
        members: Vec<JoinGroupResponseMember<'a>> => 0..;
    }

    /// One member with its subscription, for the leader.
    pub struct JoinGroupResponseMember<'a> {
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 5..;
        metadata: &'a [u8] => 0..;
    }
}
