//! Records of `__cluster_metadata`: a frame version, type and version in front of each body.
//!
//! It must not know what replaying a record does, nor batches.

pub mod broker;
pub mod config;
pub mod controller;
pub mod feature_level;
pub mod metadata_transaction;
pub mod partition;
pub mod producer_ids;
pub mod topic;

use thiserror::Error;

pub use broker::{
    BrokerRegistrationChangeRecord, FenceBrokerRecord, RegisterBrokerRecord, UnfenceBrokerRecord,
    UnregisterBrokerRecord,
};
pub use config::ConfigRecord;
pub use controller::{RegisterControllerRecord, UnregisterControllerRecord};
pub use feature_level::FeatureLevelRecord;
pub use metadata_transaction::{
    AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord, NoOpRecord, ZkMigrationStateRecord,
};
pub use partition::{PartitionChangeRecord, PartitionRecord};
pub use producer_ids::ProducerIdsRecord;
pub use topic::{ClearElrRecord, RemoveTopicRecord, TopicRecord};

use crate::protocol::codec::{DecodeError, Decoder, Encoder};
use crate::protocol::wire::Message;

/// The version of the frame around every record.
const FRAME_VERSION: u32 = 1;

/// Why bytes are not a metadata record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MetadataRecordError {
    /// The frame has a version other than 1.
    #[error("unknown metadata record frame version {0}")]
    UnknownFrame(u32),
    /// A type that Klamm never writes, or that a later Kafka does.
    #[error("unknown metadata record type {0}")]
    UnknownType(u32),
    /// The body is damaged, or has a version that is not known.
    #[error("broken metadata record: {0}")]
    Malformed(#[from] DecodeError),
    /// Bytes are left behind the body.
    #[error("{0} bytes behind a metadata record")]
    TrailingBytes(usize),
}

macro_rules! metadata_records {
    ($($code:literal => $name:ident($type:ident $(<$life:lifetime>)?);)+) => {
        /// Any record of the metadata log that Klamm knows.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each variant is documented at its structure")]
        pub enum MetadataRecord<'a> {
            $($name($type $(<$life>)?),)+
        }

        impl<'a> MetadataRecord<'a> {
            /// The number of the record's type.
            pub const fn code(&self) -> i16 {
                match self {
                    $(MetadataRecord::$name(_) => $code,)+
                }
            }

            /// The newest version of the record's type, which is the one that Kafka 4.4 writes.
            pub const fn version(&self) -> i16 {
                match self {
                    $(MetadataRecord::$name(_) => $type::VERSION_MAX,)+
                }
            }

            fn decode_body(code: u32, version: i16, decoder: &mut Decoder<'a>) -> Result<Self, MetadataRecordError> {
                match code {
                    $($code => Ok(MetadataRecord::$name($type::decode(decoder, version)?)),)+
                    unknown => Err(MetadataRecordError::UnknownType(unknown)),
                }
            }

            fn encode_body(&self, encoder: &mut Encoder, version: i16) {
                match self {
                    $(MetadataRecord::$name(record) => record.encode(encoder, version),)+
                }
            }
        }

        $(impl<'a> From<$type $(<$life>)?> for MetadataRecord<'a> {
            fn from(record: $type $(<$life>)?) -> Self {
                MetadataRecord::$name(record)
            }
        })+
    };
}

metadata_records! {
    0 => RegisterBroker(RegisterBrokerRecord<'a>);
    1 => UnregisterBroker(UnregisterBrokerRecord);
    2 => Topic(TopicRecord<'a>);
    3 => Partition(PartitionRecord);
    4 => Config(ConfigRecord<'a>);
    5 => PartitionChange(PartitionChangeRecord);
    7 => FenceBroker(FenceBrokerRecord);
    8 => UnfenceBroker(UnfenceBrokerRecord);
    9 => RemoveTopic(RemoveTopicRecord);
    12 => FeatureLevel(FeatureLevelRecord<'a>);
    15 => ProducerIds(ProducerIdsRecord);
    17 => BrokerRegistrationChange(BrokerRegistrationChangeRecord);
    20 => NoOp(NoOpRecord);
    21 => ZkMigrationState(ZkMigrationStateRecord);
    23 => BeginTransaction(BeginTransactionRecord<'a>);
    24 => EndTransaction(EndTransactionRecord);
    25 => AbortTransaction(AbortTransactionRecord<'a>);
    27 => RegisterController(RegisterControllerRecord<'a>);
    28 => ClearElr(ClearElrRecord<'a>);
    29 => UnregisterController(UnregisterControllerRecord);
}

impl<'a> MetadataRecord<'a> {
    /// Reads a record with its frame.
    pub fn decode(bytes: &'a [u8]) -> Result<MetadataRecord<'a>, MetadataRecordError> {
        let mut decoder = Decoder::new(bytes);
        let frame_version = decoder.get_unsigned_varint()?;
        if frame_version != FRAME_VERSION {
            return Err(MetadataRecordError::UnknownFrame(frame_version));
        }
        let code = decoder.get_unsigned_varint()?;
        let version = i16::try_from(decoder.get_unsigned_varint()?).unwrap_or(i16::MAX);
        let record = MetadataRecord::decode_body(code, version, &mut decoder)?;
        match decoder.remaining() {
            0 => Ok(record),
            trailing => Err(MetadataRecordError::TrailingBytes(trailing)),
        }
    }

    /// The record's bytes with the frame, in its newest version.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_as(self.version())
    }

    /// The record's bytes with the frame, in a version of choice.
    pub fn encode_as(&self, version: i16) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.put_unsigned_varint(FRAME_VERSION);
        encoder.put_unsigned_varint(u32::from(self.code().cast_unsigned()));
        encoder.put_unsigned_varint(u32::from(version.cast_unsigned()));
        self.encode_body(&mut encoder, version);
        encoder.into_parts().0
    }
}

#[cfg(test)]
mod tests {
    use super::{FeatureLevelRecord, MetadataRecord, MetadataRecordError, PartitionChangeRecord, TopicRecord};
    use crate::protocol::DecodeError;
    use crate::types::TopicId;

    #[test]
    fn a_record_stands_behind_frame_version_type_and_version() {
        let record = MetadataRecord::from(FeatureLevelRecord { name: "metadata.version", feature_level: 29 });
        let mut expected = vec![1, 12, 0, 17];
        expected.extend_from_slice(b"metadata.version");
        expected.extend_from_slice(&[0, 29, 0]);
        assert_eq!(record.encode(), expected);
        assert_eq!(MetadataRecord::decode(&expected), Ok(record));
    }

    #[test]
    fn only_changed_fields_of_a_partition_change_are_written() {
        let change = PartitionChangeRecord { partition_id: 1, leader: 3, ..Default::default() };
        let bytes = MetadataRecord::from(change).encode();
        let body = bytes.get(3..).unwrap();
        assert_eq!(body.len(), 4 + 16 + 1 + 6);
        assert_eq!(body.get(20..), Some(&[1, 1, 4, 0, 0, 0, 3][..]), "one tagged field: tag 1 of four bytes");
    }

    #[test]
    fn damage_unknown_types_and_trailing_bytes_are_told_apart() {
        let record = MetadataRecord::from(TopicRecord { name: "t", topic_id: TopicId::METADATA });
        let bytes = record.encode();
        for length in 0..bytes.len() {
            let cut = MetadataRecord::decode(&bytes[..length]);
            assert!(matches!(cut, Err(MetadataRecordError::Malformed(_))), "cut at {length}: {cut:?}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(MetadataRecord::decode(&longer), Err(MetadataRecordError::TrailingBytes(1)));
        assert_eq!(MetadataRecord::decode(&[0, 2, 0]), Err(MetadataRecordError::UnknownFrame(0)));
        assert_eq!(MetadataRecord::decode(&[1, 99, 0]), Err(MetadataRecordError::UnknownType(99)));
        let version = MetadataRecordError::Malformed(DecodeError::UnsupportedVersion { version: 1 });
        assert_eq!(MetadataRecord::decode(&[1, 2, 1]), Err(version));
    }
}
