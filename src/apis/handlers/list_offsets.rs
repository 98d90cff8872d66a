//! ListOffsets: the first offset, the last, or the one at a timestamp.
//!
//! It must not know how a timestamp is looked up.

use std::collections::{BTreeMap, BTreeSet};

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::apis::partition::Partition;
use crate::error_code::ErrorCode;
use crate::log::{FetchIsolation, FoundTimestamp, ReadError};
use crate::protocol::DecodeError;
use crate::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};
use crate::types::{LeaderEpoch, Offset, PartitionIndex};
use crate::zoo::{self, Bug};

/// What a request says in place of a replica's id if it is from a consumer.
const CONSUMER: i32 = -1;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;
const EARLIEST_PENDING_UPLOAD: i64 = -6;

/// Stands for the timestamp of an offset that was not found by one.
const NO_TIMESTAMP: i64 = -1;

/// Answers each partition by itself.
pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: ListOffsetsRequest<'_> = request.decode()?;
    let lookup = Lookup { apis, version: request.version(), isolation: isolation(&message) };
    let counts = counts(&message);
    let mut answered = BTreeSet::new();
    let topics = message.topics.iter().map(|topic| {
        let answer = |partition: &ListOffsetsPartition| {
            let key = (topic.name, partition.partition_index);
            let found = match counts.get(&key) {
                Some(2..) if !zoo::is(Bug::LookedUpTwice) => Err(ErrorCode::InvalidRequest),
                _ => lookup.find(topic.name, partition),
            };
            answered.insert(key).then(|| word(partition, found))
        };
        ListOffsetsTopicResponse { name: topic.name, partitions: topic.partitions.iter().filter_map(answer).collect() }
    });
    Ok(request.respond(&ListOffsetsResponse { topics: topics.collect(), ..Default::default() }).into())
}

/// How far the asker sees: replicas and debuggers to the log's end.
fn isolation(message: &ListOffsetsRequest<'_>) -> FetchIsolation {
    match (message.replica_id, message.isolation_level) {
        (CONSUMER, 1) => FetchIsolation::TransactionCommitted,
        (CONSUMER, _) => FetchIsolation::HighWatermark,
        _ => FetchIsolation::LogEnd,
    }
}

/// How often the request names each partition: more than once is refused, and answered once.
fn counts<'a>(message: &ListOffsetsRequest<'a>) -> BTreeMap<(&'a str, i32), usize> {
    let mut counts = BTreeMap::new();
    for topic in &message.topics {
        for partition in &topic.partitions {
            *counts.entry((topic.name, partition.partition_index)).or_default() += 1;
        }
    }
    counts
}

/// Whether this version may ask for this special timestamp.
fn is_supported(timestamp: i64, version: i16) -> bool {
    match timestamp {
        0.. | LATEST | EARLIEST => true,
        MAX_TIMESTAMP => version >= 7,
        EARLIEST_LOCAL => version >= 8,
        LATEST_TIERED => version >= 9,
        EARLIEST_PENDING_UPLOAD => version >= 11,
        _ => false,
    }
}

/// An offset that was found.
struct Found {
    timestamp: i64,
    offset: Offset,
    leader_epoch: Option<LeaderEpoch>,
}

impl From<FoundTimestamp> for Found {
    fn from(found: FoundTimestamp) -> Found {
        Found { timestamp: found.timestamp, offset: found.offset, leader_epoch: Some(found.leader_epoch) }
    }
}

struct Lookup<'a> {
    apis: &'a KafkaApis,
    version: i16,
    isolation: FetchIsolation,
}

impl Lookup<'_> {
    /// `None` if there is no such offset.
    fn find(&self, topic: &str, asked: &ListOffsetsPartition) -> Result<Option<Found>, ErrorCode> {
        if !is_supported(asked.timestamp, self.version) {
            return Err(ErrorCode::UnsupportedVersion);
        }
        let partition = self.apis.partition(topic, PartitionIndex(asked.partition_index))?;
        partition.check_leader_epoch(asked.current_leader_epoch)?;
        if partition.log.is_offline() {
            return Err(ErrorCode::KafkaStorageError);
        }
        self.look_up(&partition, asked.timestamp).map_err(|error| ErrorCode::from(&error))
    }

    fn look_up(&self, partition: &Partition, timestamp: i64) -> Result<Option<Found>, ReadError> {
        let log = &partition.log;
        let at = |offset, leader_epoch| Some(Found { timestamp: NO_TIMESTAMP, offset, leader_epoch });
        Ok(match timestamp {
            LATEST => {
                let end = match self.isolation {
                    FetchIsolation::TransactionCommitted => log.last_stable_offset(),
                    FetchIsolation::HighWatermark => log.high_watermark(),
                    FetchIsolation::LogEnd => log.log_end_offset(),
                };
                at(end, Some(partition.leader_epoch()))
            }
            EARLIEST | EARLIEST_LOCAL => {
                let start = log.log_start_offset();
                at(start, log.epoch_for_offset(start))
            }
            // Nothing is tiered here.
            LATEST_TIERED | EARLIEST_PENDING_UPLOAD => None,
            MAX_TIMESTAMP if !zoo::is(Bug::YoungestNotKnown) => {
                log.offset_of_max_timestamp(self.isolation)?.map(Found::from)
            }
            _ => match log.offset_for_timestamp(timestamp, self.isolation)? {
                None if zoo::is(Bug::LateTimeRefused) => return Err(ReadError::Offline),
                found => found.map(Found::from),
            },
        })
    }
}

fn word(asked: &ListOffsetsPartition, found: Result<Option<Found>, ErrorCode>) -> ListOffsetsPartitionResponse {
    let response = ListOffsetsPartitionResponse { partition_index: asked.partition_index, ..Default::default() };
    match found {
        Ok(Some(found)) => ListOffsetsPartitionResponse {
            timestamp: found.timestamp,
            offset: found.offset.0,
            leader_epoch: found.leader_epoch.map_or(response.leader_epoch, |epoch| epoch.0),
            ..response
        },
        Ok(None) => response,
        Err(error) => ListOffsetsPartitionResponse { error_code: error.code(), ..response },
    }
}
