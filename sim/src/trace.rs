//! One number for everything that happened: two runs of a seed must agree in it.
//!
//! Order matters, and no `usize`, address or float goes in. It must not know what an event means.

use std::fmt;
use std::ops::Range;

/// What kind of event is noted. Numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum TraceKind {
    /// Time moved.
    Time = 1,
    /// A poll showed an event.
    Event = 2,
    /// A selector was woken.
    Wake = 3,
    /// A connection was accepted.
    Accept = 4,
    /// The broker read from a connection.
    Read = 5,
    /// The broker wrote to a connection; the bytes follow.
    Write = 6,
    /// The broker would block.
    Block = 7,
    /// An end of a connection was closed, half or whole.
    Close = 8,
    /// A reset arrived.
    Reset = 9,
    /// A client acted on its end.
    Client = 10,
    /// Bytes were appended to a file; the bytes follow.
    Append = 11,
    /// A file was cut.
    Truncate = 12,
    /// A file or directory was synced.
    Sync = 13,
    /// An entry was made, renamed or removed.
    Entry = 14,
    /// The machine or the process went down.
    Crash = 15,
    /// A party stepped: a role by its number, a client by its seat and a thousand.
    Step = 17,
    /// A fault fired; its site is the number.
    Fault = 18,
    /// The wall clock was moved.
    WallJump = 19,
    /// What a power cut left of a file or a directory; the bytes follow.
    Left = 20,
    /// A client read from its end.
    ClientRead = 21,
}

/// One event, as it was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Which one, from 0.
    pub number: u64,
    /// The time at which it happened, in simulated nanoseconds.
    pub at_ns: u64,
    /// What kind of event.
    pub kind: TraceKind,
    /// Whom it is about.
    pub entity: u64,
    /// What there is to say.
    pub value: u64,
}

impl fmt::Display for TraceEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {:?} {:#x} {}", self.at_ns, self.kind, self.entity, self.value)
    }
}

/// The rolling hash.
#[derive(Clone, Debug)]
pub struct Trace {
    hash: u64,
    events: u64,
    /// The hash when the number of events was 1, 2, 4 and so on.
    checkpoints: Vec<u64>,
    /// Which events are kept, by number, and those that were.
    wanted: Range<u64>,
    kept: Vec<TraceEvent>,
    now_ns: u64,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace {
            hash: 0x243f_6a88_85a3_08d3,
            events: 0,
            checkpoints: Vec::new(),
            wanted: 0..0,
            kept: Vec::new(),
            now_ns: 0,
        }
    }
}

impl Trace {
    /// Notes an event.
    pub fn note(&mut self, kind: TraceKind, entity: u64, value: u64) {
        if self.events.is_power_of_two() {
            self.checkpoints.push(self.hash);
        }
        if kind == TraceKind::Time {
            self.now_ns = value;
        }
        if self.wanted.contains(&self.events) {
            self.kept.push(TraceEvent { number: self.events, at_ns: self.now_ns, kind, entity, value });
        }
        self.events += 1;
        self.word(u64::from(kind as u16));
        self.word(entity);
        self.word(value);
    }

    /// Keeps the events of these numbers.
    pub fn keep(&mut self, wanted: Range<u64>) {
        self.wanted = wanted;
    }

    /// The events that were kept.
    pub fn kept(&self) -> &[TraceEvent] {
        &self.kept
    }

    /// Adds bytes to the hash, with their length, however they were cut.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.word(u64::from_le_bytes(chunk.try_into().expect("chunks_exact gives eight bytes")));
        }
        let mut tail = [0; 8];
        let rest = chunks.remainder();
        tail[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(tail));
        self.word(bytes.len() as u64);
    }

    /// The hash so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The hash after 1, 2, 4, 8 … events: where two runs of a seed part is found by halves.
    pub fn checkpoints(&self) -> &[u64] {
        &self.checkpoints
    }

    /// How many events were noted.
    pub fn events(&self) -> u64 {
        self.events
    }

    #[expect(clippy::cast_possible_truncation, reason = "the two halves of a product are folded into one word")]
    fn word(&mut self, word: u64) {
        let product = u128::from(self.hash.rotate_left(29) ^ word) * 0x9e37_79b9_7f4a_7c15_u128;
        self.hash = ((product >> 64) as u64 ^ product as u64).wrapping_add(0x13_198a_2e03_7073);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_length_and_every_byte_matter() {
        let hash = |notes: &[(u64, &[u8])]| {
            let mut trace = Trace::default();
            for (value, bytes) in notes {
                trace.note(TraceKind::Read, 1, *value);
                trace.bytes(bytes);
            }
            trace.hash()
        };
        let first = hash(&[(1, b"abcdefghi"), (2, b"")]);
        assert_eq!(first, hash(&[(1, b"abcdefghi"), (2, b"")]));
        assert_ne!(first, hash(&[(2, b""), (1, b"abcdefghi")]));
        assert_ne!(first, hash(&[(1, b"abcdefghj"), (2, b"")]));
        assert_ne!(first, hash(&[(1, b"abcdefghi\0"), (2, b"")]));
    }
}
