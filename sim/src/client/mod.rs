//! Clients of the simulated broker: small, hostile and deterministic, over the real wire.
//!
//! They speak Kafka through the broker's own codec and must not look into the broker.

mod admin; // creates, alters and deletes topics
mod ager; // lets committed offsets grow old
mod chronicler; // asks where all epochs end
mod connection; // frames over one simulated socket
mod consumer; // reads everything, again and again
mod crowd; // many connections of one peer
mod contrarian; // is wrong on purpose
mod contrary; // batches that no broker may take
mod deleter; // has records deleted
mod dialogue; // asks one thing at a time
mod epoch_teller; // tells which epoch it has read last
mod examiner; // knows what it must be told
mod garbage; // sends what no client should send
mod group_member; // joins, commits, leaves
mod habits; // how a client treats its connection
mod hoarder; // writes more than may be kept
mod link; // a connection at a time, made anew when it is gone
mod operator; // changes the configuration of the broker
mod player; // plays a scene at the end
mod questions; // what an examiner asks
mod producer; // writes values that tell who wrote them
mod renewer; // makes a topic anew under its name
mod seeker; // looks records up by their time
mod session_keeper; // keeps fetch sessions and misuses them
mod slow_reader; // asks for much and takes its time to read it
mod tuner; // changes the topic that others use
mod value; // what a record says
mod watcher; // looks whether a removed directory is offline
mod vanisher; // falls silent for good
mod versions; // which version of an API is spoken

pub use value::Value;

pub(crate) use admin::{Admin, AdminProfile};
pub(crate) use ager::Ager;
pub(crate) use chronicler::Chronicler;
pub(crate) use connection::{ClientConnection, ConnectionNews};
pub(crate) use consumer::{Consumer, ConsumerProfile};
pub(crate) use contrarian::{Contrarian, ContrarianProfile};
pub(crate) use crowd::{Crowd, CrowdProfile};
pub(crate) use deleter::{Deleter, DeleterProfile};
pub(crate) use epoch_teller::{EpochTeller, EpochTellerProfile};
pub(crate) use examiner::{Examiner, ExaminerProfile};
pub(crate) use garbage::Garbage;
pub(crate) use group_member::{GroupMember, GroupMemberProfile};
pub(crate) use habits::Habits;
pub(crate) use hoarder::{Hoarder, HoarderProfile};
pub(crate) use operator::{Operator, OperatorProfile};
pub(crate) use player::{Act, Player, Scene};
pub(crate) use producer::{Producer, ProducerProfile};
pub(crate) use renewer::{Renewer, RenewerProfile};
pub(crate) use seeker::Seeker;
pub(crate) use session_keeper::{SessionKeeper, SessionKeeperProfile};
pub(crate) use slow_reader::{SlowReader, SlowReaderProfile};
pub(crate) use tuner::{Tuner, TunerProfile};
pub(crate) use vanisher::{Vanisher, VanisherProfile};
pub(crate) use versions::from_word;
pub(crate) use watcher::Watcher;

use std::net::SocketAddr;

use klamm::types::Instant;

use crate::checker::History;
use crate::world::World;

/// What a client's step may use.
pub(crate) struct ClientContext<'a> {
    pub(crate) world: &'a World,
    pub(crate) broker: SocketAddr,
    pub(crate) history: &'a mut History,
    /// Faults are over: finish what is open and begin nothing new.
    pub(crate) is_calm: bool,
    /// The broker stops in order: whoever waits is answered before the time.
    pub(crate) is_draining: bool,
    /// Counts the starts of the broker: a connection to an earlier one is dead, even if nobody has said so.
    pub(crate) boot: u32,
    /// No fault of the network is about, now or in the whole run, and nothing is closed for being idle: the broker has no reason to close
    /// the connection of a client that behaves.
    pub(crate) is_network_sound: bool,
    /// Faults so far that may end a connection.
    pub(crate) network_faults: u64,
    /// No fault of the disk is about, now or in the whole run: the broker has no reason to refuse what is right.
    pub(crate) is_disk_sound: bool,
    /// Nothing is wrong with any disk but that whole ones have failed or are gone, and none has in this start of the broker: what lies on others is served.
    pub(crate) are_others_sound: bool,
    /// Nothing has made the broker late by more than a moment.
    pub(crate) is_time_sound: bool,
    /// Nothing of the disk, the clocks or the machine has gone wrong so far, or taken long.
    pub(crate) is_machine_sound: bool,
}

impl ClientContext<'_> {
    pub(crate) fn now(&self) -> Instant {
        self.world.now().instant
    }
}

/// A client under the scheduler. It is stepped on news of its socket and at its deadline.
pub(crate) trait Client {
    /// Does what can be done now and says when to come again by time alone.
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant>;

    /// Faults are over: what it does from now on must succeed.
    fn calm_begins(&mut self) {}

    /// Whether all that it set out to do is done.
    fn is_done(&self) -> bool;

    /// Whether it reads what it is answered: a broker that stops in order cannot be done with one that does not.
    fn takes_answers(&self) -> bool {
        true
    }

    /// Since when its oldest request is without an answer.
    fn waits_since(&self) -> Option<Instant>;

    /// What it waits for, for a report of a run that is stuck.
    fn waits_for(&self) -> String;
}
