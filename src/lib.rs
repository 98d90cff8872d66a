//! Klamm: a message broker that speaks the Kafka protocol. This file is the map: the rooms in reading order.
//!
//! Every room has a law of what it must not know; `tests/tidy.rs` enforces it and ARCHITECTURE.md explains it.

pub mod types; // newtypes that every room may use: offsets, epochs, ids, time
pub mod error_code; // Kafka's error codes
pub mod limits; // every bound, and the assertions between them
pub mod lookup_map; // a hash map without an order to depend on
pub mod marks; // situations that a campaign of the simulator has to bring about
pub mod zoo; // bugs that a build for the simulator can plant
pub mod env; // the doors to the outside: clock, selector, disk; traits only
pub mod metrics; // counters and histograms; who counts, calls it
pub mod config; // one table of knobs
pub mod protocol; // bytes of Kafka's messages to values and back
pub mod record; // record batches: header, records, checksums, compression
pub mod log; // offsets on disk: segments, indexes, recovery
pub mod metadata; // topics, partitions, configs of this cluster, as a log of records and a cache
pub mod purgatory; // operations that wait for a key or a deadline
pub mod coordinator; // group membership and committed offsets, as decisions
pub mod network; // the reactor: acceptor, processor, request channel
pub mod apis; // what each request means, and which error a client gets
pub mod server; // the broker: joins the rooms, still pure
#[cfg(feature = "os")]
pub mod os; // the outermost room: sockets, files, clock, threads, signals
#[cfg(feature = "os")]
pub mod cli; // what a person types and reads
