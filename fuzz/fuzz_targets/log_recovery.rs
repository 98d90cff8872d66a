//! A log directory in which one file holds arbitrary bytes: it loads or is refused, never panics, and what loads is a log of whole
//! batches with growing offsets that can be appended to. The first byte chooses the file, the next three where the bytes go.
#![no_main]

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use klamm::env::{Disk, EntryKind, OpenMode, Piece};
use klamm::log::{
    AppendOrigin, Durability, FetchIsolation, LogManager, LogManagerSettings, LogSettings, ReadError, UnifiedLog,
};
use klamm::record::{BatchIterator, RecordBatchBuilder};
use klamm::types::{BrokerId, Instant, Now, Offset, PartitionIndex, TopicId, TopicPartition, WallTime};
use klamm_sim::{SimDisk, World, WorldOptions};
use libfuzzer_sys::fuzz_target;

const ROOT: &str = "/data";

/// A log of several segments, with all its indexes, snapshots and checkpoints, as an orderly end leaves it.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let disk = new_disk();
    let manager = open(&disk).expect("an empty directory opens");
    let log = manager.create(now(), &partition(), TopicId([7; 16]), settings(), true).expect("a log is made");
    for number in 0..12 {
        append(&log, number).expect("a good batch is appended");
    }
    manager.checkpoint().expect("checkpoints are written");
    manager.shutdown(1).expect("an orderly end");
    let mut files = Vec::new();
    collect(&disk, Path::new(ROOT), &mut files);
    files
});

fuzz_target!(|data: &[u8]| {
    let Some((&[choice, high, low, mode], bytes)) = data.split_first_chunk::<4>() else { return };
    let victim = usize::from(choice) % FILES.len();
    let disk = new_disk();
    for (number, (path, content)) in FILES.iter().enumerate() {
        let is_marker = path.ends_with(".kafka_cleanshutdown");
        if is_marker && mode & 1 == 1 && number != victim {
            continue;
        }
        let mut content = content.clone();
        if number == victim {
            let at = (usize::from(high) << 8 | usize::from(low)) % (content.len() + 1);
            match mode >> 1 & 3 {
                0 => content = bytes.to_vec(),
                1 => content.truncate(at),
                2 => {}
                _ => {
                    let tail = content.get(at + bytes.len()..).unwrap_or_default().to_vec();
                    content.truncate(at);
                    content.extend_from_slice(bytes);
                    content.extend_from_slice(&tail);
                }
            }
            if mode >> 1 & 3 == 1 || mode >> 1 & 3 == 2 {
                content.extend_from_slice(bytes);
            }
        }
        write(&disk, path, &content);
    }
    let Ok(manager) = open(&disk) else { return };
    let Some(log) = manager.get(&partition()) else { return };
    check(&log);
    // One more start, as after a kill: what the first has mended stays mended.
    drop((log, manager));
    let manager = open(&disk).expect("what was opened once opens again");
    if let Some(log) = manager.get(&partition()) {
        check(&log);
    }
});

/// Every batch that can be read is whole and in order, and one more can be appended and read.
fn check(log: &Arc<UnifiedLog>) {
    let (start, end) = (log.log_start_offset(), log.log_end_offset());
    assert!(start <= end);
    assert!(log.high_watermark() <= end && log.last_stable_offset() <= log.high_watermark());
    let mut next = start;
    let mut reads = 0;
    while next < end && reads < 10_000 {
        reads += 1;
        let Ok(last) = read_one(log, next) else { return };
        match last {
            Some(last) => {
                assert!(last >= next, "a read from {next:?} ended at {last:?}");
                next = Offset(last.0 + 1);
            }
            None => break,
        }
    }
    if append(log, 99).is_ok() {
        assert!(log.log_end_offset() > end);
        let last = read_one(log, end).expect("what was appended can be read");
        assert!(last.is_some_and(|last| last >= end), "what was appended is not there");
    }
}

/// The last offset of what a read from `from` gives.
fn read_one(log: &UnifiedLog, from: Offset) -> Result<Option<Offset>, ReadError> {
    let data = log.read(from, 1 << 16, FetchIsolation::LogEnd, true)?;
    let mut bytes = Vec::new();
    for piece in &data.records {
        match piece {
            Piece::Bytes(piece) => bytes.extend_from_slice(piece),
            Piece::File { file, offset, bytes: length } => {
                let mut buffer = vec![0; *length];
                let read = file.read_at(*offset, &mut buffer).expect("a simulated disk without faults reads");
                assert_eq!(read, *length, "an extent lies within its file");
                bytes.extend_from_slice(&buffer);
            }
        }
    }
    let mut last: Option<Offset> = None;
    for batch in BatchIterator::new(&bytes) {
        let Ok(batch) = batch else { break };
        let header = batch.header();
        let base = header.base_offset();
        assert!(last.is_none_or(|last| base > last), "a read from {from:?} gives {base:?} after {last:?}");
        last = Some(header.last_offset());
    }
    Ok(last)
}

fn append(log: &UnifiedLog, number: u8) -> Result<(), klamm::log::AppendError> {
    let mut builder = RecordBatchBuilder::new();
    for index in 0..3 {
        builder.append(1_000 * i64::from(number), Some(&[number, index]), Some(&[number; 90])).expect("a small record");
    }
    let batch = Bytes::from(builder.build().expect("a small batch"));
    log.append(now(), batch, AppendOrigin::Coordinator, Durability::Written).map(|_| ())
}

fn new_disk() -> Arc<SimDisk> {
    Arc::new(World::new(WorldOptions::calm(1)).disk())
}

fn open(disk: &Arc<SimDisk>) -> Result<LogManager, klamm::log::LogError> {
    let manager = LogManagerSettings {
        directories: vec![PathBuf::from(ROOT)],
        metadata_directory: PathBuf::from(ROOT),
        node_id: BrokerId(1),
        cluster_id: None,
        free_bytes_min: 0,
        file_delete_delay_ms: 60_000,
    };
    let mut next = 0;
    let mut random = || {
        next += 1;
        next
    };
    let mut manager = LogManager::open(Arc::clone(disk) as Arc<dyn Disk>, manager, &mut random)?;
    manager.load(&|_| settings(), now())?;
    Ok(manager)
}

fn settings() -> Arc<LogSettings> {
    Arc::new(LogSettings { segment_bytes: 1_500, index_interval_bytes: 200, ..LogSettings::default() })
}

fn partition() -> TopicPartition {
    TopicPartition { topic: Arc::from("topic"), partition: PartitionIndex(0) }
}

fn now() -> Now {
    Now { instant: Instant(1_000_000_000), wall: WallTime(1_700_000_000_000) }
}

fn write(disk: &SimDisk, path: &Path, content: &[u8]) {
    disk.create_directory(path.parent().expect("a file lies in a folder")).expect("a folder can be made");
    let file = disk.open(path, OpenMode::CreateEmpty).expect("a file can be made");
    file.append(&[IoSlice::new(content)]).expect("there is space");
    file.sync().expect("a calm disk syncs");
}

fn collect(disk: &SimDisk, folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in disk.list(folder).expect("the folder is there") {
        let path = folder.join(&entry.name);
        match entry.kind {
            EntryKind::Directory | EntryKind::Elsewhere => collect(disk, &path, files),
            EntryKind::File => {
                let content = disk.snapshot(&path).expect("the file is there");
                files.push((path, content));
            }
        }
    }
}
