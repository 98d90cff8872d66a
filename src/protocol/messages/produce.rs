//! API 0, Produce: appends record batches to partitions.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;
use crate::protocol::records_field::RecordsField;
use crate::types::TopicId;

messages! {
    /// Asks to append record batches to partitions.
    pub struct ProduceRequest<'a>: versions 3..=13, flexible 9.. {
        transactional_id: Option<&'a str> => 3..;
        acks: i16 => 3..;
        timeout_ms: i32 => 3..;
        topic_data: Vec<TopicProduceData<'a>> => 3..;
    }

    /// One topic to produce to: by name, or by id from version 13 on.
    pub struct TopicProduceData<'a> {
        name: &'a str => 3..=12;
        topic_id: TopicId => 13..;
        partition_data: Vec<PartitionProduceData<'a>> => 3..;
    }

    /// The batches for one partition.
    pub struct PartitionProduceData<'a> {
        index: i32 => 3..;
        records: RecordsField<'a> => 3..;
    }

    /// What became of each partition of a produce request. Not sent for acks=0.
    pub struct ProduceResponse<'a>: versions 3..=13, flexible 9.. {
        responses: Vec<TopicProduceResponse<'a>> => 3..;
        throttle_time_ms: i32 => 3..;
        node_endpoints: Vec<NodeEndpoint<'a>> => 10.., tag 0;
    }

    /// One topic that was produced to.
    pub struct TopicProduceResponse<'a> {
        name: &'a str => 3..=12;
        topic_id: TopicId => 13..;
        partition_responses: Vec<PartitionProduceResponse<'a>> => 3..;
    }

    /// The outcome for one partition.
    pub struct PartitionProduceResponse<'a> {
        index: i32 => 3..;
        error_code: i16 => 3..;
        base_offset: i64 => 3..;
        log_append_time_ms: i64 = -1 => 3..;
        log_start_offset: i64 = -1 => 5..;
        record_errors: Vec<BatchIndexAndErrorMessage<'a>> => 8..;
        error_message: Option<&'a str> => 8..;
        current_leader: LeaderIdAndEpoch => 10.., tag 0;
    }

    /// A record that made its batch fail (KIP-467).
    pub struct BatchIndexAndErrorMessage<'a> {
        batch_index: i32 => 8..;
        batch_index_error_message: Option<&'a str> => 8..;
    }

    /// The current leader, sent when the request went to another broker (KIP-951).
    pub struct LeaderIdAndEpoch {
        leader_id: i32 = -1 => 10..;
        leader_epoch: i32 = -1 => 10..;
    }

    /// Where a leader that the response names can be reached (KIP-951).
    pub struct NodeEndpoint<'a> {
        node_id: i32 => 10..;
        host: &'a str => 10..;
        port: i32 => 10..;
        rack: Option<&'a str> => 10..;
    }
}
