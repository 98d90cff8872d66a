//! Fetch: reads batches from where the client stands, now or when there are enough of them.
//!
//! It must not know how batches are found.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::apis::answer::{Answer, Outcome};
use crate::apis::api_request::{ApiRequest, respond_with_extents};
use crate::apis::delayed_fetch::{FetchPlan, PartitionPlan};
use crate::apis::fetch_session::{SessionPartition, SessionTopic, SessionUse, Told};
use crate::apis::fetched::{Fetched, FetchedPartition};
use crate::apis::kafka_apis::KafkaApis;
use crate::apis::leadership::without_log;
use crate::apis::partition::Partition;
use crate::apis::replica_manager::ReplicaManager;
use crate::env::Piece;
use crate::error_code::ErrorCode;
use crate::limits::FETCH_BYTES_MAX;
use crate::log::FetchIsolation;
use crate::protocol::messages::fetch::{
    AbortedTransaction, EpochEndOffset, FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData,
};
use crate::protocol::{DecodeError, RecordsField};
use crate::types::{Instant, Now, Offset, PartitionIndex, Ticket, TopicId};
use crate::zoo::{self, Bug};

/// From this version on clients know what a storage error is; those before would not try again.
const STORAGE_ERROR_FROM: i16 = 6;
/// From this version on topics are named by id.
const TOPIC_IDS_FROM: i16 = 13;

/// Answers at once if there is enough, or an error, or no time to wait; else parks.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: FetchRequest<'_> = request.decode()?;
    let replica_manager = apis.replica_manager();
    let mut plan = match plan(apis, now.instant, request.version(), &message) {
        Ok(plan) => plan,
        Err(error) => {
            let response = FetchResponse { error_code: error.code(), ..Default::default() };
            return Ok(request.respond(&response).into());
        }
    };
    let fetched = replica_manager.fetch(&plan);
    let is_enough = fetched.bytes >= plan.bytes_min || fetched.ends_wait || !plan.has_readable();
    let is_enough = is_enough || message.topics.is_empty() && zoo::is(Bug::EmptyFetchDoesNotWait);
    if message.max_wait_ms <= 0 || is_enough {
        return Ok(respond_fetched(now.instant, request.ticket, replica_manager, &plan, fetched).into());
    }
    plan.note_empty(&fetched);
    let completions = replica_manager.park_fetch(now, request.ticket, message.max_wait_ms, plan);
    Ok(Outcome { answer: Answer::Later, completions })
}

/// What is to be read, by the request and by its session.
fn plan(apis: &KafkaApis, now: Instant, version: i16, message: &FetchRequest<'_>) -> Result<FetchPlan, ErrorCode> {
    let replica_manager = apis.replica_manager();
    let uses_topic_ids = version >= TOPIC_IDS_FROM;
    let forgotten: Vec<_> = message
        .forgotten_topics_data
        .iter()
        .flat_map(|topic| {
            let name = session_topic(topic.topic, topic.topic_id);
            topic.partitions.iter().map(move |partition| (name.clone(), PartitionIndex(*partition)))
        })
        .collect();
    let session = (message.session_id, message.session_epoch);
    let image = apis.image();
    let name_of = |topic_id| image.topic_by_id(topic_id).map(|topic| Arc::clone(&topic.name));
    let wanted = wanted(message);
    let (session, wanted) =
        replica_manager.sessions().begin(now, session, uses_topic_ids, wanted, &forgotten, name_of)?;
    let bytes_max = usize_or_zero(message.max_bytes).min(apis.settings().request.fetch_bytes_max).min(FETCH_BYTES_MAX);
    let is_follower = message.replica_id.max(message.replica_state.replica_id) >= 0;
    let partitions = wanted.into_iter().map(|wanted| {
        let source = find(apis, uses_topic_ids, &wanted).and_then(|source| match is_follower {
            // No other broker has replicas of ours.
            true => Err(ErrorCode::NotLeaderOrFollower),
            false => Ok(source),
        });
        PartitionPlan { wanted, source, empty_to: Offset::default() }
    });
    Ok(FetchPlan {
        partitions: partitions.collect(),
        isolation: match message.isolation_level {
            1 => FetchIsolation::TransactionCommitted,
            _ => FetchIsolation::HighWatermark,
        },
        bytes_min: usize_or_zero(message.min_bytes).min(bytes_max),
        bytes_max,
        session,
    })
}

/// Each partition once: one that is named again is wanted as it is named last.
fn wanted(message: &FetchRequest<'_>) -> Vec<SessionPartition> {
    let mut wanted: Vec<SessionPartition> =
        Vec::with_capacity(message.topics.iter().map(|topic| topic.partitions.len()).sum());
    let mut places: BTreeMap<(&str, TopicId, i32), usize> = BTreeMap::new();
    for topic in &message.topics {
        let name = session_topic(topic.topic, topic.topic_id);
        for partition in &topic.partitions {
            let asked = SessionPartition {
                topic: name.clone(),
                known_as: None,
                index: PartitionIndex(partition.partition),
                offset: Offset(partition.fetch_offset),
                bytes_max: partition.partition_max_bytes,
                current_leader_epoch: partition.current_leader_epoch,
                last_fetched_epoch: partition.last_fetched_epoch,
            };
            let place = *places.entry((topic.topic, topic.topic_id, partition.partition)).or_insert(wanted.len());
            match wanted.get_mut(place) {
                Some(before) => *before = asked,
                None => wanted.push(asked),
            }
        }
    }
    wanted
}

fn session_topic(name: &str, topic_id: TopicId) -> SessionTopic {
    // An empty name is the rule, and need not be allocated.
    SessionTopic { topic_id, name: if name.is_empty() { Arc::default() } else { Arc::from(name) } }
}

/// Where a partition is. A topic that has gone while its session lived is known by its name still: it may have been made again (as in
/// Kafka).
fn find(apis: &KafkaApis, uses_topic_ids: bool, wanted: &SessionPartition) -> Result<Arc<Partition>, ErrorCode> {
    if !uses_topic_ids {
        return apis.partition(&wanted.topic.name, wanted.index);
    }
    let replica_manager = apis.replica_manager();
    let found = replica_manager.find_by_id(wanted.topic.topic_id, wanted.index);
    found.ok_or_else(|| {
        let unknown = match &wanted.known_as {
            None => ErrorCode::UnknownTopicId,
            Some(name) if replica_manager.find(name, wanted.index).is_some() => ErrorCode::InconsistentTopicId,
            Some(_) => ErrorCode::UnknownTopicOrPartition,
        };
        let image = apis.image();
        let topic = image.topic_by_id(wanted.topic.topic_id);
        without_log(topic.is_some_and(|topic| topic.partitions.contains_key(&wanted.index)), unknown)
    })
}

fn usize_or_zero(number: i32) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// The answer to a fetch: records are holes that file ranges fill.
pub(crate) fn respond_fetched(
    now: Instant,
    ticket: Ticket,
    replica_manager: &ReplicaManager,
    plan: &FetchPlan,
    fetched: Fetched,
) -> Answer {
    let (session_id, told) = settle_session(now, replica_manager, plan, &fetched);
    let mut responses: Vec<FetchableTopicResponse<'_>> = Vec::new();
    let mut extents = Vec::new();
    let all = plan.partitions.iter().zip(fetched.partitions).zip(told);
    for ((partition, found), _) in all.filter(|(_, is_told)| *is_told) {
        let topic = &partition.wanted.topic;
        let data = data_of(ticket.api_version, partition.wanted.index, &found);
        let is_same = |last: &&mut FetchableTopicResponse<'_>| {
            last.topic_id == topic.topic_id && last.topic == &*topic.name && !zoo::is(Bug::FetchedTopicTorn)
        };
        match responses.last_mut().filter(is_same) {
            Some(last) => last.partitions.push(data),
            None => responses.push(FetchableTopicResponse {
                topic: &topic.name,
                topic_id: topic.topic_id,
                partitions: vec![data],
            }),
        }
        if !found.records.is_empty() {
            extents.push(found.records);
        }
    }
    respond_with_extents(ticket, &FetchResponse { session_id, responses, ..Default::default() }, extents)
}

/// Says which partitions the answer tells of, and under which session.
fn settle_session(
    now: Instant,
    replica_manager: &ReplicaManager,
    plan: &FetchPlan,
    fetched: &Fetched,
) -> (i32, Vec<bool>) {
    let all = || plan.partitions.iter().zip(&fetched.partitions);
    match plan.session {
        SessionUse::None => (0, vec![true; plan.partitions.len()]),
        SessionUse::Open { uses_topic_ids } => {
            let told = all().map(|(partition, found)| (partition.wanted.clone(), told_of(found)));
            let session_id = replica_manager.open_session(now, uses_topic_ids, told);
            (session_id, vec![true; plan.partitions.len()])
        }
        SessionUse::Incremental(session_id) => {
            let mut sessions = replica_manager.sessions();
            let told = all().map(|(partition, found)| {
                let told = Told { high_watermark: found.high_watermark, log_start_offset: found.log_start_offset };
                let has_error = !found.error.is_none() || found.diverging.is_some();
                sessions.tells(plan.session, &partition.wanted, told, !found.records.is_empty(), has_error)
            });
            let told = told.collect();
            (session_id, told)
        }
    }
}

fn told_of(found: &FetchedPartition) -> Option<Told> {
    let told = Told { high_watermark: found.high_watermark, log_start_offset: found.log_start_offset };
    found.error.is_none().then_some(told)
}

fn data_of(version: i16, index: PartitionIndex, found: &FetchedPartition) -> PartitionData<'static> {
    let bytes = found.records.iter().map(Piece::bytes).sum();
    let aborted = |transactions: &Vec<crate::log::AbortedTransaction>| {
        let wire = transactions.iter().map(|transaction| AbortedTransaction {
            producer_id: transaction.producer_id.0,
            first_offset: transaction.first_offset.0,
        });
        wire.collect()
    };
    let error = match found.error {
        ErrorCode::KafkaStorageError if version < STORAGE_ERROR_FROM => ErrorCode::NotLeaderOrFollower,
        error => error,
    };
    PartitionData {
        partition_index: index.0,
        error_code: error.code(),
        high_watermark: found.high_watermark.0,
        last_stable_offset: found.last_stable_offset.0,
        log_start_offset: found.log_start_offset.0,
        aborted_transactions: found.aborted_transactions.as_ref().map(aborted),
        diverging_epoch: found.diverging.map_or(EpochEndOffset::default(), |(epoch, end_offset)| EpochEndOffset {
            epoch: epoch.0,
            end_offset: end_offset.0,
        }),
        records: match bytes {
            0 if zoo::is(Bug::NullRecords) => RecordsField::Null,
            0 => RecordsField::Bytes(&[]),
            bytes => RecordsField::Hole(bytes),
        },
        ..Default::default()
    }
}
