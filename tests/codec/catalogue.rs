//! The list of all messages and records, as plain functions over bytes, so that each test goes through all of them.
//!
//! It must not know what is tested.

use std::ops::RangeInclusive;

use klamm::protocol::sample::Sampler;
use klamm::protocol::{ApiKey, DecodeError, Decoder, Encoder, Message};

/// What kind of message an entry is, and how another codec finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Request(ApiKey),
    Response(ApiKey),
    /// Kafka's class.
    Record(&'static str),
}

/// What decoding gave: the same message encoded again, and how many bytes were left.
pub(crate) type Decoded = Result<(Vec<u8>, usize), DecodeError>;

/// The same message, encoded in another version.
pub(crate) type Converted = Result<Vec<u8>, DecodeError>;

/// One message with all its versions.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) versions: RangeInclusive<i16>,
    /// The default value's bytes.
    pub(crate) default: fn(i16) -> Vec<u8>,
    /// The bytes of a random value.
    pub(crate) sample: fn(u64, i16) -> Vec<u8>,
    /// Decodes and encodes again.
    pub(crate) recode: fn(&[u8], i16) -> Decoded,
    /// Decodes in one version and encodes in another.
    pub(crate) convert: fn(&[u8], i16, i16) -> Converted,
    /// Decodes only.
    pub(crate) decode: fn(&[u8], i16) -> Result<usize, DecodeError>,
    /// Draws a value, encodes and decodes it and compares.
    pub(crate) round_trip: fn(u64, i16),
}

fn encode<'a, M: Message<'a>>(message: &M, version: i16) -> Vec<u8> {
    let mut encoder = Encoder::default();
    message.encode(&mut encoder, version);
    let (bytes, holes) = encoder.into_parts();
    assert!(holes.is_empty());
    bytes
}

macro_rules! entry {
    ($kind:expr, $type:ident, $($path:tt)+) => {
        Entry {
            name: stringify!($type),
            kind: $kind,
            versions: $($path)+::VERSION_MIN..=$($path)+::VERSION_MAX,
            default: |version| encode(&<$($path)+>::default(), version),
            sample: |seed, version| encode(&<$($path)+>::sample(&mut Sampler::new(seed), version), version),
            recode: |bytes, version| {
                let mut decoder = Decoder::new(bytes);
                let message = <$($path)+>::decode(&mut decoder, version)?;
                Ok((encode(&message, version), decoder.remaining()))
            },
            convert: |bytes, from, to| {
                let message = <$($path)+>::decode(&mut Decoder::new(bytes), from)?;
                Ok(encode(&message, to))
            },
            decode: |bytes, version| {
                let mut decoder = Decoder::new(bytes);
                <$($path)+>::decode(&mut decoder, version)?;
                Ok(decoder.remaining())
            },
            round_trip: |seed, version| {
                let message = <$($path)+>::sample(&mut Sampler::new(seed), version);
                let bytes = encode(&message, version);
                let mut decoder = Decoder::new(&bytes);
                let decoded = <$($path)+>::decode(&mut decoder, version);
                assert_eq!(decoded.as_ref(), Ok(&message), "{} {version}: {bytes:?}", stringify!($type));
                assert_eq!(decoder.remaining(), 0, "{} {version}: {message:?}", stringify!($type));
            },
        }
    };
}

macro_rules! api_entries {
    ($($api:ident: $module:ident::{$request:ident, $response:ident};)+) => {
        vec![$(
            entry!(Kind::Request(ApiKey::$api), $request, klamm::protocol::messages::$module::$request),
            entry!(Kind::Response(ApiKey::$api), $response, klamm::protocol::messages::$module::$response),
        )+]
    };
}

macro_rules! record_entries {
    ($($room:ident in $package:literal: $($record:ident),+;)+) => {
        vec![$($(entry!(
            Kind::Record(concat!($package, ".", stringify!($record))),
            $record,
            klamm::protocol::records::$room::$record
        ),)+)+]
    };
}

/// All requests and responses.
pub(crate) fn messages() -> Vec<Entry> {
    klamm::for_every_api!(api_entries)
}

/// All records.
pub(crate) fn records() -> Vec<Entry> {
    record_entries! {
        metadata in "org.apache.kafka.common.metadata": RegisterBrokerRecord, UnregisterBrokerRecord, FenceBrokerRecord,
            UnfenceBrokerRecord, BrokerRegistrationChangeRecord, TopicRecord, RemoveTopicRecord, PartitionRecord,
            PartitionChangeRecord, ConfigRecord, FeatureLevelRecord, ProducerIdsRecord, NoOpRecord, ZkMigrationStateRecord,
            BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord, RegisterControllerRecord, ClearElrRecord,
            UnregisterControllerRecord;
        group in "org.apache.kafka.coordinator.group.generated": OffsetCommitKey, OffsetCommitValue, GroupMetadataKey,
            GroupMetadataValue;
        control in "org.apache.kafka.common.message": LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord,
            KRaftVersionRecord, VotersRecord;
    }
}

/// Everything.
pub(crate) fn all() -> Vec<Entry> {
    let mut entries = messages();
    entries.extend(records());
    entries
}
