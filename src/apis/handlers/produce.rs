//! Produce: appends batches, and answers when they are as safe as the client asked.
//!
//! It must not know how a batch is checked or where it lies.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::apis::answer::{Answer, Completion, Outcome};
use crate::apis::answer_budget::{AnswerBudget, AnswerTooLong};
use crate::apis::api_request::{ApiRequest, respond};
use crate::apis::appended::Appended;
use crate::apis::delayed_produce::{Awaited, DelayedProduce};
use crate::apis::kafka_apis::KafkaApis;
use crate::apis::leadership::without_log;
use crate::apis::partition::Partition;
use crate::apis::replica_manager::LogKey;
use crate::apis::request_local::RequestLocal;
use crate::error_code::ErrorCode;
use crate::log::Durability;
use crate::marks::Mark;
use crate::metadata::is_internal_topic;
use crate::protocol::messages::produce::{
    BatchIndexAndErrorMessage, PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse,
    TopicProduceData, TopicProduceResponse,
};
use crate::protocol::{DecodeError, RecordsField};
use crate::record::begins_with_transaction;
use crate::types::{Now, PartitionIndex, Ticket, TopicId};
use crate::zoo::{self, Bug};

/// Why a connection is closed whose client wants no answer.
const REFUSED_SILENTLY: &str = "acks=0 and an error, of which only the close can tell";

/// What is told of one partition takes about so many bytes while it is worded: what became of it, the same in the answer, and a sentence.
const TOLD_BYTES: usize = size_of::<PartitionOutcome>() + size_of::<PartitionProduceResponse<'_>>() + 80;
/// And of one record at fault, beside the sentence, which is there twice while the answer is encoded.
const RECORD_ERROR_BYTES: usize = size_of::<RecordError>() + size_of::<BatchIndexAndErrorMessage<'_>>();

/// A record at fault: its place in the batch, and what is wrong.
type RecordError = (i32, Option<String>);

/// When the client wants to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    /// Never.
    None,
    /// When the batch is written.
    Leader,
    /// When it is on the disk.
    All,
}

/// What became of one topic's batches.
#[derive(Debug)]
pub(crate) struct TopicOutcome {
    pub(crate) name: String,
    pub(crate) topic_id: TopicId,
    pub(crate) partitions: Vec<PartitionOutcome>,
}

/// What became of one partition's batch.
#[derive(Debug)]
pub(crate) struct PartitionOutcome {
    index: i32,
    error: ErrorCode,
    base_offset: i64,
    log_append_time_ms: i64,
    log_start_offset: i64,
    record_errors: Vec<RecordError>,
    message: Option<String>,
}

impl PartitionOutcome {
    fn failed(index: i32, error: ErrorCode, message: Option<String>) -> PartitionOutcome {
        PartitionOutcome {
            index,
            error,
            base_offset: -1,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            message,
        }
    }
}

/// Appends every batch, then answers, parks, stays silent or closes, as `acks` says.
pub(crate) fn handle(
    apis: &KafkaApis,
    now: Now,
    local: &mut RequestLocal,
    request: &ApiRequest,
) -> Result<Outcome, DecodeError> {
    let message: ProduceRequest<'_> = request.decode()?;
    let budget = match budget_for_errors(&message) {
        Ok(budget) => budget,
        Err(too_long) => return Ok(Answer::from(too_long).into()),
    };
    if let Err((error, reason)) = check_first_batches(&message) {
        return Ok(refuse_all(request, &message, error, Some(reason)).into());
    }
    let acks = match message.acks {
        0 => Acks::None,
        1 => Acks::Leader,
        -1 => Acks::All,
        _ => return Ok(refuse_all(request, &message, ErrorCode::InvalidRequiredAcks, None).into()),
    };
    let durability =
        if acks == Acks::All && apis.settings().log.acks_all_fsync { Durability::Synced } else { Durability::Written };
    let mut produce = Produce {
        apis,
        now,
        local,
        request,
        durability,
        budget,
        unsynced: Vec::new(),
        awaited: Vec::new(),
        completions: Vec::new(),
    };
    let topics = message.topic_data.iter().filter(|topic| !topic.partition_data.is_empty());
    let outcomes: Vec<TopicOutcome> =
        topics.enumerate().map(|(place, topic)| produce.append_topic(place, topic)).collect();
    let (awaited, mut completions) = (produce.awaited, produce.completions);
    if !produce.unsynced.is_empty() {
        apis.replica_manager().want_sync(&produce.unsynced);
    }
    let answer = match acks {
        Acks::None if has_error(&outcomes) && !zoo::is(Bug::RefusalUntold) => {
            Mark::RefusedSilently.reached();
            Answer::Close(REFUSED_SILENTLY)
        }
        Acks::None if zoo::is(Bug::AnswerWithoutAcks) => respond_produced(request.ticket, &outcomes, &BTreeMap::new()),
        Acks::None => Answer::Nothing,
        Acks::Leader | Acks::All if awaited.is_empty() => respond_produced(request.ticket, &outcomes, &BTreeMap::new()),
        Acks::Leader | Acks::All => {
            let delayed = DelayedProduce { outcomes, awaited };
            completions.extend(apis.replica_manager().park_produce(now, request.ticket, message.timeout_ms, delayed));
            Answer::Later
        }
    };
    Ok(Outcome { answer, completions })
}

/// One request on its way through its partitions.
struct Produce<'a> {
    apis: &'a KafkaApis,
    now: Now,
    local: &'a mut RequestLocal,
    request: &'a ApiRequest,
    durability: Durability,
    /// What the answer may still say of single records.
    budget: AnswerBudget,
    /// What wants a sync when all is appended.
    unsynced: Vec<Arc<Partition>>,
    awaited: Vec<Awaited>,
    completions: Vec<Completion>,
}

impl Produce<'_> {
    fn append_topic(&mut self, place: usize, topic: &TopicProduceData<'_>) -> TopicOutcome {
        let partitions = topic.partition_data.iter().enumerate();
        let partitions = partitions.map(|(at, data)| self.append_partition((place, at), topic, data)).collect();
        TopicOutcome { name: topic.name.to_string(), topic_id: topic.topic_id, partitions }
    }

    fn append_partition(
        &mut self,
        place: (usize, usize),
        topic: &TopicProduceData<'_>,
        data: &PartitionProduceData<'_>,
    ) -> PartitionOutcome {
        let replica_manager = self.apis.replica_manager();
        let partition = match self.find(topic, data) {
            Ok(found) => found,
            Err(error) => return PartitionOutcome::failed(data.index, error, None),
        };
        if is_internal_topic(&partition.log.topic_partition().topic) && self.request.client_id() != "__admin_client" {
            return PartitionOutcome::failed(data.index, ErrorCode::InvalidTopicException, None);
        }
        let RecordsField::Bytes(records) = data.records else {
            let message = Some("a produce request must carry one record batch for each partition".to_string());
            return PartitionOutcome::failed(data.index, ErrorCode::InvalidRecord, message);
        };
        let (version, durability) = (self.request.version(), self.durability);
        let validator = &mut self.local.validator;
        match replica_manager.append(self.now, validator, &partition, records, version, durability) {
            Ok(appended) => {
                let outcome = outcome_of(data.index, &appended);
                if partition.log.high_watermark() > appended.base_offset {
                    self.completions.extend(replica_manager.high_watermark_moved(self.now, partition.key));
                }
                if appended.wants_sync {
                    self.unsynced.push(Arc::clone(&partition));
                }
                // Kafka, too, syncs before it answers when `flush.messages` says so, whatever the acks.
                let must_wait = appended.wants_sync && !zoo::is(Bug::AckBeforeFsync);
                if must_wait && partition.log.durable_end_offset() <= appended.last_offset {
                    let required = appended.last_offset.plus(1);
                    self.awaited.push(Awaited { partition, required, place });
                }
                outcome
            }
            Err(refusal) => {
                if let Some(cause) = refusal.likely_cause {
                    self.apis.tell_of_refusal(self.now.instant, &self.request.client_id(), &partition, cause);
                }
                let mut outcome = PartitionOutcome::failed(data.index, refusal.error, refusal.message);
                outcome.log_start_offset = refusal.log_start_offset.0;
                outcome.record_errors = self.afford(refusal.record_errors);
                outcome
            }
        }
    }

    /// The partition, if it has a log. A batch for one that has none yet is remembered.
    fn find(&self, topic: &TopicProduceData<'_>, data: &PartitionProduceData<'_>) -> Result<Arc<Partition>, ErrorCode> {
        let replica_manager = self.apis.replica_manager();
        let (by_id, partition) = (self.request.version() >= 13, PartitionIndex(data.index));
        let found = if by_id {
            replica_manager.find_by_id(topic.topic_id, partition)
        } else {
            replica_manager.find(topic.name, partition)
        };
        found.ok_or_else(|| {
            let image = self.apis.image();
            let known = if by_id { image.topic_by_id(topic.topic_id) } else { image.topic(topic.name) };
            if let (Some(known), RecordsField::Bytes(records)) = (known, &data.records) {
                replica_manager.note_failed(LogKey { topic_id: known.topic_id, partition }, records);
            }
            let is_in_metadata = known.is_some_and(|topic| topic.partitions.contains_key(&partition));
            let is_id_unknown = by_id && known.is_none();
            let unknown = if is_id_unknown { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition };
            without_log(is_in_metadata, unknown)
        })
    }

    /// The records at fault, or none where the answer has no room for them: what became of the batch is told in any case.
    fn afford(&mut self, errors: Vec<RecordError>) -> Vec<RecordError> {
        let sentences = errors.iter().filter_map(|(_, sentence)| sentence.as_ref()).map(String::len).sum::<usize>();
        let bytes = errors.len() * RECORD_ERROR_BYTES + 2 * sentences;
        if self.budget.take(bytes).is_ok() && !zoo::is(Bug::RecordsAtFaultUntold) { errors } else { Vec::new() }
    }
}

fn outcome_of(index: i32, appended: &Appended) -> PartitionOutcome {
    PartitionOutcome {
        index,
        error: ErrorCode::None,
        base_offset: appended.base_offset.0,
        log_append_time_ms: appended.log_append_time.map_or(-1, |time| time.0),
        log_start_offset: appended.log_start_offset.0,
        record_errors: Vec::new(),
        message: None,
    }
}

fn has_error(outcomes: &[TopicOutcome]) -> bool {
    outcomes.iter().flat_map(|topic| &topic.partitions).any(|partition| !partition.error.is_none())
}

/// What is left for errors of single records. Known before anything is appended: six bytes of a request name a partition, and what is told of
/// it takes far more.
fn budget_for_errors(message: &ProduceRequest<'_>) -> Result<AnswerBudget, AnswerTooLong> {
    let mut budget = AnswerBudget::new();
    for topic in &message.topic_data {
        budget.take(topic.partition_data.len().saturating_mul(TOLD_BYTES) + 2 * topic.name.len())?;
    }
    Ok(budget)
}

/// Looks at the front of every partition's records before anything is appended, as Kafka does to learn whether the request is part of a
/// transaction: bytes that are no batch at all, and a transaction without an id, are the fault of the whole request.
fn check_first_batches(message: &ProduceRequest<'_>) -> Result<(), (ErrorCode, String)> {
    for data in message.topic_data.iter().flat_map(|topic| &topic.partition_data) {
        let RecordsField::Bytes(records) = data.records else { continue };
        match begins_with_transaction(records) {
            Ok(true) if message.transactional_id.is_none() && !zoo::is(Bug::TransactionTaken) => {
                let reason = "a batch of a transaction needs a transactional id".to_string();
                return Err((ErrorCode::TransactionalIdAuthorizationFailed, reason));
            }
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => {
                let reason = format!("the records of partition {} are corrupt: {error}", data.index);
                return Err((ErrorCode::CorruptMessage, reason));
            }
        }
    }
    Ok(())
}

/// Every partition gets the same error, and nothing is appended.
fn refuse_all(request: &ApiRequest, message: &ProduceRequest<'_>, error: ErrorCode, reason: Option<String>) -> Answer {
    if message.acks == 0 {
        return Answer::Close(REFUSED_SILENTLY);
    }
    let outcomes: Vec<TopicOutcome> = message
        .topic_data
        .iter()
        .filter(|topic| !topic.partition_data.is_empty())
        .map(|topic| TopicOutcome {
            name: topic.name.to_string(),
            topic_id: topic.topic_id,
            partitions: topic
                .partition_data
                .iter()
                .map(|data| PartitionOutcome::failed(data.index, error, reason.clone()))
                .collect(),
        })
        .collect();
    respond_produced(request.ticket, &outcomes, &BTreeMap::new())
}

/// The answer to a produce request. `errors` tells of batches that were appended, by their places: topic, partition.
pub(crate) fn respond_produced(
    ticket: Ticket,
    outcomes: &[TopicOutcome],
    errors: &BTreeMap<(usize, usize), ErrorCode>,
) -> Answer {
    let responses = outcomes.iter().enumerate().map(|(place, topic)| {
        let partitions = topic.partitions.iter().enumerate();
        let partitions = partitions.map(|(at, outcome)| response_of(outcome, errors.get(&(place, at)).copied()));
        TopicProduceResponse { name: &topic.name, topic_id: topic.topic_id, partition_responses: partitions.collect() }
    });
    respond(ticket, &ProduceResponse { responses: responses.collect(), ..Default::default() })
}

fn response_of(outcome: &PartitionOutcome, error: Option<ErrorCode>) -> PartitionProduceResponse<'_> {
    let record_errors = outcome.record_errors.iter().map(|(index, message)| BatchIndexAndErrorMessage {
        batch_index: *index,
        batch_index_error_message: message.as_deref(),
    });
    PartitionProduceResponse {
        index: outcome.index,
        error_code: error.unwrap_or(outcome.error).code(),
        base_offset: outcome.base_offset,
        log_append_time_ms: outcome.log_append_time_ms,
        log_start_offset: outcome.log_start_offset,
        record_errors: record_errors.collect(),
        error_message: outcome.message.as_deref(),
        ..Default::default()
    }
}
