//! A stream of frames, cut at any place: what comes out must be what one read of the whole gives. The first bytes are the cuts.
#![no_main]

use klamm::network::testing::{StreamEnd, receive_frames};
use libfuzzer_sys::fuzz_target;

const FRAME_BYTES_MAX: usize = 4_096;

fuzz_target!(|data: &[u8]| {
    let Some((&[cut_count, scratch_bytes, budget_bytes], rest)) = data.split_first_chunk::<3>() else { return };
    let (cuts, stream) = rest.split_at(rest.len().min(usize::from(cut_count)));
    let cuts: Vec<usize> = cuts.iter().map(|cut| usize::from(*cut)).collect();
    let cut = receive_frames(stream, &cuts, FRAME_BYTES_MAX, usize::from(scratch_bytes), usize::from(budget_bytes));
    let whole = receive_frames(stream, &[], FRAME_BYTES_MAX, 1 << 16, 1 << 20);
    assert_eq!(cut, whole, "the cuts {cuts:?} changed what was read");
    let mut at = 0;
    for frame in &whole.0 {
        let length = u32::try_from(frame.len()).expect("a short frame");
        assert_eq!(stream.get(at..at + 4), Some(&length.to_be_bytes()[..]));
        assert_eq!(stream.get(at + 4..at + 4 + frame.len()), Some(&frame[..]));
        at += 4 + frame.len();
    }
    match whole.1 {
        StreamEnd::Ended => {}
        StreamEnd::BadLength(prefix) => assert_eq!(stream.get(at..at + 4), Some(&prefix[..])),
    }
});
