//! Appends: checks, assigns offsets, writes header and body without a copy of the body, and undoes a failed write.
//!
//! It must not know who appends, nor run a sync.

use std::io::IoSlice;

use bytes::Bytes;

use crate::env::DiskError;
use crate::log::error::AppendError;
use crate::log::log_segment::RollParams;
use crate::log::settings::LogSettings;
use crate::log::unified_log::{LogState, LogStatus, UnifiedLog};
use crate::record::{BatchHeader, BatchIterator, RecordBatch};
use crate::types::{Now, Offset};

/// Bytes that one segment file never exceeds, whatever the settings say: positions in indexes are 32 bits, in Kafka signed.
const SEGMENT_BYTES_MAX: u64 = i32::MAX as u64;

/// Where an append comes from, which says how much of it is checked. Kafka's type of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOrigin {
    /// A client: everything is checked.
    Client,
    /// A coordinator (group offsets, transaction markers): epochs are checked, sequences are not.
    Coordinator,
    /// The log itself or another replica: it was checked before.
    Replication,
}

/// What an append must have reached before a consumer may see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The operating system's page cache.
    Written,
    /// The disk: it stays unseen until a sync has covered it.
    Synced,
}

/// What an append did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendInfo {
    /// Offset of the first record; for a recognised retry that of the first try.
    pub base_offset: Offset,
    /// Offset of the last record. An `acks=all` append is done when [`UnifiedLog::durable_end_offset`] is above it.
    pub last_offset: Offset,
    /// The first offset of the log.
    pub log_start_offset: Offset,
    /// Whether it was a retry of a remembered batch, so that nothing was appended.
    pub is_duplicate: bool,
    /// Whether `flush.messages` asks for a sync now.
    pub is_sync_due: bool,
}

impl UnifiedLog {
    /// Appends all of `batches`, or nothing. Offsets are assigned here and nowhere else.
    pub fn append(
        &self,
        now: Now,
        batches: Bytes,
        origin: AppendOrigin,
        durability: Durability,
    ) -> Result<AppendInfo, AppendError> {
        let settings = self.settings();
        let batches = check_batches(&batches, origin, &settings)?;
        let mut state = self.lock();
        state.check_online()?;
        let append = AppendedBatches::stamp(&batches, &state)?;
        self.maybe_roll(&mut state, now, &append, &settings)?;
        let start = state.end;
        self.write(&mut state, &append, &settings)?;
        state.note_written(&append);
        state.sync.note_append(now, start, durability == Durability::Synced);
        state.advance_high_watermark();
        self.publish(&state);
        let unsynced = state.end.offset.0 - state.sync.durable_end().0;
        Ok(AppendInfo {
            base_offset: start.offset,
            last_offset: append.last_offset(),
            log_start_offset: state.log_start,
            is_duplicate: false,
            is_sync_due: unsynced >= settings.flush_messages,
        })
    }

    fn maybe_roll(
        &self,
        state: &mut LogState,
        now: Now,
        append: &AppendedBatches<'_>,
        settings: &LogSettings,
    ) -> Result<(), AppendError> {
        let roll = RollParams {
            now: now.wall,
            bytes: append.bytes,
            last_offset: append.last_offset(),
            timestamp_max: append.timestamp_max,
            segment_ms: settings.segment_ms_of(self.seed()),
        };
        let should_roll = state.active().should_roll(&roll, settings).map_err(AppendError::Disk)?;
        if should_roll { self.roll_now(state, now.wall).map_err(refusal) } else { Ok(()) }
    }

    /// Writes the batches in one go. On an error the segment is cut back to what it was; if that fails too, the log goes offline.
    fn write(
        &self,
        state: &mut LogState,
        append: &AppendedBatches<'_>,
        settings: &LogSettings,
    ) -> Result<(), AppendError> {
        let active = state.active();
        let Err(error) = active.append(&append.headers, &append.pieces(), settings) else { return Ok(()) };
        let is_poisoned = matches!(error, DiskError::Poisoned { .. });
        if is_poisoned || active.cut_back().is_err() {
            state.status = LogStatus::Offline;
            return Err(AppendError::Disk(error));
        }
        Err(refusal(error))
    }
}

impl LogState {
    pub(super) fn check_online(&self) -> Result<(), AppendError> {
        match self.status {
            LogStatus::Online => Ok(()),
            LogStatus::Offline | LogStatus::Closed => Err(AppendError::Offline),
            LogStatus::Deleted => Err(AppendError::Deleted),
        }
    }

    fn note_written(&mut self, append: &AppendedBatches<'_>) {
        for header in &append.headers {
            self.recent.push(header.base_offset(), self.end.position);
            self.end.offset = header.next_offset();
            self.end.position += header.total_bytes() as u64;
        }
    }
}

/// An error after which the log is as it was.
fn refusal(error: DiskError) -> AppendError {
    match error {
        DiskError::Full { .. } => AppendError::DiskFull,
        error => AppendError::Disk(error),
    }
}

/// Batches with the headers that go to disk: offsets and leader epoch set.
#[derive(Debug)]
struct AppendedBatches<'a> {
    headers: Vec<BatchHeader>,
    bodies: Vec<&'a [u8]>,
    bytes: u64,
    timestamp_max: i64,
}

impl<'a> AppendedBatches<'a> {
    fn stamp(batches: &[RecordBatch<'a>], state: &LogState) -> Result<AppendedBatches<'a>, AppendError> {
        let mut append = AppendedBatches {
            headers: Vec::with_capacity(batches.len()),
            bodies: Vec::new(),
            bytes: 0,
            timestamp_max: -1,
        };
        let mut next_offset = state.end.offset;
        for batch in batches {
            let mut header = *batch.header();
            header.set_base_offset(next_offset);
            header.set_partition_leader_epoch(state.leader_epoch);
            next_offset = header.next_offset();
            if next_offset.0 == i64::MAX {
                return Err(AppendError::OffsetsExhausted);
            }
            append.bytes += header.total_bytes() as u64;
            append.timestamp_max = append.timestamp_max.max(header.max_timestamp());
            append.headers.push(header);
            append.bodies.push(batch.body());
        }
        Ok(append)
    }

    fn last_offset(&self) -> Offset {
        self.headers.last().expect("at least one batch was checked").last_offset()
    }

    fn pieces(&self) -> Vec<IoSlice<'_>> {
        let pairs = self.headers.iter().zip(&self.bodies);
        pairs.flat_map(|(header, body)| [IoSlice::new(header.as_bytes()), IoSlice::new(body)]).collect()
    }
}

/// Splits and checks what needs no look at the log: lengths, checksums, counts.
fn check_batches<'a>(
    bytes: &'a Bytes,
    origin: AppendOrigin,
    settings: &LogSettings,
) -> Result<Vec<RecordBatch<'a>>, AppendError> {
    let batches: Vec<RecordBatch<'a>> = BatchIterator::new(bytes)
        .collect::<Result<_, _>>()
        .map_err(|_| AppendError::Corrupt("the bytes are no whole record batches"))?;
    if batches.is_empty() {
        return Err(AppendError::InvalidRecord("there is no batch"));
    }
    for batch in &batches {
        check_batch(batch, origin, settings)?;
    }
    let bytes_max = u64::from(settings.segment_bytes).min(SEGMENT_BYTES_MAX) as usize;
    if bytes.len() > bytes_max {
        return Err(AppendError::ListTooLarge { bytes: bytes.len(), bytes_max });
    }
    Ok(batches)
}

fn check_batch(batch: &RecordBatch<'_>, origin: AppendOrigin, settings: &LogSettings) -> Result<(), AppendError> {
    let (bytes, bytes_max) = (batch.total_bytes(), settings.message_bytes_max as usize);
    let is_client = origin == AppendOrigin::Client;
    if is_client && batch.base_offset() != Offset(0) {
        return Err(AppendError::InvalidRecord("the base offset is not 0"));
    }
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
    if is_client && batch.is_control_batch() {
        return Err(AppendError::InvalidRecord("a client may not write control records"));
    }
    if is_client && batch.has_producer_id() && batch.base_sequence() < 0 {
        return Err(AppendError::InvalidRecord("a producer id without a sequence number"));
    }
    Ok(())
}
