//! Writes the seed corpora of the fuzz targets into `fuzz/seeds`: valid frames of every API, batches of every codec, damaged log files.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds`; what it writes is committed.
#![allow(clippy::disallowed_methods, reason = "a tool of developers writes files")]

use std::fs;
use std::path::PathBuf;

use klamm::protocol::messages::list_offsets::ListOffsetsRequest;
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use klamm::protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use klamm::protocol::sample::Sampler;
use klamm::protocol::{ApiKey, Encoder, Message, RecordsField, encode_request};
use klamm::record::{Compression, Compressor, RecordBatchBuilder};

/// The newest version of each API's request and response as body, and its request as frame.
macro_rules! samples {
    ($($api:ident: $module:ident::{$request:ident, $response:ident};)+) => {
        vec![$({
            let version = *ApiKey::$api.versions().end();
            let request = klamm::protocol::messages::$module::$request::sample(&mut Sampler::new(3), version);
            let response = klamm::protocol::messages::$module::$response::sample(&mut Sampler::new(3), version);
            let frame = encode_request(ApiKey::$api, version, 1, Some("seed"), &request).bytes.to_vec();
            (ApiKey::$api, body(&request, version), body(&response, version), frame)
        },)+]
    };
}

fn body<'a, M: Message<'a>>(message: &M, version: i16) -> Vec<u8> {
    let mut encoder = Encoder::default();
    message.encode(&mut encoder, version);
    encoder.into_parts().0
}

fn write(target: &str, name: &str, bytes: &[u8]) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    fs::create_dir_all(&folder).expect("the folder of seeds can be made");
    fs::write(folder.join(name), bytes).expect("a seed can be written");
}

fn main() {
    let samples = klamm::for_every_api!(samples);
    for (index, (api_key, request, response, frame)) in samples.iter().enumerate() {
        let versions = api_key.versions();
        let newest = u8::try_from(versions.end() - versions.start()).expect("few versions");
        let number = u8::try_from(2 * index).expect("few APIs");
        write("request_decode", &format!("{api_key}-request"), &[&[number, newest], &request[..]].concat());
        write("request_decode", &format!("{api_key}-response"), &[&[number + 1, newest], &response[..]].concat());
        write("pipeline_bytes", &format!("{api_key}"), &chunks(0, frame));
    }
    frames(&samples.iter().map(|(.., frame)| frame.clone()).collect::<Vec<_>>());
    batches();
    conversation();
    log_files();
}

fn frames(frames: &[Vec<u8>]) {
    let stream: Vec<u8> = frames.iter().take(4).flatten().copied().collect();
    write("frame", "whole", &[&[0, 255, 255], &stream[..]].concat());
    write("frame", "cut", &[&[4, 7, 9, 1, 0, 3, 2], &stream[..]].concat());
    write("frame", "negative", &[0, 20, 20, 255, 255, 255, 255, 1, 2, 3]);
    write("frame", "empty", &[1, 20, 20, 2, 0, 0, 0, 0, 0, 0, 0, 1, 65]);
    write("frame", "tls", &[0, 20, 20, 0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]);
}

fn batch(compression: Compression) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new();
    for number in 0..4_u8 {
        builder.append(1_000 + i64::from(number), Some(&[number]), Some(&[number; 40])).expect("a small record");
    }
    builder.build_compressed(compression, &mut Compressor::new()).expect("a small batch")
}

fn batches() {
    let codecs = [
        ("none", Compression::None),
        ("gzip", Compression::Gzip { level: 6 }),
        ("snappy", Compression::Snappy),
        ("lz4", Compression::Lz4),
        ("zstd", Compression::Zstd { level: 3 }),
    ];
    for (name, codec) in codecs {
        write("record_batch", name, &[&[1], &batch(codec)[..]].concat());
    }
    let plain = batch(Compression::None);
    write("record_batch", "two", &[&[0], &plain[..], &plain[..]].concat());
}

/// Cuts a stream into chunks of at most 100 bytes for one connection.
fn chunks(connection: u8, stream: &[u8]) -> Vec<u8> {
    let cut = stream.chunks(100).flat_map(|chunk| {
        let length = u8::try_from(chunk.len()).expect("at most 100");
        std::iter::once(connection << 7 | length).chain(chunk.iter().copied())
    });
    cut.collect()
}

/// A producer on one connection: makes a topic, appends to it, asks for its end.
fn conversation() {
    let topics = Some(vec![MetadataRequestTopic { name: Some("t"), ..MetadataRequestTopic::default() }]);
    let metadata = MetadataRequest { topics, ..MetadataRequest::default() };
    let records = batch(Compression::None);
    let partition = PartitionProduceData { index: 0, records: RecordsField::Bytes(&records) };
    let topic = TopicProduceData { name: "t", partition_data: vec![partition], ..TopicProduceData::default() };
    let produce = ProduceRequest { acks: -1, timeout_ms: 1_000, topic_data: vec![topic], ..ProduceRequest::default() };
    let metadata = encode_request(ApiKey::Metadata, 9, 1, Some("seed"), &metadata).bytes;
    let produce = encode_request(ApiKey::Produce, 9, 2, Some("seed"), &produce).bytes;
    let offsets = encode_request(ApiKey::ListOffsets, 1, 3, None, &ListOffsetsRequest::default()).bytes;
    let stream = [&metadata[..], &produce[..], &offsets[..]].concat();
    write("pipeline_bytes", "produce", &chunks(0, &stream));
    write("pipeline_bytes", "two-connections", &[chunks(0, &stream), chunks(1, &stream)].concat());
    write("pipeline_bytes", "half-a-frame", &chunks(1, &metadata[..metadata.len() / 2]));
    write("pipeline_bytes", "http", &chunks(0, b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n"));
    write("pipeline_bytes", "tls", &chunks(0, &[0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]));
}

fn log_files() {
    for choice in 0..20_u8 {
        write("log_recovery", &format!("file-{choice}-garbage"), &[choice, 0, 0, 1, 0xff, 0, 0x80, 1]);
        write("log_recovery", &format!("file-{choice}-cut"), &[choice, 0, 21, 2]);
    }
    write("log_recovery", "segment-and-a-batch", &[&[8, 0, 0, 5], &batch(Compression::None)[..]].concat());
    write("log_recovery", "text", b"\x00\x00\x00\x000\n1\ntopic 0 5\n");
}
