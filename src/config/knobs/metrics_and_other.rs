//! Knobs of metrics, quotas and whatever has no theme of its own.
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{NO_JVM, NO_PLUGINS, NO_QUOTAS, OWN_WAY};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "background.threads": Int = "10", AtLeast(1), ClusterWide, High => Idle(OWN_WAY);
    "client.quota.callback.class": Class = null, Any, ReadOnly, Low => Refused(NO_PLUGINS);
    "config.providers": List = "", Any, ClusterWide, Low => Refused(NO_PLUGINS);
    "controller.quota.window.num": Int = "11", AtLeast(1), ReadOnly, Low => Idle(NO_QUOTAS);
    "controller.quota.window.size.seconds": Int = "1", AtLeast(1), ReadOnly, Low => Idle(NO_QUOTAS);
    "delete.records.purgatory.purge.interval.requests": Int = "1", Any, ReadOnly, Medium => Idle(OWN_WAY);
    "kafka.metrics.polling.interval.secs": Int = "10", AtLeast(1), ReadOnly, Low => Idle(NO_JVM);
    "kafka.metrics.reporters": List = "", Any, ReadOnly, Low => Idle(NO_JVM);
    "metric.reporters": List = "org.apache.kafka.common.metrics.JmxReporter", Any, ClusterWide, Low => Idle(NO_JVM);
    "metrics.num.samples": Int = "2", AtLeast(1), ReadOnly, Low => Idle(NO_JVM);
    "metrics.recording.level": String = "INFO", Any, ReadOnly, Low => Idle(NO_JVM);
    "metrics.sample.window.ms": Long = "30000", AtLeast(1), ReadOnly, Low => Idle(NO_JVM);
    "producer.purgatory.purge.interval.requests": Int = "1000", Any, ReadOnly, Medium => Idle(OWN_WAY);
    "quota.window.num": Int = "11", AtLeast(1), ReadOnly, Low
        => Honoured("Windows over which the rate of new connections is measured.");
    "quota.window.size.seconds": Int = "1", AtLeast(1), ReadOnly, Low
        => Honoured("Length of such a window, and the longest that a new connection is held back.");
    "telemetry.max.bytes": Int = "1048576", AtLeast(1), ReadOnly, Low => Idle(NO_JVM);
    "unstable.api.versions.enable": Boolean = "false", Any, ReadOnly, High, internal => Idle(OWN_WAY);
    "unstable.feature.versions.enable": Boolean = "false", Any, ReadOnly, High, internal => Idle(OWN_WAY);
};
