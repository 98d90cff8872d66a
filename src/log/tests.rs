//! What this room promises, tested from its outside on a disk in memory.
//!
//! It must not look inside a log: only offsets, bytes and files on disk.

mod indexes;
mod log_directories;
mod losses;
pub(crate) mod memory_disk;
mod model;
mod offsets;
mod producers;
mod recovery;
mod retention;
mod rolls;
mod timestamps;
pub(crate) mod told;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use self::memory_disk::MemoryDisk;
use super::*;
use crate::env::Piece;
use crate::record::{BatchIterator, RecordBatchBuilder};
use crate::types::*;

pub(super) fn at(ms: i64) -> Now {
    Now { instant: Instant(u64::try_from(ms).unwrap() * 1_000_000), wall: WallTime(ms) }
}

fn partition() -> TopicPartition {
    TopicPartition { topic: Arc::from("topic"), partition: PartitionIndex(0) }
}

pub(super) fn batch(timestamp: i64, values: &[&str]) -> Bytes {
    let mut builder = RecordBatchBuilder::new();
    for value in values {
        builder.append(timestamp, None, Some(value.as_bytes())).unwrap();
    }
    Bytes::from(builder.build().unwrap())
}

fn manager_settings(directories: &[&str]) -> LogManagerSettings {
    LogManagerSettings {
        directories: directories.iter().map(PathBuf::from).collect(),
        metadata_directory: PathBuf::from(directories[0]),
        node_id: BrokerId(1),
        cluster_id: None,
        free_bytes_min: 0,
        file_delete_delay_ms: 60_000,
    }
}

fn open_manager(disk: &Arc<MemoryDisk>, directories: &[&str], settings: &LogSettings, now: Now) -> LogManager {
    let settings = Arc::new(settings.clone());
    let mut next = 0;
    let mut random = || {
        next += 1;
        next
    };
    let mut manager = LogManager::open(disk.clone(), manager_settings(directories), &mut random).unwrap();
    manager.load(&|_| settings.clone(), now).unwrap();
    manager
}

pub(super) fn open(disk: &Arc<MemoryDisk>, settings: LogSettings) -> (LogManager, Arc<UnifiedLog>) {
    let manager = open_manager(disk, &["/logs"], &settings, at(0));
    let log = manager.create(at(0), &partition(), TopicId([7; 16]), Arc::new(settings), true).unwrap();
    (manager, log)
}

fn bytes_of(data: &FetchData) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in &data.records {
        let Piece::File { file, offset, bytes: length } = piece else { panic!("a read returns files") };
        let mut buffer = vec![0; *length];
        assert_eq!(file.read_at(*offset, &mut buffer).unwrap(), *length);
        bytes.extend(buffer);
    }
    bytes
}

fn values(bytes: &[u8]) -> Vec<(i64, String)> {
    let mut values = Vec::new();
    for batch in BatchIterator::new(bytes).map_while(Result::ok) {
        assert!(batch.crc_is_valid());
        for record in batch.records().unwrap().map(Result::unwrap) {
            values.push((record.offset.0, String::from_utf8(record.value.unwrap().to_vec()).unwrap()));
        }
    }
    values
}

fn read_all(log: &UnifiedLog, from: Offset) -> Vec<(i64, String)> {
    let (mut all, mut next) = (Vec::new(), from);
    loop {
        let data = log.read(next, 1 << 20, FetchIsolation::HighWatermark, true).unwrap();
        let read = values(&bytes_of(&data));
        let Some(last) = read.last() else { return all };
        next = Offset(last.0 + 1);
        all.extend(read.into_iter().filter(|(offset, _)| *offset >= from.0));
    }
}

fn append(log: &UnifiedLog, values: &[&str], durability: Durability) -> AppendInfo {
    log.append(at(1), batch(1, values), AppendOrigin::Client, durability).unwrap()
}
