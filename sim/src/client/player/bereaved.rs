//! The records of several segments are deleted, and the segments go at once. Then the power is cut: whichever of them are gone then, what was not deleted is all there, and a producer is known
//! whose only record was deleted.
//!
//! It must not know how files go.

use klamm::error_code::ErrorCode;

use super::stage::{Otherwise, Played, Stage, same};
use super::topics::{self, EARLIEST, LATEST};

const NAME: &str = "bereaved";
const WRITER: usize = 0;
const ASKER: usize = 1;
/// Longer than from one look at what may go to the next.
const RETENTION_MS: u64 = 700;
/// Records, each of which has a segment of its own, and how many of them are deleted.
const RECORDS: i64 = 12;
const DELETED: i64 = 10;
/// Who has written the first of them, as its first.
const PRODUCER: (i64, i16, i32) = (1_000_000_000, 0, 0);
/// How much younger each record is than the one before it, which is more than a segment may span.
const STEP_MS: i64 = 60_000;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create_with(&stage, NAME, 1, Some(("segment.ms", "1000"))).await?;
    let began_ms = stage.wall_ms();
    topics::ask_produce_of(&stage, WRITER, NAME, PRODUCER, began_ms);
    same("a producer's record", topics::produced(&stage.hear(WRITER).await)?, (ErrorCode::None, 0))?;
    for offset in 1..RECORDS {
        topics::produce_at(&stage, WRITER, NAME, began_ms + offset * STEP_MS, offset).await?;
    }
    topics::delete_records(&stage, ASKER, NAME, DELETED).await?;
    stage.rest(RETENTION_MS).await;
    Ok(())
}

pub(super) async fn play_on(stage: Stage) -> Played {
    let found = topics::offset_at(&stage, ASKER, NAME, LATEST).await?;
    same("where a topic ends whose beginning is deleted", found, (ErrorCode::None, RECORDS))?;
    // That the last of the segments is gone need not be on the disk; that those before it are must be.
    let start = match topics::offset_at(&stage, ASKER, NAME, EARLIEST).await? {
        (ErrorCode::None, start) if (DELETED - 1..=DELETED).contains(&start) => start,
        start => return Err(Otherwise(format!("where it begins: {start:?}"))),
    };
    if start < DELETED || !stage.has_started_at_once() {
        // What told of the producer may have gone with its segment, or with a start that was broken off: it is of no use at the log's beginning, and the next start would read it.
        return Ok(());
    }
    // What it sends again was written already.
    topics::ask_produce_of(&stage, WRITER, NAME, PRODUCER, stage.wall_ms());
    same("its record, again", topics::produced(&stage.hear(WRITER).await)?, (ErrorCode::None, 0))
}
