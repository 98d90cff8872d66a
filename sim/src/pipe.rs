//! One direction of a simulated connection. The bytes lie in one buffer; three positions in it say what was sent, what has arrived and what
//! was read.
//!
//! It must not know who reads or writes, chance or time.

use std::collections::VecDeque;

/// The time of what arrives only when faults are over.
pub(crate) const NEVER: u64 = u64::MAX;

/// One direction of a connection. Positions count bytes from the start of the connection.
#[derive(Debug)]
pub(crate) struct Pipe {
    /// Bytes from `read` to `sent`.
    buffer: VecDeque<u8>,
    read: u64,
    arrived: u64,
    sent: u64,
    /// How far bytes may arrive by now; the receive buffer may keep them out.
    due: u64,
    /// Where each piece in flight ends, in the order of their coming.
    pieces: VecDeque<u64>,
    /// When the last piece comes; a later one never comes earlier.
    pub(crate) last_due: u64,
    /// Until when nothing arrives; for ever if [`NEVER`].
    pub(crate) held_until: u64,
    /// Where the stream ends, once its sender has said so.
    finished_at: Option<u64>,
    finish_came: bool,
    pub(crate) receive_capacity: u64,
    pub(crate) send_capacity: u64,
}

impl Pipe {
    pub(crate) fn new(receive_capacity: u64, send_capacity: u64) -> Pipe {
        Pipe {
            buffer: VecDeque::new(),
            read: 0,
            arrived: 0,
            sent: 0,
            due: 0,
            pieces: VecDeque::new(),
            last_due: 0,
            held_until: 0,
            finished_at: None,
            finish_came: false,
            receive_capacity: receive_capacity.max(1),
            send_capacity: send_capacity.max(1),
        }
    }

    /// Bytes that were read from the start on.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read
    }

    /// Bytes that were sent from the start on.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent
    }

    /// Bytes that a reader could have now.
    pub(crate) fn readable(&self) -> u64 {
        self.arrived - self.read
    }

    /// Bytes that a writer could add now.
    pub(crate) fn room(&self) -> u64 {
        self.send_capacity.saturating_sub(self.sent - self.arrived)
    }

    /// Whether a writer is told of the room: as in Linux, from a third of the buffer on.
    pub(crate) fn has_much_room(&self) -> bool {
        self.room().saturating_mul(3) >= self.send_capacity
    }

    /// Whether the end of the stream has arrived, be it behind unread bytes.
    pub(crate) fn end_came(&self) -> bool {
        self.finish_came && self.finished_at == Some(self.arrived)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished_at.is_some()
    }

    /// Takes bytes out of the sender's hands.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend(bytes);
        self.sent += bytes.len() as u64;
    }

    /// Damages the byte that was sent `back` bytes before the last one.
    pub(crate) fn flip_bit(&mut self, back: u64, bit: u64) {
        let length = self.buffer.len();
        let place = usize::try_from(back).ok().and_then(|back| length.checked_sub(back + 1));
        if let Some(byte) = place.and_then(|place| self.buffer.get_mut(place)) {
            *byte ^= 1 << bit;
        }
    }

    /// Notes that a piece ends `back` bytes before what was sent so far.
    pub(crate) fn mark_piece(&mut self, back: u64) {
        self.pieces.push_back(self.sent - back);
    }

    /// The next piece has travelled its way.
    pub(crate) fn piece_comes(&mut self) {
        if let Some(end) = self.pieces.pop_front() {
            self.due = self.due.max(end);
        }
    }

    /// Lets in what is due and fits. Says whether anything became visible.
    pub(crate) fn settle(&mut self) -> bool {
        let had_ended = self.end_came();
        let before = self.arrived;
        self.arrived = self.due.min(self.read + self.receive_capacity).max(self.arrived);
        self.arrived > before || (self.end_came() && !had_ended)
    }

    /// Lets nothing arrive before `until`.
    pub(crate) fn hold(&mut self, until: u64) {
        self.held_until = self.held_until.max(until);
    }

    pub(crate) fn finish(&mut self) {
        self.finished_at.get_or_insert(self.sent);
    }

    pub(crate) fn finish_comes(&mut self) {
        self.finish_came = true;
    }

    /// Copies the next bytes out; the caller has cut `buffer` to what is readable.
    pub(crate) fn take(&mut self, buffer: &mut [u8]) {
        let (front, back) = self.buffer.as_slices();
        let split = buffer.len().min(front.len());
        buffer[..split].copy_from_slice(&front[..split]);
        let rest = buffer.len() - split;
        buffer[split..].copy_from_slice(&back[..rest]);
        self.buffer.drain(..buffer.len());
        self.read += buffer.len() as u64;
    }

    /// Forgets what has not arrived: the sender is gone.
    pub(crate) fn drop_in_flight(&mut self) {
        self.buffer.truncate(usize::try_from(self.readable()).unwrap_or(usize::MAX));
        self.sent = self.arrived;
        self.due = self.arrived;
        self.pieces.iter_mut().for_each(|end| *end = (*end).min(self.arrived));
    }

    /// Forgets everything that was not read: nobody will.
    pub(crate) fn drop_all(&mut self) {
        self.drop_in_flight();
        self.buffer = VecDeque::new();
        self.read = self.arrived;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_receive_buffer_keeps_bytes_and_the_end_out() {
        let mut pipe = Pipe::new(4, 10);
        pipe.push(b"abcdef");
        pipe.mark_piece(0);
        pipe.finish();
        pipe.piece_comes();
        pipe.finish_comes();
        assert!(pipe.settle());
        assert_eq!((pipe.readable(), pipe.room(), pipe.end_came()), (4, 8, false));
        let mut buffer = [0; 3];
        pipe.take(&mut buffer);
        assert_eq!(&buffer, b"abc");
        assert!(pipe.settle());
        assert_eq!((pipe.readable(), pipe.end_came()), (3, true));
    }

    #[test]
    fn dropping_what_flies_keeps_what_arrived() {
        let mut pipe = Pipe::new(10, 10);
        pipe.push(b"abcd");
        pipe.mark_piece(2);
        pipe.mark_piece(0);
        pipe.piece_comes();
        pipe.settle();
        pipe.drop_in_flight();
        pipe.piece_comes();
        pipe.settle();
        let mut buffer = [0; 2];
        pipe.take(&mut buffer);
        assert_eq!((&buffer, pipe.readable()), (b"ab", 0));
    }
}
