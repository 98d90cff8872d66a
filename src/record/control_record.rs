//! Control records: what a control batch holds instead of a user's data (KIP-98 for transactions, KIP-595 and KIP-630 for
//! `__cluster_metadata`).
//!
//! It must not know who writes one, nor when.

use crate::types::{BrokerId, ProducerEpoch, ProducerId};

use super::record::Record;
use super::record_batch_builder::{BuildError, RecordBatchBuilder};
use super::varint::{read_unsigned_varint, write_unsigned_varint};

/// Version of the key, and of every value that has only one.
const VERSION: i16 = 0;
const ABORT: i16 = 0;
const COMMIT: i16 = 1;
const LEADER_CHANGE: i16 = 2;
const SNAPSHOT_HEADER: i16 = 3;
const SNAPSHOT_FOOTER: i16 = 4;
const KRAFT_VERSION: i16 = 5;

/// Why a record is no control record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlRecordError {
    /// The key is too short or of a negative version.
    #[error("the key of a control record is broken")]
    Key,
    /// The value is missing, too short or of a negative version.
    #[error("the value of a control record of type {0} is broken")]
    Value(i16),
}

/// A control record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlRecord {
    /// The end of a producer's transaction in this partition.
    EndTransaction {
        /// Whether its records count.
        is_commit: bool,
        /// Epoch of the transaction coordinator that wrote the marker.
        coordinator_epoch: i32,
    },
    /// A new leader of the metadata quorum.
    LeaderChange {
        /// The leader.
        leader: BrokerId,
        /// All voters.
        voters: Vec<BrokerId>,
        /// Those who voted for it.
        granting_voters: Vec<BrokerId>,
    },
    /// The first record of a snapshot.
    SnapshotHeader {
        /// Append time of the last record that the snapshot contains, in milliseconds since 1970.
        last_contained_log_timestamp: i64,
    },
    /// The last record of a snapshot.
    SnapshotFooter,
    /// The version of the quorum's protocol (feature `kraft.version`).
    KraftVersion(i16),
    /// Any other, which readers step over: the quorum's voters (6) and what is yet to be invented.
    Other(i16),
}

impl ControlRecord {
    /// Reads a record of a control batch.
    pub fn from_record(record: &Record<'_>) -> Result<ControlRecord, ControlRecordError> {
        let mut key = record.key.ok_or(ControlRecordError::Key)?;
        let version = take_i16(&mut key).ok_or(ControlRecordError::Key)?;
        let type_id = take_i16(&mut key).ok_or(ControlRecordError::Key)?;
        if version < 0 {
            return Err(ControlRecordError::Key);
        }
        ControlRecord::from_value(type_id, record.value.unwrap_or_default()).ok_or(ControlRecordError::Value(type_id))
    }

    fn from_value(type_id: i16, mut value: &[u8]) -> Option<ControlRecord> {
        if !(ABORT..=KRAFT_VERSION).contains(&type_id) {
            return Some(ControlRecord::Other(type_id));
        }
        take_i16(&mut value).filter(|version| *version >= 0)?;
        Some(match type_id {
            LEADER_CHANGE => ControlRecord::LeaderChange {
                leader: BrokerId(take_i32(&mut value)?),
                voters: take_voters(&mut value)?,
                granting_voters: take_voters(&mut value)?,
            },
            SNAPSHOT_HEADER => ControlRecord::SnapshotHeader {
                last_contained_log_timestamp: take(&mut value).map(i64::from_be_bytes)?,
            },
            SNAPSHOT_FOOTER => ControlRecord::SnapshotFooter,
            KRAFT_VERSION => ControlRecord::KraftVersion(take_i16(&mut value)?),
            _ => {
                ControlRecord::EndTransaction { is_commit: type_id == COMMIT, coordinator_epoch: take_i32(&mut value)? }
            }
        })
    }

    /// The number that its key names it by.
    pub fn type_id(&self) -> i16 {
        match self {
            ControlRecord::EndTransaction { is_commit: false, .. } => ABORT,
            ControlRecord::EndTransaction { is_commit: true, .. } => COMMIT,
            ControlRecord::LeaderChange { .. } => LEADER_CHANGE,
            ControlRecord::SnapshotHeader { .. } => SNAPSHOT_HEADER,
            ControlRecord::SnapshotFooter => SNAPSHOT_FOOTER,
            ControlRecord::KraftVersion(_) => KRAFT_VERSION,
            ControlRecord::Other(type_id) => *type_id,
        }
    }

    /// The encoded key.
    pub fn key(&self) -> [u8; 4] {
        let [version_high, version_low] = VERSION.to_be_bytes();
        let [type_high, type_low] = self.type_id().to_be_bytes();
        [version_high, version_low, type_high, type_low]
    }

    /// The encoded value; empty for [`ControlRecord::Other`], of which nothing is known.
    pub fn value(&self) -> Vec<u8> {
        let mut value = Vec::new();
        match self {
            ControlRecord::EndTransaction { coordinator_epoch, .. } => {
                value.extend(VERSION.to_be_bytes());
                value.extend(coordinator_epoch.to_be_bytes());
                return value;
            }
            ControlRecord::LeaderChange { leader, voters, granting_voters } => {
                value.extend(VERSION.to_be_bytes());
                value.extend(leader.0.to_be_bytes());
                write_voters(&mut value, voters);
                write_voters(&mut value, granting_voters);
            }
            ControlRecord::SnapshotHeader { last_contained_log_timestamp } => {
                value.extend(VERSION.to_be_bytes());
                value.extend(last_contained_log_timestamp.to_be_bytes());
            }
            ControlRecord::SnapshotFooter => value.extend(VERSION.to_be_bytes()),
            ControlRecord::KraftVersion(kraft_version) => {
                value.extend(VERSION.to_be_bytes());
                value.extend(kraft_version.to_be_bytes());
            }
            ControlRecord::Other(_) => return value,
        }
        // All but the transactions' markers are messages of a flexible version: no tagged fields follow.
        value.push(0);
        value
    }

    /// Appends it to a batch that must be a control batch. `timestamp` is in milliseconds since 1970.
    pub fn append_to(&self, builder: &mut RecordBatchBuilder, timestamp: i64) -> Result<(), BuildError> {
        builder.append(timestamp, Some(&self.key()), Some(&self.value()))
    }
}

/// The batch that ends a producer's transaction in a partition. `timestamp` is in milliseconds since 1970.
pub fn end_transaction_batch(
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    is_commit: bool,
    coordinator_epoch: i32,
    timestamp: i64,
) -> Vec<u8> {
    let mut builder =
        RecordBatchBuilder::new().producer(producer_id, producer_epoch, -1).transactional(true).control(true);
    let marker = ControlRecord::EndTransaction { is_commit, coordinator_epoch };
    marker.append_to(&mut builder, timestamp).expect("a first record of 21 bytes fits");
    builder.build().expect("a batch of one small record can be made")
}

fn take<const BYTES: usize>(input: &mut &[u8]) -> Option<[u8; BYTES]> {
    let (taken, rest) = input.split_first_chunk()?;
    *input = rest;
    Some(*taken)
}

fn take_i16(input: &mut &[u8]) -> Option<i16> {
    take(input).map(i16::from_be_bytes)
}

fn take_i32(input: &mut &[u8]) -> Option<i32> {
    take(input).map(i32::from_be_bytes)
}

fn take_voters(input: &mut &[u8]) -> Option<Vec<BrokerId>> {
    let count = read_unsigned_varint(input)?.checked_sub(1)?;
    let mut voters = Vec::new();
    for _ in 0..count {
        voters.push(BrokerId(take_i32(input)?));
        skip_tagged_fields(input)?;
    }
    Some(voters)
}

fn write_voters(output: &mut Vec<u8>, voters: &[BrokerId]) {
    write_unsigned_varint(output, u32::try_from(voters.len()).unwrap_or(u32::MAX).saturating_add(1));
    for voter in voters {
        output.extend(voter.0.to_be_bytes());
        output.push(0);
    }
}

fn skip_tagged_fields(input: &mut &[u8]) -> Option<()> {
    for _ in 0..read_unsigned_varint(input)? {
        let _tag = read_unsigned_varint(input)?;
        let bytes = usize::try_from(read_unsigned_varint(input)?).ok()?;
        *input = input.get(bytes..)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordBatch;

    fn read(key: &[u8], value: Option<&[u8]>) -> Result<ControlRecord, ControlRecordError> {
        let mut builder = RecordBatchBuilder::new().control(true);
        builder.append(0, Some(key), value).unwrap();
        let bytes = builder.build().unwrap();
        let (batch, _) = RecordBatch::parse(&bytes).unwrap();
        ControlRecord::from_record(&batch.records().unwrap().next().unwrap().unwrap())
    }

    fn all() -> Vec<ControlRecord> {
        let change = |voters: &[i32]| ControlRecord::LeaderChange {
            leader: BrokerId(1),
            voters: voters.iter().copied().map(BrokerId).collect(),
            granting_voters: voters.iter().take(1).copied().map(BrokerId).collect(),
        };
        vec![
            ControlRecord::EndTransaction { is_commit: false, coordinator_epoch: 7 },
            ControlRecord::EndTransaction { is_commit: true, coordinator_epoch: i32::MAX },
            change(&[]),
            change(&[1, 5]),
            ControlRecord::SnapshotHeader { last_contained_log_timestamp: 1 << 40 },
            ControlRecord::SnapshotFooter,
            ControlRecord::KraftVersion(1),
            ControlRecord::Other(6),
            ControlRecord::Other(-1),
        ]
    }

    #[test]
    fn every_control_record_survives_its_encoding() {
        for record in all() {
            assert_eq!(read(&record.key(), Some(&record.value())), Ok(record));
        }
    }

    #[test]
    fn a_value_cut_anywhere_is_an_error() {
        for record in all() {
            let value = record.value();
            // The last byte says that no tagged fields follow, which nobody needs; a marker has no such byte.
            let needed = value.len().saturating_sub(usize::from(value.last() == Some(&0)));
            for cut in 0..needed {
                assert_eq!(
                    read(&record.key(), value.get(..cut)),
                    Err(ControlRecordError::Value(record.type_id())),
                    "{record:?} cut at {cut}"
                );
            }
        }
    }

    #[test]
    fn a_key_that_is_short_missing_or_of_a_negative_version_is_an_error() {
        assert_eq!(read(&[0, 0, 0], None), Err(ControlRecordError::Key));
        assert_eq!(read(&[0xff, 0xff, 0, 0], Some(&[0; 6])), Err(ControlRecordError::Key));
        assert_eq!(read(&[0, 0, 0, 1], None), Err(ControlRecordError::Value(1)));
    }

    #[test]
    fn later_versions_may_add_to_key_and_value() {
        let marker = ControlRecord::EndTransaction { is_commit: true, coordinator_epoch: 3 };
        assert_eq!(read(&[0, 9, 0, 1, 77], Some(&[0, 9, 0, 0, 0, 3, 1, 2])), Ok(marker));
    }

    #[test]
    fn a_count_of_voters_takes_no_memory() {
        let value = [&[0, 0, 0, 0, 0, 1][..], &[0xff, 0xff, 0xff, 0xff, 0x0f], &[0; 10]].concat();
        assert_eq!(read(&[0, 0, 0, 2], Some(&value)), Err(ControlRecordError::Value(2)));
    }

    #[test]
    fn a_transactions_marker_is_a_control_batch_of_its_producer() {
        let bytes = end_transaction_batch(ProducerId(4), ProducerEpoch(2), true, 9, 1_000);
        let (batch, _) = RecordBatch::parse(&bytes).unwrap();
        assert!(batch.crc_is_valid() && batch.is_control_batch() && batch.is_transactional());
        assert_eq!(
            (batch.producer_id(), batch.producer_epoch(), batch.base_sequence()),
            (ProducerId(4), ProducerEpoch(2), -1)
        );
        let record = batch.records().unwrap().next().unwrap().unwrap();
        let marker = ControlRecord::EndTransaction { is_commit: true, coordinator_epoch: 9 };
        assert_eq!(ControlRecord::from_record(&record), Ok(marker));
    }
}
