//! The aborted transactions of a segment. Kafka's `.txnindex`, made when the first transaction is aborted.
//!
//! It must not know open transactions.

use std::sync::Arc;

use crate::env::{DiskError, DiskFile};
use crate::log::error::LogError;
use crate::log::index_file::IndexFile;
use crate::log::lazy_file::{LazyFile, SegmentPlace};
use crate::log::log_file_name::TRANSACTION_INDEX;
use crate::log::producer_append_info::CompletedTransaction;
use crate::types::{Offset, ProducerId};

/// Length of an entry: version, producer, first and last offset, last stable offset.
pub(super) const TRANSACTION_ENTRY_BYTES: usize = 34;
/// The only version of an entry.
const VERSION: i16 = 0;

/// An aborted transaction. Kafka's `AbortedTxn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AbortedTransaction {
    /// Offset of its first record.
    pub first_offset: Offset,
    /// Whose.
    pub producer_id: ProducerId,
    /// Offset of the marker that aborted it.
    pub last_offset: Offset,
    /// The last stable offset after the marker.
    pub last_stable_offset: Offset,
}

impl AbortedTransaction {
    pub(super) fn new(transaction: &CompletedTransaction, last_stable_offset: Offset) -> AbortedTransaction {
        AbortedTransaction {
            first_offset: transaction.first_offset,
            producer_id: transaction.producer_id,
            last_offset: transaction.last_offset,
            last_stable_offset,
        }
    }
}

/// The transaction index of one segment.
#[derive(Debug)]
pub(super) struct TransactionIndex {
    entries: IndexFile<TRANSACTION_ENTRY_BYTES>,
}

fn number(entry: &[u8; TRANSACTION_ENTRY_BYTES], at: usize) -> i64 {
    i64::from_be_bytes(
        *entry.get(at..).and_then(|rest| rest.first_chunk()).expect("the places are constants within the entry"),
    )
}

fn decode(entry: &[u8; TRANSACTION_ENTRY_BYTES]) -> AbortedTransaction {
    AbortedTransaction {
        producer_id: ProducerId(number(entry, 2)),
        first_offset: Offset(number(entry, 10)),
        last_offset: Offset(number(entry, 18)),
        last_stable_offset: Offset(number(entry, 26)),
    }
}

impl TransactionIndex {
    /// The index whose file has `bytes` bytes now; 0 if it is not there.
    pub(super) fn new(place: &SegmentPlace, bytes: u64) -> TransactionIndex {
        TransactionIndex { entries: IndexFile::new(LazyFile::new(place.clone(), TRANSACTION_INDEX), bytes) }
    }

    /// Adds an aborted transaction, whose marker lies behind those of all others.
    pub(super) fn append(&mut self, transaction: &AbortedTransaction) {
        let mut entry = [0; TRANSACTION_ENTRY_BYTES];
        entry[..2].copy_from_slice(&VERSION.to_be_bytes());
        entry[2..10].copy_from_slice(&transaction.producer_id.0.to_be_bytes());
        entry[10..18].copy_from_slice(&transaction.first_offset.0.to_be_bytes());
        entry[18..26].copy_from_slice(&transaction.last_offset.0.to_be_bytes());
        entry[26..].copy_from_slice(&transaction.last_stable_offset.0.to_be_bytes());
        self.entries.append(entry);
    }

    /// Adds those that overlap `from..to` to `found`. Says whether later segments can hold no more of them.
    pub(super) fn collect(
        &mut self,
        from: Offset,
        to: Offset,
        found: &mut Vec<AbortedTransaction>,
    ) -> Result<bool, DiskError> {
        let mut next = self.entries.count_before(|entry| decode(entry).last_offset < from)?;
        loop {
            let chunk = self.entries.chunk(next)?;
            if chunk.is_empty() {
                return Ok(false);
            }
            next += chunk.len();
            for transaction in chunk.iter().map(decode) {
                if transaction.first_offset < to {
                    found.push(transaction);
                }
                if transaction.last_stable_offset >= to {
                    return Ok(true);
                }
            }
        }
    }

    /// Whether the entries are what this version writes, in order, and of offsets from `base_offset` on.
    pub(super) fn is_sane(&mut self, base_offset: Offset) -> Result<bool, DiskError> {
        let (mut next, mut last_offset) = (0, base_offset);
        loop {
            let chunk = self.entries.chunk(next)?;
            if chunk.is_empty() {
                return Ok(next == self.entries.entries());
            }
            next += chunk.len();
            for entry in &chunk {
                let transaction = decode(entry);
                let is_known = entry.starts_with(&VERSION.to_be_bytes());
                if !is_known
                    || transaction.last_offset < last_offset
                    || transaction.first_offset > transaction.last_offset
                {
                    return Ok(false);
                }
                last_offset = transaction.last_offset;
            }
        }
    }

    /// Whether it has no entry.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.entries() == 0
    }

    /// Writes what waits in memory.
    pub(super) fn write(&mut self) -> Result<(), DiskError> {
        self.entries.write()
    }

    /// The file with all entries written, to be synced; `None` without an entry.
    pub(super) fn settle(&mut self) -> Result<Option<Arc<dyn DiskFile>>, DiskError> {
        if self.is_empty() { Ok(None) } else { self.entries.settle().map(Some) }
    }

    /// Empties it, to be built again.
    pub(super) fn reset(&mut self) -> Result<(), DiskError> {
        if self.is_empty() { Ok(()) } else { self.entries.reset() }
    }

    /// Begins without an entry, beside the file.
    pub(super) fn begin_beside(&mut self) {
        self.entries.begin_beside();
    }

    /// Puts what was built beside the file in its place. Without an entry there is no file.
    pub(super) fn replace(&mut self) -> Result<(), LogError> {
        let is_empty = self.is_empty();
        self.entries.replace()?;
        if is_empty { Ok(self.file().remove()?) } else { Ok(()) }
    }

    /// The file.
    pub(super) fn file(&mut self) -> &mut LazyFile {
        self.entries.file()
    }
}
