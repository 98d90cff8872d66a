//! What holds for every codec: round trips, bounds, and that broken input is an error and never a panic.

use proptest::prelude::*;

use super::*;

const COMPRESSED: [CompressionType; 4] =
    [CompressionType::Gzip, CompressionType::Snappy, CompressionType::Lz4, CompressionType::Zstd];

fn compress(codec: CompressionType, input: &[u8]) -> Vec<u8> {
    Compressor::new().compress(codec.with_default_level(), input).unwrap()
}

fn decompress(codec: CompressionType, input: &[u8], bytes_max: usize) -> Result<Vec<u8>, CompressionError> {
    Decompressor::new().decompress(codec, input, bytes_max)
}

/// Text with repeats, longer than one block of any codec.
fn text() -> Vec<u8> {
    (0..5_000u32)
        .flat_map(|index| format!("line {} of many\n", index.wrapping_mul(2_654_435_761)).into_bytes())
        .collect()
}

#[test]
fn long_text_survives_every_codec_at_every_level() {
    let text = text();
    let mut compressor = Compressor::new();
    let mut decompressor = Decompressor::new();
    let gzip = [-1, 1, 6, 9, 99].map(|level| Compression::Gzip { level });
    let zstd = [i32::MIN, -5, 1, 3, 9].map(|level| Compression::Zstd { level });
    for compression in [&[Compression::None, Compression::Snappy, Compression::Lz4][..], &gzip, &zstd].concat() {
        let compressed = compressor.compress(compression, &text).unwrap();
        let codec = compression.compression_type();
        let is_tried = !matches!(compression, Compression::None | Compression::Zstd { level: ..0 });
        assert!(!is_tried || compressed.len() < text.len() / 2, "{compression:?}");
        assert!(decompressor.decompress(codec, &compressed, text.len()).unwrap() == text, "{compression:?}");
    }
}

#[test]
fn a_higher_level_of_gzip_and_zstd_compresses_more() {
    let text = text();
    let bytes = |compression| Compressor::new().compress(compression, &text).unwrap().len();
    let gzip = [1, 6, 9].map(|level| bytes(Compression::Gzip { level }));
    assert!(gzip[0] > gzip[1] && gzip[0] > gzip[2], "{gzip:?}");
    let zstd = [-5, 1, 19].map(|level| bytes(Compression::Zstd { level }));
    assert!(zstd[0] > zstd[1] && zstd[1] > zstd[2], "{zstd:?}");
}

#[test]
fn content_of_one_byte_more_than_the_bound_is_refused() {
    let text = text();
    for codec in CompressionType::ALL {
        let compressed = compress(codec, &text);
        assert!(decompress(codec, &compressed, text.len()).is_ok());
        let error = decompress(codec, &compressed, text.len() - 1).unwrap_err();
        assert!(matches!(error, CompressionError::TooLarge { .. }), "{error}");
    }
}

#[test]
fn a_bomb_takes_no_more_memory_than_twice_the_bound() {
    let zeroes = vec![0; 2 << 20];
    for codec in COMPRESSED {
        let bomb = compress(codec, &zeroes);
        let mut decompressor = Decompressor::new();
        let mut output = Vec::new();
        let bound = 100_000;
        decompressor.reader(codec, &bomb, usize::MAX).unwrap().take(bound).read_to_end(&mut output).unwrap();
        assert!(output.capacity() <= 2 * bound as usize, "{codec}: {}", output.capacity());
        assert!(decompressor.snappy_block.capacity() <= 2 * bound as usize);
        assert!(matches!(decompress(codec, &bomb, 100_000), Err(CompressionError::TooLarge { .. })));
    }
}

#[test]
fn memory_that_one_large_input_took_is_given_back() {
    let content = vec![7; 32 << 20];
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(25).unwrap();
    io::Write::write_all(&mut encoder, &content).unwrap();
    let zstd = encoder.finish().unwrap();
    let snappy = snap::raw::Encoder::new().compress_vec(&content).unwrap();
    let mut decompressor = Decompressor::new();
    for (codec, input) in [(CompressionType::Zstd, zstd), (CompressionType::Snappy, snappy)] {
        assert!(decompressor.decompress(codec, &input, content.len()).unwrap() == content);
        assert!(decompressor.zstd.bytes().max(decompressor.snappy_block.capacity()) <= KEPT_BYTES_MAX);
    }
}

#[test]
fn a_snappy_block_that_claims_more_than_it_can_hold_is_refused_before_memory_is_taken() {
    // A block that claims 4 GiB - 1, bare and framed.
    let block = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0];
    let framed = [&b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0\0\x08"[..], &block].concat();
    for input in [&block[..], &framed] {
        let mut decompressor = Decompressor::new();
        assert!(matches!(
            decompressor.decompress(CompressionType::Snappy, input, 1 << 30),
            Err(CompressionError::Broken { .. })
        ));
        assert!(decompressor.snappy_block.capacity() < 1_000);
    }
}

#[test]
fn data_cut_anywhere_is_broken() {
    let text = &text()[..3_000];
    for codec in COMPRESSED {
        let compressed = compress(codec, text);
        for cut in 0..compressed.len() {
            // A framed snappy stream may end behind any block, which here only the header's end is.
            if codec == CompressionType::Snappy && cut == 16 {
                continue;
            }
            let result = decompress(codec, &compressed[..cut], 1 << 20);
            assert!(matches!(result, Err(CompressionError::Broken { .. })), "{codec} cut at {cut}");
        }
    }
}

#[test]
fn gzip_members_zstd_frames_and_framed_snappy_streams_may_follow_each_other() {
    for codec in [CompressionType::Gzip, CompressionType::Zstd, CompressionType::Snappy] {
        let joined = [compress(codec, b"first "), compress(codec, b"second")].concat();
        assert_eq!(decompress(codec, &joined, 100).unwrap(), b"first second", "{codec}");
    }
}

#[test]
fn a_bare_snappy_block_is_read() {
    let bare = snap::raw::Encoder::new().compress_vec(b"no framing at all, no framing at all").unwrap();
    assert_eq!(decompress(CompressionType::Snappy, &bare, 100).unwrap(), b"no framing at all, no framing at all");
}

mod lz4_frames {
    use std::io::Write;

    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

    use super::*;

    fn frame(info: FrameInfo, content: &[u8]) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn linked_blocks_are_refused_even_if_there_is_only_one() {
        for length in [1_000, 100_000] {
            let info = FrameInfo::new().block_mode(BlockMode::Linked).block_size(BlockSize::Max64KB);
            let compressed = frame(info, &text()[..length]);
            assert!(decompress(CompressionType::Lz4, &compressed, 1 << 20).is_err());
        }
    }

    #[test]
    fn checksums_and_content_size_are_read_and_held_to() {
        let info = FrameInfo::new()
            .block_mode(BlockMode::Independent)
            .block_size(BlockSize::Max64KB)
            .block_checksums(true)
            .content_checksum(true)
            .content_size(Some(3_000));
        let text = &text()[..3_000];
        let mut compressed = frame(info, text);
        assert_eq!(decompress(CompressionType::Lz4, &compressed, 1 << 20).unwrap(), text);
        *compressed.last_mut().unwrap() ^= 1;
        assert!(decompress(CompressionType::Lz4, &compressed, 1 << 20).is_err());
    }

    #[test]
    fn a_second_frame_or_anything_else_behind_the_frame_is_refused() {
        let one = compress(CompressionType::Lz4, b"text");
        assert!(decompress(CompressionType::Lz4, &[&one[..], &one].concat(), 100).is_err());
        assert!(decompress(CompressionType::Lz4, &[&one[..], &[0]].concat(), 100).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_content_survives_any_codec(content in prop::collection::vec(any::<u8>(), 0..5_000), repeats in 1usize..40) {
        let content = content.repeat(repeats);
        for codec in CompressionType::ALL {
            let compressed = compress(codec, &content);
            prop_assert!(decompress(codec, &compressed, content.len()).unwrap() == content, "{}", codec);
        }
    }

    #[test]
    fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..300)) {
        for codec in CompressionType::ALL {
            let _ = decompress(codec, &noise, 10_000);
        }
    }

    #[test]
    fn flipped_bits_never_panic(place: prop::sample::Index, bit in 0u8..8, length in 0usize..20_000) {
        let mut content = text();
        content.truncate(length);
        for codec in COMPRESSED {
            let mut compressed = compress(codec, &content);
            let place = place.index(compressed.len());
            compressed[place] ^= 1 << bit;
            let _ = decompress(codec, &compressed, 1 << 20);
        }
    }
}

#[test]
fn a_snappy_block_that_claims_more_than_the_bound_takes_no_memory() {
    let block = snap::raw::Encoder::new().compress_vec(&vec![0; 1 << 20]).unwrap();
    let mut decompressor = Decompressor::new();
    assert_eq!(decompressor.decompress(CompressionType::Snappy, &block, 1 << 20).unwrap().len(), 1 << 20);
    let mut decompressor = Decompressor::new();
    let reader = decompressor.reader(CompressionType::Snappy, &block, (1 << 20) - 1).unwrap();
    reader.take(1).read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(decompressor.snappy_block.capacity(), 0);
}
