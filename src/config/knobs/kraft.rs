//! Knobs of the node's identity, and those of a KRaft quorum.
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{NO_QUORUM, ONE_NODE};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "broker.heartbeat.interval.ms": Int = "2000", Any, ReadOnly, Medium => Idle(ONE_NODE);
    "broker.id": Int = "-1", Any, ReadOnly, High => Honoured("Kafka's older name of node.id.");
    "broker.rack": String = null, Any, ReadOnly, Medium
        => Honoured("The rack that clients are told, for rack-aware consumers.");
    "broker.session.timeout.ms": Int = "9000", Any, ReadOnly, Medium => Idle(ONE_NODE);
    "controlled.shutdown.enable": Boolean = "true", Any, ReadOnly, Medium => Idle(ONE_NODE);
    "controller.listener.names": List = null, Any, ReadOnly, High
        => Honoured("Listeners that belong to Kafka's controller; Klamm does not open them.");
    "controller.performance.always.log.threshold.ms": Long = "2000", AtLeast(0), ReadOnly, Medium, internal
        => Idle(NO_QUORUM);
    "controller.performance.sample.period.ms": Long = "60000", AtLeast(100), ReadOnly, Medium, internal
        => Idle(NO_QUORUM);
    "controller.quorum.append.linger.ms": Int = "25", AtLeast(0), ReadOnly, Medium => Idle(NO_QUORUM);
    "controller.quorum.auto.join.enable": Boolean = "false", Any, ReadOnly, Low => Idle(NO_QUORUM);
    "controller.quorum.bootstrap.servers": List = "", Any, ReadOnly, High => Idle(NO_QUORUM);
    "controller.quorum.election.backoff.max.ms": Int = "1000", AtLeast(0), ReadOnly, High => Idle(NO_QUORUM);
    "controller.quorum.election.timeout.ms": Int = "1000", AtLeast(0), ReadOnly, High => Idle(NO_QUORUM);
    "controller.quorum.fetch.max.bytes": Int = "1048576", AtLeast(1), ReadOnly, Low => Idle(NO_QUORUM);
    "controller.quorum.fetch.snapshot.max.bytes": Int = "1048576", AtLeast(1), ReadOnly, Low => Idle(NO_QUORUM);
    "controller.quorum.fetch.timeout.ms": Int = "2000", AtLeast(0), ReadOnly, High => Idle(NO_QUORUM);
    "controller.quorum.request.timeout.ms": Int = "2000", AtLeast(0), ReadOnly, Medium => Idle(NO_QUORUM);
    "controller.quorum.retry.backoff.ms": Int = "20", AtLeast(0), ReadOnly, Low => Idle(NO_QUORUM);
    "controller.quorum.voters": List = "", Any, ReadOnly, High => Idle(NO_QUORUM);
    "controller.socket.timeout.ms": Int = "30000", Any, ReadOnly, Medium => Idle(ONE_NODE);
    "early.start.listeners": List = null, Any, ReadOnly, High => Idle(ONE_NODE);
    "initial.broker.registration.timeout.ms": Int = "60000", Any, ReadOnly, Medium => Idle(ONE_NODE);
    "internal.metadata.delete.delay.millis": Long = "60000", Any, ReadOnly, Low, internal => Idle(NO_QUORUM);
    "internal.metadata.log.segment.bytes": Int = null, Any, ReadOnly, Low, internal => Idle(NO_QUORUM);
    "internal.metadata.max.batch.size.in.bytes": Int = "8388608", Any, ReadOnly, Low, internal => Idle(NO_QUORUM);
    "metadata.log.dir": String = null, Any, ReadOnly, High
        => Honoured("The folder of the metadata log; without it, the first of log.dirs.");
    "metadata.log.max.record.bytes.between.snapshots": Long = "20971520", AtLeast(1), ReadOnly, High => Idle(NO_QUORUM);
    "metadata.log.max.snapshot.interval.ms": Long = "3600000", AtLeast(0), ReadOnly, High => Idle(NO_QUORUM);
    "metadata.log.segment.bytes": Int = "1073741824", AtLeast(8_388_608), ReadOnly, High => Idle(NO_QUORUM);
    "metadata.log.segment.ms": Long = "604800000", Any, ReadOnly, High => Idle(NO_QUORUM);
    "metadata.max.idle.interval.ms": Int = "500", AtLeast(0), ReadOnly, Low => Idle(NO_QUORUM);
    "metadata.max.retention.bytes": Long = "104857600", Any, ReadOnly, High => Idle(NO_QUORUM);
    "metadata.max.retention.ms": Long = "604800000", Any, ReadOnly, High => Idle(NO_QUORUM);
    "node.id": Int = "1", AtLeast(0), ReadOnly, High
        => Honoured("The number of this broker in every answer and in meta.properties.");
    "process.roles": List = null, OneOf(&["broker", "controller"]), ReadOnly, High => Idle(NO_QUORUM);
    "server.max.startup.time.ms": Long = "9223372036854775807", AtLeast(0), ReadOnly, Medium, internal
        => Idle(NO_QUORUM);
};
