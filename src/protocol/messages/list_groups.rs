//! API 16, ListGroups: lists the groups that a broker coordinates.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks for all groups, or those of given states and types.
    pub struct ListGroupsRequest<'a>: versions 0..=5, flexible 3.. {
        states_filter: Vec<&'a str> => 4..;
        types_filter: Vec<&'a str> => 5..;
    }

    /// The groups of this broker.
    pub struct ListGroupsResponse<'a>: versions 0..=5, flexible 3.. {
        throttle_time_ms: i32 => 1..;
        error_code: i16 => 0..;
        groups: Vec<ListedGroup<'a>> => 0..;
    }

    /// One group.
    pub struct ListedGroup<'a> {
        group_id: &'a str => 0..;
        protocol_type: &'a str => 0..;
        group_state: &'a str => 4..;
        group_type: &'a str => 5..;
    }
}
