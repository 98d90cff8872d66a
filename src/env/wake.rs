//! The door through which one role wakes another that sleeps.
//!
//! It must not know what the sleeper waits for.

/// Ends the sleep of one role. A wake that comes before the sleep is not lost: that sleep then ends at once.
pub trait Wake: Send + Sync {
    /// Wakes the sleeper. Many wakes may become one.
    fn wake(&self);
}
