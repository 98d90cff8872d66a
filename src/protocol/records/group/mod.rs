//! Records of `__consumer_offsets` for classic groups: keys and values, each behind the two bytes that name its type or version.
//!
//! It must not know what replaying a record does, nor the records of the newer group types.

pub mod group_metadata;
pub mod offset_commit;

use thiserror::Error;

pub use group_metadata::{GroupMetadataKey, GroupMetadataValue, MemberMetadata};
pub use offset_commit::{OffsetCommitKey, OffsetCommitValue};

use crate::protocol::codec::{DecodeError, Decoder, Encoder};
use crate::protocol::wire::Message;

/// The key of a record: what the record is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRecordKey<'a> {
    /// Types 0 and 1: the offset of a partition.
    OffsetCommit(OffsetCommitKey<'a>),
    /// Type 2: a classic group.
    GroupMetadata(GroupMetadataKey<'a>),
}

/// The value of a record; a tombstone has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRecordValue<'a> {
    /// A stored offset.
    OffsetCommit(OffsetCommitValue<'a>),
    /// A generation of a classic group.
    GroupMetadata(GroupMetadataValue<'a>),
}

/// Why bytes are not a record of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GroupRecordError {
    /// The key names a type that is not known here: one of a newer group type, or of a later Kafka.
    #[error("unknown group record type {0}")]
    UnknownType(i16),
    /// The bytes are damaged.
    #[error("broken group record: {0}")]
    Malformed(#[from] DecodeError),
}

impl<'a> GroupRecordKey<'a> {
    const OFFSET_COMMIT_LEGACY: i16 = 0;
    const OFFSET_COMMIT: i16 = 1;
    const GROUP_METADATA: i16 = 2;

    /// Reads a key.
    pub fn decode(bytes: &'a [u8]) -> Result<GroupRecordKey<'a>, GroupRecordError> {
        let mut decoder = Decoder::new(bytes);
        match decoder.get_i16()? {
            Self::OFFSET_COMMIT_LEGACY | Self::OFFSET_COMMIT => {
                Ok(GroupRecordKey::OffsetCommit(OffsetCommitKey::decode(&mut decoder, 0)?))
            }
            Self::GROUP_METADATA => Ok(GroupRecordKey::GroupMetadata(GroupMetadataKey::decode(&mut decoder, 0)?)),
            unknown => Err(GroupRecordError::UnknownType(unknown)),
        }
    }

    /// The key's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut encoder = Encoder::default();
        match self {
            GroupRecordKey::OffsetCommit(key) => {
                encoder.put_i16(Self::OFFSET_COMMIT);
                key.encode(&mut encoder, 0);
            }
            GroupRecordKey::GroupMetadata(key) => {
                encoder.put_i16(Self::GROUP_METADATA);
                key.encode(&mut encoder, 0);
            }
        }
        encoder.into_parts().0
    }

    /// Reads the value that belongs to this key.
    pub fn decode_value(&self, bytes: &'a [u8]) -> Result<GroupRecordValue<'a>, GroupRecordError> {
        let mut decoder = Decoder::new(bytes);
        let version = decoder.get_i16()?;
        Ok(match self {
            GroupRecordKey::OffsetCommit(_) => {
                GroupRecordValue::OffsetCommit(OffsetCommitValue::decode(&mut decoder, version)?)
            }
            GroupRecordKey::GroupMetadata(_) => {
                GroupRecordValue::GroupMetadata(GroupMetadataValue::decode(&mut decoder, version)?)
            }
        })
    }
}

impl GroupRecordValue<'_> {
    /// The version in which Kafka 4.4 writes this value: 4 for an offset, 1 if it expires at a time of its own, 3 for a classic group.
    pub fn version(&self) -> i16 {
        match self {
            GroupRecordValue::OffsetCommit(value) if value.expire_timestamp != -1 => 1,
            GroupRecordValue::OffsetCommit(_) => 4,
            GroupRecordValue::GroupMetadata(_) => 3,
        }
    }

    /// The value's bytes, in the version that Kafka 4.4 writes.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_as(self.version())
    }

    /// The value's bytes in a version of choice.
    pub fn encode_as(&self, version: i16) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.put_i16(version);
        match self {
            GroupRecordValue::OffsetCommit(value) => value.encode(&mut encoder, version),
            GroupRecordValue::GroupMetadata(value) => value.encode(&mut encoder, version),
        }
        encoder.into_parts().0
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupRecordError, GroupRecordKey, GroupRecordValue, OffsetCommitKey, OffsetCommitValue};
    use crate::protocol::DecodeError;

    #[test]
    fn a_key_begins_with_its_type() {
        let key = GroupRecordKey::OffsetCommit(OffsetCommitKey { group: "g", topic: "t", partition: 2 });
        let bytes = key.encode();
        assert_eq!(bytes, [0, 1, 0, 1, b'g', 0, 1, b't', 0, 0, 0, 2]);
        assert_eq!(GroupRecordKey::decode(&bytes), Ok(key.clone()));
        let mut legacy = bytes.clone();
        legacy[1] = 0;
        assert_eq!(GroupRecordKey::decode(&legacy), Ok(key));
    }

    #[test]
    fn a_value_begins_with_its_version_which_follows_from_its_content() {
        let key = GroupRecordKey::OffsetCommit(OffsetCommitKey { group: "g", topic: "t", partition: 2 });
        let value = OffsetCommitValue { offset: 5, metadata: "m", commit_timestamp: 9, ..Default::default() };
        let expiring = OffsetCommitValue { expire_timestamp: 11, ..value.clone() };
        for (value, version) in [(value, 4), (expiring, 1)] {
            let value = GroupRecordValue::OffsetCommit(value);
            let bytes = value.encode();
            assert_eq!(bytes[..2], [0, version]);
            assert_eq!(key.decode_value(&bytes), Ok(value));
        }
    }

    #[test]
    fn unknown_types_and_versions_are_told_apart_from_damage() {
        assert_eq!(GroupRecordKey::decode(&[0, 3, 0, 1, b'g']), Err(GroupRecordError::UnknownType(3)));
        assert!(matches!(GroupRecordKey::decode(&[0, 2, 0, 9]), Err(GroupRecordError::Malformed(_))));
        let key = GroupRecordKey::decode(&[0, 2, 0, 1, b'g']).unwrap();
        let error = GroupRecordError::Malformed(DecodeError::UnsupportedVersion { version: 5 });
        assert_eq!(key.decode_value(&[0, 5]), Err(error));
    }
}
