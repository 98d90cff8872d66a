//! Guesses what bytes that are no Kafka frame really are, so that the one log line tells an operator what to mend.
//!
//! It must not decide anything: it only words.

use crate::protocol::HeaderError;

/// What a header that is refused looks like: each is told apart, so that a scanner does not hide a client that is too old.
pub(crate) fn why_refused(error: &HeaderError<'_>) -> &'static str {
    match error {
        HeaderError::Malformed(_) => "a frame whose header is no request's",
        HeaderError::UnknownApi(_) => "a request for an API that Kafka does not have",
        HeaderError::UnservedApi { .. } => {
            "a request for an API that is not served here: the client did not ask for ApiVersions"
        }
        HeaderError::UnsupportedVersion(_) => {
            "a request in a version that is not served: the client is too old or too new"
        }
    }
}

/// What the first bytes of a connection look like. `prefix` are the four bytes that should have been a length.
pub(crate) fn likely_cause(prefix: [u8; 4]) -> &'static str {
    match prefix {
        [0x16, 0x03, 0..=4, _] => "TLS bytes on a PLAINTEXT listener: set security.protocol=PLAINTEXT in the client",
        [b'G', b'E', b'T', b' ']
        | [b'P', b'O', b'S', b'T']
        | [b'H', b'E', b'A', b'D']
        | [b'P', b'U', b'T', b' ']
        | [b'O', b'P', b'T', b'I']
        | [b'D', b'E', b'L', b'E']
        | [b'P', b'A', b'T', b'C']
        | [b'C', b'O', b'N', b'N']
        | [b'T', b'R', b'A', b'C'] => "an HTTP request on a Kafka port: point the browser, probe or proxy elsewhere",
        [b'P', b'R', b'I', b' '] => "an HTTP/2 preface on a Kafka port: point the client elsewhere",
        [b'S', b'S', b'H', b'-'] => "an SSH client on a Kafka port",
        [b'P', b'R', b'O', b'X'] | [0x0d, 0x0a, 0x0d, 0x0a] => {
            "a PROXY protocol header: switch it off in the load balancer, Kafka has none"
        }
        [0x80, _, 0x01, 0x00 | 0x03] => {
            "an SSL 2 or old TLS hello on a PLAINTEXT listener: set security.protocol=PLAINTEXT in the client"
        }
        _ if prefix.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => {
            "text on a Kafka port: the peer does not speak the Kafka protocol"
        }
        [0x80..=0xff, ..] => {
            "a negative frame length: the peer does not speak the Kafka protocol, or lost its place in the stream"
        }
        _ => OVERSIZED,
    }
}

const OVERSIZED: &str = "a frame above socket.request.max.bytes: raise it, or lower max.request.size in the client; else the peer does not speak the Kafka protocol";

/// What the guess rests on: the length if it may be one, and the bytes themselves. `frame_bytes_max` is `socket.request.max.bytes`.
pub(crate) fn evidence(prefix: [u8; 4], frame_bytes_max: usize) -> String {
    let bytes = format!("first bytes: {}", prefix.escape_ascii());
    if likely_cause(prefix) != OVERSIZED {
        return bytes;
    }
    format!("it announces {} bytes, the limit is {frame_bytes_max}; {bytes}", u32::from_be_bytes(prefix))
}

#[cfg(test)]
mod tests {
    use super::{evidence, likely_cause};

    #[test]
    fn a_frame_above_the_limit_is_told_with_its_length_and_the_limit_and_a_stranger_with_its_bytes() {
        let oversized = 200_000_000_u32.to_be_bytes();
        assert!(likely_cause(oversized).contains("raise it"));
        let told = evidence(oversized, 104_857_600);
        assert!(told.starts_with("it announces 200000000 bytes, the limit is 104857600; "), "{told}");
        assert_eq!(evidence(*b"GET ", 104_857_600), "first bytes: GET ");
        assert_eq!(evidence([0x16, 3, 1, 2], 104_857_600), "first bytes: \\x16\\x03\\x01\\x02");
    }

    #[test]
    fn common_strangers_are_named() {
        assert!(likely_cause([0x16, 3, 1, 2]).contains("TLS"));
        assert!(likely_cause(*b"GET ").contains("HTTP"));
        assert!(likely_cause(*b"SSH-").contains("SSH"));
        assert!(likely_cause([0x80, 0x2e, 1, 0]).contains("SSL 2"));
        assert!(likely_cause(*b"DELE").contains("HTTP"));
        assert!(likely_cause(*b"EHLO").contains("text"));
        assert!(likely_cause(*b"*1\r\n").contains("text"));
        assert!(likely_cause([0xff; 4]).contains("negative"));
        assert!(likely_cause([0x7f, 0xff, 0xff, 0xff]).contains("socket.request.max.bytes"));
    }
}
