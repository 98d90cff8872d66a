//! API 15, DescribeGroups: describes classic groups and their members.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks to describe groups.
    pub struct DescribeGroupsRequest<'a>: versions 0..=6, flexible 5.. {
        groups: Vec<&'a str> => 0..;
        include_authorized_operations: bool => 3..;
    }

    /// State, protocol and members of each group.
    pub struct DescribeGroupsResponse<'a>: versions 0..=6, flexible 5.. {
        throttle_time_ms: i32 => 1..;
        groups: Vec<DescribedGroup<'a>> => 0..;
    }

    /// One group.
    pub struct DescribedGroup<'a> {
        error_code: i16 => 0..;
        error_message: Option<&'a str> => 6..;
        group_id: &'a str => 0..;
        group_state: &'a str => 0..;
        protocol_type: &'a str => 0..;
        protocol_data: &'a str => 0..;
        members: Vec<DescribedGroupMember<'a>> => 0..;
        authorized_operations: i32 = i32::MIN => 3..;
    }

    /// One member of a group.
    pub struct DescribedGroupMember<'a> {
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 4..;
        client_id: &'a str => 0..;
        client_host: &'a str => 0..;
        member_metadata: &'a [u8] => 0..;
        member_assignment: &'a [u8] => 0..;
    }
}
