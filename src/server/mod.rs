//! The broker: joins the rooms into roles that a driver steps. Still pure: it runs the same by threads and by a seed.
//!
//! It says which part gets which part; it must not know threads or clocks.

mod broker; // everything made and joined, in order
mod connection_limits; // how many connections the settings allow
mod delivery; // answers to the queues
mod expiry; // deadlines of parked operations
mod flusher; // one sync for all that waits
mod log_keeper; // retention, checkpoints, deletion
mod request_handler; // from the request queue to the handlers and back
mod request_times; // where requests spent their time, into the log
mod start_error; // why a broker does not start

pub use broker::{Broker, BrokerEnvironment, Ending, Holdings, RoleWakers};
pub use expiry::Expiry;
pub use flusher::Flusher;
pub use log_keeper::LogKeeper;
pub use request_handler::RequestHandler;
pub use start_error::StartError;
