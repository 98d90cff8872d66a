//! What the reference broker does with partitions: takes batches, gives them back, tells and moves their offsets.
//!
//! It must not know groups, nor how topics come and go.

use klamm::error_code::ErrorCode;
use klamm::protocol::RecordsField;
use klamm::protocol::messages::delete_records::{
    DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopicResult,
};
use klamm::protocol::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, FetchableTopicResponse, PartitionData,
};
use klamm::protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};
use klamm::protocol::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};
use klamm::protocol::messages::produce::{
    PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse,
};

use super::{ReferenceBroker, beside};

const READ_COMMITTED: i8 = 1;
/// The first versions that name topics by their ids.
const PRODUCE_IDS_FROM: i16 = 13;
const FETCH_IDS_FROM: i16 = 13;

/// One broker leads all partitions, in epoch 0.
fn check_epoch(asked: i32) -> Result<(), ErrorCode> {
    if asked > 0 { Err(ErrorCode::UnknownLeaderEpoch) } else { Ok(()) }
}

impl ReferenceBroker {
    pub(super) fn produced<'a>(
        &'a mut self,
        version: i16,
        request: &ProduceRequest<'a>,
        told: &mut ProduceResponse<'a>,
    ) -> ProduceResponse<'a> {
        for told in told.responses.iter_mut().flat_map(|topic| &mut topic.partition_responses) {
            // How a refusal is worded is left open.
            (told.error_message, told.record_errors) = (None, Vec::new());
            told.log_start_offset = if told.error_code == 0 { told.log_start_offset } else { -1 };
        }
        let uses_ids = version >= PRODUCE_IDS_FROM;
        let responses = request.topic_data.iter().map(|topic| {
            let name = self.name_of(topic.name, topic.topic_id, uses_ids);
            let partitions = topic.partition_data.iter().map(|asked| {
                let outcome = self.append(name.as_deref(), asked.index, asked.records, (request.acks, uses_ids));
                let response = PartitionProduceResponse { index: asked.index, ..Default::default() };
                match outcome {
                    Ok((base_offset, log_append_time_ms, log_start_offset)) => {
                        PartitionProduceResponse { base_offset, log_append_time_ms, log_start_offset, ..response }
                    }
                    Err(error) => PartitionProduceResponse { error_code: error.code(), base_offset: -1, ..response },
                }
            });
            let partition_responses = partitions.collect();
            TopicProduceResponse { name: topic.name, topic_id: topic.topic_id, partition_responses }
        });
        ProduceResponse { responses: responses.collect(), ..Default::default() }
    }

    fn append(
        &mut self,
        name: Option<&str>,
        partition: i32,
        records: RecordsField<'_>,
        (acks, uses_ids): (i16, bool),
    ) -> Result<(i64, i64, i64), ErrorCode> {
        if !matches!(acks, -1..=1) {
            return Err(ErrorCode::InvalidRequiredAcks);
        }
        let unknown = if uses_ids { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition };
        let name = name.ok_or(unknown)?;
        let bytes_max = self.topics.get(name).and_then(|topic| topic.configs.get("max.message.bytes"));
        let bytes_max = bytes_max.and_then(|bytes| bytes.parse().ok()).unwrap_or(usize::MAX);
        let log = self.log(name, partition).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        let (offset, time) = log.append(records.bytes().unwrap_or_default(), bytes_max)?;
        Ok((offset, time, log.start))
    }

    pub(super) fn producer_id_given<'a>(
        &'a mut self,
        _: i16,
        _: &InitProducerIdRequest<'a>,
        told: &mut InitProducerIdResponse,
    ) -> InitProducerIdResponse {
        // Any will do that nobody has.
        let is_new = told.producer_id >= 0 && self.producer_ids.insert(told.producer_id);
        let producer_id = if is_new { told.producer_id } else { i64::MAX };
        InitProducerIdResponse { producer_id, ..Default::default() }
    }

    /// A request names one partition: which of several gets how much is left open.
    pub(super) fn fetched<'a>(
        &'a mut self,
        version: i16,
        request: &FetchRequest<'a>,
        told: &mut FetchResponse<'a>,
    ) -> FetchResponse<'a> {
        let told = told.responses.first().and_then(|topic| topic.partitions.first()).cloned().unwrap_or_default();
        let Some(topic) = request.topics.first() else { return FetchResponse::default() };
        let Some(asked) = topic.partitions.first() else { return FetchResponse::default() };
        let partition = PartitionData { partition_index: asked.partition, ..Default::default() };
        let partition = match self.read(version, topic, asked) {
            Ok((log_start_offset, end, bytes, first)) => {
                let limit = usize::try_from(asked.partition_max_bytes.min(request.max_bytes)).unwrap_or(0).max(first);
                let given = told.records.bytes().map_or(0, <[u8]>::len);
                // It may end with a segment or where the limits are reached, but brings the first batch in any case.
                let length = if given < first { limit } else { limit.min(given) };
                self.fetched = bytes.into_iter().take(length).collect();
                PartitionData {
                    high_watermark: end,
                    last_stable_offset: end,
                    log_start_offset,
                    aborted_transactions: (request.isolation_level == READ_COMMITTED).then(Vec::new),
                    records: RecordsField::Bytes(&self.fetched),
                    ..partition
                }
            }
            Err(error) => PartitionData {
                error_code: error.code(),
                high_watermark: -1,
                aborted_transactions: told.aborted_transactions.clone(),
                records: told.records.bytes().map_or(told.records, |_| RecordsField::Bytes(&[])),
                ..partition
            },
        };
        let (name, topic_id) = (topic.topic, topic.topic_id);
        let topic = FetchableTopicResponse { topic: name, topic_id, partitions: vec![partition] };
        FetchResponse { responses: vec![topic], ..Default::default() }
    }

    /// Start and end of the log, what lies in it from an offset on, and the length of the first batch of that.
    fn read(
        &mut self,
        version: i16,
        topic: &FetchTopic<'_>,
        asked: &FetchPartition,
    ) -> Result<(i64, i64, Vec<u8>, usize), ErrorCode> {
        let uses_ids = version >= FETCH_IDS_FROM;
        let unknown = if uses_ids { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition };
        let name = self.name_of(topic.topic, topic.topic_id, uses_ids).ok_or(unknown)?;
        let log = self.log(&name, asked.partition).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        check_epoch(asked.current_leader_epoch)?;
        if !(log.start..=log.end).contains(&asked.fetch_offset) {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        let (bytes, first) = log.bytes_from(asked.fetch_offset);
        Ok((log.start, log.end, bytes, first))
    }

    pub(super) fn offsets_listed<'a>(
        &'a mut self,
        version: i16,
        request: &ListOffsetsRequest<'a>,
        told: &mut ListOffsetsResponse<'a>,
    ) -> ListOffsetsResponse<'a> {
        let topics = beside(&request.topics, &told.topics).map(|(topic, told)| {
            let partitions = beside(&topic.partitions, &told.partitions).map(|(asked, told)| {
                let response =
                    ListOffsetsPartitionResponse { partition_index: asked.partition_index, ..Default::default() };
                match self.find(version, topic.name, asked, (told.timestamp, told.offset)) {
                    Ok(Some((timestamp, offset))) => {
                        ListOffsetsPartitionResponse { timestamp, offset, leader_epoch: 0, ..response }
                    }
                    Ok(None) => response,
                    Err(error) => ListOffsetsPartitionResponse { error_code: error.code(), ..response },
                }
            });
            ListOffsetsTopicResponse { name: topic.name, partitions: partitions.collect() }
        });
        ListOffsetsResponse { topics: topics.collect(), ..Default::default() }
    }

    fn find(
        &mut self,
        version: i16,
        name: &str,
        asked: &ListOffsetsPartition,
        told: (i64, i64),
    ) -> Result<Option<(i64, i64)>, ErrorCode> {
        let first_version = match asked.timestamp {
            -2.. => 0,
            -3 => 7,
            -4 => 8,
            -5 => 9,
            -6 => 11,
            _ => i16::MAX,
        };
        if version < first_version {
            return Err(ErrorCode::UnsupportedVersion);
        }
        let log = self.log(name, asked.partition_index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        check_epoch(asked.current_leader_epoch)?;
        Ok(log.find(asked.timestamp, told))
    }

    pub(super) fn epochs_ended<'a>(
        &'a mut self,
        _: i16,
        request: &OffsetForLeaderEpochRequest<'a>,
        _: &mut OffsetForLeaderEpochResponse<'a>,
    ) -> OffsetForLeaderEpochResponse<'a> {
        let topics = request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|asked| {
                let response = EpochEndOffset { partition: asked.partition, ..Default::default() };
                let Some(log) = self.log(topic.topic, asked.partition) else {
                    let error_code = ErrorCode::UnknownTopicOrPartition.code();
                    return EpochEndOffset { error_code, ..response };
                };
                match check_epoch(asked.current_leader_epoch) {
                    Err(error) => EpochEndOffset { error_code: error.code(), ..response },
                    Ok(()) if asked.leader_epoch == 0 => {
                        EpochEndOffset { leader_epoch: 0, end_offset: log.end, ..response }
                    }
                    Ok(()) => response,
                }
            });
            OffsetForLeaderTopicResult { topic: topic.topic, partitions: partitions.collect() }
        });
        OffsetForLeaderEpochResponse { topics: topics.collect(), ..Default::default() }
    }

    pub(super) fn records_deleted<'a>(
        &'a mut self,
        _: i16,
        request: &DeleteRecordsRequest<'a>,
        _: &mut DeleteRecordsResponse<'a>,
    ) -> DeleteRecordsResponse<'a> {
        let topics = request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|asked| {
                let log = self.log(topic.name, asked.partition_index).ok_or(ErrorCode::UnknownTopicOrPartition);
                let (low_watermark, error) = match log.and_then(|log| log.delete_before(asked.offset)) {
                    Ok(start) => (start, ErrorCode::None),
                    Err(error) => (-1, error),
                };
                let (partition_index, error_code) = (asked.partition_index, error.code());
                DeleteRecordsPartitionResult { partition_index, low_watermark, error_code }
            });
            DeleteRecordsTopicResult { name: topic.name, partitions: partitions.collect() }
        });
        DeleteRecordsResponse { topics: topics.collect(), ..Default::default() }
    }
}
