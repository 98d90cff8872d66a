//! The control record value for the version of the quorum protocol.
//!
//! It must not know what reading them does.

use crate::protocol::declare::messages;

messages! {
    /// Control record 5: the version of the quorum protocol.
    pub struct KRaftVersionRecord: versions 0..=0, flexible 0.. {
        version: i16 => 0..;
        kraft_version: i16 => 0..;
    }
}
