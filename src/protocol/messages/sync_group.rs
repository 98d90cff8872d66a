//! API 14, SyncGroup: hands the assignment of a classic group from its leader to its members.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks for the member's assignment; the leader also brings everyone's.
    pub struct SyncGroupRequest<'a>: versions 0..=5, flexible 4.. {
        group_id: &'a str => 0..;
        generation_id: i32 => 0..;
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 3..;
        protocol_type: Option<&'a str> => 5..;
        protocol_name: Option<&'a str> => 5..;
        assignments: Vec<SyncGroupRequestAssignment<'a>> => 0..;
    }

    /// One member's assignment, from the leader.
    pub struct SyncGroupRequestAssignment<'a> {
        member_id: &'a str => 0..;
        assignment: &'a [u8] => 0..;
    }

    /// The member's assignment.
    pub struct SyncGroupResponse<'a>: versions 0..=5, flexible 4.. {
        throttle_time_ms: i32 => 1..;
        error_code: i16 => 0..;
        protocol_type: Option<&'a str> => 5..;
        protocol_name: Option<&'a str> => 5..;
        assignment: &'a [u8] => 0..;
    }
}
