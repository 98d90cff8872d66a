//! The batches of one append: what comes in, and the same with the offsets and the leader epoch with which it goes to disk.
//!
//! It must not know segments or producers' states.

use bytes::Bytes;

use crate::log::error::AppendError;
use crate::log::producer_append_info::EndTransactionMarker;
use crate::log::settings::LogSettings;
use crate::record::{BatchHeader, BatchIterator, RecordBatch};
use crate::types::{LeaderEpoch, Offset};

/// A batch that is to be appended.
#[derive(Clone, Copy, Debug)]
pub(super) struct IncomingBatch<'a> {
    /// Its header, with offsets counted from anywhere.
    pub(super) header: BatchHeader,
    /// What follows the header.
    pub(super) body: &'a [u8],
    /// The marker in it, if it ends a transaction.
    pub(super) marker: Option<EndTransactionMarker>,
}

/// Batches with the headers that go to disk.
#[derive(Debug)]
pub(super) struct AppendedBatches<'a> {
    /// The headers.
    pub(super) headers: Vec<BatchHeader>,
    bodies: Vec<&'a [u8]>,
    /// Length of all.
    pub(super) bytes: u64,
    /// Largest timestamp of all.
    pub(super) timestamp_max: i64,
}

impl<'a> AppendedBatches<'a> {
    /// Sets offsets from `next_offset` on, and the leader epoch.
    pub(super) fn stamp(
        incoming: &[IncomingBatch<'a>],
        mut next_offset: Offset,
        leader_epoch: LeaderEpoch,
    ) -> Result<AppendedBatches<'a>, AppendError> {
        let headers = Vec::with_capacity(incoming.len());
        let bodies = incoming.iter().map(|batch| batch.body).collect();
        let mut append = AppendedBatches { headers, bodies, bytes: 0, timestamp_max: -1 };
        for batch in incoming {
            let mut header = batch.header;
            header.set_base_offset(next_offset);
            header.set_partition_leader_epoch(leader_epoch);
            next_offset = header.next_offset();
            if next_offset.0 == i64::MAX {
                return Err(AppendError::OffsetsExhausted);
            }
            if next_offset.0 - append.headers.first().map_or(header.base_offset(), BatchHeader::base_offset).0
                > i64::from(i32::MAX)
            {
                return Err(AppendError::InvalidRecord("more offsets than a segment holds"));
            }
            append.bytes += header.total_bytes() as u64;
            append.timestamp_max = append.timestamp_max.max(header.max_timestamp());
            append.headers.push(header);
        }
        Ok(append)
    }

    /// The last offset.
    pub(super) fn last_offset(&self) -> Offset {
        self.headers.last().expect("an append has at least one batch").last_offset()
    }

    /// What goes to disk, in order.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let pairs = self.headers.iter().zip(&self.bodies);
        pairs.flat_map(|(header, body)| [header.as_bytes().as_slice(), body])
    }
}

/// Splits and checks what needs no look at the log: lengths, checksums, counts. What only a client might do wrong is the `LogValidator`'s.
pub(super) fn check_batches<'a>(
    bytes: &'a Bytes,
    settings: &LogSettings,
) -> Result<Vec<IncomingBatch<'a>>, AppendError> {
    let mut incoming = Vec::new();
    for batch in BatchIterator::new(bytes) {
        let batch = batch.map_err(|_| AppendError::Corrupt("the bytes are no whole record batches"))?;
        check_batch(&batch, settings)?;
        let marker = if batch.is_control_batch() { EndTransactionMarker::read(&batch) } else { None };
        incoming.push(IncomingBatch { header: *batch.header(), body: batch.body(), marker });
    }
    if incoming.is_empty() {
        return Err(AppendError::InvalidRecord("there is no batch"));
    }
    check_total(bytes.len(), settings)?;
    Ok(incoming)
}

/// Checks that all batches together fit a segment.
pub(super) fn check_total(bytes: usize, settings: &LogSettings) -> Result<(), AppendError> {
    let bytes_max = settings.segment_bytes_max() as usize;
    if bytes > bytes_max { Err(AppendError::ListTooLarge { bytes, bytes_max }) } else { Ok(()) }
}

fn check_batch(batch: &RecordBatch<'_>, settings: &LogSettings) -> Result<(), AppendError> {
    let (bytes, bytes_max) = (batch.total_bytes(), settings.message_bytes_max as usize);
    if bytes > bytes_max {
        return Err(AppendError::TooLarge { bytes, bytes_max });
    }
    if !batch.crc_is_valid() {
        return Err(AppendError::Corrupt("the checksum does not match"));
    }
    let count = i64::from(batch.record_count());
    if count <= 0 || count != i64::from(batch.last_offset_delta()) + 1 {
        return Err(AppendError::InvalidRecord("the record count does not match the offsets"));
    }
    Ok(())
}
