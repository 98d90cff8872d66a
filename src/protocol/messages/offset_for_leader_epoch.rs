//! API 23, OffsetForLeaderEpoch: tells where a leader epoch ended (KIP-101, KIP-320).
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks for the end offset of leader epochs.
    pub struct OffsetForLeaderEpochRequest<'a>: versions 2..=4, flexible 4.. {
        replica_id: i32 = -2 => 3..;
        topics: Vec<OffsetForLeaderTopic<'a>> => 2..;
    }

    /// One topic asked about.
    pub struct OffsetForLeaderTopic<'a> {
        topic: &'a str => 2..;
        partitions: Vec<OffsetForLeaderPartition> => 2..;
    }

    /// One partition and the epoch asked about.
    pub struct OffsetForLeaderPartition {
        partition: i32 => 2..;
        current_leader_epoch: i32 = -1 => 2..;
        leader_epoch: i32 => 2..;
    }

    /// The end offset of each epoch.
    pub struct OffsetForLeaderEpochResponse<'a>: versions 2..=4, flexible 4.. {
        throttle_time_ms: i32 => 2..;
        topics: Vec<OffsetForLeaderTopicResult<'a>> => 2..;
    }

    /// One topic.
    pub struct OffsetForLeaderTopicResult<'a> {
        topic: &'a str => 2..;
        partitions: Vec<EpochEndOffset> => 2..;
    }

    /// A leader epoch and where it ended.
    pub struct EpochEndOffset {
        error_code: i16 => 2..;
        partition: i32 => 2..;
        leader_epoch: i32 = -1 => 2..;
        end_offset: i64 = -1 => 2..;
    }
}
