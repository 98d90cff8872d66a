//! API 75, DescribeTopicPartitions: describes partitions page by page (KIP-966).
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::{messages, nullable_structure};
use crate::types::TopicId;

messages! {
    /// Asks for the partitions of topics, from a cursor on.
    pub struct DescribeTopicPartitionsRequest<'a>: versions 0..=0, flexible 0.. {
        topics: Vec<TopicRequest<'a>> => 0..;
        response_partition_limit: i32 = 2000 => 0..;
        cursor: Option<Cursor<'a>> => 0..;
    }

    /// One topic asked about.
    pub struct TopicRequest<'a> {
        name: &'a str => 0..;
    }

    /// Where the next page begins.
    pub struct Cursor<'a> {
        topic_name: &'a str => 0..;
        partition_index: i32 => 0..;
    }

    /// The partitions, and a cursor if there are more.
    pub struct DescribeTopicPartitionsResponse<'a>: versions 0..=0, flexible 0.. {
        throttle_time_ms: i32 => 0..;
        topics: Vec<DescribeTopicPartitionsResponseTopic<'a>> => 0..;
        next_cursor: Option<Cursor<'a>> => 0..;
    }

    /// One topic.
    pub struct DescribeTopicPartitionsResponseTopic<'a> {
        error_code: i16 => 0..;
        name: Option<&'a str> = Some("") => 0..;
        topic_id: TopicId => 0..;
        is_internal: bool => 0..;
        partitions: Vec<DescribeTopicPartitionsResponsePartition> => 0..;
        topic_authorized_operations: i32 = i32::MIN => 0..;
    }

    /// One partition: leader, replicas, in-sync and eligible replicas.
    pub struct DescribeTopicPartitionsResponsePartition {
        error_code: i16 => 0..;
        partition_index: i32 => 0..;
        leader_id: i32 => 0..;
        leader_epoch: i32 = -1 => 0..;
        replica_nodes: Vec<i32> => 0..;
        isr_nodes: Vec<i32> => 0..;
        eligible_leader_replicas: Option<Vec<i32>> => 0..;
        last_known_elr: Option<Vec<i32>> => 0..;
        offline_replicas: Vec<i32> => 0..;
    }
}

nullable_structure!(Cursor<'a>);
