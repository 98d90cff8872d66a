//! Records of the metadata log about producer ids.
//!
//! It must not know what replaying them does.

use crate::protocol::declare::messages;

messages! {
    /// A block of producer ids was given to a broker.
    pub struct ProducerIdsRecord: versions 0..=0, flexible 0.. {
        broker_id: i32 => 0..;
        broker_epoch: i64 = -1 => 0..;
        next_producer_id: i64 => 0..;
    }
}
