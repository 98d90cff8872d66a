//! Whole frames: length prefix, header and message, with holes where the sender puts record batches in.
//!
//! It must not know who sends a frame, or where the bytes for its holes come from.

use bytes::Bytes;

use crate::limits::{ANSWER_BYTES_MAX, FRAME_PREFIX_BYTES};
use crate::protocol::api_key::ApiKey;
use crate::protocol::codec::Encoder;
use crate::protocol::wire::Message;

/// Room that a frame gets before its buffer grows: most answers fit.
const FRAME_CAPACITY: usize = 512;

/// A place in a frame whose bytes are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The position in [`Frame::bytes`] before which the missing bytes belong.
    pub at: usize,
    /// How many bytes are missing.
    pub bytes: usize,
}

/// One frame, ready to be sent. Its first four bytes are its length, in which the holes are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Everything but the holes.
    pub bytes: Bytes,
    /// What is missing, in ascending order.
    pub holes: Vec<Hole>,
}

impl Frame {
    /// The bytes that go over the wire, prefix and holes included.
    pub fn length(&self) -> usize {
        self.holes.iter().fold(self.bytes.len(), |length, hole| length + hole.bytes)
    }
}

/// A message has more bytes than a frame may have: [`ANSWER_BYTES_MAX`] without its holes, or 2 GiB with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message is too long for a frame")]
pub struct FrameTooLong;

/// A response as a frame; its header has tagged fields in flexible versions, but never for ApiVersions.
pub fn encode_response<'a, M: Message<'a>>(
    api_key: ApiKey,
    version: i16,
    correlation_id: i32,
    message: &M,
) -> Result<Frame, FrameTooLong> {
    encode(|encoder| {
        encoder.put_i32(correlation_id);
        if api_key.response_header_version(version) >= 1 {
            encoder.put_unsigned_varint(0);
        }
        message.encode(encoder, version);
    })
}

/// A request as a frame. For clients that know what they ask: it panics if that is too long for a frame.
pub fn encode_request<'a, M: Message<'a>>(
    api_key: ApiKey,
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
    message: &M,
) -> Frame {
    encode(|encoder| {
        encoder.put_i16(api_key.code());
        encoder.put_i16(version);
        encoder.put_i32(correlation_id);
        // The client id keeps its old length form in flexible versions, so that the header can be read before the version is known.
        encoder.put_string(client_id, false);
        if api_key.request_header_version(version) >= 2 {
            encoder.put_unsigned_varint(0);
        }
        message.encode(encoder, version);
    })
    .expect("a client's own request is short")
}

fn encode(write: impl FnOnce(&mut Encoder)) -> Result<Frame, FrameTooLong> {
    let mut encoder = Encoder::bounded(FRAME_CAPACITY, ANSWER_BYTES_MAX);
    encoder.put_i32(0);
    write(&mut encoder);
    if encoder.is_too_long() {
        return Err(FrameTooLong);
    }
    let length = encoder.length() - FRAME_PREFIX_BYTES;
    encoder.set_i32(0, i32::try_from(length).map_err(|_| FrameTooLong)?);
    let (bytes, holes) = encoder.into_parts();
    Ok(Frame { bytes: Bytes::from(bytes), holes })
}

#[cfg(test)]
mod tests {
    use super::{FrameTooLong, Hole, encode_request, encode_response};
    use crate::limits::ANSWER_BYTES_MAX;
    use crate::protocol::ApiKey;
    use crate::protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
    use crate::protocol::messages::fetch::{FetchResponse, FetchableTopicResponse, PartitionData};
    use crate::protocol::records_field::RecordsField;

    #[test]
    fn a_flexible_request_has_a_plain_client_id_and_then_tagged_fields() {
        let request =
            ApiVersionsRequest { client_software_name: "k", client_software_version: "1", ..Default::default() };
        let frame = encode_request(ApiKey::ApiVersions, 3, 7, Some("me"), &request);
        let expected: &[u8] = &[0, 0, 0, 18, 0, 18, 0, 3, 0, 0, 0, 7, 0, 2, b'm', b'e', 0, 2, b'k', 2, b'1', 0];
        assert_eq!(&frame.bytes[..], expected);
        assert!(frame.holes.is_empty());
    }

    #[test]
    fn an_old_request_has_no_tagged_fields_and_may_have_a_null_client_id() {
        let frame = encode_request(ApiKey::ApiVersions, 0, 7, None, &ApiVersionsRequest::default());
        assert_eq!(&frame.bytes[..], &[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff]);
    }

    #[test]
    fn an_api_versions_response_never_has_tagged_fields_in_its_header() {
        let frame = encode_response(ApiKey::ApiVersions, 3, 7, &ApiVersionsResponse::default()).unwrap();
        assert_eq!(&frame.bytes[..], &[0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 1, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_hole_is_counted_in_every_length_and_named_by_its_place() {
        let partition = PartitionData { partition_index: 1, records: RecordsField::Hole(1000), ..Default::default() };
        let topic = FetchableTopicResponse { topic: "t", partitions: vec![partition], ..Default::default() };
        let response = FetchResponse { responses: vec![topic], ..Default::default() };
        let frame = encode_response(ApiKey::Fetch, 12, 5, &response).unwrap();
        let bytes = &frame.bytes[..];
        assert_eq!(frame.holes.len(), 1);
        let Hole { at, bytes: missing } = frame.holes[0];
        assert_eq!(missing, 1000);
        assert_eq!(&bytes[at - 2..at], &[0xe9, 0x07], "the length of the records, plus one, as a varint");
        assert_eq!(&bytes[at..], &[0, 0, 0], "tagged fields of partition, topic and response");
        assert_eq!(bytes[..4], i32::try_from(bytes.len() - 4 + 1000).unwrap().to_be_bytes());
        assert_eq!(frame.length(), bytes.len() + 1000);
    }

    #[test]
    fn an_answer_that_no_frame_can_carry_is_refused() {
        let of_bytes = |records: &[usize]| {
            let partition = |bytes: &usize| PartitionData { records: RecordsField::Hole(*bytes), ..Default::default() };
            let partitions = records.iter().map(partition).collect();
            let topic = FetchableTopicResponse { topic: "t", partitions, ..Default::default() };
            let response = FetchResponse { responses: vec![topic], ..Default::default() };
            encode_response(ApiKey::Fetch, 12, 5, &response).map(|frame| frame.length())
        };
        let half = 1 << 30;
        assert!(of_bytes(&[half, half - 1000]).is_ok(), "records are not held in memory");
        assert_eq!(of_bytes(&[half, half]), Err(FrameTooLong));
        assert_eq!(of_bytes(&[2 * half]), Err(FrameTooLong));

        let bytes = vec![0; ANSWER_BYTES_MAX];
        let partition = PartitionData { records: RecordsField::Bytes(&bytes), ..Default::default() };
        let topic = FetchableTopicResponse { topic: "t", partitions: vec![partition], ..Default::default() };
        let response = FetchResponse { responses: vec![topic], ..Default::default() };
        assert_eq!(encode_response(ApiKey::Fetch, 12, 5, &response), Err(FrameTooLong));
    }
}
