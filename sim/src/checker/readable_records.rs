//! Up to where each partition is known to be readable, and since when: who waits there is to be woken.
//!
//! It must not know who waits.

use std::collections::BTreeMap;

use klamm::types::Instant;

/// By partition, in this start of the broker: ends that clients were told of, each higher than the one before, and when.
#[derive(Debug, Default)]
pub(crate) struct ReadableRecords {
    ends: BTreeMap<i32, Vec<(i64, Instant)>>,
}

impl ReadableRecords {
    /// A client is told now that readers see the records before this offset.
    pub(crate) fn told(&mut self, partition: i32, end: i64, now: Instant) {
        let ends = self.ends.entry(partition).or_default();
        if ends.last().is_none_or(|(last, _)| *last < end) {
            ends.push((end, now));
        }
    }

    /// Since when it is known that a reader finds something at this offset or behind it.
    pub(crate) fn since(&self, partition: i32, offset: i64) -> Option<Instant> {
        let ends = self.ends.get(&partition)?;
        ends.get(ends.partition_point(|(end, _)| *end <= offset)).map(|(_, at)| *at)
    }

    /// The broker goes down: nobody waits there any more.
    pub(crate) fn forget(&mut self) {
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_readable_since_the_first_end_behind_it_was_told() {
        let mut readable = ReadableRecords::default();
        for (end, at) in [(3, 10), (2, 20), (3, 30), (7, 40)] {
            readable.told(1, end, Instant(at));
        }
        let since = |readable: &ReadableRecords, offset| readable.since(1, offset).map(|at| at.0);
        assert_eq!(
            [0, 2, 3, 6, 7].map(|offset| since(&readable, offset)),
            [Some(10), Some(10), Some(40), Some(40), None]
        );
        assert_eq!(readable.since(0, 0), None);
        readable.forget();
        assert_eq!(since(&readable, 0), None);
    }
}
