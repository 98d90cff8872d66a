//! Knobs of tiered storage (KIP-405).
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::NO_REMOTE_STORAGE;
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "follower.fetch.last.tiered.offset.enable": Boolean = "false", Any, ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "log.local.retention.bytes": Long = "-2", AtLeast(-2), ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "log.local.retention.ms": Long = "-2", AtLeast(-2), ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "log.remote.copy.lag.bytes": Long = "-1", AtLeast(-1), ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "log.remote.copy.lag.ms": Long = "0", AtLeast(-1), ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.fetch.max.wait.ms": Int = "500", AtLeast(1), ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.list.offsets.request.timeout.ms": Long = "30000", AtLeast(1), ClusterWide, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.index.file.cache.total.size.bytes": Long = "1073741824", AtLeast(1), ClusterWide, Low
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.index.file.cache.ttl.ms": Long = "900000", AtLeast(-1), ReadOnly, Low, internal
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.copier.thread.pool.size": Int = "10", AtLeast(1), ClusterWide, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.copy.max.bytes.per.second": Long = "9223372036854775807", AtLeast(1), ClusterWide, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.copy.quota.window.num": Int = "11", AtLeast(1), ReadOnly, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.copy.quota.window.size.seconds": Int = "1", AtLeast(1), ReadOnly, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.expiration.thread.pool.size": Int = "10", AtLeast(1), ClusterWide, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.fetch.max.bytes.per.second": Long = "9223372036854775807", AtLeast(1), ClusterWide, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.fetch.quota.window.num": Int = "11", AtLeast(1), ReadOnly, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.fetch.quota.window.size.seconds": Int = "1", AtLeast(1), ReadOnly, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.follower.thread.pool.size": Int = "2", AtLeast(1), ClusterWide, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.task.interval.ms": Long = "30000", AtLeast(1), ReadOnly, Low => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.task.retry.backoff.max.ms": Long = "30000", AtLeast(1), ReadOnly, Low, internal
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.task.retry.backoff.ms": Long = "500", AtLeast(1), ReadOnly, Low, internal
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.task.retry.jitter": Double = "0.2", Ratio("0.5"), ReadOnly, Low, internal
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.manager.thread.pool.size": Int = "2", AtLeast(1), ReadOnly, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.log.metadata.custom.metadata.max.bytes": Int = "128", AtLeast(0), ReadOnly, Low => Idle(NO_REMOTE_STORAGE);
    "remote.log.metadata.manager.class.name": String =
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        NotEmpty, ReadOnly, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.metadata.manager.class.path": String = null, Any, ReadOnly, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.log.metadata.manager.impl.prefix": String = "rlmm.config.", NotEmpty, ReadOnly, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.metadata.manager.listener.name": String = null, NotEmpty, ReadOnly, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.log.reader.max.pending.tasks": Int = "100", AtLeast(1), ReadOnly, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.log.reader.threads": Int = "10", AtLeast(1), ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.log.storage.manager.class.name": String = null, NotEmpty, ReadOnly, Medium => Refused(NO_REMOTE_STORAGE);
    "remote.log.storage.manager.class.path": String = null, Any, ReadOnly, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.log.storage.manager.impl.prefix": String = "rsm.config.", NotEmpty, ReadOnly, Medium
        => Idle(NO_REMOTE_STORAGE);
    "remote.log.storage.system.enable": Boolean = "false", Any, ReadOnly, Medium => Refused(NO_REMOTE_STORAGE);
};
