//! API 21, DeleteRecords: moves the log start offset of partitions forward.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks to delete all records before an offset; -1 stands for the high watermark.
    pub struct DeleteRecordsRequest<'a>: versions 0..=2, flexible 2.. {
        topics: Vec<DeleteRecordsTopic<'a>> => 0..;
        timeout_ms: i32 => 0..;
    }

    /// One topic to delete records from.
    pub struct DeleteRecordsTopic<'a> {
        name: &'a str => 0..;
        partitions: Vec<DeleteRecordsPartition> => 0..;
    }

    /// One partition and the offset before which records go.
    pub struct DeleteRecordsPartition {
        partition_index: i32 => 0..;
        offset: i64 => 0..;
    }

    /// The new log start offset of each partition.
    pub struct DeleteRecordsResponse<'a>: versions 0..=2, flexible 2.. {
        throttle_time_ms: i32 => 0..;
        topics: Vec<DeleteRecordsTopicResult<'a>> => 0..;
    }

    /// One topic that records were deleted from.
    pub struct DeleteRecordsTopicResult<'a> {
        name: &'a str => 0..;
        partitions: Vec<DeleteRecordsPartitionResult> => 0..;
    }

    /// The outcome for one partition.
    pub struct DeleteRecordsPartitionResult {
        partition_index: i32 => 0..;
        low_watermark: i64 => 0..;
        error_code: i16 => 0..;
    }
}
