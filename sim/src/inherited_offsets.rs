//! What another broker has left in the topic of committed offsets: plain commits, commits of transactions that were committed, aborted, and never ended, and records of
//! groups of kinds that the broker under test does not have.
//!
//! It must not know who looks for them.

use klamm::protocol::records::group::{GroupRecordKey, GroupRecordValue, OffsetCommitKey, OffsetCommitValue};
use klamm::record::{RecordBatchBuilder, end_transaction_batch};
use klamm::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use crate::world::World;

/// The topic, and how many partitions it has in every run.
pub(crate) const TOPIC: &str = "__consumer_offsets";
pub(crate) const PARTITIONS: i32 = 2;
/// Groups, and the offsets of theirs that are to be there: a plain one, one of a transaction that was committed, and none where it was deleted.
pub(crate) const ELDERS: [(&str, i64); 3] = [("elders-plain", 5), ("elders-committed", 9), ("elders-deleted", -1)];
/// What only transactions hold that were aborted, were never ended, or were deleted: whatever becomes of the disk, nobody is told of it.
pub(crate) const NEVER: [i64; 3] = [11, 12, 14];
/// Where the base offset and the leader epoch stand in a batch, which no checksum covers.
const BASE_OFFSET: std::ops::Range<usize> = 0..8;
const LEADER_EPOCH: std::ops::Range<usize> = 12..16;
const PRODUCER: ProducerEpoch = ProducerEpoch(0);

/// The batches of each partition: a group is looked for in one of them, and stands in all.
pub(crate) fn batches(world: &World, topic: &str) -> Vec<Vec<u8>> {
    let mut left = Left { world, topic, next_offset: 0, batches: Vec::new() };
    let [plain, committed, deleted] = ELDERS.map(|(group, _)| group);
    left.write(None, &[left.commit(plain, Some(4)), left.commit(plain, Some(5)), left.commit(committed, Some(8))]);
    left.write(None, &[(vec![0, 3, 0, 1, b'g'], None)]);
    left.write(Some(1), &[left.commit(committed, Some(9))]);
    left.end(1, true);
    left.write(Some(2), &[left.commit(committed, Some(11))]);
    left.end(2, false);
    // What a transaction holds goes with its group, be it ended or not.
    left.write(Some(3), &[left.commit(deleted, Some(12))]);
    left.write(None, &[left.commit(deleted, Some(13)), left.commit(deleted, None)]);
    left.write(Some(4), &[left.commit(committed, Some(14))]);
    left.batches
}

type Record = (Vec<u8>, Option<Vec<u8>>);

/// A partition while it is written.
struct Left<'a> {
    world: &'a World,
    topic: &'a str,
    next_offset: i64,
    batches: Vec<Vec<u8>>,
}

impl Left<'_> {
    /// A commit for the first partition of the topic, or its end.
    fn commit(&self, group: &str, offset: Option<i64>) -> Record {
        let key = GroupRecordKey::OffsetCommit(OffsetCommitKey { group, topic: self.topic, partition: 0 });
        let commit_timestamp = self.world.now().wall.0;
        let value = |offset| {
            let value = OffsetCommitValue { offset, commit_timestamp, ..Default::default() };
            GroupRecordValue::OffsetCommit(value).encode()
        };
        (key.encode(), offset.map(value))
    }

    /// A batch, of this producer's transaction if there is one.
    fn write(&mut self, producer: Option<i64>, records: &[Record]) {
        let builder = RecordBatchBuilder::new().base_offset(Offset(self.next_offset)).leader_epoch(LeaderEpoch(0));
        let mut builder = match producer {
            Some(producer) => builder.producer(ProducerId(producer), PRODUCER, 0).transactional(true),
            None => builder,
        };
        for (key, value) in records {
            builder.append(self.world.now().wall.0, Some(key), value.as_deref()).expect("a small batch can be built");
            self.next_offset += 1;
        }
        self.batches.push(builder.build().expect("a small batch can be built"));
    }

    /// The end of a producer's transaction.
    fn end(&mut self, producer: i64, is_commit: bool) {
        let mut marker = end_transaction_batch(ProducerId(producer), PRODUCER, is_commit, 0, self.world.now().wall.0);
        marker[BASE_OFFSET].copy_from_slice(&self.next_offset.to_be_bytes());
        marker[LEADER_EPOCH].copy_from_slice(&0_i32.to_be_bytes());
        self.next_offset += 1;
        self.batches.push(marker);
    }
}
