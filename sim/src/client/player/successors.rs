//! A topic from whose beginning records were deleted is deleted itself, and another one of its name soon has more records than it had. Then the broker is killed: what its
//! last checkpoint says is about the first of them, and the second begins where it began.
//!
//! It must not know what a checkpoint is.

use klamm::error_code::ErrorCode;

use super::stage::{Played, Stage, same};
use super::topics::{self, EARLIEST, LATEST};

const NAME: &str = "successors";
const WRITER: usize = 0;
const ASKER: usize = 1;
/// Longer than from one checkpoint to the next.
const CHECKPOINT_MS: u64 = 2_500;
/// How many records the first has, how many of them are deleted, and how many the second has.
const FORMER: i64 = 3;
const DELETED: i64 = 2;
const PRESENT: i64 = 5;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create(&stage, NAME, 1).await?;
    for offset in 0..FORMER {
        topics::produce(&stage, WRITER, NAME, b"former", offset).await?;
    }
    topics::delete_records(&stage, ASKER, NAME, DELETED).await?;
    stage.rest(CHECKPOINT_MS).await;
    topics::ask_delete(&stage, NAME);
    topics::hear_deleted(&stage).await?;
    topics::create(&stage, NAME, 1).await?;
    for offset in 0..PRESENT {
        topics::produce(&stage, WRITER, NAME, b"present", offset).await?;
    }
    Ok(())
}

pub(super) async fn play_on(stage: Stage) -> Played {
    let found = topics::offset_at(&stage, ASKER, NAME, EARLIEST).await?;
    same("where a topic begins", found, (ErrorCode::None, 0))?;
    let found = topics::offset_at(&stage, ASKER, NAME, LATEST).await?;
    same("where it ends", found, (ErrorCode::None, PRESENT))
}
