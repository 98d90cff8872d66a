//! The time index and the transaction index against plain lists: any entries, a reset, a file that is opened again, cut at any byte, or
//! whose chunk did not reach the disk at the first try.
//!
//! It must not know segments, whose affair it is to build an index anew whose last entry is torn.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::env::Disk;
use crate::log::lazy_file::SegmentPlace;
use crate::log::log_file_name::{TIME_INDEX, TRANSACTION_INDEX};
use crate::log::time_index::{NO_TIMESTAMP, TIME_ENTRY_BYTES, TimeIndex, TimestampOffset};
use crate::log::transaction_index::{TRANSACTION_ENTRY_BYTES, TransactionIndex};

/// Where the segments of these tests begin.
const BASE: Offset = Offset(5_000_000_000);

/// What happens to an index between entries.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// So many entries come, more of them than one chunk holds or fewer.
    Append { count: usize, seed: u64 },
    /// What waits in memory is written.
    Write,
    /// The next chunk is torn at this byte, and stays in memory.
    Tear { at: i64 },
    /// It is emptied, to be built again.
    Reset,
    /// It is written and opened again.
    Reopen,
    /// It is written, and its file is cut to so many of 256 parts, at an entry's end: what a power cut may leave.
    Cut { kept_of_256: usize },
    /// As `Cut`, in the middle of an entry, without a write behind it.
    CutWithin { kept_of_256: usize },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (prop_oneof![1..4usize, 1..500usize], any::<u64>()).prop_map(|(count, seed)| Event::Append { count, seed }),
        2 => Just(Event::Write),
        1 => (0..5000i64).prop_map(|at| Event::Tear { at }),
        1 => Just(Event::Reset),
        2 => Just(Event::Reopen),
        1 => (0..=256usize).prop_map(|kept_of_256| Event::Cut { kept_of_256 }),
    ]
}

/// Events, and a torn end behind them or none.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let end = prop_oneof![Just(None), (0..=256usize).prop_map(|kept_of_256| Some(Event::CutWithin { kept_of_256 }))];
    (prop::collection::vec(event(), 1..30), end).prop_map(|(mut events, end)| {
        events.extend(end);
        events
    })
}

/// An index under test, with what it must answer.
trait Modelled: Sized {
    const SUFFIX: &str;
    const ENTRY_BYTES: usize;
    type Entry: Clone;

    fn open(place: &SegmentPlace, bytes: u64) -> Self;
    /// Adds what follows these entries, if it takes it.
    fn append(&mut self, entries: &mut Vec<Self::Entry>, seed: u64);
    fn write(&mut self) -> bool;
    fn reset(&mut self);
    /// Fails unless it answers as the list does.
    fn check(&mut self, entries: &[Self::Entry], seed: u64) -> Result<(), TestCaseError>;
}

/// A number below `bound` that looks like chance.
fn mixed(seed: u64, salt: u64, bound: u64) -> i64 {
    let hash = (seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    i64::try_from((hash >> 20) % bound).unwrap()
}

impl Modelled for TimeIndex {
    const SUFFIX: &str = TIME_INDEX;
    const ENTRY_BYTES: usize = TIME_ENTRY_BYTES;
    type Entry = TimestampOffset;

    fn open(place: &SegmentPlace, bytes: u64) -> TimeIndex {
        TimeIndex::new(place, bytes)
    }

    fn append(&mut self, entries: &mut Vec<TimestampOffset>, seed: u64) {
        let last = entries.last().copied().unwrap_or(TimestampOffset { timestamp: NO_TIMESTAMP, offset: BASE });
        // Time may stand still or go back, and then adds nothing.
        let timestamp = last.timestamp + mixed(seed, 1, 12) - 3;
        let entry = TimestampOffset { timestamp, offset: last.offset.plus(1 + mixed(seed, 2, 50)) };
        TimeIndex::last(self).unwrap();
        TimeIndex::append(self, entry);
        if timestamp > last.timestamp {
            entries.push(entry);
        }
    }

    fn write(&mut self) -> bool {
        TimeIndex::write(self).is_ok()
    }

    fn reset(&mut self) {
        TimeIndex::reset(self).unwrap();
    }

    fn check(&mut self, entries: &[TimestampOffset], seed: u64) -> Result<(), TestCaseError> {
        let none = TimestampOffset { timestamp: NO_TIMESTAMP, offset: BASE };
        prop_assert_eq!(self.last().unwrap(), entries.last().copied().unwrap_or(none));
        let end = entries.last().map_or(0, |entry| entry.timestamp) + 3;
        let near = (0..8).map(|salt| mixed(seed, salt, u64::try_from(end).unwrap()));
        for timestamp in [i64::MIN, NO_TIMESTAMP, 0, end, i64::MAX].into_iter().chain(near) {
            let expected = entries.iter().rfind(|entry| entry.timestamp <= timestamp).copied().unwrap_or(none);
            prop_assert_eq!(self.lookup(timestamp).unwrap(), expected, "at {}", timestamp);
        }
        Ok(())
    }
}

impl Modelled for TransactionIndex {
    const SUFFIX: &str = TRANSACTION_INDEX;
    const ENTRY_BYTES: usize = TRANSACTION_ENTRY_BYTES;
    type Entry = AbortedTransaction;

    fn open(place: &SegmentPlace, bytes: u64) -> TransactionIndex {
        TransactionIndex::new(place, bytes)
    }

    fn append(&mut self, entries: &mut Vec<AbortedTransaction>, seed: u64) {
        // The first of them may have begun in an older segment.
        let before = (BASE, Offset(BASE.0 - 200));
        let (marker, stable) = entries.last().map_or(before, |last| (last.last_offset, last.last_stable_offset));
        let last_offset = marker.plus(2 + mixed(seed, 1, 40));
        // What was open at an earlier marker, as all were that end after it, lies behind its last stable offset.
        let open = u64::try_from(last_offset.0 - stable.0).unwrap();
        let first_offset = stable.plus(mixed(seed, 2, open));
        let last_stable_offset = stable.plus(mixed(seed, 3, open + 2));
        let producer_id = ProducerId(mixed(seed, 4, 9));
        let entry = AbortedTransaction { first_offset, producer_id, last_offset, last_stable_offset };
        TransactionIndex::append(self, &entry);
        entries.push(entry);
    }

    fn write(&mut self) -> bool {
        TransactionIndex::write(self).is_ok()
    }

    fn reset(&mut self) {
        TransactionIndex::reset(self).unwrap();
    }

    fn check(&mut self, entries: &[AbortedTransaction], seed: u64) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.is_empty(), entries.is_empty());
        prop_assert!(self.is_sane(BASE).unwrap());
        let first = entries.first().map_or(BASE, |entry| entry.last_offset);
        prop_assert_eq!(self.is_sane(first.plus(1)).unwrap(), entries.is_empty());
        let length = entries.last().map_or(0, |entry| entry.last_offset.0 - BASE.0) + 100;
        for salt in 0..8 {
            let from = BASE.plus(mixed(seed, salt, u64::try_from(length).unwrap()));
            let to = from.plus(1 + mixed(seed, salt + 8, 400));
            let mut found = Vec::new();
            let is_end = self.collect(from, to, &mut found).unwrap();
            let reached = entries.iter().filter(|entry| entry.last_offset >= from);
            let expected: Vec<_> = reached.clone().filter(|entry| entry.first_offset < to).copied().collect();
            prop_assert_eq!(found, expected, "from {} to {}", from, to);
            prop_assert_eq!(is_end, reached.clone().any(|entry| entry.last_stable_offset >= to));
        }
        Ok(())
    }
}

fn follows_its_list<I: Modelled>(events: &[Event]) -> Result<(), TestCaseError> {
    let disk = MemoryDisk::new();
    disk.create_directory(Path::new("/t-0")).unwrap();
    let place = SegmentPlace { disk: disk.clone(), directory: Arc::from(Path::new("/t-0")), base_offset: BASE };
    let path = place.path(I::SUFFIX);
    let reopened = |bytes: Vec<u8>| {
        disk.write(&path, &bytes);
        I::open(&place, bytes.len() as u64)
    };
    let (mut index, mut entries) = (I::open(&place, 0), Vec::new());
    for (event, step) in events.iter().zip(0..) {
        match *event {
            Event::Append { count, seed } => {
                (0..count).for_each(|number| index.append(&mut entries, seed.wrapping_add(number as u64)));
            }
            Event::Write => prop_assert!(index.write() || index.write(), "only one write is torn"),
            Event::Tear { at } => disk.faults.tear_next_append_at.store(at, std::sync::atomic::Ordering::Relaxed),
            Event::Reset => {
                index.reset();
                entries.clear();
            }
            Event::Reopen | Event::Cut { .. } | Event::CutWithin { .. } => {
                prop_assert!(index.write() || index.write(), "only one write is torn");
                let mut bytes = disk.read(&path).unwrap_or_default();
                prop_assert_eq!(bytes.len(), entries.len() * I::ENTRY_BYTES);
                if let Event::Cut { kept_of_256 } | Event::CutWithin { kept_of_256 } = *event {
                    entries.truncate(entries.len() * kept_of_256 / 256);
                    let torn = if matches!(event, Event::Cut { .. }) { 0 } else { kept_of_256 % I::ENTRY_BYTES };
                    bytes.truncate(entries.len() * I::ENTRY_BYTES + torn);
                }
                index = reopened(bytes);
            }
        }
        index.check(&entries, step)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_time_index_answers_as_a_list_does(events in events()) {
        follows_its_list::<TimeIndex>(&events)?;
    }

    #[test]
    fn a_transaction_index_answers_as_a_list_does(events in events()) {
        follows_its_list::<TransactionIndex>(&events)?;
    }
}
