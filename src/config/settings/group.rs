//! Settings of groups and of committed offsets.
//!
//! It must not know how a group decides.

use crate::config::layers::Layers;

/// Classic groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicGroupSettings {
    /// `group.min.session.timeout.ms`.
    pub session_timeout_ms_min: i32,
    /// `group.max.session.timeout.ms`.
    pub session_timeout_ms_max: i32,
    /// `group.max.size`.
    pub members_max: usize,
    /// `group.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: i32,
}

impl ClassicGroupSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> ClassicGroupSettings {
        ClassicGroupSettings {
            session_timeout_ms_min: layers.int("group.min.session.timeout.ms"),
            session_timeout_ms_max: layers.int("group.max.session.timeout.ms"),
            members_max: layers.size("group.max.size"),
            initial_rebalance_delay_ms: layers.int("group.initial.rebalance.delay.ms"),
        }
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
