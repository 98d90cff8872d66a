//! The checks that every single record must pass.
//!
//! It must not know how records are read, nor what becomes of the batch.

use std::ops::RangeInclusive;

use crate::limits::RECORD_ERRORS_MAX;
use crate::record::{RecordBatch, RecordSummary, TimestampType};
use crate::types::Now;
use crate::zoo::{self, Bug};

use super::{RejectedRecord, ValidationSettings};

/// What a single record must obey.
pub(super) struct RecordRules {
    needs_key: bool,
    /// The timestamps that are accepted, if it is the producer's that count.
    range: Option<RangeInclusive<i64>>,
    claims_append_time: bool,
}

impl RecordRules {
    pub(super) fn new(batch: &RecordBatch<'_>, settings: &ValidationSettings, now: Now) -> RecordRules {
        let earliest = now.wall.0.saturating_sub(settings.timestamp_before_max_ms);
        let latest = now.wall.0.saturating_add(settings.timestamp_after_max_ms);
        RecordRules {
            // A coordinator's control records have keys too, so nothing is lost by asking.
            needs_key: settings.is_compacted && !zoo::is(Bug::KeylessTaken),
            range: (settings.timestamp_type == TimestampType::CreateTime).then_some(earliest..=latest),
            claims_append_time: batch.timestamp_type() == TimestampType::LogAppendTime,
        }
    }

    /// What is wrong with a timestamp; -1 stands for none and is fine. Where the producer's timestamps count, a batch that claims the
    /// broker's append time is fine too, as in Kafka: it is stored as the producer's.
    fn timestamp_fault(&self, timestamp: i64) -> Option<String> {
        match self.range.as_ref().filter(|_| timestamp != -1) {
            Some(range) if range.contains(&timestamp) => None,
            Some(range) => {
                let (earliest, latest) = (range.start(), range.end());
                Some(format!("Timestamp {timestamp} is out of range. It should be within [{earliest}, {latest}]"))
            }
            None if self.claims_append_time && !zoo::is(Bug::AppendTimeClaimed) => {
                Some("Producers should not set the timestamp type to LogAppendTime".into())
            }
            None => None,
        }
    }
}

/// What was seen of the records.
pub(super) struct RecordChecks {
    pub(super) max_timestamp: i64,
    pub(super) offsets_are_consecutive: bool,
    pub(super) rejected: Vec<RejectedRecord>,
    pub(super) has_invalid_timestamp: bool,
}

impl RecordChecks {
    pub(super) fn new() -> RecordChecks {
        RecordChecks {
            max_timestamp: -1,
            offsets_are_consecutive: true,
            rejected: Vec::new(),
            has_invalid_timestamp: false,
        }
    }

    pub(super) fn see(&mut self, rules: &RecordRules, record: RecordSummary) {
        if rules.needs_key && !record.has_key {
            self.reject(record.index, "A compacted topic cannot accept a record without a key".into());
        } else if let Some(fault) = rules.timestamp_fault(record.timestamp) {
            self.has_invalid_timestamp = true;
            self.reject(record.index, fault);
        }
        self.max_timestamp = self.max_timestamp.max(record.timestamp);
        self.offsets_are_consecutive &= record.offset_delta == record.index;
    }

    /// Keeps the first faults only: a large batch could have a million.
    fn reject(&mut self, batch_index: i32, message: String) {
        if self.rejected.len() < RECORD_ERRORS_MAX {
            self.rejected.push(RejectedRecord { batch_index, message });
        }
    }
}
