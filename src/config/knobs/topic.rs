//! Knobs of one topic, and the broker's knobs that a topic's knob falls back to.
//!
//! It must not know who obeys a knob.

use std::sync::LazyLock;

use super::reasons::{
    NO_COMPACTION, NO_REMOTE_STORAGE, NO_SHARE_GROUPS, ONE_LZ4_LEVEL, ONE_NODE, ONE_REPLICA, OWN_WAY,
};
use super::{ByName, by_name};
use crate::config::knob::{Knob, knobs};

/// Every topic config that Kafka 4.4 has, in the order of their names.
pub const TOPIC_KNOBS: &[Knob] = knobs! {
    "cleanup.policy": List = "delete", OneOf(&["compact", "delete"]), ClusterWide, Medium
        => Honoured("What happens to old records: delete them by age and size, or keep all with compact or if empty; no cleaner runs.");
    "compression.gzip.level": Int = "-1", BetweenOr(1, 9, -1), ClusterWide, Medium
        => Honoured("Level of gzip when compression.type is gzip.");
    "compression.lz4.level": Int = "9", Between(1, 17), ClusterWide, Medium => Idle(ONE_LZ4_LEVEL);
    "compression.type": String = "producer",
        OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), ClusterWide, Medium
        => Honoured("Codec of stored batches; producer keeps what the producer chose.");
    "compression.zstd.level": Int = "3", Between(-131_072, 22), ClusterWide, Medium
        => Honoured("Level of zstd when compression.type is zstd.");
    "delete.retention.ms": Long = "86400000", AtLeast(0), ClusterWide, Medium
        => Idle(NO_COMPACTION);
    "errors.deadletterqueue.group.enable": Boolean = "false", Any, ClusterWide, Medium => Idle(NO_SHARE_GROUPS);
    "file.delete.delay.ms": Long = "60000", AtLeast(0), ClusterWide, Medium
        => Honoured("How long a deleted segment's file stays on the disk, so that readers can end.");
    "flush.messages": Long = "9223372036854775807", AtLeast(1), ClusterWide, Medium
        => Honoured("Records after which the partition is synced to the disk, whatever producers ask for.");
    "flush.ms": Long = "9223372036854775807", AtLeast(0), ClusterWide, Medium
        => Honoured("Age of unsynced records after which the partition is synced; looked at once a second.");
    "follower.replication.throttled.replicas": List = "", ThrottledReplicas, ClusterWide, Medium => Idle(ONE_NODE);
    "index.interval.bytes": Int = "4096", AtLeast(0), ClusterWide, Medium
        => Honoured("Bytes of records between two entries of an offset index.");
    "internal.segment.bytes": Int = null, Any, ClusterWide, Medium, internal
        => Honoured("A segment size without a lower bound, for tests; takes precedence over segment.bytes.");
    "leader.replication.throttled.replicas": List = "", ThrottledReplicas, ClusterWide, Medium => Idle(ONE_NODE);
    "local.retention.bytes": Long = "-2", AtLeast(-2), ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "local.retention.ms": Long = "-2", AtLeast(-2), ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "max.compaction.lag.ms": Long = "9223372036854775807", AtLeast(1), ClusterWide, Medium
        => Idle(NO_COMPACTION);
    "max.decompressed.message.bytes": Int = "2147483639", Between(1, 2_147_483_639), ClusterWide, Medium
        => Honoured("The largest record that may come out of a compressed batch.");
    "max.message.bytes": Int = "1048588", AtLeast(0), ClusterWide, Medium
        => Honoured("The largest record batch that is accepted.");
    "message.timestamp.after.max.ms": Long = "3600000", AtLeast(0), ClusterWide, Medium
        => Honoured("How far a record's time may lie after the broker's clock.");
    "message.timestamp.before.max.ms": Long = "9223372036854775807", AtLeast(0), ClusterWide, Medium
        => Honoured("How far a record's time may lie before the broker's clock.");
    "message.timestamp.type": String = "CreateTime", OneOf(&["CreateTime", "LogAppendTime"]), ClusterWide, Medium
        => Honoured("Whether a record carries the producer's time (CreateTime) or the broker's (LogAppendTime).");
    "min.cleanable.dirty.ratio": Double = "0.5", Ratio("1"), ClusterWide, Medium
        => Idle(NO_COMPACTION);
    "min.compaction.lag.ms": Long = "0", AtLeast(0), ClusterWide, Medium
        => Idle(NO_COMPACTION);
    "min.insync.replicas": Int = "1", AtLeast(1), ClusterWide, Medium => Idle(ONE_REPLICA);
    "preallocate": Boolean = "false", Any, ClusterWide, Medium
        => Idle(OWN_WAY);
    "remote.copy.lag.bytes": Long = "-1", AtLeast(-1), ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.copy.lag.ms": Long = "0", AtLeast(-1), ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.log.copy.disable": Boolean = "false", Any, ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.log.delete.on.disable": Boolean = "false", Any, ClusterWide, Medium => Idle(NO_REMOTE_STORAGE);
    "remote.storage.enable": Boolean = "false", Any, ClusterWide, Medium => Refused(NO_REMOTE_STORAGE);
    "retention.bytes": Long = "-1", Any, ClusterWide, Medium
        => Honoured("Bytes that a partition keeps; -1 sets no bound.");
    "retention.ms": Long = "604800000", AtLeast(-1), ClusterWide, Medium
        => Honoured("How long records are kept; -1 keeps them for ever.");
    "segment.bytes": Int = "1073741824", AtLeast(1_048_576), ClusterWide, Medium
        => Honoured("Size at which the partition starts a new segment file.");
    "segment.index.bytes": Int = "10485760", AtLeast(4), ClusterWide, Medium
        => Honoured("Largest offset or time index of a segment.");
    "segment.jitter.ms": Long = "0", AtLeast(0), ClusterWide, Medium
        => Honoured("The most that is subtracted at random from segment.ms.");
    "segment.ms": Long = "604800000", AtLeast(1), ClusterWide, Medium
        => Honoured("Age at which a segment is closed even if it is not full.");
    "unclean.leader.election.enable": Boolean = "false", Any, ClusterWide, Medium => Idle(ONE_NODE);
};

/// A broker's knob that stands in for a topic's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synonym {
    /// The broker's knob.
    pub name: &'static str,
    /// What its number is multiplied with to have the unit of the topic's.
    pub factor: i64,
}

const fn same(name: &'static str) -> Synonym {
    Synonym { name, factor: 1 }
}

const fn minutes(name: &'static str) -> Synonym {
    Synonym { name, factor: 60 * 1000 }
}

const fn hours(name: &'static str) -> Synonym {
    Synonym { name, factor: 60 * 60 * 1000 }
}

/// For each topic knob that has any: the broker's knobs to ask, the first with a value wins.
#[rustfmt::skip]
const SYNONYMS: &[(&str, &[Synonym])] = &[
    ("segment.bytes", &[same("log.segment.bytes")]),
    ("segment.ms", &[same("log.roll.ms"), hours("log.roll.hours")]),
    ("segment.jitter.ms", &[same("log.roll.jitter.ms"), hours("log.roll.jitter.hours")]),
    ("segment.index.bytes", &[same("log.index.size.max.bytes")]),
    ("flush.messages", &[same("log.flush.interval.messages")]),
    ("flush.ms", &[same("log.flush.interval.ms"), same("log.flush.scheduler.interval.ms")]),
    ("retention.bytes", &[same("log.retention.bytes")]),
    ("retention.ms", &[same("log.retention.ms"), minutes("log.retention.minutes"), hours("log.retention.hours")]),
    ("max.message.bytes", &[same("message.max.bytes")]),
    ("max.decompressed.message.bytes", &[same("max.decompressed.message.bytes")]),
    ("index.interval.bytes", &[same("log.index.interval.bytes")]),
    ("delete.retention.ms", &[same("log.cleaner.delete.retention.ms")]),
    ("min.compaction.lag.ms", &[same("log.cleaner.min.compaction.lag.ms")]),
    ("max.compaction.lag.ms", &[same("log.cleaner.max.compaction.lag.ms")]),
    ("file.delete.delay.ms", &[same("log.segment.delete.delay.ms")]),
    ("min.cleanable.dirty.ratio", &[same("log.cleaner.min.cleanable.ratio")]),
    ("cleanup.policy", &[same("log.cleanup.policy")]),
    ("unclean.leader.election.enable", &[same("unclean.leader.election.enable")]),
    ("min.insync.replicas", &[same("min.insync.replicas")]),
    ("compression.type", &[same("compression.type")]),
    ("compression.gzip.level", &[same("compression.gzip.level")]),
    ("compression.lz4.level", &[same("compression.lz4.level")]),
    ("compression.zstd.level", &[same("compression.zstd.level")]),
    ("preallocate", &[same("log.preallocate")]),
    ("message.timestamp.type", &[same("log.message.timestamp.type")]),
    ("message.timestamp.before.max.ms", &[same("log.message.timestamp.before.max.ms")]),
    ("message.timestamp.after.max.ms", &[same("log.message.timestamp.after.max.ms")]),
    ("local.retention.ms", &[same("log.local.retention.ms")]),
    ("local.retention.bytes", &[same("log.local.retention.bytes")]),
    ("remote.copy.lag.ms", &[same("log.remote.copy.lag.ms")]),
    ("remote.copy.lag.bytes", &[same("log.remote.copy.lag.bytes")]),
];

/// The topic knob with this name.
pub fn find_topic(name: &str) -> Option<&'static Knob> {
    static BY_NAME: LazyLock<ByName<&'static Knob>> = LazyLock::new(|| by_name(TOPIC_KNOBS));
    BY_NAME.get(name).copied()
}

/// The broker's knobs that stand in for this topic knob, in Kafka's order.
pub fn synonyms(name: &str) -> &'static [Synonym] {
    static BY_NAME: LazyLock<ByName<&'static [Synonym]>> = LazyLock::new(|| {
        let mut by_name = ByName::default();
        for (name, synonyms) in SYNONYMS {
            assert!(by_name.insert(*name, *synonyms).is_none(), "a knob's name stands once: {name}");
        }
        by_name
    });
    BY_NAME.get(name).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{SYNONYMS, TOPIC_KNOBS, find_topic, synonyms};
    use crate::config::knobs::find;

    #[test]
    fn every_synonym_is_a_knob_of_the_broker_and_of_the_same_kind_of_value() {
        for (topic_name, synonyms) in SYNONYMS {
            assert!(find_topic(topic_name).is_some(), "{topic_name}");
            for synonym in *synonyms {
                assert!(find(synonym.name).is_some(), "{}", synonym.name);
            }
        }
    }

    #[test]
    fn the_default_of_a_topic_is_that_of_the_broker() {
        for knob in TOPIC_KNOBS {
            let broker = synonyms(knob.name).iter().find_map(|synonym| {
                let value = find(synonym.name)?.default_value()?;
                Some(
                    value
                        .as_number()
                        .map_or_else(|| value.to_string(), |n| n.saturating_mul(synonym.factor).to_string()),
                )
            });
            if let Some(broker) = broker {
                assert_eq!(knob.default_value().map(|value| value.to_string()), Some(broker), "{}", knob.name);
            }
        }
    }
}
