//! Bytes as record batches: parsed, iterated, decompressed and validated within their bounds. The first byte chooses whether the
//! checksum is made right first, so that mutations get behind it.
#![no_main]

use std::cell::RefCell;

use allocation_counter::measure;
use klamm::log::log_validator::{LogValidator, ValidationOrigin, ValidationSettings};
use klamm::record::{BatchIterator, Decompressor, RecordBatch, ScanLimits, TimestampType, crc32c, scan_records};
use klamm::types::{LeaderEpoch, Now, Offset};
use libfuzzer_sys::fuzz_target;

const BODY_BYTES_MAX: usize = 1 << 20;
/// Where the checksum stands in a batch, and where what it covers begins.
const CRC_AT: usize = 17;
const COVERED_FROM: usize = 21;
/// What a codec sets up before it looks at any input (zstd's context and window).
const CODEC_BYTES_MAX: u64 = 16 << 20;

thread_local! {
    static CODECS: RefCell<(LogValidator, Decompressor)> = RefCell::new(Default::default());
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, batch)) = data.split_first() else { return };
    let mut bytes = batch.to_vec();
    if choice & 1 == 1 {
        seal(&mut bytes);
    }
    let counted = measure(|| CODECS.with_borrow_mut(|(validator, decompressor)| look(&bytes, validator, decompressor)));
    let allowed = CODEC_BYTES_MAX + 8 * (BODY_BYTES_MAX + bytes.len()) as u64;
    assert!(counted.bytes_max <= allowed, "{} bytes took {}", bytes.len(), counted.bytes_max);
});

/// Makes length and checksum of a single batch right.
fn seal(bytes: &mut [u8]) {
    if bytes.len() < COVERED_FROM {
        return;
    }
    let length = i32::try_from(bytes.len() - 12).expect("a short input");
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    let crc = crc32c(&bytes[COVERED_FROM..]);
    bytes[CRC_AT..COVERED_FROM].copy_from_slice(&crc.to_be_bytes());
}

fn look(bytes: &[u8], validator: &mut LogValidator, decompressor: &mut Decompressor) {
    for batch in BatchIterator::new(bytes) {
        let Ok(batch) = batch else { break };
        look_at_batch(&batch, decompressor);
    }
    for timestamp_type in [TimestampType::CreateTime, TimestampType::LogAppendTime] {
        let settings = ValidationSettings {
            timestamp_type,
            decompressed_message_bytes_max: BODY_BYTES_MAX,
            decompressed_body_bytes_max: BODY_BYTES_MAX,
            ..ValidationSettings::default()
        };
        let Ok(valid) = validator.validate(bytes, &settings, ValidationOrigin::Client, Now::default()) else {
            continue;
        };
        // What is let through is a batch whose every record can be read, and stays one with its place in the log.
        let mut stored = valid.stamped_header(Offset(17), LeaderEpoch(3)).to_vec();
        stored.extend_from_slice(&valid.body);
        let (batch, rest) = RecordBatch::parse(&stored).expect("a valid batch parses");
        assert!(rest.is_empty());
        assert!(batch.crc_is_valid(), "a valid batch keeps its checksum");
        let limits = ScanLimits { record_bytes_max: BODY_BYTES_MAX, body_bytes_max: BODY_BYTES_MAX };
        let mut records = 0;
        scan_records(&batch, decompressor, limits, |_| records += 1).expect("the records of a valid batch can be read");
        assert!(records > 0, "a valid batch has records");
    }
}

fn look_at_batch(batch: &RecordBatch<'_>, decompressor: &mut Decompressor) {
    let _ = batch.crc_is_valid();
    let limits = ScanLimits { record_bytes_max: BODY_BYTES_MAX, body_bytes_max: BODY_BYTES_MAX };
    let mut scanned = 0_usize;
    let scan = scan_records(batch, decompressor, limits, |_| scanned += 1);
    let Ok(body) = batch.decompressed_body(decompressor, BODY_BYTES_MAX) else { return };
    assert!(body.len() <= BODY_BYTES_MAX || batch.records().is_some());
    let read: Result<Vec<_>, _> = batch.records_in(&body).collect();
    if scan.is_ok()
        && let Ok(read) = read
    {
        assert_eq!(read.len(), scanned, "two ways to read a batch see the same records");
    }
}
