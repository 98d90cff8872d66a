//! Topics of which nothing may go, however small their limits are: one that is larger than it may be, and whose records all lie in the segment that is written to, and one whose records have no time.
//!
//! It must not know segments.

use klamm::error_code::ErrorCode;

use super::stage::{Played, Stage, same};
use super::topics::{self, EARLIEST};

const LARGE: &str = "keepers-large";
const TIMELESS: &str = "keepers-timeless";
const WRITER: usize = 0;
const ASKER: usize = 1;
const RECORDS: i64 = 4;
const VALUE_BYTES: usize = 2_000;
const NO_TIME: i64 = -1;
/// Longer than from one look at what may go to the next.
const RETENTION_MS: u64 = 1_200;

pub(super) async fn play(stage: Stage) -> Played {
    // The least that a segment may hold is far more than what is written.
    let large = [("retention.bytes", "100"), ("segment.bytes", "1048576"), ("segment.ms", "600000000")];
    topics::create_with(&stage, LARGE, 1, large).await?;
    let timeless = [("retention.ms", "86400000"), ("segment.ms", "600000000")];
    topics::create_with(&stage, TIMELESS, 1, timeless).await?;
    for offset in 0..RECORDS {
        topics::produce(&stage, WRITER, LARGE, &[b'v'; VALUE_BYTES], offset).await?;
        topics::produce_at(&stage, WRITER, TIMELESS, NO_TIME, offset).await?;
    }
    stage.rest(RETENTION_MS).await;
    for name in [LARGE, TIMELESS] {
        let found = topics::offset_at(&stage, ASKER, name, EARLIEST).await?;
        same(&format!("where {name} begins"), found, (ErrorCode::None, 0))?;
    }
    Ok(())
}
