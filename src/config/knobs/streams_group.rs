//! Knobs of streams groups (KIP-1071).
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{NO_PLUGINS, NO_STREAMS_GROUPS};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "group.streams.acceptable.recovery.lag": Long = "10000", AtLeast(0), ReadOnly, Medium, internal
        => Idle(NO_STREAMS_GROUPS);
    "group.streams.assignment.interval.ms": Int = "1000", AtLeast(0), ClusterWide, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.assignor.offload.enable": Boolean = "true", Any, ClusterWide, Medium, internal
        => Idle(NO_STREAMS_GROUPS);
    "group.streams.assignors": List = "sticky", Any, ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.heartbeat.interval.ms": Int = "5000", AtLeast(1), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.initial.rebalance.delay.ms": Int = "3000", AtLeast(0), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.max.assignment.interval.ms": Int = "15000", AtLeast(0), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.max.heartbeat.interval.ms": Int = "15000", AtLeast(1), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.max.session.timeout.ms": Int = "60000", AtLeast(1), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.max.size": Int = "2147483647", AtLeast(1), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.max.standby.replicas": Int = "2", AtLeast(0), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.max.warmup.replicas": Int = "20", AtLeast(0), ReadOnly, Medium, internal => Idle(NO_STREAMS_GROUPS);
    "group.streams.min.assignment.interval.ms": Int = "0", AtLeast(0), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.min.heartbeat.interval.ms": Int = "5000", AtLeast(1), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.min.session.timeout.ms": Int = "45000", AtLeast(1), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.min.task.offset.interval.ms": Int = "15000", AtLeast(1), ReadOnly, Medium, internal
        => Idle(NO_STREAMS_GROUPS);
    "group.streams.num.standby.replicas": Int = "0", AtLeast(0), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.num.warmup.replicas": Int = "2", AtLeast(0), ReadOnly, Medium, internal => Idle(NO_STREAMS_GROUPS);
    "group.streams.rack.aware.assignment.tags": List = "", Any, ReadOnly, Low => Idle(NO_STREAMS_GROUPS);
    "group.streams.session.timeout.ms": Int = "45000", AtLeast(1), ReadOnly, Medium => Idle(NO_STREAMS_GROUPS);
    "group.streams.task.offset.interval.ms": Int = "60000", AtLeast(1), ReadOnly, Medium, internal
        => Idle(NO_STREAMS_GROUPS);
    "group.streams.topology.description.plugin.class": Class = null, Any, ReadOnly, Medium => Refused(NO_PLUGINS);
};
