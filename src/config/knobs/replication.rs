//! Knobs of replication between brokers.
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::ONE_NODE;
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "alter.log.dirs.replication.quota.window.num": Int = "11", AtLeast(1), ReadOnly, Low => Idle(ONE_NODE);
    "alter.log.dirs.replication.quota.window.size.seconds": Int = "1", AtLeast(1), ReadOnly, Low => Idle(ONE_NODE);
    "auto.leader.rebalance.enable": Boolean = "true", Any, ReadOnly, High => Idle(ONE_NODE);
    "inter.broker.listener.name": String = null, Any, ReadOnly, Medium
        => Honoured("Of several listeners the one that max.connections cannot close to an operator; else PLAINTEXT.");
    "leader.imbalance.check.interval.seconds": Long = "300", AtLeast(1), ReadOnly, High => Idle(ONE_NODE);
    "num.replica.alter.log.dirs.threads": Int = null, Any, ReadOnly, High => Idle(ONE_NODE);
    "num.replica.fetchers": Int = "1", AtLeast(1), ClusterWide, High => Idle(ONE_NODE);
    "replica.fetch.backoff.ms": Int = "1000", AtLeast(0), ReadOnly, Medium => Idle(ONE_NODE);
    "replica.fetch.max.bytes": Int = "1048576", AtLeast(0), ReadOnly, Medium => Idle(ONE_NODE);
    "replica.fetch.min.bytes": Int = "1", Any, ReadOnly, High => Idle(ONE_NODE);
    "replica.fetch.response.max.bytes": Int = "10485760", AtLeast(0), ReadOnly, Medium => Idle(ONE_NODE);
    "replica.fetch.wait.max.ms": Int = "500", Any, ReadOnly, High => Idle(ONE_NODE);
    "replica.high.watermark.checkpoint.interval.ms": Long = "5000", Any, ReadOnly, High => Idle(ONE_NODE);
    "replica.lag.time.max.ms": Long = "30000", Any, ReadOnly, High => Idle(ONE_NODE);
    "replica.selector.class": String = null, Any, ReadOnly, Medium => Idle(ONE_NODE);
    "replica.socket.receive.buffer.bytes": Int = "65536", Any, ReadOnly, High => Idle(ONE_NODE);
    "replica.socket.timeout.ms": Int = "30000", Any, ReadOnly, High => Idle(ONE_NODE);
    "replication.quota.window.num": Int = "11", AtLeast(1), ReadOnly, Low => Idle(ONE_NODE);
    "replication.quota.window.size.seconds": Int = "1", AtLeast(1), ReadOnly, Low => Idle(ONE_NODE);
    "unclean.leader.election.enable": Boolean = "false", Any, ClusterWide, High => Idle(ONE_NODE);
    "unclean.leader.election.interval.ms": Long = "300000", AtLeast(1), ReadOnly, Medium, internal => Idle(ONE_NODE);
};
