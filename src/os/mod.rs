//! The outermost room: real sockets, files, time, chance, signals and sleep behind the doors of `env`.
//!
//! Nothing else in the crate may touch them, and this room must not know what the bytes mean. It speaks to Linux.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the one room that may read clocks, open files and sockets, and put threads to sleep"
)]

mod descriptor_limit;
mod entropy;
mod file_disk;
mod kernel_version;
mod mio_connection;
mod mio_listener;
mod mio_network;
mod mio_selector;
mod parker;
mod process;
mod real_file;
mod signals;
mod start;
mod system_clock;
mod threads;

pub use descriptor_limit::raise_descriptor_limit;
pub use entropy::seed_from_system;
pub use file_disk::FileDisk;
pub use mio_connection::MioConnection;
pub use mio_listener::{ListenOptions, MioListener};
pub use mio_network::MioNetwork;
pub use mio_selector::MioSelector;
pub use parker::Parker;
pub use process::{complain, read_file, start_logging, variables};
pub use signals::{Signals, Wish};
pub use start::run;
pub use system_clock::SystemClock;
