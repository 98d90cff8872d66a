//! Batches that no broker may take, each well framed, with the error that Kafka answers to it; and sound ones beside them.
//!
//! It must not know when they are sent.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::record::{CompressionType, Compressor, RecordBatchBuilder, crc32c};
use klamm::types::{ProducerEpoch, ProducerId, WallTime};

use super::Value;

/// The most bytes of a batch in the contrarian's topics.
pub(super) const MESSAGE_BYTES_MAX: usize = 2_000;
/// How far a time may be off in them; more than the wall clock is ever.
pub(super) const OFF_MS_MAX: i64 = 20 * DAY_MS;
const DAY_MS: i64 = 86_400_000;
/// Where the fields of a batch stand.
const LENGTH_AT: usize = 8;
const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const LAST_DELTA_AT: usize = 23;
const COUNT_AT: usize = 57;
const HEADER_BYTES: usize = 61;

/// What is wrong with a produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contrary {
    NoBytes,
    TwoBatches,
    OldMagic,
    UnknownMagic,
    NoLength,
    Torn,
    Checksum,
    BaseOffset,
    LastDeltaNegative,
    NoCount,
    CountApart,
    RecordMissing,
    BytesLeft,
    Control,
    NoSequence,
    TooLarge,
    TooLargeAnew,
    EarlyZstd,
    TooOld,
    TooNew,
    NoKey,
    ClaimsAppendTime,
    Transaction,
    Acks,
    NoTopic,
    BadName,
    NoId,
    NoPartition,
}

impl Contrary {
    pub(super) const ALL: [Contrary; 28] = [
        Contrary::NoBytes,
        Contrary::TwoBatches,
        Contrary::OldMagic,
        Contrary::UnknownMagic,
        Contrary::NoLength,
        Contrary::Torn,
        Contrary::Checksum,
        Contrary::BaseOffset,
        Contrary::LastDeltaNegative,
        Contrary::NoCount,
        Contrary::CountApart,
        Contrary::RecordMissing,
        Contrary::BytesLeft,
        Contrary::Control,
        Contrary::NoSequence,
        Contrary::TooLarge,
        Contrary::TooLargeAnew,
        Contrary::EarlyZstd,
        Contrary::TooOld,
        Contrary::TooNew,
        Contrary::NoKey,
        Contrary::ClaimsAppendTime,
        Contrary::Transaction,
        Contrary::Acks,
        Contrary::NoTopic,
        Contrary::BadName,
        Contrary::NoId,
        Contrary::NoPartition,
    ];

    /// What Kafka answers.
    pub(super) fn error(self) -> ErrorCode {
        match self {
            Contrary::UnknownMagic | Contrary::NoLength | Contrary::Checksum => ErrorCode::CorruptMessage,
            Contrary::TooLarge | Contrary::TooLargeAnew => ErrorCode::MessageTooLarge,
            Contrary::EarlyZstd => ErrorCode::UnsupportedCompressionType,
            Contrary::TooOld | Contrary::TooNew | Contrary::ClaimsAppendTime => ErrorCode::InvalidTimestamp,
            Contrary::Transaction => ErrorCode::TransactionalIdAuthorizationFailed,
            Contrary::Acks => ErrorCode::InvalidRequiredAcks,
            Contrary::NoTopic | Contrary::BadName | Contrary::NoPartition => ErrorCode::UnknownTopicOrPartition,
            Contrary::NoId => ErrorCode::UnknownTopicId,
            Contrary::NoBytes
            | Contrary::TwoBatches
            | Contrary::OldMagic
            | Contrary::Torn
            | Contrary::BaseOffset
            | Contrary::LastDeltaNegative
            | Contrary::NoCount
            | Contrary::CountApart
            | Contrary::RecordMissing
            | Contrary::BytesLeft
            | Contrary::Control
            | Contrary::NoSequence
            | Contrary::NoKey => ErrorCode::InvalidRecord,
        }
    }

    /// Whether only the topic refuses it whose times are those of the broker, or only the other one.
    pub(super) fn is_refused_by(self, has_append_time: bool) -> bool {
        match self {
            Contrary::ClaimsAppendTime | Contrary::TooLargeAnew => has_append_time,
            Contrary::TooOld | Contrary::TooNew | Contrary::NoKey => !has_append_time,
            _ => true,
        }
    }

    /// The versions of Produce that can say it.
    pub(super) fn versions(self) -> std::ops::RangeInclusive<i16> {
        match self {
            Contrary::EarlyZstd => 0..=6,
            Contrary::NoTopic | Contrary::BadName => 0..=12,
            Contrary::NoId => 13..=*ApiKey::Produce.versions().end(),
            _ => ApiKey::Produce.versions(),
        }
    }

    /// The records of the request, written at `now`.
    pub(super) fn records(self, value: Value, now: WallTime) -> Vec<u8> {
        let sound = sound(value, now.0);
        match self {
            Contrary::NoBytes => Vec::new(),
            Contrary::TwoBatches => [sound.clone(), sound].concat(),
            Contrary::OldMagic => with(sound, MAGIC_AT, &[1]),
            Contrary::UnknownMagic => with(sound, MAGIC_AT, &[9]),
            Contrary::NoLength => with(sound, LENGTH_AT, &[0; 4]),
            Contrary::Torn => sound[..sound.len() - 1].to_vec(),
            Contrary::Checksum => flipped(sound, HEADER_BYTES + 3),
            Contrary::BaseOffset => with(sound, 0, &7_i64.to_be_bytes()),
            Contrary::LastDeltaNegative => sealed(with(sound, LAST_DELTA_AT, &(-1_i32).to_be_bytes())),
            Contrary::NoCount => sealed(with(sound, COUNT_AT, &[0; 4])),
            Contrary::CountApart => sealed(with(sound, COUNT_AT, &2_i32.to_be_bytes())),
            Contrary::RecordMissing => {
                let sound = with(sound, COUNT_AT, &2_i32.to_be_bytes());
                sealed(with(sound, LAST_DELTA_AT, &1_i32.to_be_bytes()))
            }
            Contrary::BytesLeft => {
                let length = i32::try_from(sound.len() - LENGTH_AT - 4 + 3).unwrap_or(0);
                sealed(with([sound, vec![0; 3]].concat(), LENGTH_AT, &length.to_be_bytes()))
            }
            Contrary::Control => built(RecordBatchBuilder::new().control(true), value, now.0),
            Contrary::NoSequence => {
                built(RecordBatchBuilder::new().producer(ProducerId(77), ProducerEpoch(0), -1), value, now.0)
            }
            Contrary::Transaction => {
                let builder = RecordBatchBuilder::new().producer(ProducerId(78), ProducerEpoch(0), 0);
                built(builder.transactional(true), value, now.0)
            }
            Contrary::TooLarge => large(now.0).build().expect("a batch can be built"),
            Contrary::TooLargeAnew => compressed(large(now.0), CompressionType::Gzip),
            Contrary::EarlyZstd => compressed(of(RecordBatchBuilder::new(), value, now.0), CompressionType::Zstd),
            Contrary::TooOld => self::sound(value, now.0 - 2 * OFF_MS_MAX),
            Contrary::TooNew => self::sound(value, now.0 + 2 * OFF_MS_MAX),
            Contrary::NoKey => {
                let mut builder = RecordBatchBuilder::new();
                builder.append(now.0, None, Some(&value.to_bytes())).expect("a small batch can be built");
                builder.build().expect("a small batch can be built")
            }
            Contrary::ClaimsAppendTime => built(RecordBatchBuilder::new().log_append_time(now), value, now.0),
            Contrary::Acks | Contrary::NoTopic | Contrary::BadName | Contrary::NoId | Contrary::NoPartition => sound,
        }
    }
}

/// A batch of one record with which nothing is wrong.
pub(super) fn sound(value: Value, timestamp: i64) -> Vec<u8> {
    built(RecordBatchBuilder::new(), value, timestamp)
}

fn built(builder: RecordBatchBuilder, value: Value, timestamp: i64) -> Vec<u8> {
    of(builder, value, timestamp).build().expect("a small batch can be built")
}

fn of(mut builder: RecordBatchBuilder, value: Value, timestamp: i64) -> RecordBatchBuilder {
    let bytes = value.to_bytes();
    builder.append(timestamp, Some(&bytes), Some(&bytes)).expect("a small batch can be built");
    builder
}

fn large(timestamp: i64) -> RecordBatchBuilder {
    let mut builder = RecordBatchBuilder::new();
    builder.append(timestamp, Some(b"key"), Some(&[b'v'; 2 * MESSAGE_BYTES_MAX])).expect("a batch can be built");
    builder
}

fn compressed(builder: RecordBatchBuilder, compression: CompressionType) -> Vec<u8> {
    let built = builder.build_compressed(compression.with_default_level(), &mut Compressor::new());
    built.expect("a batch can be built")
}

fn with(mut bytes: Vec<u8>, at: usize, field: &[u8]) -> Vec<u8> {
    bytes[at..at + field.len()].copy_from_slice(field);
    bytes
}

fn flipped(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    bytes[at] ^= 1;
    bytes
}

/// With the checksum of what it says now.
fn sealed(bytes: Vec<u8>) -> Vec<u8> {
    let crc = crc32c(&bytes[ATTRIBUTES_AT..]);
    with(bytes, CRC_AT, &crc.to_be_bytes())
}
