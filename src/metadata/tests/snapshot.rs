//! Images that begin with a snapshot, as Kafka writes it.
//!
//! It must not know more of the room than its public items.

use crate::metadata::{LoadError, MetadataImage, MetadataLoader, MetadataRecord, encode_batch};
use crate::record::{ControlRecord, RecordBatchBuilder};
use crate::types::{LeaderEpoch, Offset, WallTime};

use super::topic_id;

fn control(record: &ControlRecord) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new().control(true);
    builder.append(0, Some(&record.key()), Some(&record.value())).unwrap();
    builder.build().unwrap()
}

fn topic_at(base_offset: i64, number: u8) -> Vec<u8> {
    let record = MetadataRecord::Topic { name: format!("t{number}").into(), topic_id: topic_id(number) };
    let mut batch = encode_batch(&[record], WallTime(0), LeaderEpoch(3)).unwrap();
    batch[..8].copy_from_slice(&base_offset.to_be_bytes());
    batch
}

fn snapshot() -> Vec<u8> {
    let header = control(&ControlRecord::SnapshotHeader { last_contained_log_timestamp: 0 });
    [header, topic_at(1, 1), control(&ControlRecord::SnapshotFooter)].concat()
}

#[test]
fn a_snapshot_stands_for_the_records_before_its_offset() {
    let mut loader = MetadataLoader::new(MetadataImage::empty("cluster"));
    loader.replay_snapshot(&snapshot(), Offset(50), LeaderEpoch(3)).unwrap();
    assert_eq!((loader.image().next_offset(), loader.image().leader_epoch()), (Offset(50), LeaderEpoch(3)));
    // The log still has the last batch that the snapshot stands for; to create that topic twice would be an error.
    let log = [topic_at(49, 1), topic_at(50, 2)].concat();
    loader.replay_bytes(&log).unwrap();
    assert!(loader.image().topic("t1").is_some() && loader.image().topic("t2").is_some());
    assert_eq!(loader.image().next_offset(), Offset(51));
}

#[test]
fn a_snapshot_without_its_end_is_refused() {
    let mut loader = MetadataLoader::new(MetadataImage::empty("cluster"));
    let whole = snapshot();
    let footer_bytes = control(&ControlRecord::SnapshotFooter).len();
    let cut = &whole[..whole.len() - footer_bytes];
    assert_eq!(loader.replay_snapshot(cut, Offset(50), LeaderEpoch(3)), Err(LoadError::Snapshot(Offset(50))));
}
