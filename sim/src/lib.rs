//! The simulator: makers of the broker's doors that a seed drives, and breaks.
//!
//! One root seed, one thread, no real clock, file or socket. Reading order: chance, the machine, its network, its disk, and the
//! suite that holds the makers to the same contract as the real ones. It must not know the insides of the broker's rooms.

pub mod conformance; // the contract of the doors, clause by clause, for real and simulated makers
pub mod keyed; // decisions as a function of names
pub mod trace; // one number for everything that happened

pub mod capsule; // a failing run as one small text
pub mod checker; // what must be true of every run
pub mod client; // hostile, deterministic clients of the broker
pub mod crash_points; // a broker that goes down at every effect in turn
pub mod panics; // the broker's are findings, all others shout
pub mod deep_bug; // bugs of a known depth, to measure guidance by
pub mod explore; // runs that go on from where something rare was reached
pub mod run; // one seed from start to verdict
mod reference; // a broker that is easy to believe
pub mod story; // a run as a page that people read
pub mod shrink; // a smaller scenario with the same violation

mod actor;
mod broker; // one for somebody's own test
mod broker_machine;
mod client_socket;
mod closing;
mod connecting;
mod descriptors;
mod clock_faults;
mod disk_calls;
mod disk_crash;
mod disk_medium;
mod disk_space;
mod disk_state;
mod disk_volumes;
mod errno;
mod flaw;
mod flight;
mod heritage; // what another broker has left on the disk
mod inherited_offsets; // what another broker has left in the topic of committed offsets
mod inode;
mod kernel;
mod ledger;
mod network_state;
mod node_table;
mod minimise;
mod pipe;
mod plan;
mod reduction;
mod registration;
mod route;
mod scenario;
mod scheduler;
mod sightings;
mod sim_clock;
mod sim_connection;
mod sim_disk;
mod sim_file;
mod sim_listener;
mod sim_network;
mod sim_parker;
mod sim_selector;
mod stream;
mod watching;
mod world;

pub use broker::{Answer, Asked, Broker, BrokerError, CallError, Connection};
pub use client_socket::{ClientReadiness, ClientSocket};
pub use flaw::Flaw;
pub use ledger::Destroyed;
pub use reduction::{Reduction, Simple};
pub use scenario::{Profile, Scenario};
pub use sightings::Sighting;
pub use sim_clock::SimClock;
pub use sim_connection::SimConnection;
pub use sim_disk::{DeferredSync, SimDisk};
pub use sim_listener::SimListener;
pub use sim_parker::SimParker;
pub use sim_selector::{SelectorId, SimSelector};
pub use world::{Crash, World, WorldOptions};
