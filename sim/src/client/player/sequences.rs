//! A producer whose batches are numbered: the number after the last of all is the first, what comes twice is told where it lies, and what is too early, or of an epoch that is over, is refused.
//!
//! It must not know how many batches are remembered.

use klamm::error_code::ErrorCode;

use super::stage::{Played, Stage, same};
use super::topics;

const NAME: &str = "sequences";
const WRITER: usize = 0;
const PRODUCER: i64 = 1_000_000_001;
const NOWHERE: i64 = -1;

pub(super) async fn play(stage: Stage) -> Played {
    topics::create(&stage, NAME, 1).await?;
    let too_early = (ErrorCode::OutOfOrderSequenceNumber, NOWHERE);
    let sent = [
        ((0, i32::MAX - 1), (ErrorCode::None, 0)),
        ((0, i32::MAX), (ErrorCode::None, 1)),
        ((0, 1), too_early),
        ((0, 0), (ErrorCode::None, 2)),
        ((0, i32::MAX), (ErrorCode::None, 1)),
        ((0, 0), (ErrorCode::None, 2)),
        ((0, 2), too_early),
        ((0, 1), (ErrorCode::None, 3)),
        ((1, 2), too_early),
        ((1, 0), (ErrorCode::None, 4)),
        ((0, 2), (ErrorCode::InvalidProducerEpoch, NOWHERE)),
        ((1, 1), (ErrorCode::None, 5)),
        ((1, 0), (ErrorCode::None, 4)),
    ];
    for ((epoch, sequence), expected) in sent {
        topics::ask_produce_of(&stage, WRITER, NAME, (PRODUCER, epoch, sequence), stage.wall_ms());
        let found = topics::produced(&stage.hear(WRITER).await)?;
        same(&format!("batch {sequence} of epoch {epoch}"), found, expected)?;
    }
    Ok(())
}
