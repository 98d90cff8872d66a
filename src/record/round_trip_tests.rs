//! Whatever is built is read back, for any records, codec and header; and damage of any kind is an error, never a panic.

use proptest::prelude::*;

use super::*;
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, WallTime};

type Bytes = Vec<u8>;

#[derive(Clone, Debug)]
struct Written {
    timestamp: i64,
    key: Option<Bytes>,
    value: Option<Bytes>,
    headers: Vec<(Bytes, Option<Bytes>)>,
}

fn some_bytes(longest: usize) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..longest)
}

fn some_record() -> impl Strategy<Value = Written> {
    let header = (some_bytes(10), prop::option::of(some_bytes(100)));
    let headers = prop::collection::vec(header, 0..4);
    (-1i64..1 << 60, prop::option::of(some_bytes(200)), prop::option::of(some_bytes(3_000)), headers)
        .prop_map(|(timestamp, key, value, headers)| Written { timestamp, key, value, headers })
}

fn append(builder: &mut RecordBatchBuilder, record: &Written) {
    let headers: Vec<_> = record.headers.iter().map(|(key, value)| Header { key, value: value.as_deref() }).collect();
    builder.append_with_headers(record.timestamp, record.key.as_deref(), record.value.as_deref(), &headers).unwrap();
}

fn matches(record: &Record<'_>, written: &Written) -> bool {
    let headers = written.headers.iter().map(|(key, value)| Header { key, value: value.as_deref() });
    record.key == written.key.as_deref() && record.value == written.value.as_deref() && record.headers.eq(headers)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_records_survive_any_codec(
        written in prop::collection::vec(some_record(), 1..20),
        codec in prop::sample::select(&CompressionType::ALL[..]),
        base_offset in 0i64..1 << 60,
        producer in (any::<i64>(), any::<i16>(), any::<i32>()),
        bits in any::<[bool; 2]>(),
        append_time in prop::option::of(0i64..1 << 60),
    ) {
        let mut builder = RecordBatchBuilder::new()
            .base_offset(Offset(base_offset))
            .leader_epoch(LeaderEpoch(5))
            .producer(ProducerId(producer.0), ProducerEpoch(producer.1), producer.2)
            .transactional(bits[0])
            .control(bits[1]);
        if let Some(time) = append_time {
            builder = builder.log_append_time(WallTime(time));
        }
        written.iter().for_each(|record| append(&mut builder, record));
        let bytes = builder.build_compressed(codec.with_default_level(), &mut Compressor::new()).unwrap();

        let (batch, rest) = RecordBatch::parse(&bytes).unwrap();
        prop_assert!(rest.is_empty() && batch.crc_is_valid());
        prop_assert_eq!((batch.base_offset(), batch.compression()), (Offset(base_offset), codec));
        prop_assert_eq!((batch.producer_id().0, batch.producer_epoch().0, batch.base_sequence()), producer);
        prop_assert_eq!([batch.is_transactional(), batch.is_control_batch()], bits);
        let latest = written.iter().map(|record| record.timestamp).max().unwrap();
        prop_assert_eq!(batch.max_timestamp(), append_time.unwrap_or(latest));
        let body = batch.decompressed_body(&mut Decompressor::new(), 1 << 20).unwrap();
        let records: Vec<_> = batch.records_in(&body).map(Result::unwrap).collect();
        prop_assert_eq!(records.len(), written.len());
        for ((record, written), index) in records.iter().zip(&written).zip(0..) {
            prop_assert!(matches(record, written));
            prop_assert_eq!((record.offset, record.timestamp), (Offset(base_offset + index), append_time.unwrap_or(written.timestamp)));
        }
        prop_assert_eq!(records.iter().map(|record| record.total_bytes).sum::<usize>(), body.len());
    }

    #[test]
    fn a_body_cut_anywhere_is_an_error(written in prop::collection::vec(some_record(), 1..4)) {
        let mut builder = RecordBatchBuilder::new();
        written.iter().for_each(|record| append(&mut builder, record));
        let bytes = builder.build().unwrap();
        let (batch, _) = RecordBatch::parse(&bytes).unwrap();
        for cut in 0..batch.body().len() {
            let last = batch.records_in(&batch.body()[..cut]).last();
            let is_noticed = matches!(last, Some(Err(RecordError::Truncated { .. } | RecordError::Malformed { .. })));
            prop_assert!(is_noticed, "cut at {}", cut);
        }
    }

    #[test]
    fn noise_in_a_body_never_panics_and_ends(noise in some_bytes(200), count: i32, base_offset: i64, base_timestamp: i64) {
        let mut builder = RecordBatchBuilder::new().base_offset(Offset(base_offset));
        builder.append(base_timestamp, None, None).unwrap();
        let mut bytes = builder.build().unwrap();
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        let (batch, _) = RecordBatch::parse(&bytes).unwrap();
        prop_assert!(batch.records_in(&noise).count() <= noise.len() + 1);
    }

    #[test]
    fn noise_as_batches_never_panics_and_ends(noise in some_bytes(300)) {
        prop_assert!(BatchIterator::new(&noise).count() <= noise.len());
        for start in 0..noise.len() {
            let _ = BatchHeader::parse(&noise[start..]);
        }
    }
}
