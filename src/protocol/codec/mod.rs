//! The primitives of the wire: reader, writer, and the error of the former.
//!
//! It must not know any message.

mod decode_error;
mod decoder;
mod encoder;

pub use decode_error::DecodeError;
pub use decoder::Decoder;
pub use encoder::Encoder;
