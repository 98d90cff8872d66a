//! The field of a message that carries record batches, as bytes or as a hole.
//!
//! It must not know what is in a batch, nor where the bytes for a hole come from.

use crate::protocol::codec::{DecodeError, Decoder, Encoder};
use crate::protocol::sample::Sampler;
use crate::protocol::wire::{Format, Wire};

/// Record batches inside a message: opaque here, borrowed when decoded, and when encoded either copied or left out as a hole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordsField<'a> {
    /// Null.
    #[default]
    Null,
    /// The bytes themselves.
    Bytes(&'a [u8]),
    /// This many bytes, which are counted in every length and which the sender of the frame puts in.
    Hole(usize),
}

impl<'a> RecordsField<'a> {
    /// The bytes, if they are here.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            RecordsField::Bytes(bytes) => Some(bytes),
            RecordsField::Null | RecordsField::Hole(_) => None,
        }
    }
}

impl<'a> Wire<'a> for RecordsField<'a> {
    #[inline]
    fn bytes_min(format: Format) -> usize {
        <&[u8]>::bytes_min(format)
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'a>, format: Format) -> Result<Self, DecodeError> {
        Ok(decoder.get_bytes(format.is_flexible)?.map_or(RecordsField::Null, RecordsField::Bytes))
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder, format: Format) {
        match *self {
            RecordsField::Null => encoder.put_bytes(None, format.is_flexible),
            RecordsField::Bytes(bytes) => encoder.put_bytes(Some(bytes), format.is_flexible),
            RecordsField::Hole(bytes) => {
                encoder.put_length(Some(bytes), format.is_flexible);
                encoder.put_hole(bytes);
            }
        }
    }

    fn sample(sampler: &mut Sampler, _: Format) -> Self {
        if sampler.below(4) == 0 { RecordsField::Null } else { RecordsField::Bytes(sampler.bytes()) }
    }
}
