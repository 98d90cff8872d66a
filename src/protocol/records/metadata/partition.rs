//! Records of the metadata log about partitions.
//!
//! It must not know what replaying them does.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// A partition was created.
    pub struct PartitionRecord: versions 0..=2, flexible 0.. {
        partition_id: i32 = -1 => 0..;
        topic_id: TopicId => 0..;
        replicas: Vec<i32> => 0..;
        isr: Vec<i32> => 0..;
        removing_replicas: Vec<i32> => 0..;
        adding_replicas: Vec<i32> => 0..;
        leader: i32 = -1 => 0..;
        leader_epoch: i32 = -1 => 0..;
        partition_epoch: i32 = -1 => 0..;
        directories: Vec<TopicId> => 1..;
        leader_recovery_state: i8 => 0.., tag 0;
        eligible_leader_replicas: Option<Vec<i32>> => 2.., tag 1;
        last_known_elr: Option<Vec<i32>> => 2.., tag 2;
    }

    /// Something about a partition changed; what a field leaves null, or at its default, stays.
    pub struct PartitionChangeRecord: versions 0..=2, flexible 0.. {
        partition_id: i32 = -1 => 0..;
        topic_id: TopicId => 0..;
        isr: Option<Vec<i32>> => 0.., tag 0;
        leader: i32 = -2 => 0.., tag 1;
        replicas: Option<Vec<i32>> => 0.., tag 2;
        removing_replicas: Option<Vec<i32>> => 0.., tag 3;
        adding_replicas: Option<Vec<i32>> => 0.., tag 4;
        leader_recovery_state: i8 = -1 => 0.., tag 5;
        eligible_leader_replicas: Option<Vec<i32>> => 2.., tag 6;
        last_known_elr: Option<Vec<i32>> => 2.., tag 7;
        directories: Option<Vec<TopicId>> => 1.., tag 8;
    }
}
