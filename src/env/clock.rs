//! The door to time.
//!
//! Only drivers read it, once per turn; steps get `Now` as an argument and must not know this trait.

use crate::types::{Instant, Now};

/// Reads time. The monotonic part never goes back; the wall part may jump.
pub trait Clock: Send + Sync {
    /// Both clocks at this moment.
    fn now(&self) -> Now;

    /// A stopwatch for the request-time breakdown and nothing else: no decision may depend on it.
    fn stopwatch(&self) -> Instant;
}
