//! What each request means, and which error its client gets. One file per API under `handlers`.
//!
//! It must not know sockets, queues or threads: a handler gets a request and says what becomes of it.

mod answer; // what a handler says
mod answer_budget; // how much one answer may hold
mod answer_parts; // what is known of an answer before the coordinator's own
mod api_request; // what a handler gets
mod appended; // what became of a batch
mod authorized_operations; // what clients may do
mod broker_configs; // the settings that hold now
mod broker_start; // from folders to a broker that may be asked
mod config_changes;
mod config_schema; // configuration keys, for the metadata room
mod controller; // decisions about the cluster, one after the other
mod deadlines; // when the next parked operation is due
mod decisions; // what the controller is asked, and what follows
mod deferred; // what waits for the controller
mod delayed_fetch; // a fetch that waits for bytes
mod delayed_produce; // a produce that waits for the disk
mod error_map; // from the rooms' errors to Kafka's codes
mod fetch_session; // what a client fetches again and again
mod fetched; // what a fetch found
mod found_partitions; // what lies on disk, against the metadata
mod group_answer; // a coordinator's answer, as an outcome
mod group_coordinator_service; // from a group to its coordinator
mod group_log; // a coordinator's records, as batches
mod group_shard; // one coordinator with its log
mod handlers; // one file per API
mod kafka_apis; // the dispatcher
mod diverging_epoch; // where the histories of a client and a log part
mod leadership; // who leads a partition, as clients see it
mod log_directory; // topic names and ids, joined with logs
mod log_upkeep; // syncs, checkpoints, retention
mod metadata_snapshot; // what stands for the beginning of the metadata log
mod open_transactions;
mod partition; // one partition as requests see it
mod producer_ids; // producer ids that this broker may give out
mod read_whole; // a log into memory, for a start
mod replica_manager; // appends and reads, and those who wait for them
mod request_local; // what one handler keeps to itself
mod shard_timers; // when which coordinator is looked at next
mod start_failure; // why logs and metadata cannot be loaded
mod sync; // what the watch of deadlines is made of
mod sync_queue; // whose bytes must reach the disk
mod topic_creation; // topics that come into being because somebody asks for them

#[cfg(test)]
mod test_apis; // a broker without sockets
#[cfg(test)]
mod test_configs;
#[cfg(test)]
mod test_groups;
#[cfg(test)]
mod test_odd_requests;
#[cfg(test)]
mod test_offsets;
#[cfg(test)]
mod test_starts;
#[cfg(test)]
mod test_topics;
#[cfg(test)]
mod test_upkeep;

pub use answer::{Answer, Completion, Outcome};
pub use api_request::ApiRequest;
pub use kafka_apis::{ApiWakers, KafkaApis};
pub use request_local::RequestLocal;
pub use start_failure::StartFailure;
pub use sync_queue::SyncRound;
