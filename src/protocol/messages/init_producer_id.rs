//! API 22, InitProducerId: hands out producer ids and epochs (KIP-98).
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks for a producer id, or for the next epoch of one (KIP-360).
    pub struct InitProducerIdRequest<'a>: versions 0..=5, flexible 2.. {
        transactional_id: Option<&'a str> = Some("") => 0..;
        transaction_timeout_ms: i32 => 0..;
        producer_id: i64 = -1 => 3..;
        producer_epoch: i16 = -1 => 3..;
    }

    /// The producer id and its epoch.
    pub struct InitProducerIdResponse: versions 0..=5, flexible 2.. {
        throttle_time_ms: i32 => 0..;
        error_code: i16 => 0..;
        producer_id: i64 = -1 => 0..;
        producer_epoch: i16 => 0..;
    }
}
