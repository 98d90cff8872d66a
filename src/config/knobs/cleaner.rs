//! Knobs of compaction.
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{NO_COMPACTION, OWN_WAY};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "log.cleaner.backoff.ms": Long = "15000", AtLeast(0), ClusterWide, Medium
        => Idle(NO_COMPACTION);
    "log.cleaner.dedupe.buffer.size": Long = "134217728", Any, ClusterWide, Medium
        => Idle(NO_COMPACTION);
    "log.cleaner.delete.retention.ms": Long = "86400000", AtLeast(0), ClusterWide, Medium
        => Idle(NO_COMPACTION);
    "log.cleaner.enable": Boolean = "true", Any, ReadOnly, Medium => Idle(NO_COMPACTION);
    "log.cleaner.io.buffer.load.factor": Double = "0.9", Any, ClusterWide, Medium => Idle(OWN_WAY);
    "log.cleaner.io.buffer.size": Int = "524288", AtLeast(0), ClusterWide, Medium => Idle(OWN_WAY);
    "log.cleaner.io.max.bytes.per.second": Double = "1.7976931348623157E308", Any, ClusterWide, Medium => Idle(OWN_WAY);
    "log.cleaner.max.compaction.lag.ms": Long = "9223372036854775807", AtLeast(1), ClusterWide, Medium
        => Idle(NO_COMPACTION);
    "log.cleaner.min.cleanable.ratio": Double = "0.5", Ratio("1"), ClusterWide, Medium
        => Idle(NO_COMPACTION);
    "log.cleaner.min.compaction.lag.ms": Long = "0", AtLeast(0), ClusterWide, Medium
        => Idle(NO_COMPACTION);
    "log.cleaner.threads": Int = "1", AtLeast(0), ClusterWide, Medium
        => Idle(NO_COMPACTION);
};
