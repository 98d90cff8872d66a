//! Knobs that exist only at run time: Kafka's tools set them around a reassignment.
//!
//! It must not know who obeys a knob.

use super::reasons::ONE_NODE;
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "leader.replication.throttled.rate": Long = "9223372036854775807", AtLeast(0), ClusterWide, Medium
        => Idle(ONE_NODE);
    "follower.replication.throttled.rate": Long = "9223372036854775807", AtLeast(0), ClusterWide, Medium
        => Idle(ONE_NODE);
    "replica.alter.log.dirs.io.max.bytes.per.second": Long = "9223372036854775807", AtLeast(0), ClusterWide, Medium
        => Idle(ONE_NODE);
};
