//! Every check of the validator, and what it does to a batch that passes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::limits::RECORD_ERRORS_MAX;
use crate::record::{BatchIterator, CompressionError, Header, RecordBatchBuilder, ScanError};
use crate::types::{Instant, ProducerEpoch, ProducerId};

const NOW: i64 = 1_700_000_000_000;

fn now() -> Now {
    Now { instant: Instant(0), wall: WallTime(NOW) }
}

fn validate<'a>(records: &'a [u8], settings: &ValidationSettings) -> Result<ValidatedBatch<'a>, ValidationError> {
    LogValidator::new().validate(records, settings, ValidationOrigin::Client, now())
}

/// A batch of records with these keys and timestamps.
fn batch(codec: CompressionType, records: &[(Option<&[u8]>, i64)]) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new();
    for (key, timestamp) in records {
        builder.append(*timestamp, *key, Some(b"value, value, value, value")).unwrap();
    }
    builder.build_compressed(codec.with_default_level(), &mut Compressor::new()).unwrap()
}

fn two(codec: CompressionType) -> Vec<u8> {
    batch(codec, &[(Some(b"a"), NOW - 5), (Some(b"b"), NOW - 9)])
}

/// Writes `bytes` at `place` of a batch and makes the checksum right again.
fn patched<const BYTES: usize>(mut batch: Vec<u8>, place: usize, bytes: [u8; BYTES]) -> Vec<u8> {
    batch[place..place + BYTES].copy_from_slice(&bytes);
    let crc = crate::record::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    batch
}

/// An uncompressed batch around a body that the builder would not write.
fn around(body: &[u8], record_count: i32, codec: CompressionType) -> Vec<u8> {
    let mut header = two(CompressionType::None);
    header.truncate(BATCH_HEADER_BYTES);
    header.extend(Compressor::new().compress(codec.with_default_level(), body).unwrap());
    let length = i32::try_from(header.len() - 12).unwrap();
    header[8..12].copy_from_slice(&length.to_be_bytes());
    header[23..27].copy_from_slice(&(record_count - 1).to_be_bytes());
    header[57..61].copy_from_slice(&record_count.to_be_bytes());
    patched(header, 21, i16::from(codec.id()).to_be_bytes())
}

fn refusal(records: &[u8]) -> ValidationError {
    validate(records, &ValidationSettings::default()).unwrap_err()
}

macro_rules! assert_refused {
    ($records:expr, $pattern:pat) => {
        let error = refusal(&$records);
        assert!(matches!(error, $pattern), "{error:?}");
    };
}

#[test]
fn a_good_batch_passes_without_a_copy() {
    for codec in CompressionType::ALL {
        let bytes = two(codec);
        let validated = validate(&bytes, &ValidationSettings::default()).unwrap();
        assert!(matches!(validated.body, Cow::Borrowed(_)), "{codec}");
        assert_eq!(validated.header.as_bytes(), &bytes[..BATCH_HEADER_BYTES]);
        assert_eq!((validated.log_append_time, validated.total_bytes()), (None, bytes.len()));
        let stamped = [&validated.stamped_header(Offset(77), LeaderEpoch(3))[..], &validated.body].concat();
        let (stored, _) = RecordBatch::parse(&stamped).unwrap();
        assert!(stored.crc_is_valid());
        assert_eq!((stored.base_offset(), stored.last_offset()), (Offset(77), Offset(78)));
        assert_eq!((stored.partition_leader_epoch(), stored.max_timestamp()), (LeaderEpoch(3), NOW - 5));
    }
}

#[test]
fn only_one_whole_batch_is_accepted() {
    let one = two(CompressionType::None);
    assert_refused!([], ValidationError::NoBatch);
    for cut in 0..one.len() {
        assert_refused!(one[..cut], ValidationError::NoBatch);
    }
    assert_refused!([&one[..], &one].concat(), ValidationError::MoreThanOneBatch);
    assert_refused!([&one[..], &[0; 16]].concat(), ValidationError::Corrupt(BatchError::Length(0)));
}

#[test]
fn a_torn_batch_behind_the_first_is_dropped() {
    let one = two(CompressionType::None);
    for torn in 0..one.len() {
        let bytes = [&one[..], &one[..torn]].concat();
        let validated = validate(&bytes, &ValidationSettings::default()).unwrap();
        assert_eq!((validated.total_bytes(), &*validated.body), (one.len(), &one[BATCH_HEADER_BYTES..]));
    }
}

#[test]
fn other_formats_and_broken_headers_are_refused() {
    for magic in [0, 1] {
        assert_refused!(patched(two(CompressionType::None), 16, [magic]), ValidationError::OldMagic(_));
    }
    assert_refused!(
        patched(two(CompressionType::None), 16, [3]),
        ValidationError::Corrupt(BatchError::UnknownMagic(3))
    );
    for length in [-1, 0, 13, 20, 48] {
        let batch = patched(two(CompressionType::None), 8, i32::to_be_bytes(length));
        assert_refused!(batch, ValidationError::Corrupt(BatchError::Length(_)));
    }
    for codec in 5..8 {
        let batch = patched(two(CompressionType::None), 22, [codec]);
        assert_refused!(batch, ValidationError::Corrupt(BatchError::UnknownCompression(_)));
    }
}

#[test]
fn what_the_header_says_is_checked_in_order() {
    let good = || two(CompressionType::None);
    assert_refused!(patched(good(), 0, 5i64.to_be_bytes()), ValidationError::BaseOffset(Offset(5)));
    let mut damaged = good();
    *damaged.last_mut().unwrap() ^= 1;
    assert_refused!(damaged, ValidationError::Checksum(_));
    damaged[7] = 1;
    assert_refused!(damaged, ValidationError::BaseOffset(_));
    assert_refused!(patched(good(), 23, (-1i32).to_be_bytes()), ValidationError::OffsetRange { last_offset_delta: -1 });
    assert_refused!(patched(good(), 57, 0i32.to_be_bytes()), ValidationError::RecordCount(0));
    assert_refused!(patched(good(), 57, (-2i32).to_be_bytes()), ValidationError::RecordCount(-2));
    assert_refused!(patched(good(), 23, 2i32.to_be_bytes()), ValidationError::CountMismatch { .. });
    assert_refused!(patched(good(), 23, i32::MAX.to_be_bytes()), ValidationError::CountMismatch { .. });
    assert_refused!(patched(good(), 22, [0x20]), ValidationError::ControlBatch);
    assert_refused!(patched(good(), 43, 4i64.to_be_bytes()), ValidationError::Sequence(-1));
}

#[test]
fn the_size_limit_counts_the_header() {
    let bytes = two(CompressionType::None);
    let mut settings = ValidationSettings { message_bytes_max: bytes.len(), ..Default::default() };
    assert!(validate(&bytes, &settings).is_ok());
    settings.message_bytes_max -= 1;
    assert!(matches!(validate(&bytes, &settings), Err(ValidationError::TooLarge { .. })));
}

#[test]
fn the_size_limit_holds_after_recompression_too() {
    let bytes = two(CompressionType::Zstd);
    let none = ValidationSettings { compression: Some(Compression::None), ..Default::default() };
    let larger = validate(&bytes, &none).unwrap().total_bytes();
    assert!(larger > bytes.len());
    let settings = ValidationSettings { message_bytes_max: larger - 1, ..none };
    assert!(matches!(validate(&bytes, &settings), Err(ValidationError::TooLarge { .. })));
}

#[test]
fn zstd_is_refused_in_old_requests() {
    let settings = ValidationSettings { is_zstd_allowed: false, ..Default::default() };
    assert!(matches!(validate(&two(CompressionType::Zstd), &settings), Err(ValidationError::ZstdNotAllowed)));
    assert!(validate(&two(CompressionType::Lz4), &settings).is_ok());
}

#[test]
fn coordinators_may_write_control_batches_and_leave_out_sequences() {
    let mut validator = LogValidator::new();
    let mut builder =
        RecordBatchBuilder::new().producer(ProducerId(5), ProducerEpoch(0), -1).transactional(true).control(true);
    builder.append(NOW, Some(&[0, 0, 0, 1]), Some(&[0; 6])).unwrap();
    let marker = builder.build().unwrap();
    // Nor are they compressed.
    let settings = ValidationSettings {
        compression: Some(CompressionType::Gzip.with_default_level()),
        is_compacted: true,
        ..Default::default()
    };
    let validated = validator.validate(&marker, &settings, ValidationOrigin::Coordinator, now()).unwrap();
    assert!(matches!(validated.body, Cow::Borrowed(_)));
    let refused = validator.validate(&marker, &settings, ValidationOrigin::Client, now());
    assert!(matches!(refused, Err(ValidationError::ControlBatch)));
}

#[test]
fn records_without_a_key_are_named_on_a_compacted_topic() {
    let settings = ValidationSettings { is_compacted: true, ..Default::default() };
    for codec in CompressionType::ALL {
        let bytes = batch(codec, &[(Some(b""), NOW), (None, NOW), (Some(b"k"), NOW), (None, NOW)]);
        assert!(validate(&bytes, &ValidationSettings::default()).is_ok());
        let Err(ValidationError::InvalidRecords(rejected)) = validate(&bytes, &settings) else { panic!("{codec}") };
        assert_eq!(rejected.iter().map(|record| record.batch_index).collect::<Vec<_>>(), [1, 3]);
    }
}

#[test]
fn timestamps_out_of_range_are_named_and_win_over_missing_keys() {
    let settings = ValidationSettings {
        timestamp_before_max_ms: 1_000,
        timestamp_after_max_ms: 100,
        is_compacted: true,
        ..Default::default()
    };
    for codec in CompressionType::ALL {
        let edges = batch(codec, &[(Some(b"k"), NOW - 1_000), (Some(b"k"), NOW + 100), (Some(b"k"), -1)]);
        assert!(validate(&edges, &settings).is_ok());
        let beyond = batch(codec, &[(Some(b"k"), NOW - 1_001), (None, NOW), (Some(b"k"), NOW + 101)]);
        let Err(ValidationError::InvalidTimestamps(rejected)) = validate(&beyond, &settings) else { panic!("{codec}") };
        assert_eq!(rejected.iter().map(|record| record.batch_index).collect::<Vec<_>>(), [0, 1, 2]);
    }
}

#[test]
fn no_more_records_are_named_than_an_answer_should_hold() {
    let settings = ValidationSettings { is_compacted: true, ..Default::default() };
    let bytes = batch(CompressionType::None, &vec![(None, NOW); RECORD_ERRORS_MAX + 5]);
    let Err(ValidationError::InvalidRecords(rejected)) = validate(&bytes, &settings) else { panic!() };
    assert_eq!(rejected.len(), RECORD_ERRORS_MAX);
}

#[test]
fn append_time_replaces_the_producers_and_its_checksum_is_right() {
    let settings = ValidationSettings { timestamp_type: TimestampType::LogAppendTime, ..Default::default() };
    for codec in CompressionType::ALL {
        for compression in [None, Some(Compression::Snappy)] {
            // Far out of range, which does not matter then.
            let bytes = batch(codec, &[(Some(b"k"), NOW * 2), (Some(b"k"), 5)]);
            let validated = validate(&bytes, &ValidationSettings { compression, ..settings }).unwrap();
            assert_eq!(validated.log_append_time, Some(WallTime(NOW)));
            let stored = [&validated.header.as_bytes()[..], &validated.body].concat();
            let (stored, _) = RecordBatch::parse(&stored).unwrap();
            assert!(stored.crc_is_valid());
            assert_eq!((stored.timestamp_type(), stored.max_timestamp()), (TimestampType::LogAppendTime, NOW));
            let body = stored.decompressed_body(&mut Decompressor::new(), 1_000).unwrap();
            assert!(stored.records_in(&body).all(|record| record.unwrap().timestamp == NOW));
        }
    }
}

#[test]
fn a_producers_claim_of_append_time_is_taken_for_its_own_or_refused_if_the_brokers_counts() {
    let claimed = |timestamp| {
        let mut builder = RecordBatchBuilder::new().log_append_time(WallTime(timestamp));
        builder.append(NOW, None, None).unwrap();
        builder.build().unwrap()
    };
    let bytes = claimed(NOW);
    let validated = validate(&bytes, &ValidationSettings::default()).unwrap();
    assert_eq!((validated.header.timestamp_type(), validated.header.max_timestamp()), (TimestampType::CreateTime, NOW));
    assert_eq!(validated.header.crc(), validated.header.compute_crc(&validated.body));
    let append_time = ValidationSettings { timestamp_type: TimestampType::LogAppendTime, ..Default::default() };
    for (timestamp, settings) in [(NOW, append_time), (-1, ValidationSettings::default())] {
        assert!(matches!(validate(&claimed(timestamp), &settings), Err(ValidationError::InvalidTimestamps(_))));
    }
}

#[test]
fn a_wrong_max_timestamp_is_corrected() {
    for wrong in [-1, 0, NOW * 3] {
        let bytes = patched(two(CompressionType::Lz4), 35, wrong.to_be_bytes());
        let validated = validate(&bytes, &ValidationSettings::default()).unwrap();
        let stored = [&validated.header.as_bytes()[..], &validated.body].concat();
        let (stored, _) = RecordBatch::parse(&stored).unwrap();
        assert_eq!(stored.max_timestamp(), NOW - 5);
        assert!(stored.crc_is_valid() && matches!(validated.body, Cow::Borrowed(_)));
    }
}

#[test]
fn the_topics_codec_replaces_the_producers_and_all_else_stays() {
    for from in CompressionType::ALL {
        let mut builder = RecordBatchBuilder::new().producer(ProducerId(9), ProducerEpoch(2), 40).transactional(true);
        let headers = [Header { key: b"h", value: Some(b"1") }, Header { key: b"h", value: None }];
        builder.append_with_headers(NOW, Some(b"key"), None, &headers).unwrap();
        builder.append(NOW - 3, None, Some(&b"text ".repeat(200))).unwrap();
        let bytes = builder.build_compressed(from.with_default_level(), &mut Compressor::new()).unwrap();
        for to in CompressionType::ALL {
            let settings =
                ValidationSettings { compression: Some(to.with_default_level()), ..ValidationSettings::default() };
            let validated = validate(&bytes, &settings).unwrap();
            assert_eq!(matches!(validated.body, Cow::Borrowed(_)), from == to);
            let stored = [&validated.header.as_bytes()[..], &validated.body].concat();
            let (stored, _) = RecordBatch::parse(&stored).unwrap();
            assert!(stored.crc_is_valid());
            assert_eq!(stored.compression(), to);
            assert_eq!(
                (stored.producer_id(), stored.producer_epoch(), stored.base_sequence()),
                (ProducerId(9), ProducerEpoch(2), 40)
            );
            assert!(stored.is_transactional());
            let (before, _) = RecordBatch::parse(&bytes).unwrap();
            let mut decompressor = Decompressor::new();
            let old = before.decompressed_body(&mut decompressor, 10_000).unwrap();
            let new = stored.decompressed_body(&mut decompressor, 10_000).unwrap();
            assert_eq!(old, new, "{from} to {to}");
        }
    }
}

#[test]
fn offsets_with_gaps_are_made_consecutive() {
    let mut builder = RecordBatchBuilder::new();
    builder.append(NOW, Some(b"a"), None).unwrap();
    builder.append(NOW, Some(b"b"), None).unwrap();
    let mut body = builder.build().unwrap().split_off(BATCH_HEADER_BYTES);
    let offset_delta = body.len() / 2 + 3;
    assert_eq!(std::mem::replace(&mut body[offset_delta], 10), 2, "the zig-zag numbers of 5 and 1");
    for codec in CompressionType::ALL {
        let bytes = around(&body, 2, codec);
        let validated = validate(&bytes, &ValidationSettings::default()).unwrap();
        let stored = [&validated.header.as_bytes()[..], &validated.body].concat();
        let (stored, _) = RecordBatch::parse(&stored).unwrap();
        assert_eq!((stored.compression(), stored.last_offset_delta()), (codec, 1));
        let body = stored.decompressed_body(&mut Decompressor::new(), 1_000).unwrap();
        let offsets: Vec<_> = stored.records_in(&body).map(|record| record.unwrap().offset.0).collect();
        assert_eq!(offsets, [0, 1]);
    }
}

#[test]
fn records_that_cannot_be_read_are_refused_in_every_codec() {
    let record = [16, 0, 0, 0, 2, b'k', 2, b'v', 0]; // attributes, deltas, key, value, no headers
    let bodies: BTreeMap<&str, Vec<u8>> = [
        ("bytes behind the last record", [&record[..], &[0]].concat()),
        ("a record cut short", record[..8].to_vec()),
        ("nothing", vec![]),
        ("a length that is negative", vec![1, 0, 0, 0, 2, b'k', 2, b'v', 0]),
        ("a length too large", vec![18, 0, 0, 0, 2, b'k', 2, b'v', 0]),
        ("a length too small", vec![14, 0, 0, 0, 2, b'k', 2, b'v', 0]),
        ("a key beyond the record", vec![16, 0, 0, 0, 200, 1, b'k', 2, b'v']),
        ("a key of 2 GiB", vec![20, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, b'k', 0]),
        ("headers by the milliard", vec![20, 0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f]),
        ("a negative count of headers", vec![12, 0, 0, 0, 1, 1, 1]),
        ("a header without a key", vec![16, 0, 0, 0, 1, 1, 2, 1, 1]),
        ("a number without end", vec![0xff; 30]),
    ]
    .into();
    for codec in CompressionType::ALL {
        assert!(validate(&around(&record, 1, codec), &ValidationSettings::default()).is_ok());
        for (name, body) in &bodies {
            let error = refusal(&around(body, 1, codec));
            assert!(matches!(error, ValidationError::Unreadable(_)), "{codec}, {name}: {error}");
        }
        assert_refused!(around(&record, 2, codec), ValidationError::Unreadable(_));
        assert_refused!(around(&record, i32::MAX, codec), ValidationError::Unreadable(_));
    }
}

#[test]
fn a_long_record_is_refused_only_where_it_was_compressed() {
    let settings = ValidationSettings { decompressed_message_bytes_max: 10_000, ..Default::default() };
    for codec in CompressionType::ALL {
        let mut one = RecordBatchBuilder::new();
        one.append(NOW, None, Some(&[7; 20_000])).unwrap();
        let mut twenty = RecordBatchBuilder::new();
        for _ in 0..20 {
            twenty.append(NOW, None, Some(&[7; 1_000])).unwrap();
        }
        let mut compressor = Compressor::new();
        let one = one.build_compressed(codec.with_default_level(), &mut compressor).unwrap();
        let twenty = twenty.build_compressed(codec.with_default_level(), &mut compressor).unwrap();
        assert!(validate(&twenty, &settings).is_ok());
        let refused = matches!(
            validate(&one, &settings),
            Err(ValidationError::Unreadable(ScanError::RecordTooLarge { index: 0, bytes_max: 10_000, .. }))
        );
        assert_eq!(refused, codec != CompressionType::None);
    }
}

#[test]
fn a_bomb_is_refused_whether_it_must_be_rewritten_or_not() {
    // A record of 1 MiB of zeroes: small once compressed, and small enough by itself.
    let mut builder = RecordBatchBuilder::new();
    builder.append(NOW, None, Some(&vec![0; 1 << 20])).unwrap();
    let bytes = builder.build_compressed(CompressionType::Zstd.with_default_level(), &mut Compressor::new()).unwrap();
    assert!(bytes.len() < 1_000);
    for compression in [None, Some(Compression::Snappy)] {
        let mut settings =
            ValidationSettings { compression, decompressed_body_bytes_max: 1 << 21, ..Default::default() };
        assert!(validate(&bytes, &settings).is_ok());
        settings.decompressed_body_bytes_max = 1 << 20;
        let error = validate(&bytes, &settings).unwrap_err();
        assert!(
            matches!(error, ValidationError::Unreadable(ScanError::Compression(CompressionError::TooLarge { .. }))),
            "{error:?}"
        );
    }
}

#[test]
fn validators_may_move_between_threads() {
    fn can_move<T: Send>() {}
    can_move::<LogValidator>();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn noise_with_a_right_checksum_never_panics(
        body in prop::collection::vec(any::<u8>(), 0..200), count in 1i32..5, codec in 0u8..5,
    ) {
        let codec = CompressionType::from_id(codec).unwrap();
        let bytes = around(&body, count, codec);
        let settings = ValidationSettings { compression: Some(Compression::Lz4), ..Default::default() };
        let _ = validate(&bytes, &settings);
        let mut raw = around(&[], count, CompressionType::None);
        raw.extend(&body);
        let length = i32::try_from(raw.len() - 12).unwrap();
        raw[8..12].copy_from_slice(&length.to_be_bytes());
        let _ = validate(&patched(raw, 21, i16::from(codec.id()).to_be_bytes()), &settings);
    }

    #[test]
    fn streaming_sees_the_same_records_as_reading(
        keys in prop::collection::vec((prop::option::of(prop::collection::vec(any::<u8>(), 0..3_000)), 0..NOW), 1..30),
    ) {
        let records: Vec<_> = keys.iter().map(|(key, timestamp)| (key.as_deref(), *timestamp)).collect();
        let limits = ScanLimits { record_bytes_max: usize::MAX, body_bytes_max: usize::MAX };
        let mut decompressor = Decompressor::new();
        for codec in CompressionType::ALL {
            let bytes = batch(codec, &records);
            let batch = BatchIterator::new(&bytes).next().unwrap().unwrap();
            let mut seen = Vec::new();
            scan_records(&batch, &mut decompressor, limits, |record| {
                seen.push((record.offset_delta == record.index, record.has_key, record.timestamp));
            }).unwrap();
            let expected: Vec<_> = records.iter().map(|(key, timestamp)| (true, key.is_some(), *timestamp)).collect();
            prop_assert_eq!(&seen, &expected);
        }
    }
}
