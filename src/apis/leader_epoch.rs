//! Whether a client and a log mean the same leader, and where their histories part (KIP-320).
//!
//! It must not know which API asks.

use super::fetch_session::SessionPartition;
use crate::error_code::ErrorCode;
use crate::log::UnifiedLog;
use crate::types::{LeaderEpoch, Offset};

/// Refuses a client that knows an older leader (it must ask for metadata) or a newer one (it must try again); -1 stands for no check.
pub(crate) fn check_leader_epoch(log: &UnifiedLog, asked: i32) -> Result<(), ErrorCode> {
    if asked < 0 {
        return Ok(());
    }
    let current = log.leader_epoch().0;
    match asked.cmp(&current) {
        std::cmp::Ordering::Less => Err(ErrorCode::FencedLeaderEpoch),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(ErrorCode::UnknownLeaderEpoch),
    }
}

/// The epoch and offset up to which the client's records are this log's, if its last record is not here.
pub(crate) fn diverging_epoch(
    log: &UnifiedLog,
    wanted: &SessionPartition,
) -> Result<Option<(LeaderEpoch, Offset)>, ErrorCode> {
    if wanted.last_fetched_epoch < 0 {
        return Ok(None);
    }
    let last_fetched = LeaderEpoch(wanted.last_fetched_epoch);
    match log.end_offset_for_epoch(last_fetched) {
        None => Err(ErrorCode::OffsetOutOfRange),
        Some((epoch, end)) if epoch < last_fetched || end < wanted.offset => Ok(Some((epoch, end))),
        Some(_) => Ok(None),
    }
}
