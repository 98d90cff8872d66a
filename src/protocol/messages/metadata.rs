//! API 3, Metadata: describes brokers, topics and who leads which partition.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// Asks for topics and brokers. Null topics, or in version 0 an empty list, means all.
    pub struct MetadataRequest<'a>: versions 0..=13, flexible 9.. {
        topics: Option<Vec<MetadataRequestTopic<'a>>> = Some(Vec::new()) => 0.., nullable 1..;
        allow_auto_topic_creation: bool = true => 4..;
        include_cluster_authorized_operations: bool => 8..=10;
        include_topic_authorized_operations: bool => 8..;
    }

    /// One topic asked for: by name, or by id from version 10 on.
    pub struct MetadataRequestTopic<'a> {
        topic_id: TopicId => 10..;
        name: Option<&'a str> = Some("") => 0.., nullable 10..;
    }

    /// The brokers, the controller and the topics asked for.
    pub struct MetadataResponse<'a>: versions 0..=13, flexible 9.. {
        throttle_time_ms: i32 => 3..;
        brokers: Vec<MetadataResponseBroker<'a>> => 0..;
        cluster_id: Option<&'a str> => 2..;
        controller_id: i32 = -1 => 1..;
        topics: Vec<MetadataResponseTopic<'a>> => 0..;
        cluster_authorized_operations: i32 = i32::MIN => 8..=10;
        error_code: i16 => 13..;
    }

    /// One broker and its address.
    pub struct MetadataResponseBroker<'a> {
        node_id: i32 => 0..;
        host: &'a str => 0..;
        port: i32 => 0..;
        rack: Option<&'a str> => 1..;
    }

    /// One topic.
    pub struct MetadataResponseTopic<'a> {
        error_code: i16 => 0..;
        name: Option<&'a str> = Some("") => 0.., nullable 12..;
        topic_id: TopicId => 10..;
        is_internal: bool => 1..;
        partitions: Vec<MetadataResponsePartition> => 0..;
        topic_authorized_operations: i32 = i32::MIN => 8..;
    }

    /// One partition: leader, replicas, in-sync replicas.
    pub struct MetadataResponsePartition {
        error_code: i16 => 0..;
        partition_index: i32 => 0..;
        leader_id: i32 => 0..;
        leader_epoch: i32 = -1 => 7..;
        replica_nodes: Vec<i32> => 0..;
        isr_nodes: Vec<i32> => 0..;
        offline_replicas: Vec<i32> => 5..;
    }
}
