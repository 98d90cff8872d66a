//! Knobs of one group, and the broker's knob that each falls back to.
//!
//! It must not know who obeys a knob.

use super::reasons::{NO_CONSUMER_PROTOCOL, NO_SHARE_GROUPS, NO_STREAMS_GROUPS, OWN_WAY};
use crate::config::knob::{Knob, knobs};

/// Every group config that Kafka 4.4 has, in the order of their names.
pub const GROUP_KNOBS: &[Knob] = knobs! {
    "consumer.assignment.interval.ms": Int = "1000", AtLeast(0), ClusterWide, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "consumer.assignor.offload.enable": Boolean = "true", Any, ClusterWide, Medium, internal => Idle(OWN_WAY);
    "consumer.heartbeat.interval.ms": Int = "5000", AtLeast(1), ClusterWide, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "consumer.session.timeout.ms": Int = "45000", AtLeast(1), ClusterWide, Medium
        => Idle(NO_CONSUMER_PROTOCOL);
    "errors.deadletterqueue.copy.record.enable": Boolean = "false", Any, ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "errors.deadletterqueue.topic.name": String = "", Any, ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "share.assignment.interval.ms": Int = "1000", AtLeast(0), ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "share.assignor.offload.enable": Boolean = "true", Any, ClusterWide, Medium, internal => Idle(NO_SHARE_GROUPS);
    "share.auto.offset.reset": String = "latest", Any, ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "share.delivery.count.limit": Int = "5", AtLeast(2), ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "share.heartbeat.interval.ms": Int = "5000", AtLeast(1), ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "share.isolation.level": String = "read_uncommitted",
        OneOf(&["read_committed", "read_uncommitted"]), ClusterWide, Medium
        => Idle(NO_SHARE_GROUPS);
    "share.partition.max.record.locks": Int = "2000", AtLeast(100), ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "share.record.lock.duration.ms": Int = "30000", AtLeast(1000), ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "share.renew.acknowledge.enable": Boolean = "true", Any, ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "share.session.timeout.ms": Int = "45000", AtLeast(1), ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "streams.acceptable.recovery.lag": Long = "10000", AtLeast(0), ClusterWide, Medium, internal
        => Idle(NO_STREAMS_GROUPS);
    "streams.assignment.interval.ms": Int = "1000", AtLeast(0), ClusterWide, Medium => Idle(NO_STREAMS_GROUPS);
    "streams.assignor.name": String = null, Any, ClusterWide, Medium => Idle(NO_STREAMS_GROUPS);
    "streams.assignor.offload.enable": Boolean = "true", Any, ClusterWide, Medium, internal => Idle(NO_STREAMS_GROUPS);
    "streams.heartbeat.interval.ms": Int = "5000", AtLeast(1), ClusterWide, Medium => Idle(NO_STREAMS_GROUPS);
    "streams.initial.rebalance.delay.ms": Int = "3000", AtLeast(0), ClusterWide, Medium => Idle(NO_STREAMS_GROUPS);
    "streams.num.standby.replicas": Int = "0", AtLeast(0), ClusterWide, Medium => Idle(NO_STREAMS_GROUPS);
    "streams.num.warmup.replicas": Int = "2", AtLeast(0), ClusterWide, Medium, internal => Idle(NO_STREAMS_GROUPS);
    "streams.rack.aware.assignment.tags": List = "", Any, ClusterWide, Low => Idle(NO_STREAMS_GROUPS);
    "streams.session.timeout.ms": Int = "45000", AtLeast(1), ClusterWide, Medium => Idle(NO_STREAMS_GROUPS);
    "streams.task.offset.interval.ms": Int = "60000", AtLeast(1), ClusterWide, Medium, internal
        => Idle(NO_STREAMS_GROUPS);
};

/// The group knob with this name.
pub fn find_group(name: &str) -> Option<&'static Knob> {
    GROUP_KNOBS.iter().find(|knob| knob.name == name)
}

/// The broker's knob that stands in for this group knob: the same name behind `group.`, but for the streams assignor.
pub fn group_synonym(name: &str) -> Option<&'static Knob> {
    match name {
        "streams.assignor.name" => super::find("group.streams.assignors"),
        _ => super::find(&format!("group.{name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{GROUP_KNOBS, group_synonym};

    #[test]
    fn the_default_of_a_group_is_that_of_the_broker() {
        for knob in GROUP_KNOBS.iter().filter(|knob| knob.default.is_some()) {
            if let Some(broker) = group_synonym(knob.name) {
                assert_eq!(knob.default, broker.default, "{}", knob.name);
            }
        }
        assert!(group_synonym("consumer.session.timeout.ms").is_some());
        assert!(group_synonym("share.isolation.level").is_none());
    }
}
