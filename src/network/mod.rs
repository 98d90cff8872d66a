//! The reactor: Acceptor → Processor → RequestChannel, and back. Generic over `env::Selector`, so that it runs the same on sockets
//! and under a seed.
//!
//! It cuts, buffers, mutes and counts; it must not know what a request means (`apis`), nor threads, nor the clock.

mod acceptor; // takes connections and deals them out
mod channel_table; // the channels of one Processor, found by token
mod connection_queue; // from Acceptor to Processor
mod connection_quotas; // how many connections, from where, how fast
mod connection_rate; // new connections per second, over sliding windows
mod idle_queue; // which channel is the longest unused
mod kafka_channel; // one connection: receive, send, mute state
mod likely_cause; // what bytes that are no Kafka request probably are
mod memory_pool; // how many bytes of requests may be held
mod mute_state; // why a channel is not read
mod network_receive; // a frame that is coming in
mod network_send; // an answer that is going out
mod nonsense_log; // few lines about many strangers
mod processor; // owns channels: reads frames, writes answers
mod request; // what goes through the queues
mod request_channel; // the queues between Processors and handlers
mod sync; // what the queues are made of
#[cfg(test)]
mod test_changed_limits; // limits of connections that change at run time
#[cfg(test)]
mod test_departures; // when handlers hear of peers that leave
#[cfg(test)]
mod test_endings; // what a connection that ends leaves behind
#[cfg(test)]
mod test_memory_pool; // who is woken when request memory comes back
#[cfg(test)]
mod test_reactor; // a Processor with one connection for tests
#[doc(hidden)]
pub mod testing; // bytes through reader and writer in any cuts, for fuzz targets and property tests

pub use acceptor::Acceptor;
pub use connection_queue::ConnectionQueue;
pub use connection_quotas::{ConnectionLimits, ConnectionQuotas, ListenerLimits};
pub use memory_pool::MemoryPool;
pub use processor::{Processor, ProcessorSettings, ProcessorShared};
pub use request::{Departure, ListenerContext, Request, RequestTimes, Response, ResponseKind};
pub use request_channel::RequestChannel;
