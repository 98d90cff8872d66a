//! Every message and record against Kafka's own classes, driven through `KafkaCodec.java`.
//!
//! It must not be skipped: it needs a Java runtime and Kafka's jars, whose folder `KLAMM_KAFKA_JARS` names.

use std::fmt::{Display, Write as _};
use std::io::{Seek, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use klamm::protocol::records::metadata::*;
use klamm::protocol::sample::Sampler;
use klamm::protocol::{DecodeError, Message};

use crate::catalogue::{self, Entry, Kind};

const SAMPLES: u64 = 12;

/// The folder with the jars.
#[allow(clippy::disallowed_methods, reason = "a test's own settings come from its environment")]
fn jars() -> String {
    let jars = std::env::var("KLAMM_KAFKA_JARS").unwrap_or_default();
    assert!(
        !jars.is_empty() && Path::new(&jars).is_dir(),
        "KLAMM_KAFKA_JARS must name the folder with Kafka's jars: run tests/lib/install jars, then set it to target/kafka-jars"
    );
    jars
}

/// Sends one line per message to Kafka's classes and returns one line per answer.
fn ask_kafka(jars: &str, lines: &str) -> Vec<String> {
    let mut input = tempfile::tempfile().expect("a place for temporary files");
    input.write_all(lines.as_bytes()).expect("room for temporary files");
    input.seek(SeekFrom::Start(0)).expect("a file can be rewound");
    let output = Command::new("java")
        .args(["-cp", &format!("{jars}/*")])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/codec/KafkaCodec.java"))
        .stdin(Stdio::from(input))
        .output()
        .expect("a Java runtime, version 17 or later, on the path");
    assert!(output.status.success(), "KafkaCodec: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("KafkaCodec writes ASCII").lines().map(str::to_owned).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes whatever is written");
        text
    })
}

fn line(entry: &Entry, version: impl Display, bytes: &str) -> String {
    match entry.kind {
        Kind::Request(key) => format!("{} {version} request {bytes}\n", key.code()),
        Kind::Response(key) => format!("{} {version} response {bytes}\n", key.code()),
        Kind::Record(class) => format!("{class} {version} record {bytes}\n"),
    }
}

#[test]
fn kafka_reads_what_we_write_and_writes_the_same_bytes_again() {
    let jars = jars();
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for entry in catalogue::all() {
        for version in entry.versions.clone() {
            for seed in 0..SAMPLES {
                let bytes = hex(&(entry.sample)(seed, version));
                lines.push_str(&line(&entry, version, &bytes));
                expected.push((entry.name, version, bytes + " 0"));
            }
        }
    }
    let answers = ask_kafka(&jars, &lines);
    assert_eq!(answers.len(), expected.len());
    for ((name, version, bytes), answer) in expected.iter().zip(&answers) {
        assert_eq!(answer, bytes, "{name} {version}");
    }
}

#[test]
fn our_default_values_are_those_of_kafka() {
    let jars = jars();
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for entry in catalogue::all() {
        for version in entry.versions.clone() {
            lines.push_str(&line(&entry, version, "default"));
            expected.push((entry.name, version, hex(&(entry.default)(version)) + " 0"));
        }
    }
    let answers = ask_kafka(&jars, &lines);
    assert_eq!(answers.len(), expected.len());
    for ((name, version, bytes), answer) in expected.iter().zip(&answers) {
        assert_eq!(answer, bytes, "{name} {version}");
    }
}

#[test]
fn a_field_that_a_version_lacks_has_the_value_that_kafka_gives_it() {
    let jars = jars();
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for entry in catalogue::all() {
        for (from, to) in entry.versions.clone().flat_map(|from| entry.versions.clone().map(move |to| (from, to))) {
            for seed in 0..SAMPLES / 2 {
                let bytes = (entry.sample)(seed, from);
                lines.push_str(&line(&entry, format_args!("{from}:{to}"), &hex(&bytes)));
                let converted = (entry.convert)(&bytes, from, to).expect("what was encoded is decoded");
                expected.push((entry.name, from, to, hex(&converted) + " 0"));
            }
        }
    }
    let answers = ask_kafka(&jars, &lines);
    assert_eq!(answers.len(), expected.len());
    let mut compared = 0;
    for ((name, from, to, bytes), answer) in expected.iter().zip(&answers) {
        // Kafka refuses to leave out a field that has a value of its own and may not be ignored, and null where there is none.
        if !answer.starts_with("error") {
            compared += 1;
            assert_eq!(answer, bytes, "{name} read in version {from}, written in {to}");
        }
    }
    assert!(compared * 2 > expected.len(), "only {compared} of {} could be compared", expected.len());
}

/// Replaces one byte of a message by another.
fn damaged(mut bytes: Vec<u8>, seed: u64) -> Vec<u8> {
    let mut sampler = Sampler::new(seed);
    let place = sampler.below(bytes.len().max(1) as u64);
    if let Some(byte) = usize::try_from(place).ok().and_then(|place| bytes.get_mut(place)) {
        *byte = [0, 1, 2, 0x7f, 0x80, 0xff][sampler.below(6) as usize];
    }
    bytes
}

#[test]
fn kafka_takes_a_damaged_message_for_what_we_take_it_for() {
    let jars = jars();
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for entry in catalogue::messages() {
        let (Kind::Request(key) | Kind::Response(key)) = entry.kind else { panic!("{} is a record", entry.name) };
        // Versions with tagged fields are left out. Kafka keeps those that it does not know and writes them again, we do not; and of those that
        // it knows it does not look at the size, so that it reads on where we refuse a field that does not fill its own.
        for version in entry.versions.clone().filter(|version| !key.is_flexible(*version)) {
            for seed in 0..4 * SAMPLES {
                let bytes = damaged((entry.sample)(seed, version), seed);
                lines.push_str(&line(&entry, version, &hex(&bytes)));
                expected.push((entry.name, version, hex(&bytes), (entry.recode)(&bytes, version)));
            }
        }
    }
    let answers = ask_kafka(&jars, &lines);
    assert_eq!(answers.len(), expected.len());
    let (mut read, mut refused) = (0, 0);
    for ((name, version, bytes, ours), answer) in expected.iter().zip(&answers) {
        match ours {
            Ok((encoded, left)) => {
                read += 1;
                assert_eq!(answer, &format!("{} {left}", hex(encoded)), "{name} {version} {bytes}");
            }
            // Kafka puts a replacement character where a text is damaged; we refuse the message.
            Err(DecodeError::InvalidUtf8) => {}
            Err(error) => {
                refused += 1;
                assert!(answer.starts_with("error"), "{name} {version} {bytes}: we say {error}, Kafka {answer}");
            }
        }
    }
    assert!(read > 100 && refused > 100, "{read} read and {refused} refused: the damage tests nothing");
}

/// A random record of each type, with the name of its class.
fn metadata_records(seed: u64) -> Vec<(&'static str, MetadataRecord<'static>)> {
    macro_rules! samples {
        ($($record:ident)+) => {
            vec![$((
                stringify!($record),
                MetadataRecord::from($record::sample(&mut Sampler::new(seed), $record::VERSION_MAX)),
            ),)+]
        };
    }
    samples! {
        RegisterBrokerRecord UnregisterBrokerRecord TopicRecord PartitionRecord ConfigRecord PartitionChangeRecord FenceBrokerRecord
        UnfenceBrokerRecord RemoveTopicRecord FeatureLevelRecord ProducerIdsRecord BrokerRegistrationChangeRecord NoOpRecord
        ZkMigrationStateRecord BeginTransactionRecord EndTransactionRecord AbortTransactionRecord RegisterControllerRecord ClearElrRecord
        UnregisterControllerRecord
    }
}

#[test]
fn kafka_finds_the_type_and_version_of_a_framed_metadata_record() {
    let jars = jars();
    let records: Vec<_> = (0..SAMPLES).flat_map(metadata_records).collect();
    let lines: String = records.iter().map(|(_, record)| format!("- - framed {}\n", hex(&record.encode()))).collect();
    let answers = ask_kafka(&jars, &lines);
    assert_eq!(answers.len(), records.len());
    for ((name, record), answer) in records.iter().zip(&answers) {
        assert_eq!(answer, &format!("{name} {} {}", record.version(), hex(&record.encode())));
    }
}
