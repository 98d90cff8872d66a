//! Knobs that Kafka does not have.
//!
//! It must not know who obeys a knob.

use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "klamm.acks.all.fsync": Boolean = "true", Any, ReadOnly, High
        => Honoured("Whether acks=all waits for the disk; false waits for the page cache only, as Kafka does.");
    "klamm.log.dirs.free.bytes.min": Long = "67108864", AtLeast(0), ReadOnly, Medium
        => Honoured("Free bytes of a disk below which producers are refused, so that it never fills to the last.");
    "klamm.log.dirs.given.up": List = "", Any, ReadOnly, Medium
        => Honoured("Ids of log directories that are lost for good (directory.id of their meta.properties) and no longer in log.dirs: what lay there begins anew, empty.");
};
