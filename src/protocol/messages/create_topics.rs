//! API 19, CreateTopics: creates topics.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// Asks to create topics, or only to check whether that would work.
    pub struct CreateTopicsRequest<'a>: versions 2..=7, flexible 5.. {
        topics: Vec<CreatableTopic<'a>> => 2..;
        timeout_ms: i32 = 60_000 => 2..;
        validate_only: bool => 2..;
    }

    /// One topic to create.
    pub struct CreatableTopic<'a> {
        name: &'a str => 2..;
        num_partitions: i32 => 2..;
        replication_factor: i16 => 2..;
        assignments: Vec<CreatableReplicaAssignment> => 2..;
        configs: Vec<CreatableTopicConfig<'a>> => 2..;
    }

    /// The replicas of one partition, chosen by hand.
    pub struct CreatableReplicaAssignment {
        partition_index: i32 => 2..;
        broker_ids: Vec<i32> => 2..;
    }

    /// One configuration key of the new topic.
    pub struct CreatableTopicConfig<'a> {
        name: &'a str => 2..;
        value: Option<&'a str> = Some("") => 2..;
    }

    /// What became of each topic.
    pub struct CreateTopicsResponse<'a>: versions 2..=7, flexible 5.. {
        throttle_time_ms: i32 => 2..;
        topics: Vec<CreatableTopicResult<'a>> => 2..;
    }

    /// The outcome for one topic.
    pub struct CreatableTopicResult<'a> {
        name: &'a str => 2..;
        topic_id: TopicId => 7..;
        error_code: i16 => 2..;
        error_message: Option<&'a str> = Some("") => 2..;
        num_partitions: i32 = -1 => 5..;
        replication_factor: i16 = -1 => 5..;
        configs: Option<Vec<CreatableTopicConfigs<'a>>> = Some(Vec::new()) => 5..;
        topic_config_error_code: i16 => 5.., tag 0;
    }

    /// One configuration key of the created topic.
    pub struct CreatableTopicConfigs<'a> {
        name: &'a str => 5..;
        value: Option<&'a str> = Some("") => 5..;
        read_only: bool => 5..;
        config_source: i8 = -1 => 5..;
        is_sensitive: bool => 5..;
    }
}
