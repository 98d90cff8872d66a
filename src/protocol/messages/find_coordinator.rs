//! API 10, FindCoordinator: finds the broker that coordinates a group or a transactional id; several from version 4 on.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks who coordinates a key; several keys from version 4 on.
    pub struct FindCoordinatorRequest<'a>: versions 0..=6, flexible 3.. {
        key: &'a str => 0..=3;
        key_type: i8 => 1..;
        coordinator_keys: Vec<&'a str> => 4..;
    }

    /// The coordinators, in the flat fields before version 4 and in the list from then on.
    pub struct FindCoordinatorResponse<'a>: versions 0..=6, flexible 3.. {
        throttle_time_ms: i32 => 1..;
        error_code: i16 => 0..=3;
        error_message: Option<&'a str> = Some("") => 1..=3;
        node_id: i32 => 0..=3;
        host: &'a str => 0..=3;
        port: i32 => 0..=3;
        coordinators: Vec<Coordinator<'a>> => 4..;
    }

    /// The coordinator of one key.
    pub struct Coordinator<'a> {
        key: &'a str => 4..;
        node_id: i32 => 4..;
        host: &'a str => 4..;
        port: i32 => 4..;
        error_code: i16 => 4..;
        error_message: Option<&'a str> = Some("") => 4..;
    }
}
