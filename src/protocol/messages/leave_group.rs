//! API 13, LeaveGroup: takes members out of a classic group; several from version 3 on.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks to leave a group; several members at once from version 3 on.
    pub struct LeaveGroupRequest<'a>: versions 0..=5, flexible 4.. {
        group_id: &'a str => 0..;
        member_id: &'a str => 0..=2;
        members: Vec<MemberIdentity<'a>> => 3..;
    }

    /// One member that leaves.
    pub struct MemberIdentity<'a> {
        member_id: &'a str => 3..;
        group_instance_id: Option<&'a str> => 3..;
        reason: Option<&'a str> => 5..;
    }

    /// What became of each member.
    pub struct LeaveGroupResponse<'a>: versions 0..=5, flexible 4.. {
        throttle_time_ms: i32 => 1..;
        error_code: i16 => 0..;
        members: Vec<MemberResponse<'a>> => 3..;
    }

    /// The outcome for one member.
    pub struct MemberResponse<'a> {
        member_id: &'a str => 3..;
        group_instance_id: Option<&'a str> = Some("") => 3..;
        error_code: i16 => 3..;
    }
}
