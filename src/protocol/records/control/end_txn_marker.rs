//! The control record value for the end of a transaction.
//!
//! It must not know what reading them does.

use crate::protocol::declare::{NEVER, messages};

messages! {
    /// Control records 0 (abort) and 1 (commit): a transaction ended.
    pub struct EndTxnMarker: versions 0..=0, flexible NEVER.. {
        coordinator_epoch: i32 => 0..;
    }
}
