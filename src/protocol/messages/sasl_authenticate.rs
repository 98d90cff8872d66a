//! API 36, SaslAuthenticate: carries the bytes of a SASL mechanism (KIP-152).
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// What the client's mechanism says.
    pub struct SaslAuthenticateRequest<'a>: versions 0..=2, flexible 2.. {
        auth_bytes: &'a [u8] => 0..;
    }

    /// What the broker's mechanism says, and for how long the session lasts.
    pub struct SaslAuthenticateResponse<'a>: versions 0..=2, flexible 2.. {
        error_code: i16 => 0..;
        error_message: Option<&'a str> = Some("") => 0..;
        auth_bytes: &'a [u8] => 0..;
        session_lifetime_ms: i64 => 1..;
    }
}
