//! Request and response headers, and the checks that come before a request's body is read.
//!
//! It must not know what a Processor does with a refused request: it only says why.

use std::borrow::Cow;

use thiserror::Error;

use crate::protocol::api_key::{ApiKey, name_of_unserved};
use crate::protocol::codec::{DecodeError, Decoder};

/// What stands in front of every request, in version 1 or 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader<'a> {
    /// The API that is asked.
    pub api_key: ApiKey,
    /// The version of the request, and of its answer.
    pub api_version: i16,
    /// The client's number for the request; it returns in the answer. Kafka checks no order.
    pub correlation_id: i32,
    /// The client's name for itself; empty if it gave none. Bytes that are no text are replaced.
    pub client_id: Cow<'a, str>,
}

/// Why a request is refused before its body is read.
///
/// Kafka closes the connection in every case but one: `UnsupportedVersion` of ApiVersions is answered in version 0 with error 35.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError<'a> {
    /// The header itself is broken or cut off.
    #[error("broken request header: {0}")]
    Malformed(#[from] DecodeError),
    /// No such API in Kafka 4.4.
    #[error("unknown API key {0}")]
    UnknownApi(i16),
    /// An API of Kafka that is removed, meant for controllers, or not served here.
    #[error("API {name} ({code}) is not served")]
    UnservedApi {
        /// Its number.
        code: i16,
        /// Its name.
        name: &'static str,
    },
    /// An API that is served, in a version that is not. The header was read in whole.
    #[error("unsupported version {} of {}", .0.api_version, .0.api_key)]
    UnsupportedVersion(RequestHeader<'a>),
}

impl<'a> RequestHeader<'a> {
    /// Reads the header of a request and leaves `decoder` at the body.
    ///
    /// Key and version come first, since they decide the header's layout. For a version out of range the layout is guessed by
    /// comparison with the first flexible version, as in Kafka, so that ApiVersions can always be answered.
    pub fn decode(decoder: &mut Decoder<'a>) -> Result<RequestHeader<'a>, HeaderError<'a>> {
        let code = decoder.get_i16()?;
        let api_version = decoder.get_i16()?;
        let Some(api_key) = ApiKey::from_code(code) else {
            return Err(match name_of_unserved(code) {
                Some(name) => HeaderError::UnservedApi { code, name },
                None => HeaderError::UnknownApi(code),
            });
        };
        let correlation_id = decoder.get_i32()?;
        let client_id = decoder.get_string_lossy()?.unwrap_or_default();
        if api_key.request_header_version(api_version) >= 2 {
            decoder.skip_tagged_fields()?;
        }
        let header = RequestHeader { api_key, api_version, correlation_id, client_id };
        if api_key.versions().contains(&api_version) {
            Ok(header)
        } else {
            Err(HeaderError::UnsupportedVersion(header))
        }
    }
}

/// Reads the header of the answer to a request of this API and version: the correlation id. Leaves `decoder` at the body.
pub fn decode_response_header(decoder: &mut Decoder<'_>, api_key: ApiKey, version: i16) -> Result<i32, DecodeError> {
    let correlation_id = decoder.get_i32()?;
    if api_key.response_header_version(version) >= 1 {
        decoder.skip_tagged_fields()?;
    }
    Ok(correlation_id)
}

#[cfg(test)]
mod tests {
    use super::{HeaderError, RequestHeader, decode_response_header};
    use crate::protocol::{ApiKey, DecodeError, Decoder};

    fn decode(bytes: &[u8]) -> Result<(RequestHeader<'_>, usize), HeaderError<'_>> {
        let mut decoder = Decoder::new(bytes);
        RequestHeader::decode(&mut decoder).map(|header| (header, decoder.remaining()))
    }

    #[test]
    fn a_flexible_header_skips_unknown_tagged_fields() {
        let bytes = [0, 3, 0, 9, 0, 0, 0, 5, 0, 2, b'm', b'e', 1, 0x85, 1, 3, 9, 9, 9, 42];
        let header =
            RequestHeader { api_key: ApiKey::Metadata, api_version: 9, correlation_id: 5, client_id: "me".into() };
        assert_eq!(decode(&bytes), Ok((header, 1)));
    }

    #[test]
    fn an_old_header_has_no_tagged_fields_and_null_becomes_an_empty_client_id() {
        let bytes = [0, 3, 0, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 7];
        let header =
            RequestHeader { api_key: ApiKey::Metadata, api_version: 8, correlation_id: -1, client_id: "".into() };
        assert_eq!(decode(&bytes), Ok((header, 1)));
    }

    #[test]
    fn a_client_id_that_is_no_text_is_replaced_and_not_refused() {
        let bytes = [0, 3, 0, 8, 0, 0, 0, 1, 0, 3, 0xff, b'm', 0xfe];
        assert_eq!(decode(&bytes).unwrap().0.client_id, "\u{fffd}m\u{fffd}");
    }

    #[test]
    fn a_header_cut_at_any_byte_is_malformed() {
        let bytes = [0, 3, 0, 9, 0, 0, 0, 5, 0, 2, b'm', b'e', 1, 0x85, 1, 3, 9, 9, 9];
        for length in 0..bytes.len() {
            assert!(matches!(decode(&bytes[..length]), Err(HeaderError::Malformed(_))), "cut at {length}");
        }
        let long_client_id = [0, 3, 0, 9, 0, 0, 0, 5, 0x7f, 0xff, b'm'];
        let expected = DecodeError::EndOfInput { needed: 32767, remaining: 1 };
        assert_eq!(decode(&long_client_id), Err(HeaderError::Malformed(expected)));
    }

    #[test]
    fn unknown_removed_and_unserved_keys_are_told_apart() {
        assert_eq!(decode(&[0xff, 0xff, 0, 0]), Err(HeaderError::UnknownApi(-1)));
        assert_eq!(decode(&[0, 95, 0, 0]), Err(HeaderError::UnknownApi(95)));
        assert_eq!(decode(&[0, 4, 0, 0]), Err(HeaderError::UnservedApi { code: 4, name: "LeaderAndIsr" }));
        assert_eq!(decode(&[0, 52, 0, 0]), Err(HeaderError::UnservedApi { code: 52, name: "Vote" }));
    }

    #[test]
    fn an_unsupported_version_still_tells_what_an_answer_needs() {
        for (version, tail) in [(6u16, &[0u8][..]), (0x7fff, &[0]), (0xffff, &[])] {
            let [high, low] = version.to_be_bytes();
            let mut bytes = vec![0, 18, high, low, 0, 0, 0, 9, 0, 1, b'c'];
            bytes.extend_from_slice(tail);
            let Err(HeaderError::UnsupportedVersion(header)) = decode(&bytes) else { panic!("version {version}") };
            assert_eq!((header.api_key, header.correlation_id), (ApiKey::ApiVersions, 9));
            assert_eq!(header.client_id, "c");
            assert_eq!(header.api_version, version.cast_signed());
        }
        let produce_2 = [0, 0, 0, 2, 0, 0, 0, 9, 0xff, 0xff];
        assert!(matches!(decode(&produce_2), Err(HeaderError::UnsupportedVersion(_))));
    }

    #[test]
    fn a_response_header_has_tagged_fields_only_in_flexible_versions() {
        let mut flexible = Decoder::new(&[0, 0, 0, 3, 0, 9]);
        assert_eq!(decode_response_header(&mut flexible, ApiKey::Fetch, 12), Ok(3));
        assert_eq!(flexible.remaining(), 1);
        let mut api_versions = Decoder::new(&[0, 0, 0, 3, 0, 9]);
        assert_eq!(decode_response_header(&mut api_versions, ApiKey::ApiVersions, 3), Ok(3));
        assert_eq!(api_versions.remaining(), 2);
    }
}
