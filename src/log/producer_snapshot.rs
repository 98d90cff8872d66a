//! The file of a partition's producer state, in the format of Kafka's `.snapshot`.
//!
//! Kafka writes the last batch of each producer, and so forgets the four before it at a restart: a retry of those is then out of order.
//! Here a producer has one entry for each remembered batch, oldest first. Kafka's reader takes the last entry of a producer, which is the
//! one that it would have written.
//!
//! It must not know when a snapshot is taken.

use crate::log::producer_state_entry::{BatchMetadata, NO_SEQUENCE, ProducerStateEntry};
use crate::record::crc32c;
use crate::types::{Offset, ProducerEpoch, ProducerId};
use crate::zoo::{self, Bug};

/// The only version of the format.
const VERSION: i16 = 1;
/// Version and checksum.
const HEADER_BYTES: usize = 6;
/// One batch of one producer.
const ENTRY_BYTES: usize = 46;

/// Writes the state of these producers.
pub(super) fn encode<'a>(producers: impl Iterator<Item = &'a ProducerStateEntry>) -> Vec<u8> {
    let batches: Vec<(&ProducerStateEntry, BatchMetadata)> =
        producers.flat_map(|entry| batches_of(entry).into_iter().map(move |batch| (entry, batch))).collect();
    let mut bytes = Vec::with_capacity(HEADER_BYTES + 4 + batches.len() * ENTRY_BYTES);
    bytes.extend(VERSION.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(i32::try_from(batches.len()).unwrap_or(i32::MAX).to_be_bytes());
    for (entry, BatchMetadata { last_sequence, last_offset, offset_delta, timestamp }) in batches {
        bytes.extend(entry.producer_id.0.to_be_bytes());
        bytes.extend(entry.epoch.0.to_be_bytes());
        bytes.extend(last_sequence.to_be_bytes());
        bytes.extend(last_offset.0.to_be_bytes());
        bytes.extend(offset_delta.to_be_bytes());
        bytes.extend(timestamp.to_be_bytes());
        bytes.extend(entry.coordinator_epoch.to_be_bytes());
        bytes.extend(entry.transaction_first_offset.map_or(-1, |offset| offset.0).to_be_bytes());
    }
    let crc = crc32c(bytes.get(HEADER_BYTES..).unwrap_or_default());
    bytes.splice(2..HEADER_BYTES, crc.to_be_bytes());
    bytes
}

/// The batches of a producer, oldest first, or the entry of one of whom only a marker is known. The last has the time of whatever the
/// producer did last.
fn batches_of(entry: &ProducerStateEntry) -> Vec<BatchMetadata> {
    let timestamp = entry.last_timestamp;
    let mut batches: Vec<BatchMetadata> = entry.batches().collect();
    if zoo::is(Bug::SnapshotOfLastBatch) {
        batches.drain(..batches.len().saturating_sub(1));
    }
    match batches.last_mut() {
        Some(last) => last.timestamp = timestamp,
        None => batches.push(BatchMetadata {
            last_sequence: NO_SEQUENCE,
            last_offset: Offset(-1),
            offset_delta: 0,
            timestamp,
        }),
    }
    batches
}

/// Reads a snapshot; `None` if it is damaged.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<ProducerStateEntry>> {
    let mut reader = Reader(bytes);
    let version = i16::from_be_bytes(reader.take()?);
    let crc = u32::from_be_bytes(reader.take()?);
    if version != VERSION || crc32c(reader.0) != crc {
        return None;
    }
    let count = usize::try_from(i32::from_be_bytes(reader.take()?)).ok()?;
    if count.checked_mul(ENTRY_BYTES)? != reader.0.len() {
        return None;
    }
    let mut entries: Vec<ProducerStateEntry> = Vec::new();
    for _ in 0..count {
        let entry = reader.entry()?;
        match entries.last_mut().filter(|known| known.producer_id == entry.producer_id) {
            Some(known) => known.followed_by(entry),
            None => entries.push(entry),
        }
    }
    Some(entries)
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn entry(&mut self) -> Option<ProducerStateEntry> {
        let mut entry = ProducerStateEntry::new(ProducerId(i64::from_be_bytes(self.take()?)));
        let epoch = ProducerEpoch(i16::from_be_bytes(self.take()?));
        let last_sequence = i32::from_be_bytes(self.take()?);
        let last_offset = Offset(i64::from_be_bytes(self.take()?));
        let offset_delta = i32::from_be_bytes(self.take()?);
        let timestamp = i64::from_be_bytes(self.take()?);
        entry.set_epoch(epoch);
        // Kafka writes an offset of -1 for a producer of whom only a marker is known.
        if last_offset.0 >= 0 && offset_delta >= 0 {
            entry.add_batch(epoch, BatchMetadata { last_sequence, last_offset, offset_delta, timestamp });
        }
        entry.last_timestamp = timestamp;
        entry.coordinator_epoch = i32::from_be_bytes(self.take()?);
        let first_offset = i64::from_be_bytes(self.take()?);
        entry.transaction_first_offset = (first_offset >= 0).then_some(Offset(first_offset));
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<ProducerStateEntry> {
        let mut idle = ProducerStateEntry::new(ProducerId(7));
        idle.set_epoch(ProducerEpoch(3));
        idle.coordinator_epoch = 4;
        idle.last_timestamp = 99;
        let mut busy = ProducerStateEntry::new(ProducerId(8));
        for number in 0..7 {
            let batch = BatchMetadata {
                last_sequence: number,
                last_offset: Offset(100 + i64::from(number)),
                offset_delta: 0,
                timestamp: 5,
            };
            busy.add_batch(ProducerEpoch(0), batch);
        }
        busy.transaction_first_offset = Some(Offset(100));
        vec![idle, busy]
    }

    #[test]
    fn a_snapshot_keeps_the_remembered_batches_of_each_producer() {
        let entries = entries();
        let read = decode(&encode(entries.iter())).unwrap();
        assert_eq!(read[0], entries[0]);
        assert_eq!(read[1].last_batch(), entries[1].last_batch());
        assert_eq!(read[1].transaction_first_offset, Some(Offset(100)));
        assert!(read[1].find_duplicate(ProducerEpoch(0), 6, 6).is_some());
        assert!(read[1].find_duplicate(ProducerEpoch(0), 2, 2).is_some());
        assert!(read[1].find_duplicate(ProducerEpoch(0), 1, 1).is_none());
        assert_eq!(read.len(), 2);
    }

    #[test]
    fn an_empty_truncated_or_changed_snapshot_is_damaged() {
        let bytes = encode(entries().iter());
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_none(), "{length} bytes");
        }
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert!(decode(&changed).is_none(), "byte {place}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(decode(&longer).is_none());
    }
}
