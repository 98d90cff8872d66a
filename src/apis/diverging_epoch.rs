//! Where the histories of a client and of a log part (KIP-320).
//!
//! It must not know which API asks.

use super::fetch_session::SessionPartition;
use crate::error_code::ErrorCode;
use crate::log::UnifiedLog;
use crate::types::{LeaderEpoch, Offset};
use crate::zoo::{self, Bug};

/// The epoch and offset up to which the client's records are this log's, if its last record is not here.
pub(crate) fn diverging_epoch(
    log: &UnifiedLog,
    wanted: &SessionPartition,
) -> Result<Option<(LeaderEpoch, Offset)>, ErrorCode> {
    if wanted.last_fetched_epoch < 0 || zoo::is(Bug::DivergenceUnseen) {
        return Ok(None);
    }
    let last_fetched = LeaderEpoch(wanted.last_fetched_epoch);
    match log.end_offset_for_epoch(last_fetched) {
        None => Err(ErrorCode::OffsetOutOfRange),
        Some((epoch, end)) if epoch < last_fetched || end < wanted.offset => Ok(Some((epoch, end))),
        Some(_) => Ok(None),
    }
}
