//! API 1, Fetch: reads record batches, within a fetch session or without (KIP-227).
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;
use crate::protocol::records_field::RecordsField;
use crate::types::TopicId;

messages! {
    /// Asks for record batches from given offsets on.
    pub struct FetchRequest<'a>: versions 4..=18, flexible 12.. {
        replica_id: i32 = -1 => 4..=14;
        max_wait_ms: i32 => 4..;
        min_bytes: i32 => 4..;
        max_bytes: i32 = i32::MAX => 4..;
        isolation_level: i8 => 4..;
        session_id: i32 => 7..;
        session_epoch: i32 = -1 => 7..;
        topics: Vec<FetchTopic<'a>> => 4..;
        forgotten_topics_data: Vec<ForgottenTopic<'a>> => 7..;
        rack_id: &'a str => 11..;
        cluster_id: Option<&'a str> => 12.., tag 0;
        replica_state: ReplicaState => 15.., tag 1;
    }

    /// Who fetches, if it is a follower (KIP-903).
    pub struct ReplicaState {
        replica_id: i32 = -1 => 15..;
        replica_epoch: i64 = -1 => 15..;
    }

    /// One topic to fetch: by name, or by id from version 13 on.
    pub struct FetchTopic<'a> {
        topic: &'a str => 4..=12;
        topic_id: TopicId => 13..;
        partitions: Vec<FetchPartition> => 4..;
    }

    /// One partition to fetch.
    pub struct FetchPartition {
        partition: i32 => 4..;
        current_leader_epoch: i32 = -1 => 9..;
        fetch_offset: i64 => 4..;
        last_fetched_epoch: i32 = -1 => 12..;
        log_start_offset: i64 = -1 => 5..;
        partition_max_bytes: i32 => 4..;
        replica_directory_id: TopicId => 17.., tag 0;
        high_watermark: i64 = i64::MAX => 18.., tag 1;
    }

    /// Partitions to take out of the fetch session.
    pub struct ForgottenTopic<'a> {
        topic: &'a str => 7..=12;
        topic_id: TopicId => 13..;
        partitions: Vec<i32> => 7..;
    }

    /// Record batches and where each partition stands.
    pub struct FetchResponse<'a>: versions 4..=18, flexible 12.. {
        throttle_time_ms: i32 => 4..;
        error_code: i16 => 7..;
        session_id: i32 => 7..;
        responses: Vec<FetchableTopicResponse<'a>> => 4..;
        node_endpoints: Vec<NodeEndpoint<'a>> => 16.., tag 0;
    }

    /// One topic that was fetched.
    pub struct FetchableTopicResponse<'a> {
        topic: &'a str => 4..=12;
        topic_id: TopicId => 13..;
        partitions: Vec<PartitionData<'a>> => 4..;
    }

    /// Batches and state of one partition.
    pub struct PartitionData<'a> {
        partition_index: i32 => 4..;
        error_code: i16 => 4..;
        high_watermark: i64 => 4..;
        last_stable_offset: i64 = -1 => 4..;
        log_start_offset: i64 = -1 => 5..;
        aborted_transactions: Option<Vec<AbortedTransaction>> = Some(Vec::new()) => 4..;
        preferred_read_replica: i32 = -1 => 11..;
        records: RecordsField<'a> => 4..;
        diverging_epoch: EpochEndOffset => 12.., tag 0;
        current_leader: LeaderIdAndEpoch => 12.., tag 1;
        snapshot_id: SnapshotId => 12.., tag 2;
    }

    /// A leader epoch and where it ended.
    pub struct EpochEndOffset {
        epoch: i32 = -1 => 12..;
        end_offset: i64 = -1 => 12..;
    }

    /// The current leader, sent when the request went to another broker (KIP-951).
    pub struct LeaderIdAndEpoch {
        leader_id: i32 = -1 => 12..;
        leader_epoch: i32 = -1 => 12..;
    }

    /// A snapshot that a follower must fetch first (KIP-630).
    pub struct SnapshotId {
        end_offset: i64 = -1 => 12..;
        epoch: i32 = -1 => 12..;
    }

    /// A transaction whose records a read-committed consumer skips.
    pub struct AbortedTransaction {
        producer_id: i64 => 4..;
        first_offset: i64 => 4..;
    }

    /// Where a leader that the response names can be reached (KIP-951).
    pub struct NodeEndpoint<'a> {
        node_id: i32 => 16..;
        host: &'a str => 16..;
        port: i32 => 16..;
        rack: Option<&'a str> => 16..;
    }
}
