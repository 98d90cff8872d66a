//! The records of several segments are deleted, and the segments go at once. Then the power is cut: whichever of them are gone then, what was not deleted is all there.
//!
//! It must not know how files go.

use klamm::error_code::ErrorCode;

use super::stage::{Played, Stage, same};
use super::topics::{self, LATEST};

const NAME: &str = "bereaved";
const WRITER: usize = 0;
const ASKER: usize = 1;
/// Longer than from one look at what may go to the next.
const RETENTION_MS: u64 = 700;
/// Records, each of which has a segment of its own, and how many of them are deleted.
const RECORDS: i64 = 12;
const DELETED: i64 = 10;
/// How much younger each record is than the one before it, which is more than a segment may span.
const STEP_MS: i64 = 60_000;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create_with(&stage, NAME, 1, Some(("segment.ms", "1000"))).await?;
    let began_ms = stage.wall_ms();
    for offset in 0..RECORDS {
        topics::produce_at(&stage, WRITER, NAME, began_ms + offset * STEP_MS, offset).await?;
    }
    topics::delete_records(&stage, ASKER, NAME, DELETED).await?;
    stage.rest(RETENTION_MS).await;
    Ok(())
}

pub(super) async fn play_on(stage: Stage) -> Played {
    let found = topics::offset_at(&stage, ASKER, NAME, LATEST).await?;
    same("where a topic ends whose beginning is deleted", found, (ErrorCode::None, RECORDS))
}
