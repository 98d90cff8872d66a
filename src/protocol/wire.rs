//! How each kind of field crosses the wire: the traits that the declared messages are built from, for primitives, strings and arrays.
//!
//! It must not know any message; structures implement these traits through the declaration macro.

use crate::protocol::codec::{DecodeError, Decoder, Encoder};
use crate::protocol::sample::Sampler;
use crate::types::TopicId;

/// A request, a response or a record: one declaration, all its versions, both directions.
pub trait Message<'a>: Sized {
    /// The protocol's name.
    const NAME: &'static str;
    /// The oldest version that the declaration covers.
    const VERSION_MIN: i16;
    /// The newest version that the declaration covers.
    const VERSION_MAX: i16;

    /// Reads the message; bytes behind it stay in `decoder`.
    fn decode(decoder: &mut Decoder<'a>, version: i16) -> Result<Self, DecodeError>;

    /// Writes the message. A field that `version` lacks is left out, whatever its value, and null becomes empty in a version that has
    /// no null there; choosing a version that can say what is meant is the caller's part.
    fn encode(&self, encoder: &mut Encoder, version: i16);

    /// A random value that `version` can carry.
    #[doc(hidden)]
    fn sample(sampler: &mut Sampler, version: i16) -> Self;
}

/// The layout that one version of a message uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The message's version.
    pub version: i16,
    /// Whether lengths are compact and tagged fields exist (KIP-482).
    pub is_flexible: bool,
}

/// A field's type.
pub trait Wire<'a>: Sized {
    /// The least that a value takes on the wire.
    fn bytes_min(format: Format) -> usize;
    /// Reads a value that is not null, unless null is a value of the type.
    fn decode(decoder: &mut Decoder<'a>, format: Format) -> Result<Self, DecodeError>;
    /// Writes the value.
    fn encode(&self, encoder: &mut Encoder, format: Format);
    /// Draws a value.
    fn sample(sampler: &mut Sampler, format: Format) -> Self;
}

/// A field's type that has a null of its own on the wire.
pub trait Nullable<'a>: Wire<'a> {
    /// The least that null or a value takes on the wire.
    fn bytes_min_nullable(format: Format) -> usize {
        Self::bytes_min(format)
    }
    /// Reads a value or null.
    fn decode_nullable(decoder: &mut Decoder<'a>, format: Format) -> Result<Option<Self>, DecodeError>;
    /// Writes a value or null.
    fn encode_nullable(value: Option<&Self>, encoder: &mut Encoder, format: Format);
    /// Writes the empty value, which stands for null where a version has none.
    fn encode_empty(encoder: &mut Encoder, format: Format);
}

impl<'a, T: Nullable<'a>> Wire<'a> for Option<T> {
    #[inline]
    fn bytes_min(format: Format) -> usize {
        T::bytes_min_nullable(format)
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'a>, format: Format) -> Result<Self, DecodeError> {
        T::decode_nullable(decoder, format)
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder, format: Format) {
        T::encode_nullable(self.as_ref(), encoder, format);
    }

    fn sample(sampler: &mut Sampler, format: Format) -> Self {
        if sampler.below(4) == 0 { None } else { Some(T::sample(sampler, format)) }
    }
}

/// Reads a field that is nullable in some versions only.
pub(super) fn decode_option<'a, T: Nullable<'a>>(
    decoder: &mut Decoder<'a>,
    format: Format,
    is_nullable: bool,
) -> Result<Option<T>, DecodeError> {
    if is_nullable { T::decode_nullable(decoder, format) } else { T::decode(decoder, format).map(Some) }
}

/// Writes a field that is nullable in some versions only.
pub(super) fn encode_option<'a, T: Nullable<'a>>(
    value: &Option<T>,
    encoder: &mut Encoder,
    format: Format,
    is_nullable: bool,
) {
    match value {
        Some(value) if !is_nullable => value.encode(encoder, format),
        None if !is_nullable => T::encode_empty(encoder, format),
        value => T::encode_nullable(value.as_ref(), encoder, format),
    }
}

/// Draws a field that is nullable in some versions only.
pub(super) fn sample_option<'a, T: Nullable<'a>>(
    sampler: &mut Sampler,
    format: Format,
    is_nullable: bool,
) -> Option<T> {
    if is_nullable { Option::<T>::sample(sampler, format) } else { Some(T::sample(sampler, format)) }
}

macro_rules! integer {
    ($($type:ty, $get:ident, $put:ident;)+) => {
        $(impl<'a> Wire<'a> for $type {
            #[inline]
            fn bytes_min(_: Format) -> usize {
                size_of::<$type>()
            }

            #[inline]
            fn decode(decoder: &mut Decoder<'a>, _: Format) -> Result<Self, DecodeError> {
                decoder.$get()
            }

            #[inline]
            fn encode(&self, encoder: &mut Encoder, _: Format) {
                encoder.$put(*self);
            }

            fn sample(sampler: &mut Sampler, _: Format) -> Self {
                sampler.integer() as $type
            }
        })+
    };
}

integer! {
    i8, get_i8, put_i8;
    i16, get_i16, put_i16;
    u16, get_u16, put_u16;
    i32, get_i32, put_i32;
    i64, get_i64, put_i64;
}

impl<'a> Wire<'a> for bool {
    #[inline]
    fn bytes_min(_: Format) -> usize {
        1
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'a>, _: Format) -> Result<Self, DecodeError> {
        decoder.get_i8().map(|byte| byte != 0)
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder, _: Format) {
        encoder.put_i8(i8::from(*self));
    }

    fn sample(sampler: &mut Sampler, _: Format) -> Self {
        sampler.below(2) == 1
    }
}

impl<'a> Wire<'a> for TopicId {
    #[inline]
    fn bytes_min(_: Format) -> usize {
        size_of::<TopicId>()
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'a>, _: Format) -> Result<Self, DecodeError> {
        decoder.get_uuid()
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder, _: Format) {
        encoder.put_slice(&self.0);
    }

    fn sample(sampler: &mut Sampler, _: Format) -> Self {
        sampler.uuid()
    }
}

impl<'a> Wire<'a> for &'a str {
    #[inline]
    fn bytes_min(format: Format) -> usize {
        if format.is_flexible { 1 } else { 2 }
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'a>, format: Format) -> Result<Self, DecodeError> {
        decoder.get_string(format.is_flexible)?.ok_or(DecodeError::Null)
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder, format: Format) {
        encoder.put_string(Some(self), format.is_flexible);
    }

    fn sample(sampler: &mut Sampler, _: Format) -> Self {
        sampler.text()
    }
}

impl<'a> Nullable<'a> for &'a str {
    #[inline]
    fn decode_nullable(decoder: &mut Decoder<'a>, format: Format) -> Result<Option<Self>, DecodeError> {
        decoder.get_string(format.is_flexible)
    }

    #[inline]
    fn encode_nullable(value: Option<&Self>, encoder: &mut Encoder, format: Format) {
        encoder.put_string(value.copied(), format.is_flexible);
    }

    fn encode_empty(encoder: &mut Encoder, format: Format) {
        encoder.put_string(Some(""), format.is_flexible);
    }
}

impl<'a> Wire<'a> for &'a [u8] {
    #[inline]
    fn bytes_min(format: Format) -> usize {
        if format.is_flexible { 1 } else { 4 }
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'a>, format: Format) -> Result<Self, DecodeError> {
        decoder.get_bytes(format.is_flexible)?.ok_or(DecodeError::Null)
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder, format: Format) {
        encoder.put_bytes(Some(self), format.is_flexible);
    }

    fn sample(sampler: &mut Sampler, _: Format) -> Self {
        sampler.bytes()
    }
}

impl<'a> Nullable<'a> for &'a [u8] {
    #[inline]
    fn decode_nullable(decoder: &mut Decoder<'a>, format: Format) -> Result<Option<Self>, DecodeError> {
        decoder.get_bytes(format.is_flexible)
    }

    #[inline]
    fn encode_nullable(value: Option<&Self>, encoder: &mut Encoder, format: Format) {
        encoder.put_bytes(value.copied(), format.is_flexible);
    }

    fn encode_empty(encoder: &mut Encoder, format: Format) {
        encoder.put_bytes(Some(&[]), format.is_flexible);
    }
}

impl<'a, T: Wire<'a>> Wire<'a> for Vec<T> {
    #[inline]
    fn bytes_min(format: Format) -> usize {
        if format.is_flexible { 1 } else { 4 }
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'a>, format: Format) -> Result<Self, DecodeError> {
        Self::decode_nullable(decoder, format)?.ok_or(DecodeError::Null)
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder, format: Format) {
        Self::encode_nullable(Some(self), encoder, format);
    }

    fn sample(sampler: &mut Sampler, format: Format) -> Self {
        (0..sampler.elements()).map(|_| T::sample(sampler, format)).collect()
    }
}

impl<'a, T: Wire<'a>> Nullable<'a> for Vec<T> {
    fn decode_nullable(decoder: &mut Decoder<'a>, format: Format) -> Result<Option<Self>, DecodeError> {
        let elements = decoder.get_array_length(format.is_flexible, T::bytes_min(format), size_of::<T>())?;
        let Some(elements) = elements else { return Ok(None) };
        let mut values = Vec::with_capacity(elements);
        for _ in 0..elements {
            values.push(T::decode(decoder, format)?);
        }
        Ok(Some(values))
    }

    fn encode_nullable(value: Option<&Self>, encoder: &mut Encoder, format: Format) {
        encoder.put_length(value.map(Vec::len), format.is_flexible);
        for element in value.into_iter().flatten() {
            element.encode(encoder, format);
        }
    }

    fn encode_empty(encoder: &mut Encoder, format: Format) {
        encoder.put_length(Some(0), format.is_flexible);
    }
}

#[cfg(test)]
mod tests {
    use super::Message;
    use crate::protocol::messages::describe_topic_partitions::{Cursor, DescribeTopicPartitionsRequest};
    use crate::protocol::messages::find_coordinator::FindCoordinatorRequest;
    use crate::protocol::messages::metadata::MetadataRequest;
    use crate::protocol::{DecodeError, Decoder, Encoder};

    fn encode<'a>(message: &impl Message<'a>, version: i16) -> Vec<u8> {
        let mut encoder = Encoder::default();
        message.encode(&mut encoder, version);
        encoder.into_parts().0
    }

    #[test]
    fn null_is_legal_only_in_the_versions_that_have_it() {
        let all_topics = MetadataRequest { topics: None, ..Default::default() };
        assert_eq!(encode(&all_topics, 1), [0xff; 4]);
        assert_eq!(encode(&all_topics, 0), [0; 4], "empty stands for null where there is none");
        assert_eq!(MetadataRequest::decode(&mut Decoder::new(&[0xff; 4]), 1), Ok(all_topics));
        assert_eq!(MetadataRequest::decode(&mut Decoder::new(&[0xff; 4]), 0), Err(DecodeError::Null));
    }

    #[test]
    fn a_field_that_a_version_lacks_is_left_out_and_read_as_its_default() {
        let request = FindCoordinatorRequest { key: "g", key_type: 1, ..Default::default() };
        let bytes = encode(&request, 0);
        assert_eq!(bytes, [0, 1, b'g']);
        let decoded = FindCoordinatorRequest::decode(&mut Decoder::new(&bytes), 0);
        assert_eq!(decoded, Ok(FindCoordinatorRequest { key_type: 0, ..request }));
    }

    #[test]
    fn a_structure_that_is_null_takes_one_byte() {
        let mut request = DescribeTopicPartitionsRequest { response_partition_limit: 9, ..Default::default() };
        assert_eq!(encode(&request, 0), [1, 0, 0, 0, 9, 0xff, 0]);
        request.cursor = Some(Cursor { topic_name: "t", partition_index: 2 });
        assert_eq!(encode(&request, 0), [1, 0, 0, 0, 9, 1, 2, b't', 0, 0, 0, 2, 0, 0]);
        let any_marker = [1, 0, 0, 0, 9, 5, 2, b't', 0, 0, 0, 2, 0, 0];
        assert_eq!(DescribeTopicPartitionsRequest::decode(&mut Decoder::new(&any_marker), 0), Ok(request));
    }
}
