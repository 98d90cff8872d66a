//! Tells the operator of peers that send no Kafka requests, in few lines however many there are.
//!
//! It must not know connections, nor what is nonsense.

use std::net::SocketAddr;

use crate::metrics::RareLines;
use crate::types::Instant;

/// When which class of nonsense was told of, for one listener.
#[derive(Debug, Default)]
pub(crate) struct NonsenseLog {
    lines: RareLines,
}

impl NonsenseLog {
    /// Writes a warning with the likely cause, unless there was one of this class just now: then the next one tells how many there were.
    pub(crate) fn tell(&self, now: Instant, listener: &str, peer: SocketAddr, class: &'static str, detail: &str) {
        if let Some(untold) = self.lines.due(now, class) {
            let cause = if detail.is_empty() { class.to_owned() } else { format!("{class} ({detail})") };
            let others_before = (untold > 0).then_some(untold);
            tracing::warn!(%peer, listener, others_before, "connection closed: {cause}");
        }
    }

    /// What was told of so far.
    #[cfg(test)]
    pub(crate) fn classes(&self) -> Vec<&'static str> {
        self.lines.kinds()
    }
}
