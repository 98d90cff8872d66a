//! API 47, OffsetDelete: deletes stored offsets of a group (KIP-496).
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::{NEVER, messages};

messages! {
    /// Asks to delete the offsets of partitions.
    pub struct OffsetDeleteRequest<'a>: versions 0..=0, flexible NEVER.. {
        group_id: &'a str => 0..;
        topics: Vec<OffsetDeleteRequestTopic<'a>> => 0..;
    }

    /// One topic whose offsets go.
    pub struct OffsetDeleteRequestTopic<'a> {
        name: &'a str => 0..;
        partitions: Vec<OffsetDeleteRequestPartition> => 0..;
    }

    /// One partition whose offset goes.
    pub struct OffsetDeleteRequestPartition {
        partition_index: i32 => 0..;
    }

    /// What became of each partition.
    pub struct OffsetDeleteResponse<'a>: versions 0..=0, flexible NEVER.. {
        error_code: i16 => 0..;
        throttle_time_ms: i32 => 0..;
        topics: Vec<OffsetDeleteResponseTopic<'a>> => 0..;
    }

    /// One topic whose offsets went.
    pub struct OffsetDeleteResponseTopic<'a> {
        name: &'a str => 0..;
        partitions: Vec<OffsetDeleteResponsePartition> => 0..;
    }

    /// The outcome for one partition.
    pub struct OffsetDeleteResponsePartition {
        partition_index: i32 => 0..;
        error_code: i16 => 0..;
    }
}
