//! The settings that hold now: what was set at start, with what was set at run time over it.
//!
//! It joins `config` with `metadata`; it must not know who obeys a setting.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::config::{self, DynamicConfig, Layers, Settings, StaticConfig, TopicSettings};
use crate::log::LogSettings;
use crate::metadata::{ConfigResource, MetadataImage};
use crate::record::{Compression, TimestampType};
use crate::types::BrokerId;
use crate::zoo::{self, Bug};

/// Static and dynamic configs, and the settings that they add up to.
pub(crate) struct BrokerConfigs {
    fixed: StaticConfig,
    broker_id: BrokerId,
    current: RwLock<(Arc<DynamicConfig>, Arc<Settings>)>,
}

impl BrokerConfigs {
    /// Nothing set at run time yet.
    pub(crate) fn new(fixed: StaticConfig) -> BrokerConfigs {
        let dynamic = Arc::new(DynamicConfig::default());
        let settings = Arc::new(Settings::resolve(Layers { fixed: &fixed, dynamic: &dynamic }));
        BrokerConfigs { broker_id: settings.node.broker_id, fixed, current: RwLock::new((dynamic, settings)) }
    }

    /// The settings that hold now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Runs `ask` with the layers that hold now.
    pub(crate) fn with_layers<T>(&self, ask: impl FnOnce(Layers<'_>) -> T) -> T {
        let dynamic = Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner).0);
        ask(Layers { fixed: &self.fixed, dynamic: &dynamic })
    }

    /// Takes over what an image says about brokers. Says whether anything changed.
    pub(crate) fn apply(&self, image: &MetadataImage) -> bool {
        let dynamic = DynamicConfig {
            broker: owned(image.configs(&ConfigResource::broker(self.broker_id.to_string()))),
            cluster: owned(image.configs(&ConfigResource::broker(""))),
        };
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let was_changed = *current.0 != DynamicConfig::default();
        if *current.0 == dynamic || was_changed && zoo::is(Bug::LaterConfigIgnored) {
            return false;
        }
        let settings = Settings::resolve(Layers { fixed: &self.fixed, dynamic: &dynamic });
        *current = (Arc::new(dynamic), Arc::new(settings));
        true
    }

    /// The settings of the logs of a topic.
    pub(crate) fn log_settings(&self, image: &MetadataImage, topic: &Arc<str>) -> Arc<LogSettings> {
        let overrides = image.configs(&ConfigResource::topic(Arc::clone(topic)));
        let settings = self.settings();
        if overrides.is_empty() {
            return Arc::new(log_settings_of(&settings.topic_defaults, &settings));
        }
        let resolved = self.with_layers(|layers| TopicSettings::resolve(&owned(overrides), layers));
        Arc::new(log_settings_of(&resolved, &settings))
    }
}

/// Configs with keys and values of their own.
pub(crate) fn owned(configs: &BTreeMap<Arc<str>, Arc<str>>) -> BTreeMap<String, String> {
    configs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn log_settings_of(topic: &TopicSettings, broker: &Settings) -> LogSettings {
    let at_most_u32 = |number: i64| u32::try_from(number.max(0)).unwrap_or(u32::MAX);
    let bytes = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    LogSettings {
        segment_bytes: at_most_u32(topic.segment_bytes),
        segment_ms: topic.segment_ms,
        segment_jitter_ms: topic.segment_jitter_ms_max,
        segment_index_bytes: bytes(topic.index_bytes_max),
        index_interval_bytes: at_most_u32(topic.index_interval_bytes),
        message_bytes_max: bytes(topic.message_bytes_max),
        retention_ms: topic.retention_ms.unwrap_or(-1),
        retention_bytes: topic.retention_bytes.unwrap_or(-1),
        delete: topic.deletes,
        compact: topic.compacts,
        flush_messages: topic.flush_messages.unwrap_or(i64::MAX),
        flush_ms: topic.flush_ms.unwrap_or(i64::MAX),
        file_delete_delay_ms: topic.file_delete_delay_ms,
        producer_id_expiration_ms: broker.log.producer_id_expiration_ms,
        transaction_verification: true,
        compression: match topic.compression_type {
            config::CompressionType::Producer => None,
            config::CompressionType::Uncompressed => Some(Compression::None),
            config::CompressionType::Gzip(level) => Some(Compression::Gzip { level }),
            config::CompressionType::Snappy => Some(Compression::Snappy),
            config::CompressionType::Lz4 => Some(Compression::Lz4),
            config::CompressionType::Zstd(level) => Some(Compression::Zstd { level }),
        },
        timestamp_type: match topic.timestamp_type {
            config::TimestampType::CreateTime => TimestampType::CreateTime,
            config::TimestampType::LogAppendTime => TimestampType::LogAppendTime,
        },
        timestamp_before_max_ms: topic.timestamp_before_ms_max,
        timestamp_after_max_ms: topic.timestamp_after_ms_max,
        decompressed_message_bytes_max: bytes(topic.decompressed_message_bytes_max),
    }
}
