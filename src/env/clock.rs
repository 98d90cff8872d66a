//! The door to time.
//!
//! Only drivers read it, once per turn; steps get `Now` as an argument and must not know this trait.

use crate::types::{Instant, Now};

/// Reads time. The monotonic part never goes back, and goes on while somebody waits in a selector; the wall part goes on with it, but
/// somebody may set it, so that it jumps.
pub trait Clock: Send + Sync {
    /// Both clocks at this moment.
    fn now(&self) -> Now;

    /// The monotonic part alone, a stopwatch for the request-time breakdown and nothing else: no decision may depend on it.
    fn stopwatch(&self) -> Instant;
}
