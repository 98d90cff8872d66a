//! Knobs of share groups (KIP-932).
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{NO_SHARE_GROUPS, ONE_NODE, OWN_WAY};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "errors.deadletterqueue.auto.create.topics.enable": Boolean = "false", Any, ClusterWide, Medium
        => Idle(NO_SHARE_GROUPS);
    "errors.deadletterqueue.topic.name.prefix": String = "dlq.", Any, ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.assignment.interval.ms": Int = "1000", AtLeast(0), ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.assignor.offload.enable": Boolean = "true", Any, ClusterWide, Medium, internal
        => Idle(NO_SHARE_GROUPS);
    "group.share.assignors": List = "simple", Any, ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.delivery.count.limit": Int = "5", Between(2, 10), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.dlq.manager.class.name": String = "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager",
        Any, ReadOnly, Medium, internal
        => Idle(NO_SHARE_GROUPS);
    "group.share.heartbeat.interval.ms": Int = "5000", AtLeast(1), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.initialize.retry.interval.ms": Int = "30000", AtLeast(1), ReadOnly, Low, internal
        => Idle(NO_SHARE_GROUPS);
    "group.share.max.assignment.interval.ms": Int = "15000", AtLeast(0), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.max.delivery.count.limit": Int = "10", Between(5, 25), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.max.heartbeat.interval.ms": Int = "15000", AtLeast(1), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.max.partition.max.record.locks": Int = "4000", Between(2000, 10_000), ReadOnly, Medium
        => Idle(NO_SHARE_GROUPS);
    "group.share.max.record.lock.duration.ms": Int = "60000", Between(30_000, 3_600_000), ReadOnly, Medium
        => Idle(NO_SHARE_GROUPS);
    "group.share.max.session.timeout.ms": Int = "60000", AtLeast(1), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.max.share.sessions": Int = "2000", AtLeast(1), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.max.size": Int = "200", Between(1, 1000), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.min.assignment.interval.ms": Int = "0", AtLeast(0), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.min.delivery.count.limit": Int = "2", Between(2, 5), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.min.heartbeat.interval.ms": Int = "5000", AtLeast(1), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.min.partition.max.record.locks": Int = "100", Between(100, 2000), ReadOnly, Medium
        => Idle(NO_SHARE_GROUPS);
    "group.share.min.record.lock.duration.ms": Int = "15000", Between(1000, 30_000), ReadOnly, Medium
        => Idle(NO_SHARE_GROUPS);
    "group.share.min.session.timeout.ms": Int = "45000", AtLeast(1), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "group.share.partition.max.record.locks": Int = "2000", Between(100, 10_000), ReadOnly, Medium
        => Idle(NO_SHARE_GROUPS);
    "group.share.persister.class.name": String = "org.apache.kafka.server.share.persister.DefaultStatePersister",
        Any, ReadOnly, Medium, internal
        => Idle(NO_SHARE_GROUPS);
    "group.share.record.lock.duration.ms": Int = "30000", Between(1000, 3_600_000), ReadOnly, Medium
        => Idle(NO_SHARE_GROUPS);
    "group.share.session.timeout.ms": Int = "45000", AtLeast(1), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "share.coordinator.append.linger.ms": Int = "-1", AtLeast(-1), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "share.coordinator.cached.buffer.max.bytes": Int = "1048588", AtLeast(524_288), ClusterWide, Medium
        => Idle(NO_SHARE_GROUPS);
    "share.coordinator.cold.partition.snapshot.interval.ms": Int = "300000", AtLeast(1), ReadOnly, Low, internal
        => Idle(NO_SHARE_GROUPS);
    "share.coordinator.load.buffer.size": Int = "5242880", AtLeast(1), ReadOnly, High => Idle(NO_SHARE_GROUPS);
    "share.coordinator.snapshot.update.records.per.snapshot": Int = "500", Between(0, 500), ReadOnly, Medium
        => Idle(NO_SHARE_GROUPS);
    "share.coordinator.state.topic.compression.codec": Int = "0", Any, ReadOnly, High => Idle(NO_SHARE_GROUPS);
    "share.coordinator.state.topic.min.isr": Short = "2", AtLeast(1), ReadOnly, High => Idle(ONE_NODE);
    "share.coordinator.state.topic.num.partitions": Int = "50", AtLeast(1), ReadOnly, High => Idle(NO_SHARE_GROUPS);
    "share.coordinator.state.topic.prune.interval.ms": Int = "300000", AtLeast(1), ReadOnly, Low, internal
        => Idle(NO_SHARE_GROUPS);
    "share.coordinator.state.topic.replication.factor": Short = "3", AtLeast(1), ReadOnly, High => Idle(ONE_NODE);
    "share.coordinator.state.topic.segment.bytes": Int = "104857600", AtLeast(1), ReadOnly, High
        => Idle(NO_SHARE_GROUPS);
    "share.coordinator.threads": Int = "1", AtLeast(1), ReadOnly, Medium => Idle(NO_SHARE_GROUPS);
    "share.coordinator.write.timeout.ms": Int = "5000", AtLeast(1), ReadOnly, High => Idle(NO_SHARE_GROUPS);
    "share.fetch.purgatory.purge.interval.requests": Int = "1000", Any, ReadOnly, Medium => Idle(OWN_WAY);
};
