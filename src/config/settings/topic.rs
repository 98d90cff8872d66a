//! Settings of one topic, and of how topics come and go.
//!
//! It must not know where a topic's configs are stored.

use std::collections::BTreeMap;

use crate::config::knobs::{find_topic, synonyms};
use crate::config::layers::Layers;
use crate::config::value::Value;

/// How topics come and go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicCreationSettings {
    /// `auto.create.topics.enable`.
    pub is_automatic: bool,
    /// `delete.topic.enable`.
    pub can_delete: bool,
    /// `num.partitions`.
    pub partitions: i32,
    /// `default.replication.factor`; more than 1 makes creation without a number fail, as in Kafka on one node.
    pub replication_factor: i32,
}

impl TopicCreationSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> TopicCreationSettings {
        TopicCreationSettings {
            is_automatic: layers.boolean("auto.create.topics.enable"),
            can_delete: layers.boolean("delete.topic.enable"),
            partitions: layers.int("num.partitions"),
            replication_factor: layers.int("default.replication.factor"),
        }
    }
}

/// Which codec stored batches have (`compression.type` and the level of that codec).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionType {
    /// The one that the producer chose.
    Producer,
    /// None.
    Uncompressed,
    /// gzip with this level; -1 leaves it to the codec.
    Gzip(i32),
    /// Snappy.
    Snappy,
    /// LZ4, which has one level here.
    Lz4,
    /// zstd with this level.
    Zstd(i32),
}

/// Whose clock a record's timestamp is from (`message.timestamp.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's.
    LogAppendTime,
}

/// What holds for one topic. A duration or size that Kafka writes as -1 or as its largest number is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSettings {
    /// `cleanup.policy` has `delete`.
    pub deletes: bool,
    /// `cleanup.policy` has `compact`.
    pub compacts: bool,
    /// `compression.type`, with its level.
    pub compression_type: CompressionType,
    /// `max.message.bytes`: of a record batch.
    pub message_bytes_max: usize,
    /// `max.decompressed.message.bytes`: of a record.
    pub decompressed_message_bytes_max: usize,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_ms_max: i64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_ms_max: i64,
    /// `retention.ms`.
    pub retention_ms: Option<i64>,
    /// `retention.bytes`, of each partition.
    pub retention_bytes: Option<i64>,
    /// `segment.bytes`, or `internal.segment.bytes` if that is set.
    pub segment_bytes: i64,
    /// `segment.ms`.
    pub segment_ms: i64,
    /// `segment.jitter.ms`.
    pub segment_jitter_ms_max: i64,
    /// `segment.index.bytes`.
    pub index_bytes_max: usize,
    /// `index.interval.bytes`.
    pub index_interval_bytes: i64,
    /// `file.delete.delay.ms`.
    pub file_delete_delay_ms: i64,
    /// `flush.messages`.
    pub flush_messages: Option<i64>,
    /// `flush.ms`.
    pub flush_ms: Option<i64>,
}

impl TopicSettings {
    /// What holds for a topic with these configs of its own, over the layers of its broker.
    pub fn resolve(overrides: &BTreeMap<String, String>, layers: Layers<'_>) -> TopicSettings {
        let topic = TopicLayers { overrides, layers };
        let policy = topic.list("cleanup.policy");
        let segment_bytes = topic.value("internal.segment.bytes").and_then(|value| value.as_number());
        TopicSettings {
            deletes: policy.iter().any(|word| word == "delete"),
            compacts: policy.iter().any(|word| word == "compact"),
            compression_type: topic.compression_type(),
            message_bytes_max: topic.size("max.message.bytes"),
            decompressed_message_bytes_max: topic.size("max.decompressed.message.bytes"),
            timestamp_type: topic.timestamp_type(),
            timestamp_before_ms_max: topic.long("message.timestamp.before.max.ms"),
            timestamp_after_ms_max: topic.long("message.timestamp.after.max.ms"),
            retention_ms: Some(topic.long("retention.ms")).filter(|milliseconds| *milliseconds >= 0),
            retention_bytes: Some(topic.long("retention.bytes")).filter(|bytes| *bytes >= 0),
            segment_bytes: segment_bytes.unwrap_or_else(|| topic.long("segment.bytes")),
            segment_ms: topic.long("segment.ms"),
            segment_jitter_ms_max: topic.long("segment.jitter.ms"),
            index_bytes_max: topic.size("segment.index.bytes"),
            index_interval_bytes: topic.long("index.interval.bytes"),
            file_delete_delay_ms: topic.long("file.delete.delay.ms"),
            flush_messages: topic.bound("flush.messages"),
            flush_ms: topic.bound("flush.ms"),
        }
    }
}

/// A topic's own configs over the layers of its broker.
#[derive(Clone, Copy)]
pub(crate) struct TopicLayers<'a> {
    /// The topic's own configs.
    pub(crate) overrides: &'a BTreeMap<String, String>,
    /// What lies below them.
    pub(crate) layers: Layers<'a>,
}

impl TopicLayers<'_> {
    /// The value of a topic knob: its own, else that of the broker's first knob with a value, else the default.
    pub(crate) fn value(self, name: &str) -> Option<Value> {
        let knob = find_topic(name).expect("rooms ask for names of the table, and a test asks for each");
        let own = self.overrides.get(name).and_then(|text| knob.parse(text).ok());
        own.or_else(|| self.broker_value(name)).or_else(|| knob.default_value())
    }

    /// What the broker's knobs say for a topic knob, in the unit of the topic's.
    pub(crate) fn broker_value(self, name: &str) -> Option<Value> {
        synonyms(name).iter().find_map(|synonym| {
            Some(match self.layers.value(synonym.name)? {
                // Any negative retention of a broker stands for ever, of a topic only -1.
                Value::Number(number) if name == "retention.ms" && number < 0 => Value::Number(-1),
                Value::Number(number) => Value::Number(number.saturating_mul(synonym.factor)),
                other => other,
            })
        })
    }

    /// A whole number that has a default.
    pub(crate) fn long(self, name: &str) -> i64 {
        let value = self.value(name).and_then(|value| value.as_number());
        value.expect("the table has a default for every number that is read so")
    }

    fn int(self, name: &str) -> i32 {
        i32::try_from(self.long(name)).expect("the kind of the knob is an int")
    }

    fn size(self, name: &str) -> usize {
        usize::try_from(self.long(name).max(0)).unwrap_or(usize::MAX)
    }

    /// A bound that Kafka switches off with the largest number.
    fn bound(self, name: &str) -> Option<i64> {
        Some(self.long(name)).filter(|number| *number < i64::MAX)
    }

    fn list(self, name: &str) -> Vec<String> {
        if let Some(Value::List(list)) = self.value(name) { list } else { Vec::new() }
    }

    fn word(self, name: &str) -> String {
        if let Some(Value::String(word)) = self.value(name) { word } else { String::new() }
    }

    fn compression_type(self) -> CompressionType {
        match self.word("compression.type").as_str() {
            "uncompressed" => CompressionType::Uncompressed,
            "gzip" => CompressionType::Gzip(self.int("compression.gzip.level")),
            "snappy" => CompressionType::Snappy,
            "lz4" => CompressionType::Lz4,
            "zstd" => CompressionType::Zstd(self.int("compression.zstd.level")),
            _ => CompressionType::Producer,
        }
    }

    fn timestamp_type(self) -> TimestampType {
        match self.word("message.timestamp.type").as_str() {
            "LogAppendTime" => TimestampType::LogAppendTime,
            _ => TimestampType::CreateTime,
        }
    }
}
