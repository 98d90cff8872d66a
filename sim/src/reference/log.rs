//! A partition of the reference broker: batches one behind the other, and who wrote the last of them.
//!
//! It must not know topics, nor who asks.

use std::collections::BTreeMap;

use klamm::error_code::ErrorCode;
use klamm::record::{BatchIterator, Decompressor, RecordBatch};

/// So many batches of a producer are known again.
const RECENT_BATCHES: usize = 5;
const BODY_BYTES_MAX: usize = 1 << 20;

/// A partition's log.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) start: i64,
    pub(crate) end: i64,
    batches: Vec<StoredBatch>,
    /// By producer id.
    producers: BTreeMap<i64, ProducerState>,
}

#[derive(Debug)]
struct StoredBatch {
    base_offset: i64,
    bytes: Vec<u8>,
    timestamps: Vec<i64>,
}

/// What is known of one producer.
#[derive(Debug)]
struct ProducerState {
    epoch: i16,
    /// Of its last batches: first and last sequence, where they lie, and their time.
    recent: Vec<(i32, i32, i64, i64)>,
}

/// What became of a batch: its offset, and the time that is told of one that was known already.
type Appended = Result<(i64, i64), ErrorCode>;

impl Log {
    /// Appends a batch, or finds it among the last ones.
    pub(super) fn append(&mut self, records: &[u8], bytes_max: usize) -> Appended {
        let Some(Ok(batch)) = BatchIterator::new(records).next() else { return Err(ErrorCode::CorruptMessage) };
        if records.len() > bytes_max {
            return Err(ErrorCode::MessageTooLarge);
        }
        if !batch.crc_is_valid() {
            return Err(ErrorCode::CorruptMessage);
        }
        if batch.has_producer_id()
            && let Some(known) = self.check_producer(&batch)?
        {
            return Ok(known);
        }
        let (base_offset, timestamps) = (self.end, timestamps(&batch));
        self.end += timestamps.len() as i64;
        let mut bytes = records.to_vec();
        // The base offset and the leader epoch, which is the first one, are the broker's.
        bytes[..8].copy_from_slice(&base_offset.to_be_bytes());
        bytes[12..16].copy_from_slice(&0_i32.to_be_bytes());
        if batch.has_producer_id() {
            let sequences = (batch.base_sequence(), batch.last_sequence());
            let last_time = timestamps.iter().copied().max().unwrap_or(-1);
            let epoch = batch.producer_epoch().0;
            let state = self.producers.entry(batch.producer_id().0);
            let state = state.or_insert_with(|| ProducerState { epoch, recent: Vec::new() });
            if state.epoch != epoch {
                *state = ProducerState { epoch, recent: Vec::new() };
            }
            state.recent.push((sequences.0, sequences.1, base_offset, last_time));
            if state.recent.len() > RECENT_BATCHES {
                state.recent.remove(0);
            }
        }
        self.batches.push(StoredBatch { base_offset, bytes, timestamps });
        Ok((base_offset, -1))
    }

    /// The time of a record.
    pub(crate) fn time_at(&self, offset: i64) -> Option<i64> {
        self.records().find(|(at, _)| *at == offset).map(|(_, time)| time)
    }

    /// The epoch of a producer, and the sequence that is next.
    pub(super) fn producer(&self, id: i64) -> Option<(i16, i32)> {
        let state = self.producers.get(&id)?;
        Some((state.epoch, state.recent.last().map_or(0, |recent| recent.1 + 1)))
    }

    /// Whether an idempotent batch is the next one, or one of the last, whose place is returned.
    fn check_producer(&self, batch: &RecordBatch<'_>) -> Result<Option<(i64, i64)>, ErrorCode> {
        let Some(state) = self.producers.get(&batch.producer_id().0) else { return Ok(None) };
        let (epoch, first, last) = (batch.producer_epoch().0, batch.base_sequence(), batch.last_sequence());
        if epoch < state.epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if epoch > state.epoch {
            return if first == 0 { Ok(None) } else { Err(ErrorCode::OutOfOrderSequenceNumber) };
        }
        let known = state.recent.iter().find(|recent| (recent.0, recent.1) == (first, last));
        if let Some((_, _, offset, time)) = known {
            return Ok(Some((*offset, *time)));
        }
        let is_next = state.recent.last().is_none_or(|recent| recent.1.checked_add(1) == Some(first));
        if is_next { Ok(None) } else { Err(ErrorCode::OutOfOrderSequenceNumber) }
    }

    /// Moves the start of the log forward, to its end for -1.
    pub(super) fn delete_before(&mut self, offset: i64) -> Result<i64, ErrorCode> {
        let offset = if offset == -1 { self.end } else { offset };
        if !(0..=self.end).contains(&offset) {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        self.start = self.start.max(offset);
        Ok(self.start)
    }

    /// All batches from that with this offset on, and the length of the first.
    pub(super) fn bytes_from(&self, offset: i64) -> (Vec<u8>, usize) {
        let end_of = |batch: &StoredBatch| batch.base_offset + batch.timestamps.len() as i64;
        let wanted = || self.batches.iter().filter(|batch| end_of(batch) > offset);
        let first = wanted().next().map_or(0, |batch| batch.bytes.len());
        (wanted().flat_map(|batch| batch.bytes.iter().copied()).collect(), first)
    }

    /// Offsets and times of all records, deleted ones included, until their segment goes.
    fn records(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.batches.iter().flat_map(|batch| (batch.base_offset..).zip(batch.timestamps.iter().copied()))
    }

    /// Time and offset of what is asked for; `told` decides where several are right.
    pub(super) fn find(&self, asked: i64, told: (i64, i64)) -> Option<(i64, i64)> {
        let alive = || self.records().filter(|(offset, _)| *offset >= self.start);
        match asked {
            -1 => Some((-1, self.end)),
            -2 | -4 => Some((-1, self.start)),
            // Nothing is tiered.
            -5 | -6 => None,
            // What was deleted from the middle of a segment may still count for the greatest time, and hide what lies behind it.
            _ if self.start > 0 => Some(told).filter(|(_, offset)| *offset >= 0),
            -3 => {
                let greatest = alive().map(|(_, time)| time).max();
                let is_right =
                    |told: &(i64, i64)| Some(told.0) == greatest && alive().any(|(at, time)| (time, at) == *told);
                greatest.map(|time| if is_right(&told) { told } else { (time, -1) })
            }
            time => alive().find(|(_, at)| *at >= time).map(|(offset, at)| (at, offset)),
        }
    }
}

fn timestamps(batch: &RecordBatch<'_>) -> Vec<i64> {
    let mut decompressor = Decompressor::new();
    let Ok(body) = batch.decompressed_body(&mut decompressor, BODY_BYTES_MAX) else { return Vec::new() };
    batch.records_in(&body).map_while(Result::ok).map(|record| record.timestamp).collect()
}
