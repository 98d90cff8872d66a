//! API 37, CreatePartitions: adds partitions to topics.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks to raise the number of partitions.
    pub struct CreatePartitionsRequest<'a>: versions 0..=3, flexible 2.. {
        topics: Vec<CreatePartitionsTopic<'a>> => 0..;
        timeout_ms: i32 => 0..;
        validate_only: bool => 0..;
    }

    /// One topic and its new number of partitions.
    pub struct CreatePartitionsTopic<'a> {
        name: &'a str => 0..;
        count: i32 => 0..;
        assignments: Option<Vec<CreatePartitionsAssignment>> = Some(Vec::new()) => 0..;
    }

    /// The brokers of one new partition, chosen by hand.
    pub struct CreatePartitionsAssignment {
        broker_ids: Vec<i32> => 0..;
    }

    /// What became of each topic.
    pub struct CreatePartitionsResponse<'a>: versions 0..=3, flexible 2.. {
        throttle_time_ms: i32 => 0..;
        results: Vec<CreatePartitionsTopicResult<'a>> => 0..;
    }

    /// The outcome for one topic.
    pub struct CreatePartitionsTopicResult<'a> {
        name: &'a str => 0..;
        error_code: i16 => 0..;
        error_message: Option<&'a str> => 0..;
    }
}
