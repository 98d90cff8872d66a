//! Knobs of classic and consumer groups and of committed offsets.
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{NO_CONSUMER_PROTOCOL, ONE_NODE, OWN_WAY};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "group.consumer.assignment.interval.ms": Int = "1000", AtLeast(0), ClusterWide, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.assignor.offload.enable": Boolean = "true", Any, ClusterWide, Medium, internal => Idle(OWN_WAY);
    "group.consumer.assignors": List = "uniform,range", Any, ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.heartbeat.interval.ms": Int = "5000", AtLeast(1), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.max.assignment.interval.ms": Int = "15000", AtLeast(0), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.max.heartbeat.interval.ms": Int = "15000", AtLeast(1), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.max.session.timeout.ms": Int = "60000", AtLeast(1), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.max.size": Int = "2147483647", AtLeast(1), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.migration.policy": String = "bidirectional",
        OneOfAnyCase(&["DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"]), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.min.assignment.interval.ms": Int = "0", AtLeast(0), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.min.heartbeat.interval.ms": Int = "5000", AtLeast(1), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.min.session.timeout.ms": Int = "45000", AtLeast(1), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.regex.refresh.interval.ms": Int = "600000", AtLeast(10_000), ReadOnly, Medium, internal
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.consumer.session.timeout.ms": Int = "45000", AtLeast(1), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.coordinator.append.linger.ms": Int = "-1", AtLeast(-1), ReadOnly, Medium => Idle(OWN_WAY);
    "group.coordinator.background.threads": Int = "2", AtLeast(1), ReadOnly, High => Idle(OWN_WAY);
    "group.coordinator.cached.buffer.max.bytes": Int = "1048588", AtLeast(524_288), ClusterWide, Medium
        => Idle(OWN_WAY);
    "group.coordinator.rebalance.protocols": List = "classic,consumer,streams",
        OneOf(&["consumer", "classic", "share", "streams"]), ReadOnly, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "group.coordinator.threads": Int = "4", AtLeast(1), ReadOnly, High => Idle(OWN_WAY);
    "group.initial.rebalance.delay.ms": Int = "3000", Any, ReadOnly, Medium
        => Honoured("How long an empty classic group waits for further members before its first rebalance.");
    "group.max.session.timeout.ms": Int = "1800000", Any, ReadOnly, Medium
        => Honoured("Longest session that a member of a classic group may ask for.");
    "group.max.size": Int = "2147483647", AtLeast(1), ReadOnly, Medium
        => Honoured("Members that a classic group may have.");
    "group.min.session.timeout.ms": Int = "6000", Any, ReadOnly, Medium
        => Honoured("Shortest session that a member of a classic group may ask for.");
    "offset.metadata.max.bytes": Int = "4096", Any, ReadOnly, High
        => Honoured("Longest metadata text that a client may store with a committed offset.");
    "offsets.commit.timeout.ms": Int = "5000", AtLeast(1), ReadOnly, High
        => Honoured("How long an offset commit may wait until it is durable.");
    "offsets.load.buffer.size": Int = "5242880", AtLeast(1), ReadOnly, High => Idle(OWN_WAY);
    "offsets.retention.check.interval.ms": Long = "600000", AtLeast(1), ReadOnly, High
        => Honoured("How often expired offsets are looked for.");
    "offsets.retention.minutes": Int = "10080", AtLeast(1), ReadOnly, High
        => Honoured("How long committed offsets of a group without members are kept.");
    "offsets.topic.compression.codec": Int = "0", Any, ReadOnly, High => Idle(OWN_WAY);
    "offsets.topic.num.partitions": Int = "50", AtLeast(1), ReadOnly, High
        => Honoured("Partitions of __consumer_offsets when it is created.");
    "offsets.topic.replication.factor": Short = "3", AtLeast(1), ReadOnly, High => Idle(ONE_NODE);
    "offsets.topic.segment.bytes": Int = "104857600", AtLeast(1), ReadOnly, High
        => Honoured("Segment size of __consumer_offsets.");
};
