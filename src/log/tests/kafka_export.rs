//! temporary
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]
use super::*;
use crate::env::Disk;
use std::path::Path;

pub fn export(disk: &MemoryDisk, to: &str) {
    for path in disk.paths() {
        let target = format!("{to}{path}");
        std::fs::create_dir_all(Path::new(&target).parent().unwrap()).unwrap();
        std::fs::write(&target, disk.read(&path).unwrap()).unwrap();
    }
}

pub fn import(from: &str, root: &str) -> Arc<MemoryDisk> {
    let disk = MemoryDisk::new();
    fn walk(disk: &MemoryDisk, dir: &Path, root: &Path) {
        disk.create_directory(root).unwrap();
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let target = root.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                walk(disk, &entry.path(), &target)
            } else {
                disk.write(&target, &std::fs::read(entry.path()).unwrap())
            }
        }
    }
    walk(&disk, Path::new(from), Path::new(root));
    disk
}

fn producer_batch(id: i64, epoch: i16, sequence: i32, transactional: bool, count: usize) -> Bytes {
    let mut builder =
        RecordBatchBuilder::new().producer(ProducerId(id), ProducerEpoch(epoch), sequence).transactional(transactional);
    for i in 0..count {
        builder.append(1_700_000_000_000 + i as i64, Some(b"key"), Some(&[b'v'; 100])).unwrap();
    }
    Bytes::from(builder.build().unwrap())
}
fn marker(id: i64, epoch: i16, commit: bool) -> Bytes {
    let mut b =
        RecordBatchBuilder::new().producer(ProducerId(id), ProducerEpoch(epoch), -1).transactional(true).control(true);
    b.append(1_700_000_000_000, Some(&[0, 0, 0, u8::from(commit)]), Some(&[0, 0, 0, 0, 0, 5])).unwrap();
    Bytes::from(b.build().unwrap())
}

#[test]
fn export_for_kafka() {
    let disk = MemoryDisk::new();
    let settings = LogSettings { segment_bytes: 60_000, transaction_verification: false, ..LogSettings::default() };
    let (manager, log) = open(&disk, settings);
    log.become_leader(LeaderEpoch(3));
    let mut seq = 0;
    for i in 0..100 {
        log.append(at(1), producer_batch(9, 1, seq, false, 10), AppendOrigin::Client, Durability::Written).unwrap();
        seq += 10;
        if i % 10 == 0 {
            log.append(at(1), producer_batch(10, 1, i / 10, true, 1), AppendOrigin::Client, Durability::Written)
                .unwrap();
            log.append(at(1), marker(10, 1, i % 20 == 0), AppendOrigin::Coordinator, Durability::Written).unwrap();
        }
    }
    manager.shutdown(1).unwrap();
    let _ = std::fs::remove_dir_all("/tmp/log-export");
    export(&disk, "/tmp/log-export");
}

#[test]
fn import_from_kafka() {
    let Ok(from) = std::env::var("KAFKA_LOGS") else { return };
    for clean in [true, false] {
        let disk = import(&from, "/logs");
        if !clean {
            let _ = disk.remove_file(Path::new("/logs/.kafka_cleanshutdown"));
        }
        let node = std::fs::read_to_string(format!("{from}/meta.properties")).unwrap();
        let id: i32 = node.lines().find_map(|l| l.strip_prefix("node.id=")).unwrap().parse().unwrap();
        let s = LogManagerSettings { node_id: BrokerId(id), ..manager_settings(&["/logs"]) };
        let settings = Arc::new(LogSettings::default());
        let manager = LogManager::open(disk.clone(), s, &|_| settings.clone(), &mut || 5, at(1)).unwrap();
        println!("{:?} cluster {} unreadable {:?}", manager.directories(), manager.cluster_id(), manager.unreadable());
        for log in manager.logs() {
            let mut n = 0usize;
            let mut bytes = 0;
            let mut next = log.log_start_offset();
            loop {
                let d = log.read(next, 1 << 20, FetchIsolation::TransactionCommitted, true).unwrap();
                let b = bytes_of(&d);
                let mut got = false;
                for batch in BatchIterator::new(&b).map_while(Result::ok) {
                    assert!(batch.crc_is_valid());
                    next = batch.next_offset();
                    n += batch.record_count() as usize;
                    bytes += batch.bytes().len();
                    got = true;
                }
                if !got {
                    break;
                }
            }
            println!(
                "{} id {:?} start {} end {} lso {} segments {} epoch {:?} read {n} records {bytes} bytes of {}; max ts {:?}",
                log.topic_partition(),
                log.topic_id(),
                log.log_start_offset(),
                log.log_end_offset(),
                log.last_stable_offset(),
                log.segments(),
                log.latest_epoch(),
                log.bytes(),
                log.offset_of_max_timestamp(FetchIsolation::LogEnd).unwrap()
            );
        }
    }
}
