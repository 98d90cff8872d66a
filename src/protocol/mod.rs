//! Bytes of Kafka's messages to values and back, pure: frames, headers, requests, responses and records of metadata and groups.
//!
//! It must not know clock, disk or sockets, nor what an API means; a record batch is opaque bytes here.

pub mod api_key;
pub mod codec;
mod declare;
pub mod frame;
pub mod header;
pub mod messages;
pub mod records;
mod records_field;
#[doc(hidden)]
pub mod sample;
pub mod wire;

pub use api_key::ApiKey;
pub use codec::{DecodeError, Decoder, Encoder};
pub use frame::{Frame, FrameTooLong, Hole, encode_request, encode_response};
pub use header::{HeaderError, RequestHeader};
pub use records_field::RecordsField;
pub use wire::{Format, Message};
