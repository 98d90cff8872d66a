//! API 2, ListOffsets: finds offsets by timestamp, or the first and last.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks for the offset at a timestamp; negative timestamps name special offsets.
    pub struct ListOffsetsRequest<'a>: versions 1..=11, flexible 6.. {
        replica_id: i32 => 1..;
        isolation_level: i8 => 2..;
        topics: Vec<ListOffsetsTopic<'a>> => 1..;
        timeout_ms: i32 => 10..;
    }

    /// One topic to look up.
    pub struct ListOffsetsTopic<'a> {
        name: &'a str => 1..;
        partitions: Vec<ListOffsetsPartition> => 1..;
    }

    /// One partition and the timestamp to look up.
    pub struct ListOffsetsPartition {
        partition_index: i32 => 1..;
        current_leader_epoch: i32 = -1 => 4..;
        timestamp: i64 => 1..;
    }

    /// An offset, or an error, per partition.
    pub struct ListOffsetsResponse<'a>: versions 1..=11, flexible 6.. {
        throttle_time_ms: i32 => 2..;
        topics: Vec<ListOffsetsTopicResponse<'a>> => 1..;
    }

    /// One topic that was looked up.
    pub struct ListOffsetsTopicResponse<'a> {
        name: &'a str => 1..;
        partitions: Vec<ListOffsetsPartitionResponse> => 1..;
    }

    /// The offset found for one partition.
    pub struct ListOffsetsPartitionResponse {
        partition_index: i32 => 1..;
        error_code: i16 => 1..;
        timestamp: i64 = -1 => 1..;
        offset: i64 = -1 => 1..;
        leader_epoch: i32 = -1 => 4..;
    }
}
