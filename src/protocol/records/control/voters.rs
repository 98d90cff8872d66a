//! The control record value for the voters of the quorum.
//!
//! It must not know what reading them does.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// Control record 6: the voters of the quorum.
    pub struct VotersRecord<'a>: versions 0..=0, flexible 0.. {
        version: i16 => 0..;
        voters: Vec<Voter<'a>> => 0..;
    }

    /// One voter of the quorum.
    pub struct Voter<'a> {
        voter_id: i32 => 0..;
        voter_directory_id: TopicId => 0..;
        endpoints: Vec<Endpoint<'a>> => 0..;
        kraft_version_feature: KRaftVersionFeature => 0..;
    }

    /// A listener of the voter.
    pub struct Endpoint<'a> {
        name: &'a str => 0..;
        host: &'a str => 0..;
        port: u16 => 0..;
    }

    /// The versions of the quorum protocol that the voter supports.
    pub struct KRaftVersionFeature {
        min_supported_version: i16 => 0..;
        max_supported_version: i16 => 0..;
    }
}
