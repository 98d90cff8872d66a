//! What a handler says: the answer to its own request, and the answers of parked operations that it completed.
//!
//! It must not know queues or sockets.

use bytes::Bytes;

use crate::env::Piece;
use crate::protocol::DecodeError;
use crate::types::Ticket;

/// What becomes of one request.
#[derive(Debug)]
pub enum Answer {
    /// These pieces, length first, go to the client.
    Respond(Vec<Piece>),
    /// Nothing goes to the client, and its next request is read (acks=0).
    Nothing,
    /// The connection ends, for this reason.
    Close(&'static str),
    /// The connection ends, since the body of the request cannot be read.
    Malformed(DecodeError),
    /// The operation is parked; somebody else's [`Completion`] will bring the answer.
    Later,
    /// As `Later`, and the request with its frame is kept, to be handled once more.
    Retry,
}

impl Answer {
    /// A response that is all in memory.
    pub(crate) fn bytes(bytes: Bytes) -> Answer {
        Answer::Respond(vec![Piece::Bytes(bytes)])
    }
}

/// The answer to a parked request.
#[derive(Debug)]
pub struct Completion {
    /// Whose.
    pub ticket: Ticket,
    /// What it is; neither `Later` nor `Retry`.
    pub answer: Answer,
}

/// All that one call brought about.
#[derive(Debug)]
pub struct Outcome {
    /// The answer to the request itself.
    pub answer: Answer,
    /// Answers to others that this request completed.
    pub completions: Vec<Completion>,
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Outcome {
        Outcome { answer, completions: Vec::new() }
    }
}
