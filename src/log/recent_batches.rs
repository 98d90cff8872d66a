//! Where the last few batches of the active segment start, so that a consumer at the end of the log needs no disk access to find its place.
//!
//! It must not know files.

use std::collections::VecDeque;

use crate::types::Offset;

/// How many batches are remembered.
const BATCHES_MAX: usize = 64;

/// The last batches that were appended to the active segment.
#[derive(Debug, Default)]
pub(super) struct RecentBatches {
    starts: VecDeque<(Offset, u64)>,
}

impl RecentBatches {
    /// Remembers a batch that was appended behind all others.
    pub(super) fn push(&mut self, base_offset: Offset, position: u64) {
        if self.starts.len() == BATCHES_MAX {
            self.starts.pop_front();
        }
        self.starts.push_back((base_offset, position));
    }

    /// Where the batch that holds `offset` starts and ends, if it is remembered; `end` is where the last batch ends.
    pub(super) fn find(&self, offset: Offset, end: u64) -> Option<(Offset, u64, u64)> {
        let after = self.starts.partition_point(|(base_offset, _)| *base_offset <= offset);
        let (base_offset, position) = *self.starts.get(after.checked_sub(1)?)?;
        Some((base_offset, position, self.starts.get(after).map_or(end, |(_, position)| *position)))
    }

    /// Forgets all: another segment is active.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
    }
}
