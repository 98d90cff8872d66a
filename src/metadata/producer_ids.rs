//! Gives out producer ids in blocks, so that not each id costs a record.
//!
//! It must not know who produces.

use crate::error_code::ErrorCode;
use crate::types::{BrokerId, ProducerId};

use super::api_error::{ApiError, ControllerResult};
use super::image::MetadataImage;
use super::record::MetadataRecord;

/// Producer ids in a block (Kafka: 1 000). Those that a broker did not use when it stops are lost; 2⁶³ are enough.
pub const PRODUCER_ID_BLOCK_SIZE: i64 = 1_000;

/// Producer ids that belong to one broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIdsBlock {
    /// The first.
    pub first: ProducerId,
    /// How many.
    pub size: i64,
}

/// Decides the next block for a broker. Its ids may be used once the record is on the disk, so that no id is ever given out twice.
pub fn allocate_producer_ids(
    image: &MetadataImage,
    broker_id: BrokerId,
) -> Result<ControllerResult<ProducerIdsBlock>, ApiError> {
    let broker = image.broker(broker_id).ok_or(ApiError::without_message(ErrorCode::BrokerIdNotRegistered))?;
    let first = image.next_producer_id();
    let next_producer_id = first.checked_add(PRODUCER_ID_BLOCK_SIZE).ok_or_else(|| {
        ApiError::new(
            ErrorCode::UnknownServerError,
            "Exhausted all producerIds as the next block's end producerId has exceeded the int64 type limit",
        )
    })?;
    let record = MetadataRecord::ProducerIds { broker_id, broker_epoch: broker.broker_epoch, next_producer_id };
    let response = ProducerIdsBlock { first: ProducerId(first), size: PRODUCER_ID_BLOCK_SIZE };
    Ok(ControllerResult { records: vec![record], response })
}
