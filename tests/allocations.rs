//! How often the broker asks for memory on the hot path: a whole broker, by threads and over a socket, with an allocator that counts.
//!
//! The client here writes frames that are ready and reads answers into one buffer, so that what is counted is the broker's own. A count depends
//! little on how fast a machine is: only what is done once a second is done more often. Most of these blocks hold what a request names and what its answer says, a few dozen bytes each.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a client over a socket, and a broker in threads"
)]
#![expect(clippy::unwrap_used, reason = "a test that cannot ask has failed")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use clap::Parser;
use klamm::cli::Arguments;
use klamm::protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest, CreateTopicsResponse};
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use klamm::protocol::{ApiKey, Decoder, Message, RecordsField, encode_request};
use klamm::record::RecordBatchBuilder;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Enough that what happens once in a while (a log that is looked after, a file that is read) is less than one for each request.
const REQUESTS: u64 = 200;
/// Requests that are not counted: buffers grow to their size with the first ones.
const WARM_UP: u64 = 50;
const TOPIC: &str = "counted";

/// A connection that allocates nothing while it is counted.
struct Client {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Client {
    fn connect(port: u16) -> Client {
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        loop {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                return Client { stream, answer: vec![0; 1 << 20] };
            }
            assert!(std::time::Instant::now() < deadline, "nobody listens");
            std::thread::yield_now();
        }
    }

    fn ask(&mut self, frame: &[u8]) -> usize {
        self.stream.write_all(frame).unwrap();
        let mut prefix = [0; 4];
        self.stream.read_exact(&mut prefix).unwrap();
        let length = u32::from_be_bytes(prefix) as usize;
        self.stream.read_exact(&mut self.answer[..length]).unwrap();
        length
    }

    /// What a request is told. A refusal would ask for less memory than what is counted here.
    fn answer<'a, M: Message<'a>>(&'a mut self, frame: &[u8], version: i16, is_flexible: bool) -> M {
        let length = self.ask(frame);
        let header_bytes = if is_flexible { 5 } else { 4 };
        M::decode(&mut Decoder::new(&self.answer[header_bytes..length]), version).unwrap()
    }

    /// How many blocks the whole process asks for in each of many requests, in hundredths.
    fn hundredths_for_each(&mut self, frame: &[u8]) -> u64 {
        let mut ask = |_| {
            self.ask(frame);
        };
        (0..WARM_UP).for_each(&mut ask);
        let before = dhat::HeapStats::get().total_blocks;
        (0..REQUESTS).for_each(ask);
        (dhat::HeapStats::get().total_blocks - before) * 100 / REQUESTS
    }
}

fn frame<'a, M: Message<'a>>(api_key: ApiKey, version: i16, message: &M) -> Vec<u8> {
    encode_request(api_key, version, 1, Some("counter"), message).bytes.to_vec()
}

fn produce(records: &[u8], acks: i16) -> Vec<u8> {
    let partition_data = vec![PartitionProduceData { index: 0, records: RecordsField::Bytes(records) }];
    let topic_data = vec![TopicProduceData { name: TOPIC, partition_data, ..Default::default() }];
    frame(ApiKey::Produce, 9, &ProduceRequest { acks, timeout_ms: 30_000, topic_data, ..Default::default() })
}

fn fetch() -> Vec<u8> {
    let partition = FetchPartition { partition_max_bytes: 1 << 16, ..Default::default() };
    let topics = vec![FetchTopic { topic: TOPIC, partitions: vec![partition], ..Default::default() }];
    let request = FetchRequest { max_wait_ms: 500, min_bytes: 1, max_bytes: 1 << 16, topics, ..Default::default() };
    frame(ApiKey::Fetch, 12, &request)
}

/// A broker in threads of this process, which end with it.
fn start() -> (u16, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listeners = format!("listeners=PLAINTEXT://127.0.0.1:{port}");
    let log_dirs = format!("log.dirs={}", folder.path().display());
    let arguments = Arguments::parse_from(["klamm", "--override", &listeners, "--override", &log_dirs]);
    let configuration = arguments.configuration(|path| klamm::os::read_file(path), &[]).unwrap();
    std::thread::spawn(move || klamm::os::run(configuration).unwrap());
    (port, folder)
}

#[test]
fn a_request_of_the_hot_path_asks_for_little_memory() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let (port, _folder) = start();
    let mut client = Client::connect(port);
    let topics = vec![CreatableTopic { name: TOPIC, num_partitions: 1, replication_factor: 1, ..Default::default() }];
    let create = CreateTopicsRequest { topics, timeout_ms: 30_000, ..Default::default() };
    let created: CreateTopicsResponse<'_> = client.answer(&frame(ApiKey::CreateTopics, 2, &create), 2, false);
    assert_eq!(created.topics[0].error_code, 0);
    let mut batch = RecordBatchBuilder::new();
    batch.append(1_700_000_000_000, None, Some(&[7; 1024])).unwrap();
    let batch = batch.build().unwrap();

    for acks in [1, -1] {
        let produced: ProduceResponse<'_> = client.answer(&produce(&batch, acks), 9, true);
        assert_eq!(produced.responses[0].partition_responses[0].error_code, 0);
    }
    let fetched: FetchResponse<'_> = client.answer(&fetch(), 12, true);
    let is_both = |records| matches!(records, RecordsField::Bytes(both) if both.len() == 2 * batch.len());
    assert!(is_both(fetched.responses[0].partitions[0].records), "both records are there");

    let found = [
        ("produce, acks=1", client.hundredths_for_each(&produce(&batch, 1)), 15),
        ("produce, acks=all", client.hundredths_for_each(&produce(&batch, -1)), 35),
        ("fetch", client.hundredths_for_each(&fetch()), 20),
    ];
    for (what, hundredths, _) in found {
        println!("{what}: {}.{:02} blocks for each request", hundredths / 100, hundredths % 100);
    }
    for (what, hundredths, blocks_max) in found {
        assert!(
            hundredths <= blocks_max * 100,
            "{what}: {hundredths} hundredths of a block, of {blocks_max} blocks allowed"
        );
    }
}
