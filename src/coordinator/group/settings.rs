//! The knobs that the group coordinator obeys, with Kafka's defaults.
//!
//! It must not know where their values come from.

/// What the group coordinator needs of the broker's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// `group.min.session.timeout.ms`
    pub session_timeout_ms_min: i32,
    /// `group.max.session.timeout.ms`
    pub session_timeout_ms_max: i32,
    /// `group.initial.rebalance.delay.ms`
    pub initial_rebalance_delay_ms: i32,
    /// `group.max.size`: members of one group.
    pub members_max: usize,
    /// `offset.metadata.max.bytes`; counted, as in Kafka, in UTF-16 units.
    pub offset_metadata_max: usize,
    /// `offsets.retention.minutes`, in milliseconds.
    pub offsets_retention_ms: i64,
    /// `offsets.retention.check.interval.ms`
    pub offsets_retention_check_interval_ms: i64,
    /// How long a member may wait in its very first JoinGroup before it is taken for gone (fixed in Kafka: 5 minutes).
    pub new_member_join_timeout_ms: i32,
    /// Members of one group that were given an id and have not come back with it (Kafka has no such bound).
    pub pending_members_max: usize,
    /// Committed offsets that one turn looks at for their age, so that no turn is long.
    pub retention_offsets_per_turn: usize,
}

impl Default for GroupSettings {
    fn default() -> Self {
        GroupSettings {
            session_timeout_ms_min: 6_000,
            session_timeout_ms_max: 1_800_000,
            initial_rebalance_delay_ms: 3_000,
            members_max: i32::MAX as usize,
            offset_metadata_max: 4_096,
            offsets_retention_ms: 10_080 * 60_000,
            offsets_retention_check_interval_ms: 600_000,
            new_member_join_timeout_ms: 300_000,
            pending_members_max: 10_000,
            retention_offsets_per_turn: 10_000,
        }
    }
}
