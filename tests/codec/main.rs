//! The codec as a whole: every message in every version, against itself, against hostile bytes and against two other codecs.
//!
//! It must not know what any message means.

mod catalogue;
mod hostile;
mod kafka;
mod kafka_protocol_crate;
mod round_trip;
