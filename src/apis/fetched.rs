//! What a fetch found, partition by partition.
//!
//! It must not know how an answer is worded, nor who waits for it.

use crate::env::Piece;
use crate::error_code::ErrorCode;
use crate::log::{AbortedTransaction, FetchIsolation, UnifiedLog};
use crate::types::{LeaderEpoch, Offset};

/// What a fetch found, in the order of its plan.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) partitions: Vec<FetchedPartition>,
    pub(crate) bytes: usize,
    /// A partition could be found and not read, or its history is not the client's: the client should hear of it at once.
    pub(crate) ends_wait: bool,
}

/// One partition of a fetch.
#[derive(Debug)]
pub(crate) struct FetchedPartition {
    pub(crate) error: ErrorCode,
    pub(crate) high_watermark: Offset,
    pub(crate) last_stable_offset: Offset,
    pub(crate) log_start_offset: Offset,
    /// Only for a reader of committed records, and empty for a partition that is unknown.
    pub(crate) aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// The epoch and offset up to which the client's log and this one agree, if the client's went another way (KIP-320).
    pub(crate) diverging: Option<(LeaderEpoch, Offset)>,
    pub(crate) records: Vec<Piece>,
}

impl FetchedPartition {
    /// A partition with an error has no offsets, so that the client looks them up.
    pub(super) fn failed(error: ErrorCode) -> FetchedPartition {
        let none = Offset(-1);
        FetchedPartition {
            error,
            high_watermark: none,
            last_stable_offset: none,
            log_start_offset: none,
            aborted_transactions: None,
            diverging: None,
            records: Vec::new(),
        }
    }

    /// The offset up to which the read could see; -1 where it could not.
    pub(super) fn readable_end(&self, isolation: FetchIsolation) -> Offset {
        match isolation {
            FetchIsolation::LogEnd | FetchIsolation::HighWatermark => self.high_watermark,
            FetchIsolation::TransactionCommitted => self.last_stable_offset,
        }
    }

    /// Where a log stands, without records.
    pub(super) fn empty(log: &UnifiedLog) -> FetchedPartition {
        FetchedPartition {
            error: ErrorCode::None,
            high_watermark: log.high_watermark(),
            last_stable_offset: log.last_stable_offset(),
            log_start_offset: log.log_start_offset(),
            ..FetchedPartition::failed(ErrorCode::None)
        }
    }
}
