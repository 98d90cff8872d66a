//! Settings of groups and of committed offsets.
//!
//! It must not know how a group decides.

use std::collections::BTreeMap;

use crate::config::knobs::find_group;
use crate::config::layers::Layers;

/// Classic groups, and which protocols are offered at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// `group.coordinator.rebalance.protocols` has `consumer`; `classic` is always there.
    pub offers_consumer_protocol: bool,
    /// `group.min.session.timeout.ms`.
    pub session_timeout_ms_min: i32,
    /// `group.max.session.timeout.ms`.
    pub session_timeout_ms_max: i32,
    /// `group.max.size`.
    pub members_max: usize,
    /// `group.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: i32,
}

impl GroupSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> GroupSettings {
        let protocols = layers.list("group.coordinator.rebalance.protocols");
        GroupSettings {
            offers_consumer_protocol: protocols.iter().any(|protocol| protocol == "consumer"),
            session_timeout_ms_min: layers.int("group.min.session.timeout.ms"),
            session_timeout_ms_max: layers.int("group.max.session.timeout.ms"),
            members_max: layers.size("group.max.size"),
            initial_rebalance_delay_ms: layers.int("group.initial.rebalance.delay.ms"),
        }
    }
}

/// Which way a group may change between the two protocols (`group.consumer.migration.policy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsumerGroupMigrationPolicy {
    /// From classic to consumer.
    pub allows_upgrade: bool,
    /// From consumer to classic.
    pub allows_downgrade: bool,
}

/// Consumer groups (KIP-848).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerGroupSettings {
    /// `group.consumer.session.timeout.ms`.
    pub session_timeout_ms: i32,
    /// `group.consumer.min.session.timeout.ms`, for a group's own config.
    pub session_timeout_ms_min: i32,
    /// `group.consumer.max.session.timeout.ms`, for a group's own config.
    pub session_timeout_ms_max: i32,
    /// `group.consumer.heartbeat.interval.ms`.
    pub heartbeat_interval_ms: i32,
    /// `group.consumer.min.heartbeat.interval.ms`, for a group's own config.
    pub heartbeat_interval_ms_min: i32,
    /// `group.consumer.max.heartbeat.interval.ms`, for a group's own config.
    pub heartbeat_interval_ms_max: i32,
    /// `group.consumer.assignment.interval.ms`.
    pub assignment_interval_ms: i32,
    /// `group.consumer.min.assignment.interval.ms`, for a group's own config.
    pub assignment_interval_ms_min: i32,
    /// `group.consumer.max.assignment.interval.ms`, for a group's own config.
    pub assignment_interval_ms_max: i32,
    /// `group.consumer.max.size`.
    pub members_max: usize,
    /// `group.consumer.assignors`; the first is the default.
    pub assignors: Vec<String>,
    /// `group.consumer.migration.policy`.
    pub migration_policy: ConsumerGroupMigrationPolicy,
    /// `group.consumer.regex.refresh.interval.ms`.
    pub regex_refresh_interval_ms: i32,
}

impl ConsumerGroupSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> ConsumerGroupSettings {
        let policy = layers.text("group.consumer.migration.policy").unwrap_or_default().to_ascii_lowercase();
        ConsumerGroupSettings {
            session_timeout_ms: layers.int("group.consumer.session.timeout.ms"),
            session_timeout_ms_min: layers.int("group.consumer.min.session.timeout.ms"),
            session_timeout_ms_max: layers.int("group.consumer.max.session.timeout.ms"),
            heartbeat_interval_ms: layers.int("group.consumer.heartbeat.interval.ms"),
            heartbeat_interval_ms_min: layers.int("group.consumer.min.heartbeat.interval.ms"),
            heartbeat_interval_ms_max: layers.int("group.consumer.max.heartbeat.interval.ms"),
            assignment_interval_ms: layers.int("group.consumer.assignment.interval.ms"),
            assignment_interval_ms_min: layers.int("group.consumer.min.assignment.interval.ms"),
            assignment_interval_ms_max: layers.int("group.consumer.max.assignment.interval.ms"),
            members_max: layers.size("group.consumer.max.size"),
            assignors: layers.list("group.consumer.assignors"),
            migration_policy: ConsumerGroupMigrationPolicy {
                allows_upgrade: matches!(policy.as_str(), "upgrade" | "bidirectional"),
                allows_downgrade: matches!(policy.as_str(), "downgrade" | "bidirectional"),
            },
            regex_refresh_interval_ms: layers.int("group.consumer.regex.refresh.interval.ms"),
        }
    }

    /// What holds for a group with these configs of its own, within the bounds of the broker.
    #[must_use]
    pub fn with_configs(mut self, configs: &BTreeMap<String, String>) -> ConsumerGroupSettings {
        let own = |name: &str| -> Option<i32> {
            let number = find_group(name)?.parse(configs.get(name)?).ok()?.as_number()?;
            i32::try_from(number).ok()
        };
        if let Some(own) = own("consumer.session.timeout.ms") {
            self.session_timeout_ms = own.min(self.session_timeout_ms_max).max(self.session_timeout_ms_min);
        }
        if let Some(own) = own("consumer.heartbeat.interval.ms") {
            self.heartbeat_interval_ms = own.min(self.heartbeat_interval_ms_max).max(self.heartbeat_interval_ms_min);
        }
        if let Some(own) = own("consumer.assignment.interval.ms") {
            self.assignment_interval_ms = own.min(self.assignment_interval_ms_max).max(self.assignment_interval_ms_min);
        }
        self
    }
}

/// Committed offsets and the topic that keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetsSettings {
    /// `offset.metadata.max.bytes`.
    pub metadata_bytes_max: usize,
    /// `offsets.commit.timeout.ms`.
    pub commit_timeout_ms: i32,
    /// `offsets.retention.minutes`, in milliseconds.
    pub retention_ms: i64,
    /// `offsets.retention.check.interval.ms`.
    pub retention_check_interval_ms: i64,
    /// `offsets.topic.num.partitions`.
    pub topic_partitions: i32,
    /// `offsets.topic.segment.bytes`.
    pub topic_segment_bytes: i64,
}

impl OffsetsSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> OffsetsSettings {
        OffsetsSettings {
            metadata_bytes_max: layers.size("offset.metadata.max.bytes"),
            commit_timeout_ms: layers.int("offsets.commit.timeout.ms"),
            retention_ms: layers.long("offsets.retention.minutes").saturating_mul(60_000),
            retention_check_interval_ms: layers.long("offsets.retention.check.interval.ms"),
            topic_partitions: layers.int("offsets.topic.num.partitions"),
            topic_segment_bytes: layers.long("offsets.topic.segment.bytes"),
        }
    }
}
