//! API 20, DeleteTopics: deletes topics, by name or from version 6 on by id.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// Asks to delete topics.
    pub struct DeleteTopicsRequest<'a>: versions 1..=6, flexible 4.. {
        topics: Vec<DeleteTopicState<'a>> => 6..;
        topic_names: Vec<&'a str> => 1..=5;
        timeout_ms: i32 => 1..;
    }

    /// One topic to delete: by name or by id, from version 6 on.
    pub struct DeleteTopicState<'a> {
        name: Option<&'a str> => 6..;
        topic_id: TopicId => 6..;
    }

    /// What became of each topic.
    pub struct DeleteTopicsResponse<'a>: versions 1..=6, flexible 4.. {
        throttle_time_ms: i32 => 1..;
        responses: Vec<DeletableTopicResult<'a>> => 1..;
    }

    /// The outcome for one topic.
    pub struct DeletableTopicResult<'a> {
        name: Option<&'a str> = Some("") => 1.., nullable 6..;
        topic_id: TopicId => 6..;
        error_code: i16 => 1..;
        error_message: Option<&'a str> => 5..;
    }
}
