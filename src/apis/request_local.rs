//! What one handler keeps from request to request and shares with nobody (Kafka's type of the same name): contexts of the codecs.
//!
//! It must not know what a request asks.

use crate::log::log_validator::LogValidator;

/// Reused buffers and contexts of one handler.
#[derive(Default)]
pub struct RequestLocal {
    /// Checks batches; holds decompression contexts.
    pub(crate) validator: LogValidator,
}

impl RequestLocal {
    /// Nothing set up yet.
    pub fn new() -> RequestLocal {
        RequestLocal::default()
    }
}
