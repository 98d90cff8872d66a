//! The crates that the project has agreed on, each with its reason.
//!
//! It must not know their versions: the manifests do.

use crate::assert_none;
use crate::tree::{exists, text};

/// What the broker and the simulator are built on.
const AGREED: &[(&str, &str)] = &[
    ("bytes", "one buffer, many owners: frames and batches are never copied"),
    ("clap", "flags and their help"),
    ("crc-fast", "CRC-32C with the processor's instructions, in safe code to its caller"),
    ("crossbeam-channel", "the queues between the roles"),
    ("flate2", "gzip, over a codec in Rust"),
    ("foldhash", "a fast hash with a seed of our own"),
    ("getrandom", "the seed of all randomness, from the system"),
    ("hashbrown", "the table behind lookup_map"),
    ("indicatif", "how far a campaign of the simulator is"),
    ("klamm", "the simulator runs it"),
    ("lz4_flex", "lz4 blocks and frames, in Rust"),
    ("mimalloc", "the simulator's allocator: a run is mostly small, short-lived pieces"),
    ("mio", "readiness of real sockets"),
    ("rand", "drawing from a generator that is handed in"),
    ("rand_chacha", "a generator whose stream is defined"),
    ("rustix", "system calls that std lacks, safe: sendfile, syncfs, descriptor limit"),
    ("serde", "capsules and results of the simulator as texts"),
    ("serde_json", "results for scripts, the data of a story"),
    ("signal-hook", "SIGTERM and SIGINT without unsafe code"),
    ("snap", "snappy blocks, in Rust"),
    ("socket2", "socket options before bind"),
    ("thiserror", "error types without boilerplate"),
    ("toml", "capsules, which people read and paste"),
    ("tracing", "log lines with fields"),
    ("tracing-subscriber", "where log lines go"),
    ("zstd", "the reference implementation; none in Rust compresses as well"),
];

/// What only tests, fuzzing and the tool that measures the simulator use.
const AGREED_FOR_TESTS: &[(&str, &str)] = &[
    ("allocation-counter", "the bound on memory while decoding is measured"),
    ("crc32c", "an independent CRC-32C"),
    ("dhat", "what the threads of a whole broker allocate is counted"),
    ("java-properties", "an independent reader of properties files"),
    ("kafka-protocol", "an independent codec of Kafka's messages"),
    ("klamm-sim", "worlds for scenario tests and fuzz targets"),
    ("libfuzzer-sys", "the fuzzing engine"),
    ("proc-macro2", "where in a source file an expression stands"),
    ("proptest", "random values with shrinking"),
    ("shuttle", "interleavings of the wake-up protocol"),
    ("syn", "the broker's sources, to put mutants into them"),
    ("tempfile", "folders of real files that go away"),
];

const MANIFESTS: &[&str] = &["Cargo.toml", "sim/Cargo.toml", "fuzz/Cargo.toml", "sim/schemata/Cargo.toml"];

/// Manifests of which all is for tests.
const FOR_TESTS: &[&str] = &["fuzz/Cargo.toml", "sim/schemata/Cargo.toml"];

#[test]
fn only_agreed_crates_are_used() {
    let mut complaints = Vec::new();
    for manifest in MANIFESTS.iter().filter(|path| exists(path)) {
        let mut is_list = false;
        let mut is_for_tests = FOR_TESTS.contains(manifest);
        for line in text(manifest).lines() {
            if let Some(section) = line.strip_prefix('[') {
                is_list = section.trim_end_matches(']').ends_with("dependencies");
                is_for_tests = FOR_TESTS.contains(manifest) || section.starts_with("dev-");
                continue;
            }
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            if !is_list || name.is_empty() || name.starts_with('#') {
                continue;
            }
            let lists: &[&[(&str, &str)]] = if is_for_tests { &[AGREED, AGREED_FOR_TESTS] } else { &[AGREED] };
            if !lists.iter().any(|list| list.iter().any(|(agreed, _)| *agreed == name)) {
                complaints.push(format!("{manifest}: {name} is not agreed on. Do without, or add it with its reason to tests/tidy/dependencies.rs"));
            }
        }
    }
    assert_none(complaints);
}

#[test]
fn every_agreed_crate_is_used() {
    let manifests: Vec<String> = MANIFESTS.iter().filter(|path| exists(path)).map(|path| text(path)).collect();
    let is_used = |name: &str| {
        manifests.iter().flat_map(|text| text.lines()).any(|line| line.split(['=', '.', ' ']).next() == Some(name))
    };
    let idle = AGREED.iter().chain(AGREED_FOR_TESTS).filter(|(name, _)| !is_used(name));
    assert_none(
        idle.map(|(name, _)| format!("{name}: nobody uses it; take it out of tests/tidy/dependencies.rs")).collect(),
    );
}
