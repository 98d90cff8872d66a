//! Committed offsets that another broker has left: what a transaction has committed is there, what one was aborted with, or never ended with, is not.
//!
//! It must not know how they were left.

use super::groups::{self, committed};
use super::stage::{Played, Stage, same};
use crate::inherited_offsets::{ELDERS, NEVER};
use crate::run::TOPIC;

const ASKER: usize = 0;

pub(super) async fn play(stage: Stage) -> Played {
    for (group, offset) in ELDERS {
        groups::find(&stage, ASKER, group).await?;
        let found = committed(&stage, ASKER, group, Some(TOPIC)).await?;
        let is_never = |(_, offset): &(String, i64)| NEVER.contains(offset);
        same(&format!("the offset of {group} counts for nobody"), found.iter().any(is_never), false)?;
        // A disk that has lost or destroyed something may have lost the others.
        if stage.is_sound() {
            same(&format!("the offset of {group}"), found, vec![(TOPIC.to_owned(), offset)])?;
        }
    }
    Ok(())
}
