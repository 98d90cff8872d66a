//! API 8, OffsetCommit: stores how far a group has read.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// Asks to store offsets for a group.
    pub struct OffsetCommitRequest<'a>: versions 2..=10, flexible 8.. {
        group_id: &'a str => 2..;
        generation_id_or_member_epoch: i32 = -1 => 2..;
        member_id: &'a str => 2..;
        group_instance_id: Option<&'a str> => 7..;
        retention_time_ms: i64 = -1 => 2..=4;
        topics: Vec<OffsetCommitRequestTopic<'a>> => 2..;
    }

    /// One topic whose offsets are stored.
    pub struct OffsetCommitRequestTopic<'a> {
        name: &'a str => 2..=9;
        topic_id: TopicId => 10..;
        partitions: Vec<OffsetCommitRequestPartition<'a>> => 2..;
    }

    /// The offset to store for one partition.
    pub struct OffsetCommitRequestPartition<'a> {
        partition_index: i32 => 2..;
        committed_offset: i64 => 2..;
        committed_leader_epoch: i32 = -1 => 6..;
        committed_metadata: Option<&'a str> = Some("") => 2..;
    }

    /// What became of each offset.
    pub struct OffsetCommitResponse<'a>: versions 2..=10, flexible 8.. {
        throttle_time_ms: i32 => 3..;
        topics: Vec<OffsetCommitResponseTopic<'a>> => 2..;
    }

    /// One topic whose offsets were stored.
    pub struct OffsetCommitResponseTopic<'a> {
        name: &'a str => 2..=9;
        topic_id: TopicId => 10..;
        partitions: Vec<OffsetCommitResponsePartition> => 2..;
    }

    /// The outcome for one partition.
    pub struct OffsetCommitResponsePartition {
        partition_index: i32 => 2..;
        error_code: i16 => 2..;
    }
}
