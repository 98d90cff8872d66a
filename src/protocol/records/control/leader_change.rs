//! The control record value for a change of leader.
//!
//! It must not know what reading them does.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// Control record 2: a leader began its epoch.
    pub struct LeaderChangeMessage: versions 0..=1, flexible 0.. {
        version: i16 => 0..;
        leader_id: i32 => 0..;
        voters: Vec<Voter> => 0..;
        granting_voters: Vec<Voter> => 0..;
    }

    /// One voter of the quorum.
    pub struct Voter {
        voter_id: i32 => 0..;
        voter_directory_id: TopicId => 1..;
    }
}
