//! Knobs of idempotent and transactional producers.
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{NO_TRANSACTIONS, NO_TWO_PHASE, ONE_NODE, OWN_WAY};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "add.partitions.to.txn.retry.backoff.max.ms": Int = "100", AtLeast(0), ReadOnly, High => Idle(ONE_NODE);
    "add.partitions.to.txn.retry.backoff.ms": Int = "20", AtLeast(1), ReadOnly, High => Idle(ONE_NODE);
    "producer.id.expiration.check.interval.ms": Int = "600000", AtLeast(1), ReadOnly, Low, internal
        => Idle(OWN_WAY);
    "producer.id.expiration.ms": Int = "86400000", AtLeast(1), ClusterWide, Low
        => Honoured("How long an idle idempotent producer is remembered by a partition.");
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": Int = "10000", AtLeast(1), ReadOnly, Low
        => Idle(NO_TRANSACTIONS);
    "transaction.max.timeout.ms": Int = "900000", AtLeast(1), ReadOnly, High
        => Idle(NO_TRANSACTIONS);
    "transaction.partition.verification.enable": Boolean = "true", Any, ClusterWide, Low
        => Idle(NO_TRANSACTIONS);
    "transaction.remove.expired.transaction.cleanup.interval.ms": Int = "3600000", AtLeast(1), ReadOnly, Low
        => Idle(NO_TRANSACTIONS);
    "transaction.state.log.load.buffer.size": Int = "5242880", AtLeast(1), ReadOnly, High => Idle(OWN_WAY);
    "transaction.state.log.min.isr": Int = "2", AtLeast(1), ReadOnly, High => Idle(ONE_NODE);
    "transaction.state.log.num.partitions": Int = "50", AtLeast(1), ReadOnly, High
        => Idle(NO_TRANSACTIONS);
    "transaction.state.log.replication.factor": Short = "3", AtLeast(1), ReadOnly, High => Idle(ONE_NODE);
    "transaction.state.log.segment.bytes": Int = "104857600", AtLeast(1), ReadOnly, High
        => Idle(NO_TRANSACTIONS);
    "transaction.two.phase.commit.enable": Boolean = "false", Any, ReadOnly, Low => Refused(NO_TWO_PHASE);
    "transactional.id.expiration.ms": Int = "604800000", AtLeast(1), ReadOnly, High
        => Idle(NO_TRANSACTIONS);
};
