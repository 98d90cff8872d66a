//! API 12, Heartbeat: keeps a member of a classic group alive.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Says that a member is alive.
    pub struct HeartbeatRequest<'a>: versions 0..=4, flexible 4.. {
        group_id: &'a str => 0..;
        generation_id: i32 => 0..;
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 3..;
    }

    /// Whether the member is still part of its generation.
    pub struct HeartbeatResponse: versions 0..=4, flexible 4.. {
        throttle_time_ms: i32 => 1..;
        error_code: i16 => 0..;
    }
}
