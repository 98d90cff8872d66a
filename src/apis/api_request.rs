//! What a handler gets: the request's frame, who sent it, and how to answer in the right version.
//!
//! It must not know how the frame came.

use std::borrow::Cow;
use std::net::SocketAddr;

use bytes::Bytes;

use super::answer::Answer;
use super::answer_budget::TOO_LONG;
use crate::env::Piece;
use crate::protocol::{ApiKey, DecodeError, Decoder, Frame, FrameTooLong, Message, RequestHeader, encode_response};
use crate::types::Ticket;
use crate::zoo::{self, Bug};

/// A request with a valid header.
#[derive(Debug)]
pub struct ApiRequest {
    /// Where the answer goes, and in which version.
    pub ticket: Ticket,
    /// The frame without its length.
    pub frame: Bytes,
    /// Where in the frame the body starts.
    pub body_at: usize,
    /// Number of the listener through which it came.
    pub listener: usize,
    /// Who sent it.
    pub peer: SocketAddr,
    /// The address at which the client reached us.
    pub local: Option<SocketAddr>,
    /// It is handled for the second time, after something that it needed was made: nothing is made again.
    pub is_retry: bool,
}

impl ApiRequest {
    /// The body as a message. Bytes behind it are ignored, as in Kafka.
    pub(crate) fn decode<'a, M: Message<'a>>(&'a self) -> Result<M, DecodeError> {
        let body = self.frame.get(self.body_at..).unwrap_or_default();
        M::decode(&mut Decoder::new(body), self.ticket.api_version)
    }

    /// The same request, to be handled once more.
    pub(crate) fn again(&self) -> ApiRequest {
        ApiRequest { frame: self.frame.clone(), is_retry: true, ..*self }
    }

    /// The version that was asked for.
    pub(crate) fn version(&self) -> i16 {
        self.ticket.api_version
    }

    /// The client's name for itself.
    pub(crate) fn client_id(&self) -> Cow<'_, str> {
        match RequestHeader::decode(&mut Decoder::new(&self.frame)) {
            Ok(header) => header.client_id,
            Err(_) => "".into(),
        }
    }

    /// The answer that is this message.
    pub(crate) fn respond<'a, M: Message<'a>>(&self, message: &M) -> Answer {
        respond(self.ticket, message)
    }
}

/// The answer to `ticket` that is this message, which has no holes.
pub(crate) fn respond<'a, M: Message<'a>>(ticket: Ticket, message: &M) -> Answer {
    let is_old = zoo::is(Bug::AnswerInOldVersion) && ticket.api_version > 5;
    respond_in(ticket, if is_old { 5 } else { ticket.api_version }, message)
}

/// The answer in a version that is not the request's.
pub(crate) fn respond_in<'a, M: Message<'a>>(ticket: Ticket, version: i16, message: &M) -> Answer {
    let Ok(frame) = encode(ticket, version, message) else { return Answer::Close(TOO_LONG) };
    debug_assert!(frame.holes.is_empty(), "holes are filled by `respond_with_extents`");
    Answer::bytes(frame.bytes)
}

fn encode<'a, M: Message<'a>>(ticket: Ticket, version: i16, message: &M) -> Result<Frame, FrameTooLong> {
    let api_key = ApiKey::from_code(ticket.api_key).expect("a ticket is made from a valid header");
    encode_response(api_key, version, ticket.correlation_id, message)
}

/// The answer whose holes are filled by `extents`: one list of pieces for each hole, in order.
pub(crate) fn respond_with_extents<'a, M: Message<'a>>(
    ticket: Ticket,
    message: &M,
    extents: impl IntoIterator<Item = Vec<Piece>>,
) -> Answer {
    let Ok(frame) = encode(ticket, ticket.api_version, message) else { return Answer::Close(TOO_LONG) };
    let mut pieces = Vec::with_capacity(2 * frame.holes.len() + 1);
    let mut written = 0;
    for (hole, extent) in frame.holes.iter().zip(extents) {
        debug_assert_eq!(hole.bytes, extent.iter().map(Piece::bytes).sum::<usize>(), "a hole is filled exactly");
        pieces.push(Piece::Bytes(frame.bytes.slice(written..hole.at)));
        pieces.extend(extent);
        written = hole.at;
    }
    pieces.push(Piece::Bytes(frame.bytes.slice(written..)));
    Answer::Respond(pieces)
}
