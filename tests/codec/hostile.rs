//! Bytes that no honest peer sends: cut messages, lengths that promise more than there is, and messages that are mostly structure.
//!
//! It must not know how memory is bounded, only that it is: it counts what is allocated.

use allocation_counter::measure;
use klamm::protocol::messages::metadata::MetadataRequest;
use klamm::protocol::messages::offset_fetch::OffsetFetchRequest;
use klamm::protocol::{DecodeError, Decoder, Message};

use crate::catalogue;

/// The most that decoding a frame may allocate at once.
fn memory_max(frame_bytes: usize) -> u64 {
    16 * frame_bytes as u64 + 64 * 1024
}

/// Decodes and checks that the memory taken is bounded by the length of the frame.
fn decode_counted(
    name: &str,
    bytes: &[u8],
    decode: impl Fn() -> Result<usize, DecodeError>,
) -> Result<usize, DecodeError> {
    let mut result = Ok(0);
    let counted = measure(|| result = decode());
    let allowed = memory_max(bytes.len());
    assert!(counted.bytes_max <= allowed, "{name} took {} of {allowed} bytes for {bytes:?}", counted.bytes_max);
    result
}

#[test]
fn a_message_cut_at_any_byte_is_an_error() {
    for entry in catalogue::all() {
        for version in entry.versions.clone() {
            let bytes = (entry.sample)(3, version);
            for length in 0..bytes.len() {
                let cut = &bytes[..length];
                let result = decode_counted(entry.name, cut, || (entry.decode)(cut, version));
                assert!(result.is_err(), "{} {version} decodes from {length} of {} bytes", entry.name, bytes.len());
            }
        }
    }
}

#[test]
fn a_bomb_at_any_byte_takes_no_more_memory_than_the_frame_allows() {
    let bombs: [&[u8]; 6] = [
        &[0x7f, 0xff],
        &[0x7f, 0xff, 0xff, 0xff],
        &[0x00, 0xff, 0xff, 0xff],
        &[0xff, 0xff, 0xff, 0xff, 0x07],
        &[0xff, 0xff, 0xff, 0xff, 0x0f],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ];
    for entry in catalogue::all() {
        for version in entry.versions.clone() {
            for seed in 0..3 {
                let honest = (entry.sample)(seed, version);
                for at in 0..honest.len() {
                    for bomb in bombs {
                        let mut bytes = honest[..at].to_vec();
                        bytes.extend_from_slice(bomb);
                        bytes.extend(honest.iter().skip(at + bomb.len()));
                        // Most bombs are errors; some hit a number or a text and are legal.
                        let _ = decode_counted(entry.name, &bytes, || (entry.decode)(&bytes, version));
                    }
                }
            }
        }
    }
}

#[test]
fn random_bytes_never_panic_and_stay_within_their_memory() {
    let mut state = 1u64;
    for entry in catalogue::all() {
        for version in entry.versions.clone() {
            for _ in 0..50 {
                let bytes: Vec<u8> = (0..96)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        // Small bytes are likely lengths, so that decoding gets further.
                        if state >> 62 == 0 { (state >> 56) as u8 } else { (state >> 40) as u8 & 3 }
                    })
                    .collect();
                let _ = decode_counted(entry.name, &bytes, || (entry.decode)(&bytes, version));
            }
        }
    }
}

#[test]
fn an_array_longer_than_the_remaining_bytes_is_refused_before_anything_is_allocated() {
    let bytes = [0x00, 0x10, 0x00, 0x00, 0, 0, 0, 0, 0, 0];
    let counted = measure(|| {
        let expected = DecodeError::ArrayTooLong { elements: 0x0010_0000, remaining: 6 };
        assert_eq!(MetadataRequest::decode(&mut Decoder::new(&bytes), 4), Err(expected));
    });
    assert_eq!(counted.bytes_total, 0);
}

#[test]
fn a_megabyte_of_empty_names_takes_at_most_sixteen_times_its_length() {
    let names = 500_000u32;
    let mut bytes = names.to_be_bytes().to_vec();
    bytes.resize(4 + 2 * names as usize + 1, 0);
    let result = decode_counted("MetadataRequest", &bytes, || {
        let mut decoder = Decoder::new(&bytes);
        MetadataRequest::decode(&mut decoder, 4).map(|_| decoder.remaining())
    });
    assert_eq!(result, Ok(0));
    let counted = measure(|| drop(MetadataRequest::decode(&mut Decoder::new(&bytes), 4)));
    assert!(counted.bytes_max > bytes.len() as u64, "the counter counts: {}", counted.bytes_max);
}

#[test]
fn structures_that_would_take_far_more_memory_than_their_bytes_are_refused() {
    // A group without name and topics takes three bytes here, and far more than sixteen times that in memory.
    let groups = 100_000u32;
    let mut bytes = vec![0xa1, 0x8d, 0x06];
    bytes.extend(std::iter::repeat_n([1, 1, 0], groups as usize).flatten());
    bytes.extend_from_slice(&[0, 0]);
    let result = decode_counted("OffsetFetchRequest", &bytes, || {
        OffsetFetchRequest::decode(&mut Decoder::new(&bytes), 8).map(|_| 0)
    });
    assert_eq!(result, Err(DecodeError::BudgetExceeded));
}
