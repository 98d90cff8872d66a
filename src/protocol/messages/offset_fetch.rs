//! API 9, OffsetFetch: returns how far a group has read; from version 8 on for several groups.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// Asks for the stored offsets of one group, or of several from version 8 on. Null topics means all.
    pub struct OffsetFetchRequest<'a>: versions 1..=10, flexible 6.. {
        group_id: &'a str => 1..=7;
        topics: Option<Vec<OffsetFetchRequestTopic<'a>>> = Some(Vec::new()) => 1..=7, nullable 2..=7;
        groups: Vec<OffsetFetchRequestGroup<'a>> => 8..;
        require_stable: bool => 7..;
    }

    /// One topic, up to version 7.
    pub struct OffsetFetchRequestTopic<'a> {
        name: &'a str => 1..=7;
        partition_indexes: Vec<i32> => 1..=7;
    }

    /// One group, from version 8 on.
    pub struct OffsetFetchRequestGroup<'a> {
        group_id: &'a str => 8..;
        member_id: Option<&'a str> => 9..;
        member_epoch: i32 = -1 => 9..;
        topics: Option<Vec<OffsetFetchRequestTopics<'a>>> = Some(Vec::new()) => 8..;
    }

    /// One topic of a group, from version 8 on.
    pub struct OffsetFetchRequestTopics<'a> {
        name: &'a str => 8..=9;
        topic_id: TopicId => 10..;
        partition_indexes: Vec<i32> => 8..;
    }

    /// The stored offsets; -1 where there is none.
    pub struct OffsetFetchResponse<'a>: versions 1..=10, flexible 6.. {
        throttle_time_ms: i32 => 3..;
        topics: Vec<OffsetFetchResponseTopic<'a>> => 1..=7;
        error_code: i16 => 2..=7;
        groups: Vec<OffsetFetchResponseGroup<'a>> => 8..;
    }

    /// One topic, up to version 7.
    pub struct OffsetFetchResponseTopic<'a> {
        name: &'a str => 1..=7;
        partitions: Vec<OffsetFetchResponsePartition<'a>> => 1..=7;
    }

    /// The stored offset of one partition, up to version 7.
    pub struct OffsetFetchResponsePartition<'a> {
        partition_index: i32 => 1..=7;
        committed_offset: i64 => 1..=7;
        committed_leader_epoch: i32 = -1 => 5..=7;
        metadata: Option<&'a str> = Some("") => 1..=7;
        error_code: i16 => 1..=7;
    }

    /// One group, from version 8 on.
    pub struct OffsetFetchResponseGroup<'a> {
        group_id: &'a str => 8..;
        topics: Vec<OffsetFetchResponseTopics<'a>> => 8..;
        error_code: i16 => 8..;
    }

    /// One topic of a group, from version 8 on.
    pub struct OffsetFetchResponseTopics<'a> {
        name: &'a str => 8..=9;
        topic_id: TopicId => 10..;
        partitions: Vec<OffsetFetchResponsePartitions<'a>> => 8..;
    }

    /// The stored offset of one partition, from version 8 on.
    pub struct OffsetFetchResponsePartitions<'a> {
        partition_index: i32 => 8..;
        committed_offset: i64 => 8..;
        committed_leader_epoch: i32 = -1 => 8..;
        metadata: Option<&'a str> = Some("") => 8..;
        error_code: i16 => 8..;
    }
}
