//! API 42, DeleteGroups: deletes groups and their offsets.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks to delete groups.
    pub struct DeleteGroupsRequest<'a>: versions 0..=3, flexible 2.. {
        groups_names: Vec<&'a str> => 0..;
    }

    /// What became of each group.
    pub struct DeleteGroupsResponse<'a>: versions 0..=3, flexible 2.. {
        throttle_time_ms: i32 => 0..;
        results: Vec<DeletableGroupResult<'a>> => 0..;
    }

    /// The outcome for one group.
    pub struct DeletableGroupResult<'a> {
        group_id: &'a str => 0..;
        error_code: i16 => 0..;
        error_message: Option<&'a str> => 3..;
    }
}
