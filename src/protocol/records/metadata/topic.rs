//! Records of the metadata log about topics.
//!
//! It must not know what replaying them does.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// A topic was created.
    pub struct TopicRecord<'a>: versions 0..=0, flexible 0.. {
        name: &'a str => 0..;
        topic_id: TopicId => 0..;
    }

    /// A topic, or with an empty name every topic, forgets who may lead beside its in-sync replicas (KIP-966).
    pub struct ClearElrRecord<'a>: versions 0..=0, flexible 0.. {
        topic_name: &'a str => 0..;
    }

    /// A topic was deleted.
    pub struct RemoveTopicRecord: versions 0..=0, flexible 0.. {
        topic_id: TopicId => 0..;
    }
}
