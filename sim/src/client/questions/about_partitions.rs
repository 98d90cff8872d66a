//! Questions about what lies in partitions.
//!
//! It must not know groups.

use klamm::protocol::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use klamm::protocol::messages::init_producer_id::InitProducerIdRequest;
use klamm::protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use klamm::protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use klamm::protocol::{ApiKey, RecordsField};
use klamm::record::{CompressionType, RecordBatchBuilder};
use klamm::types::{ProducerEpoch, ProducerId};

use super::{ANY, Asker, Question, TIMEOUT_MS, bounds, log, partition, topic, version};
use crate::keyed::Draw;
use crate::reference::ReferenceBroker;

/// The first versions that name topics by their ids.
const PRODUCE_IDS_FROM: i16 = 13;
const FETCH_IDS_FROM: i16 = 13;
/// What is asked for where no time is; the greatest time of all more often, since not all versions know it.
const SPECIAL_TIMES: [i64; 8] = [-1, -2, -3, -3, -4, -5, -6, -7];
/// So many idempotent batches may be sent again.
const SENT_MAX: usize = 8;
/// Those that every version knows.
const COMPRESSIONS: [CompressionType; 4] =
    [CompressionType::None, CompressionType::Gzip, CompressionType::Snappy, CompressionType::Lz4];

pub(super) fn new_producer(draw: Draw, question: &mut Question<'_, '_>) {
    let request = InitProducerIdRequest { transactional_id: None, ..Default::default() };
    question.send((ApiKey::InitProducerId, version(draw, ApiKey::InitProducerId, ANY)), &request);
}

impl Asker {
    pub(super) fn ask_produce(&mut self, draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
        let (mut name, mut topic_id, mut allowed) = topic(draw, known, PRODUCE_IDS_FROM);
        let mut index = partition(draw, known, &name);
        let mut bytes = self.batch(draw, known, &name, index);
        let again = self.sent.get(usize::try_from(draw.part(10).below(SENT_MAX as u64 * 3)).unwrap_or(0)).cloned();
        if let Some((topic, partition, batch)) = again
            && let Some(known) = known.topics.get(&topic)
        {
            (topic_id, allowed) = (known.id, 0..=PRODUCE_IDS_FROM - 1);
            (name, index, bytes) = (topic, partition, batch);
        }
        if draw.part(11).below(20) == 0 {
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
        }
        let acks = [-1, -1, -1, 1, 1, 1, 1, 2][usize::try_from(draw.part(12).below(8)).unwrap_or(0)];
        let data = PartitionProduceData { index, records: RecordsField::Bytes(&bytes) };
        let topic = TopicProduceData { name: &name, topic_id, partition_data: vec![data] };
        let request = ProduceRequest { transactional_id: None, acks, timeout_ms: TIMEOUT_MS, topic_data: vec![topic] };
        question.send((ApiKey::Produce, version(draw, ApiKey::Produce, allowed)), &request);
    }

    /// A batch, often one of an idempotent producer: the next one, or one that comes too early, or in another epoch.
    fn batch(&mut self, draw: Draw, known: &ReferenceBroker, topic: &str, partition: i32) -> Vec<u8> {
        let producer = self.producers.get(usize::try_from(draw.part(20).below(6)).unwrap_or(0)).copied();
        let mut builder = RecordBatchBuilder::new();
        if let Some(id) = producer {
            let (epoch, next) = known.producer(topic, partition, id).unwrap_or((0, 0));
            let (epoch, sequence) = match draw.part(21).below(12) {
                0 => (epoch, next.saturating_add(3)),
                1 => (epoch + 1, 0),
                2 => (epoch + 1, 4),
                3 => ((epoch - 1).max(0), next),
                _ => (epoch, next),
            };
            builder = builder.producer(ProducerId(id), ProducerEpoch(epoch), sequence);
        }
        for index in 0..=draw.part(22).below(4) {
            // Times go forward and back, and are old.
            let time = i64::try_from(1_000 + draw.part(30 + index).below(5_000)).unwrap_or(0);
            let value = vec![b'v'; usize::try_from(draw.part(40 + index).below(150)).unwrap_or(0)];
            builder.append(time, Some(b"key"), Some(&value)).expect("a small batch can be built");
        }
        let compression = COMPRESSIONS[usize::try_from(draw.part(23).below(4)).unwrap_or(0)];
        let bytes = match compression {
            CompressionType::None => builder.build(),
            _ => builder.build_compressed(compression.with_default_level(), &mut self.compressor),
        };
        let bytes = bytes.expect("a small batch can be built");
        if producer.is_some() {
            self.sent.push((topic.to_owned(), partition, bytes.clone()));
            if self.sent.len() > SENT_MAX {
                self.sent.remove(0);
            }
        }
        bytes
    }
}

/// An offset in the log or a little beside it.
fn offset(draw: Draw, (start, end): (i64, i64)) -> i64 {
    let span = u64::try_from(end - start).unwrap_or(0);
    start - 1 + i64::try_from(draw.part(10).below(span + 4)).unwrap_or(0)
}

/// An epoch that a client believes in: most often none, or the right one.
fn believed_epoch(draw: Draw) -> i32 {
    [-1, -1, -1, -1, 0, 0, 0, 1][usize::try_from(draw.part(11).below(8)).unwrap_or(0)]
}

pub(super) fn fetch(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, topic_id, allowed) = topic(draw, known, FETCH_IDS_FROM);
    let index = partition(draw, known, &name);
    let asked = FetchPartition {
        partition: index,
        current_leader_epoch: believed_epoch(draw),
        fetch_offset: offset(draw, bounds(known, &name, index)).max(0),
        partition_max_bytes: [1, 200, 600, 100_000][usize::try_from(draw.part(12).below(4)).unwrap_or(0)],
        ..Default::default()
    };
    let version = version(draw, ApiKey::Fetch, allowed);
    let asked =
        FetchPartition { current_leader_epoch: if version < 9 { -1 } else { asked.current_leader_epoch }, ..asked };
    let request = FetchRequest {
        max_wait_ms: 20,
        min_bytes: draw.part(13).below(2) as i32,
        max_bytes: 1 << 20,
        isolation_level: draw.part(14).below(2) as i8,
        topics: vec![FetchTopic { topic: &name, topic_id, partitions: vec![asked] }],
        ..Default::default()
    };
    question.send((ApiKey::Fetch, version), &request);
}

pub(super) fn list_offsets(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, _, _) = topic(draw, known, 0);
    let partition_index = partition(draw, known, &name);
    let special = SPECIAL_TIMES[usize::try_from(draw.part(12).below(8)).unwrap_or(0)];
    let any = i64::try_from(900 + draw.part(13).below(5_500)).unwrap_or(0);
    // Most often just the time of a record.
    let record = log(known, &name, partition_index).and_then(|log| log.time_at(offset(draw, (log.start, log.end))));
    let asked = ListOffsetsPartition {
        partition_index,
        current_leader_epoch: believed_epoch(draw),
        timestamp: if draw.part(14).below(3) == 0 { special } else { record.unwrap_or(any) },
    };
    let topics = vec![ListOffsetsTopic { name: &name, partitions: vec![asked] }];
    let isolation_level = draw.part(15).below(2) as i8;
    let request = ListOffsetsRequest { replica_id: -1, isolation_level, topics, timeout_ms: TIMEOUT_MS };
    question.send((ApiKey::ListOffsets, version(draw, ApiKey::ListOffsets, ANY)), &request);
}

pub(super) fn epoch_end(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, _, _) = topic(draw, known, 0);
    let asked = OffsetForLeaderPartition {
        partition: partition(draw, known, &name),
        current_leader_epoch: believed_epoch(draw),
        leader_epoch: [0, 0, 0, 1][usize::try_from(draw.part(12).below(4)).unwrap_or(0)],
    };
    let topics = vec![OffsetForLeaderTopic { topic: &name, partitions: vec![asked] }];
    let request = OffsetForLeaderEpochRequest { replica_id: -1, topics };
    question.send((ApiKey::OffsetForLeaderEpoch, version(draw, ApiKey::OffsetForLeaderEpoch, ANY)), &request);
}

pub(super) fn delete_records(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, _, _) = topic(draw, known, 0);
    let partition_index = partition(draw, known, &name);
    let asked = DeleteRecordsPartition { partition_index, offset: offset(draw, bounds(known, &name, partition_index)) };
    let topics = vec![DeleteRecordsTopic { name: &name, partitions: vec![asked] }];
    let request = DeleteRecordsRequest { topics, timeout_ms: TIMEOUT_MS };
    question.send((ApiKey::DeleteRecords, version(draw, ApiKey::DeleteRecords, ANY)), &request);
}
