//! Every message and record against Kafka's own classes, driven through `KafkaCodec.java`.
//!
//! It must not be skipped in silence: it needs a Java runtime and Kafka's jars, whose folder `KLAMM_KAFKA_JARS` names;
//! `KLAMM_WITHOUT_JAVA=1` says that this is known to be absent.

use std::fmt::Write as _;
use std::io::{Seek, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::catalogue::{self, Entry, Kind};

const SAMPLES: u64 = 12;

/// The folder with the jars, or `None` if the absence of Java is declared.
#[allow(clippy::disallowed_methods, reason = "a test's own settings come from its environment")]
fn jars() -> Option<String> {
    if std::env::var("KLAMM_WITHOUT_JAVA").is_ok_and(|value| value == "1") {
        return None;
    }
    let jars = std::env::var("KLAMM_KAFKA_JARS").unwrap_or_default();
    assert!(
        Path::new(&jars).join(".complete").exists() || !jars.is_empty() && Path::new(&jars).is_dir(),
        "KLAMM_KAFKA_JARS must name the folder with Kafka's jars (tests/run sets it), or KLAMM_WITHOUT_JAVA=1 must say that this test \
         is to be left out"
    );
    Some(jars)
}

/// Sends one line per message to Kafka's classes and returns one line per answer.
fn ask_kafka(jars: &str, lines: &str) -> Vec<String> {
    let mut input = tempfile::tempfile().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    input.seek(SeekFrom::Start(0)).unwrap();
    let output = Command::new("java")
        .args(["-cp", &format!("{jars}/*")])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/codec/KafkaCodec.java"))
        .stdin(Stdio::from(input))
        .output()
        .expect("a Java runtime, version 17 or later, on the path");
    assert!(output.status.success(), "KafkaCodec: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn line(entry: &Entry, version: i16, bytes: &str) -> String {
    match entry.kind {
        Kind::Request(key) => format!("{} {version} request {bytes}\n", key.code()),
        Kind::Response(key) => format!("{} {version} response {bytes}\n", key.code()),
        Kind::Record(class) => format!("{class} {version} record {bytes}\n"),
    }
}

#[test]
fn kafka_reads_what_we_write_and_writes_the_same_bytes_again() {
    let Some(jars) = jars() else { return };
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for entry in catalogue::all() {
        for version in entry.versions.clone() {
            for seed in 0..SAMPLES {
                let bytes = hex(&(entry.sample)(seed, version));
                lines.push_str(&line(&entry, version, &bytes));
                expected.push((entry.name, version, bytes));
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
    let Some(jars) = jars() else { return };
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for entry in catalogue::all() {
        for version in entry.versions.clone() {
            lines.push_str(&line(&entry, version, "default"));
            expected.push((entry.name, version, hex(&(entry.default)(version))));
        }
    }
    let answers = ask_kafka(&jars, &lines);
    assert_eq!(answers.len(), expected.len());
    for ((name, version, bytes), answer) in expected.iter().zip(&answers) {
        assert_eq!(answer, bytes, "{name} {version}");
    }
}
