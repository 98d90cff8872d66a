//! From timestamps to offsets.
//!
//! It must not look inside.

use super::*;
use crate::record::{Compression, Compressor};

fn log_with(timestamps: &[&[i64]], settings: LogSettings) -> (LogManager, Arc<UnifiedLog>, Arc<MemoryDisk>) {
    let disk = MemoryDisk::new();
    let (manager, log) = open(&disk, settings);
    for (number, batch) in timestamps.iter().enumerate() {
        let mut builder = RecordBatchBuilder::new();
        for timestamp in *batch {
            builder.append(*timestamp, None, Some(b"value")).unwrap();
        }
        let lz4 = CompressionType::Lz4.with_default_level();
        let compression = if number % 2 == 0 { Compression::None } else { lz4 };
        let bytes = Bytes::from(builder.build_compressed(compression, &mut Compressor::default()).unwrap());
        log.append(at(1), bytes, AppendOrigin::Client, Durability::Written).unwrap();
    }
    (manager, log, disk)
}

use crate::record::CompressionType;

const END: FetchIsolation = FetchIsolation::LogEnd;

fn find(log: &UnifiedLog, timestamp: i64) -> Option<(i64, i64)> {
    log.offset_for_timestamp(timestamp, END).unwrap().map(|found| (found.timestamp, found.offset.0))
}

#[test]
fn the_first_record_that_is_not_older_is_found() {
    let batches: [&[i64]; 4] = [&[100, 300, 200], &[400, 350], &[50], &[500, 600]];
    for segment_bytes in [150, 1 << 20] {
        let settings = LogSettings { segment_bytes, index_interval_bytes: 1, ..LogSettings::default() };
        let (manager, log, disk) = log_with(&batches, settings.clone());
        let check = |log: &UnifiedLog| {
            assert_eq!(find(log, 0), Some((100, 0)));
            assert_eq!(find(log, 101), Some((300, 1)));
            assert_eq!(find(log, 300), Some((300, 1)));
            assert_eq!(find(log, 301), Some((400, 3)));
            assert_eq!(find(log, 401), Some((500, 6)));
            assert_eq!(find(log, 600), Some((600, 7)));
            assert_eq!(find(log, 601), None);
            let largest = log.offset_of_max_timestamp(END).unwrap().unwrap();
            assert_eq!((largest.timestamp, largest.offset), (600, Offset(7)));
        };
        check(&log);
        manager.shutdown(1).unwrap();
        let (_manager, log) = open(&disk.crash(|_, synced, _| synced), settings.clone());
        check(&log);
        let (_manager, log) = open(&disk.crash(|_, _, bytes| bytes), settings);
        check(&log);
        log.delete_records_before(Offset(2)).unwrap();
        assert_eq!(find(&log, 0), Some((200, 2)), "not below the start");
    }
}

#[test]
fn what_may_not_be_seen_yet_is_not_found() {
    let (_manager, log, _disk) = log_with(&[&[100]], LogSettings::default());
    log.append(at(1), batch(200, &["value"]), AppendOrigin::Client, Durability::Synced).unwrap();
    assert_eq!(log.offset_for_timestamp(150, FetchIsolation::HighWatermark).unwrap(), None);
    assert_eq!(find(&log, 150), Some((200, 1)));
    assert_eq!(open(&MemoryDisk::new(), LogSettings::default()).1.offset_of_max_timestamp(END).unwrap(), None);
}
