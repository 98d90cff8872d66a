//! What retention may take of a topic, and what it must: by size never so much that less than the limit is left, by age never a record that is not old. Once nothing
//! is written any more, no more is left than a segment beyond the limit.
//!
//! It must not know when the broker looks. What was acknowledged and may not be taken is there.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use crate::client::Value;

/// What is kept of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retention {
    /// So many bytes (`retention.bytes`).
    Bytes(u64),
    /// Records that are not old (`retention.ms`).
    Young,
}

/// A record as it was read: what it says, and the bytes of its batch.
pub(crate) type Found = BTreeMap<i64, (Option<Value>, u64)>;

/// What was sent to one topic.
#[derive(Debug)]
pub(crate) struct RetainedRecords {
    retention: Retention,
    segment_bytes: u64,
    /// Whether each value that was sent is young.
    sent: BTreeMap<Value, bool>,
    acknowledged: BTreeMap<i64, Value>,
}

impl RetainedRecords {
    pub(crate) fn new(retention: Retention, segment_bytes: u64) -> RetainedRecords {
        RetainedRecords { retention, segment_bytes, sent: BTreeMap::new(), acknowledged: BTreeMap::new() }
    }

    pub(crate) fn sent(&mut self, value: Value, is_young: bool) {
        self.sent.insert(value, is_young);
    }

    pub(crate) fn acknowledged(&mut self, offset: i64, value: Value) {
        self.acknowledged.insert(offset, value);
    }

    /// Judges what was read from the start of the log to its end.
    pub(crate) fn verdict(&self, start: i64, found: &Found) -> Option<Wrong> {
        if let Some((offset, _)) = found.iter().find(|(offset, (value, _))| !self.is_own(**offset, *value)) {
            return Some(Wrong::Foreign { offset: *offset });
        }
        let is_missing = |offset: &i64| *offset >= start && !found.contains_key(offset);
        if let Some(offset) = self.acknowledged.keys().copied().find(is_missing) {
            return Some(Wrong::Lost { offset });
        }
        let bytes: u64 = found.values().map(|(_, bytes)| bytes).sum();
        match self.retention {
            Retention::Bytes(least) if start > 0 && bytes + self.unreadable_bytes(found) < least => {
                Some(Wrong::TooLittle { start, bytes })
            }
            Retention::Young => {
                let is_young = |value: &Value| self.sent.get(value) == Some(&true);
                let taken = self.acknowledged.iter().find(|(offset, value)| **offset < start && is_young(value));
                taken.map(|(offset, _)| Wrong::TakenYoung { offset: *offset })
            }
            Retention::Bytes(_) => None,
        }
    }

    /// Judges the same when nothing was written for long.
    pub(crate) fn last_verdict(&self, found: &Found) -> Option<Wrong> {
        let is_young = |value: &Option<Value>| value.is_some_and(|value| self.sent.get(&value) == Some(&true));
        let bytes: u64 = match self.retention {
            Retention::Bytes(_) => found.values().map(|(_, bytes)| bytes).sum(),
            Retention::Young => {
                let old = found.values().take_while(|(value, _)| !is_young(value));
                old.map(|(_, bytes)| bytes).sum()
            }
        };
        let has_young = found.values().any(|(value, _)| is_young(value));
        let most = match self.retention {
            Retention::Bytes(least) => least + self.segment_bytes,
            // They lie in one segment with a young one, if there is any.
            Retention::Young => {
                if has_young {
                    self.segment_bytes
                } else {
                    0
                }
            }
        };
        (bytes > most).then_some(Wrong::TooMuch { bytes, most })
    }

    /// How much may lie behind what was read: what was sent and not answered may wait there for its sync, and counts for the size of the log.
    fn unreadable_bytes(&self, found: &Found) -> u64 {
        let acknowledged = self.acknowledged.values().copied();
        let known: BTreeSet<Value> = acknowledged.chain(found.values().filter_map(|(value, _)| *value)).collect();
        let unknown = self.sent.keys().filter(|value| !known.contains(value)).count();
        let largest = found.values().map(|(_, bytes)| *bytes).max().unwrap_or(self.segment_bytes);
        largest * u64::try_from(unknown).unwrap_or(u64::MAX)
    }

    fn is_own(&self, offset: i64, value: Option<Value>) -> bool {
        let Some(value) = value.filter(|value| self.sent.contains_key(value)) else { return false };
        self.acknowledged.get(&offset).is_none_or(|acknowledged| *acknowledged == value)
    }
}

/// What is wrong with a topic of which old records are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the sentences say it")]
pub enum Wrong {
    #[error("offset {offset} holds what was not written there")]
    Foreign { offset: i64 },
    #[error("what was acknowledged at offset {offset} is not there, though the log begins before")]
    Lost { offset: i64 },
    #[error("the log begins at {start}, and only {bytes} bytes are left")]
    TooLittle { start: i64, bytes: u64 },
    #[error("what was acknowledged at offset {offset} was taken and is not old")]
    TakenYoung { offset: i64 },
    #[error("{bytes} bytes are left that may be taken, and {most} are allowed")]
    TooMuch { bytes: u64, most: u64 },
}

impl Wrong {
    pub(crate) fn of(self, name: &str) -> Violation {
        Violation::NotRetained { name: name.to_owned(), wrong: self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(sequence: u32) -> Value {
        Value { client: 1, sequence }
    }

    fn records(retention: Retention, young: &[bool]) -> RetainedRecords {
        let mut records = RetainedRecords::new(retention, 250);
        for (sequence, is_young) in (0..).zip(young) {
            records.sent(value(sequence), *is_young);
            records.acknowledged(sequence.into(), value(sequence));
        }
        records
    }

    fn found(offsets: std::ops::Range<u32>) -> Found {
        offsets.map(|offset| (offset.into(), (Some(value(offset)), 100))).collect()
    }

    #[test]
    fn by_size_no_less_than_the_limit_is_left_and_in_the_end_no_more_than_a_segment_beyond_it() {
        let records = records(Retention::Bytes(400), &[true; 9]);
        assert_eq!(records.verdict(0, &found(0..9)), None);
        assert_eq!(records.verdict(5, &found(5..9)), None);
        assert_eq!(records.verdict(6, &found(6..9)), Some(Wrong::TooLittle { start: 6, bytes: 300 }));
        assert_eq!(records.last_verdict(&found(3..9)), None);
        assert_eq!(records.last_verdict(&found(2..9)), Some(Wrong::TooMuch { bytes: 700, most: 650 }));
    }

    #[test]
    fn what_was_sent_and_not_answered_may_lie_behind_what_is_readable() {
        let mut records = records(Retention::Bytes(400), &[true; 9]);
        records.sent(value(9), true);
        assert_eq!(records.verdict(6, &found(6..9)), None);
        assert_eq!(records.verdict(7, &found(7..9)), Some(Wrong::TooLittle { start: 7, bytes: 200 }));
    }

    #[test]
    fn by_age_nothing_young_is_taken_and_in_the_end_old_records_are_there_only_beside_young_ones() {
        let records = records(Retention::Young, &[false, false, false, true, false]);
        assert_eq!(records.verdict(3, &found(3..5)), None);
        assert_eq!(records.verdict(4, &found(4..5)), Some(Wrong::TakenYoung { offset: 3 }));
        assert_eq!(records.last_verdict(&found(1..5)), None);
        assert_eq!(records.last_verdict(&found(0..5)), Some(Wrong::TooMuch { bytes: 300, most: 250 }));
        assert_eq!(records.last_verdict(&found(4..5)), Some(Wrong::TooMuch { bytes: 100, most: 0 }));
    }

    #[test]
    fn what_is_behind_the_start_is_there_as_it_was_written() {
        let records = records(Retention::Bytes(100), &[true; 3]);
        assert_eq!(records.verdict(0, &found(1..3)), Some(Wrong::Lost { offset: 0 }));
        let strange = Found::from([(0, (Some(value(1)), 100))]);
        assert_eq!(records.verdict(0, &strange), Some(Wrong::Foreign { offset: 0 }));
    }
}
