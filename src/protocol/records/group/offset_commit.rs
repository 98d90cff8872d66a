//! Records of `__consumer_offsets` about stored offsets.
//!
//! It must not know what replaying them does.

use crate::protocol::declare::{NEVER, messages};
use crate::types::TopicId;

messages! {
    /// Names the offset of one partition in one group.
    pub struct OffsetCommitKey<'a>: versions 0..=0, flexible NEVER.. {
        group: &'a str => 0..;
        topic: &'a str => 0..;
        partition: i32 => 0..;
    }

    /// A stored offset.
    pub struct OffsetCommitValue<'a>: versions 0..=4, flexible 4.. {
        offset: i64 => 0..;
        leader_epoch: i32 = -1 => 3..;
        metadata: &'a str => 0..;
        commit_timestamp: i64 => 0..;
        expire_timestamp: i64 = -1 => 1..=1;
        topic_id: TopicId => 4.., tag 0;
    }
}
