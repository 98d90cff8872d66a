//! A broker without sockets, threads or a real disk, for tests of handlers: it sends requests as a client would and runs syncs by hand.
//!
//! It must not know any API.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::answer::{Answer, Completion, Outcome};
use super::api_request::ApiRequest;
use super::kafka_apis::{ApiWakers, KafkaApis};
use super::request_local::RequestLocal;
use super::start_failure::StartFailure;
use crate::config::{Sources, StaticConfig};
use crate::env::{Piece, Wake};
use crate::log::UnifiedLog;
use crate::log::tests::memory_disk::MemoryDisk;
use crate::protocol::header::decode_response_header;
use crate::protocol::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse,
};
use crate::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use crate::protocol::{ApiKey, Decoder, Encoder, Message, RecordsField, encode_request};
use crate::record::RecordBatchBuilder;
use crate::types::{ConnectionId, Instant, Now, PartitionIndex, ProcessorId, Ticket, WallTime};

/// The address that clients reach.
pub(crate) const ADDRESS: &str = "127.0.0.1:9092";

pub(crate) struct NobodySleeps;

impl Wake for NobodySleeps {
    fn wake(&self) {}
}

/// A broker and its only client.
pub(crate) struct TestApis {
    pub(crate) apis: KafkaApis,
    pub(crate) disk: Arc<MemoryDisk>,
    pub(crate) now: Now,
    overrides: Vec<String>,
    correlation_id: i32,
}

/// The bytes of an answer.
pub(crate) struct Response {
    api_key: ApiKey,
    version: i16,
    bytes: Vec<u8>,
}

impl Response {
    /// The answer as the message that it is.
    pub(crate) fn read<'a, M: Message<'a>>(&'a self) -> M {
        let mut decoder = Decoder::new(&self.bytes);
        decode_response_header(&mut decoder, self.api_key, self.version).unwrap();
        M::decode(&mut decoder, self.version).unwrap()
    }
}

impl TestApis {
    /// A new broker with the defaults, id 1, and its data below `/data`.
    pub(crate) fn new() -> TestApis {
        TestApis::with(&[])
    }

    /// A new broker with these settings, each as `key=value`.
    pub(crate) fn with(overrides: &[&str]) -> TestApis {
        TestApis::start(MemoryDisk::new(), overrides.iter().map(|pair| (*pair).to_owned()).collect())
    }

    fn start(disk: Arc<MemoryDisk>, overrides: Vec<String>) -> TestApis {
        TestApis::try_start(disk, overrides).unwrap()
    }

    fn try_start(disk: Arc<MemoryDisk>, overrides: Vec<String>) -> Result<TestApis, StartFailure> {
        let now = Now { instant: Instant(0), wall: WallTime(1_000_000) };
        let own = ["log.dirs=/data", "node.id=1"];
        let pairs = own.into_iter().chain(overrides.iter().map(String::as_str));
        let fixed = StaticConfig::from_sources(&Sources::new().with_overrides(pairs)).unwrap();
        let wakers = ApiWakers { flusher: Arc::new(NobodySleeps), expiry: Arc::new(NobodySleeps) };
        let apis = KafkaApis::start(fixed, now, disk.clone(), [7; 32], wakers)?;
        Ok(TestApis { apis, disk, now, overrides, correlation_id: 0 })
    }

    /// A broker with these settings on a disk that is there already.
    pub(crate) fn on(disk: &Arc<MemoryDisk>, overrides: &[&str]) -> TestApis {
        TestApis::start(Arc::clone(disk), overrides.iter().map(|pair| (*pair).to_owned()).collect())
    }

    /// Why a broker with these settings does not start there.
    pub(crate) fn failure_on(disk: &Arc<MemoryDisk>, overrides: &[&str]) -> StartFailure {
        match TestApis::try_start(Arc::clone(disk), overrides.iter().map(|pair| (*pair).to_owned()).collect()) {
            Ok(_) => panic!("it starts"),
            Err(failure) => failure,
        }
    }

    /// Why the broker does not start again after it was killed.
    pub(crate) fn start_failure(self) -> StartFailure {
        let disk = self.disk.crash(|_: &Path, _, written| written);
        let overrides: Vec<&str> = self.overrides.iter().map(String::as_str).collect();
        TestApis::failure_on(&disk, &overrides)
    }

    /// The broker after a power cut that left only what was synced.
    pub(crate) fn after_power_cut(self) -> TestApis {
        let disk = self.disk.crash(|_: &Path, synced, _| synced);
        TestApis::start(disk, self.overrides)
    }

    /// The broker after its process was killed: all that was written is there.
    pub(crate) fn restarted(self) -> TestApis {
        let disk = self.disk.crash(|_: &Path, _, written| written);
        TestApis::start(disk, self.overrides)
    }

    /// The broker after its process was killed, with other settings, each as `key=value`, and after `change` to its disk.
    pub(crate) fn restarted_with(self, overrides: &[&str], change: impl FnOnce(&MemoryDisk)) -> TestApis {
        let disk = self.disk.crash(|_: &Path, _, written| written);
        change(&disk);
        TestApis::start(disk, overrides.iter().map(|pair| (*pair).to_owned()).collect())
    }

    /// Sends a request and returns what the handler says at once.
    pub(crate) fn send<'a, M: Message<'a>>(&mut self, api_key: ApiKey, version: i16, message: &M) -> (Ticket, Outcome) {
        self.correlation_id += 1;
        let connection = ConnectionId { processor: ProcessorId(0), number: 0 };
        let correlation_id = self.correlation_id;
        let ticket = Ticket { connection, ordinal: 0, correlation_id, api_key: api_key.code(), api_version: version };
        let frame = encode_request(api_key, version, correlation_id, Some("test"), message).bytes.slice(4..);
        let body_at = frame.len() - body_bytes(version, message);
        let peer = SocketAddr::from(([127, 0, 0, 1], 50_000));
        let local = Some(ADDRESS.parse().unwrap());
        let request = ApiRequest { ticket, frame, body_at, listener: 0, peer, local, is_retry: false };
        (ticket, self.apis.handle(self.now, &mut RequestLocal::new(), request))
    }

    /// Sends a request and returns its answer, after as many syncs as it needs.
    pub(crate) fn ask<'a, M: Message<'a>>(&mut self, api_key: ApiKey, version: i16, message: &M) -> Response {
        let (ticket, outcome) = self.send(api_key, version, message);
        let own = Completion { ticket, answer: outcome.answer };
        let mut answers = outcome.completions.into_iter().chain([own]).chain(self.sync());
        let answer = answers.find_map(|completion| match completion.answer {
            Answer::Respond(pieces) if completion.ticket == ticket => Some(pieces),
            _ => None,
        });
        Response { api_key, version, bytes: whole(&answer.expect("the request is answered")) }
    }

    /// Sends a request that must be answered at once, and returns its answer.
    pub(crate) fn ask_now<'a, M: Message<'a>>(&mut self, api_key: ApiKey, version: i16, message: &M) -> Response {
        match self.send(api_key, version, message).1.answer {
            Answer::Respond(pieces) => Response { api_key, version, bytes: whole(&pieces) },
            answer => panic!("not answered at once: {answer:?}"),
        }
    }

    /// Runs every sync that is wanted, and says which parked requests it answers.
    pub(crate) fn sync(&mut self) -> Vec<Completion> {
        let mut completions = Vec::new();
        while let Some((round, job)) = self.apis.begin_sync() {
            let result = job.run(&*self.disk);
            completions.extend(self.apis.end_sync(self.now, round, result));
        }
        completions
    }

    /// Makes a topic.
    pub(crate) fn create(&mut self, name: &str, num_partitions: i32, configs: &[(&str, &str)]) {
        let configs = configs.iter().map(|(name, value)| CreatableTopicConfig { name, value: Some(value) }).collect();
        let topic = CreatableTopic { name, num_partitions, replication_factor: -1, assignments: Vec::new(), configs };
        let request = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
        let response = self.ask(ApiKey::CreateTopics, 7, &request);
        assert_eq!(response.read::<CreateTopicsResponse<'_>>().topics[0].error_code, 0);
    }

    /// Appends one batch of records with these timestamps to partition 0 with acks=all.
    pub(crate) fn produce(&mut self, topic: &str, timestamps: &[i64]) {
        self.produce_batch(topic, &batch(timestamps));
    }

    /// Appends this batch to partition 0 with acks=all.
    pub(crate) fn produce_batch(&mut self, topic: &str, batch: &[u8]) {
        let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(batch) }];
        let topic_data = vec![TopicProduceData { name: topic, partition_data, ..Default::default() }];
        let request = ProduceRequest { transactional_id: None, acks: -1, timeout_ms: 1_000, topic_data };
        let response = self.ask(ApiKey::Produce, 12, &request);
        let response = response.read::<ProduceResponse<'_>>();
        assert_eq!(response.responses[0].partition_responses[0].error_code, 0);
    }

    /// A partition's log.
    pub(crate) fn log(&self, topic: &str, partition: i32) -> Arc<UnifiedLog> {
        Arc::clone(&self.apis.replica_manager().find(topic, PartitionIndex(partition)).expect("it exists").log)
    }
}

/// A batch of records with these timestamps.
pub(crate) fn batch(timestamps: &[i64]) -> Bytes {
    let mut builder = RecordBatchBuilder::new();
    for timestamp in timestamps {
        builder.append(*timestamp, None, Some(b"value")).unwrap();
    }
    Bytes::from(builder.build().unwrap())
}

fn body_bytes<'a, M: Message<'a>>(version: i16, message: &M) -> usize {
    let mut encoder = Encoder::with_capacity(0);
    message.encode(&mut encoder, version);
    encoder.length()
}

pub(crate) fn whole(pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Bytes(piece) => bytes.extend_from_slice(piece),
            Piece::File { file, offset, bytes: length } => {
                let mut buffer = vec![0; *length];
                assert_eq!(file.read_at(*offset, &mut buffer).unwrap(), *length);
                bytes.extend(buffer);
            }
        }
    }
    bytes.split_off(4)
}
