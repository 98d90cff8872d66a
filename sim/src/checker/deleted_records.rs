//! Which records clients have had deleted from the start of a log: they may be gone from the moment that somebody asks, and may not be served any more once the
//! broker has said so, as long as it is up and after an orderly stop. A broker that goes down may forget what it had not written down yet, as Kafka does.
//!
//! It must not know who asks, nor what was in the records.

use std::collections::BTreeMap;

use super::{Excuse, Oracle};

/// Where each partition begins, as far as that is known.
#[derive(Debug, Default)]
pub(crate) struct DeletedRecords {
    /// By partition: somebody has asked that nothing before this offset be there.
    asked: BTreeMap<i32, i64>,
    /// By partition: the broker has said that nothing before this offset is there.
    told: BTreeMap<i32, i64>,
    oracle: Oracle,
}

impl DeletedRecords {
    pub(super) fn judged_by(oracle: Oracle) -> DeletedRecords {
        DeletedRecords { oracle, ..DeletedRecords::default() }
    }

    /// It is asked that nothing before `offset` be there.
    pub(crate) fn asked(&mut self, partition: i32, offset: i64) {
        let most = self.asked.entry(partition).or_insert(offset);
        *most = (*most).max(offset);
    }

    /// The broker that is up says so.
    pub(crate) fn told(&mut self, partition: i32, offset: i64) {
        let most = self.told.entry(partition).or_insert(offset);
        *most = (*most).max(offset);
    }

    /// The broker went down. In order it forgets nothing.
    pub(crate) fn forget(&mut self, is_in_order: bool) {
        if self.oracle.grants(Excuse::DeletionForgotten, !is_in_order) {
            self.told.clear();
        }
    }

    /// The whole folder of a partition is gone. The log that takes its place begins at offset 0, as in Kafka, and what is there was never deleted.
    pub(super) fn vanished(&mut self, partition: i32) {
        if self.oracle.grants(Excuse::DeletionForgotten, true) {
            self.told.remove(&partition);
        }
    }

    /// Whether anything may be gone.
    pub(crate) fn is_any(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Whether this record may be gone.
    pub(crate) fn excuses(&self, partition: i32, offset: i64) -> bool {
        self.oracle.grants(Excuse::Deleted, self.asked.get(&partition).is_some_and(|asked| offset < *asked))
    }

    /// Before which offset nothing may be served to whoever asks now, by partition.
    pub(crate) fn starts(&self) -> BTreeMap<i32, i64> {
        self.told.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::DeletedRecords;

    #[test]
    fn a_record_may_be_gone_when_its_deletion_is_asked_for_and_must_be_when_it_was_told() {
        let mut deleted = DeletedRecords::default();
        assert!(!deleted.is_any() && !deleted.excuses(0, 0));
        deleted.asked(0, 5);
        assert!(deleted.excuses(0, 4) && !deleted.excuses(0, 5) && !deleted.excuses(1, 4));
        assert!(deleted.starts().is_empty());
        deleted.told(0, 5);
        deleted.told(0, 3);
        assert_eq!(deleted.starts().get(&0), Some(&5));
    }

    #[test]
    fn where_a_folder_is_gone_another_log_begins_and_others_know_what_was_deleted() {
        let mut deleted = DeletedRecords::default();
        deleted.told(0, 5);
        deleted.told(1, 5);
        deleted.vanished(0);
        assert_eq!(deleted.starts().into_iter().collect::<Vec<_>>(), [(1, 5)]);
    }

    #[test]
    fn a_crash_may_bring_records_back() {
        let mut deleted = DeletedRecords::default();
        deleted.asked(0, 5);
        deleted.told(0, 5);
        deleted.forget(true);
        assert_eq!(deleted.starts().get(&0), Some(&5));
        deleted.forget(false);
        assert!(deleted.starts().is_empty() && deleted.excuses(0, 4));
    }
}
