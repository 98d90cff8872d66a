//! How far the broker may read ahead on one connection: one request is in work at a time, so that of what lies behind it no more is read than one
//! buffer holds, however long its sender takes to read the answer.
//!
//! It must not know what is asked. Where an answer ends is known only when it has been read, so that a look is judged then.

use std::collections::VecDeque;

/// What the broker may have read behind the request that is in work: one read through the buffer that its connections share.
const READ_AHEAD_BYTES_MAX: u64 = 16 << 10;

/// What went over one connection, in bytes from its start.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    /// Where each request ends that is not known to be answered.
    requests: VecDeque<u64>,
    /// How much the broker had read, and how much it had sent, at some moments.
    looks: Vec<(u64, u64)>,
}

impl ReadAhead {
    /// A request was queued, and ends here.
    pub(crate) fn asked(&mut self, end: u64) {
        self.requests.push_back(end);
    }

    /// The broker has read and sent so much by now.
    pub(crate) fn looked(&mut self, read: u64, sent: u64) {
        if self.looks.last() != Some(&(read, sent)) {
            self.looks.push((read, sent));
        }
    }

    /// The next answer was read, and ends here. Says how many bytes too many were read before it was sent, if there were any.
    pub(crate) fn answered(&mut self, end: u64) -> Option<u64> {
        let allowed = self.requests.pop_front()?.saturating_add(READ_AHEAD_BYTES_MAX);
        let too_many =
            self.looks.iter().filter(|(_, sent)| *sent < end).map(|(read, _)| read.saturating_sub(allowed)).max();
        self.looks.retain(|(_, sent)| *sent >= end);
        too_many.filter(|bytes| *bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_request_that_is_not_answered_one_buffer_may_be_read() {
        let mut connection = ReadAhead::default();
        connection.asked(100);
        connection.asked(50_000);
        connection.looked(100 + READ_AHEAD_BYTES_MAX, 9);
        assert_eq!(connection.answered(10), None);
        connection.looked(50_000, 19);
        assert_eq!(connection.answered(20), None, "it is the one in work");
    }

    #[test]
    fn what_was_read_beyond_it_is_told_when_the_answers_end_is_known() {
        let mut connection = ReadAhead::default();
        connection.asked(100);
        connection.asked(50_000);
        connection.looked(100 + READ_AHEAD_BYTES_MAX + 1, 9);
        connection.looked(50_000, 10);
        assert_eq!(connection.answered(10), Some(1));
        assert_eq!(connection.answered(20), None);
    }
}
