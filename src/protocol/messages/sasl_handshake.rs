//! API 17, SaslHandshake: the client names the mechanism by which it will show who it is (KIP-43).
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::{NEVER, messages};

messages! {
    /// Names the mechanism.
    pub struct SaslHandshakeRequest<'a>: versions 0..=1, flexible NEVER.. {
        mechanism: &'a str => 0..;
    }

    /// The mechanisms that the listener has.
    pub struct SaslHandshakeResponse<'a>: versions 0..=1, flexible NEVER.. {
        error_code: i16 => 0..;
        mechanisms: Vec<&'a str> => 0..;
    }
}
