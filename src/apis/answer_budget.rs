//! How much one answer may hold, counted while it is made: a short request can name the same long thing many times.
//!
//! It must not know what is counted.

use super::answer::Answer;
use crate::limits::ANSWER_BYTES_MAX;

/// Why a connection is closed that asked for more than one answer can hold.
pub(crate) const TOO_LONG: &str = "an answer that is too long for a frame";

/// What is left of [`ANSWER_BYTES_MAX`].
#[derive(Debug)]
pub(crate) struct AnswerBudget {
    bytes_left: usize,
}

/// The budget is used up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AnswerTooLong;

impl AnswerBudget {
    /// A whole budget.
    pub(crate) fn new() -> AnswerBudget {
        AnswerBudget { bytes_left: ANSWER_BYTES_MAX }
    }

    /// Takes the bytes of one more part, structures and texts together.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), AnswerTooLong> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(AnswerTooLong)?;
        Ok(())
    }
}

impl From<AnswerTooLong> for Answer {
    fn from(_: AnswerTooLong) -> Answer {
        Answer::Close(TOO_LONG)
    }
}
