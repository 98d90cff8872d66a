//! A topic whose records are all older than it keeps any: its last segment goes with the others, and what is written then has the next offset.
//!
//! It must not know segments.

use klamm::error_code::ErrorCode;

use super::stage::{Otherwise, Played, Stage};
use super::topics::{self, EARLIEST};

const NAME: &str = "outlived";
const WRITER: usize = 0;
const ASKER: usize = 1;
/// How long records are kept, and how old they are. A clock that is set right by some minutes changes nothing.
const KEPT_MS: &str = "3600000";
const AGE_MS: i64 = 30 * 3_600_000;
const RECORDS: i64 = 3;
/// Every half second the broker looks what is old.
const LOOKS_MAX: u32 = 20;
const LOOK_MS: u64 = 300;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create_with(&stage, NAME, 1, Some(("retention.ms", KEPT_MS))).await?;
    let old_ms = stage.wall_ms() - AGE_MS;
    for offset in 0..RECORDS {
        topics::produce_at(&stage, WRITER, NAME, old_ms, offset).await?;
        end_of_records(&stage, offset + 1).await?;
    }
    Ok(())
}

/// All records before this offset, which is the next, go.
async fn end_of_records(stage: &Stage, offset: i64) -> Played {
    let mut found = (ErrorCode::None, 0);
    for _ in 0..LOOKS_MAX {
        found = topics::offset_at(stage, ASKER, NAME, EARLIEST).await?;
        if found == (ErrorCode::None, offset) {
            return Ok(());
        }
        stage.rest(LOOK_MS).await;
    }
    Err(Otherwise(format!("a topic of old records begins at {found:?} and not at its end, {offset}")))
}
