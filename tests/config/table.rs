//! The table of knobs against Kafka's.

use klamm::config::{
    BrokerScope, DynamicConfig, Knob, Settings, Sources, Standing, UpdateMode, describe_broker, knobs, validate_broker,
};
use proptest::prelude::{Strategy, any, prop_oneof, proptest};

const KEYS: &str = include_str!("../data/config/kafka-4.4-keys.txt");

struct Key {
    scope: &'static str,
    name: &'static str,
    kind: &'static str,
    mode: &'static str,
    default: &'static str,
}

fn keys() -> impl Iterator<Item = Key> {
    KEYS.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut words = line.splitn(5, ' ');
        let mut next = || words.next().expect("five words in a line");
        Key { scope: next(), name: next(), kind: next(), mode: next(), default: next() }
    })
}

fn find(key: &Key) -> &'static Knob {
    let found = if key.scope == "broker" { knobs::find(key.name) } else { knobs::find_topic(key.name) };
    found.unwrap_or_else(|| panic!("{} {} is not known", key.scope, key.name))
}

#[test]
fn every_key_of_kafka_is_known_with_its_kind() {
    assert_eq!(keys().count(), 379 + 38);
    for key in keys() {
        assert_eq!(find(&key).kind.word(), key.kind, "{}", key.name);
    }
}

/// What Kafka changes while it runs, and Klamm at a start only.
const FIXED_HERE: [&str; 4] = ["listener.security.protocol.map", "listeners", "num.io.threads", "num.network.threads"];

#[test]
fn a_key_changes_at_run_time_when_kafkas_does_but_for_the_named_ones() {
    for key in keys().filter(|key| key.scope == "broker") {
        let mode = match find(&key).update_mode {
            UpdateMode::ReadOnly => "read-only",
            UpdateMode::PerBroker => "per-broker",
            UpdateMode::ClusterWide => "cluster-wide",
        };
        let expected = if FIXED_HERE.contains(&key.name) { "read-only" } else { key.mode };
        assert_eq!(mode, expected, "{}", key.name);
    }
}

#[test]
fn defaults_are_kafkas_but_for_the_named_differences() {
    let mut differences = Vec::new();
    for key in keys() {
        let ours = find(&key).default_value().map_or("null".to_owned(), |value| value.to_string());
        let kafkas = key.default.trim_start_matches('[').trim_end_matches(']');
        if ours != kafkas && !find(&key).is_sensitive() {
            differences.push((key.name, kafkas.to_owned(), ours));
        }
    }
    let named = [
        ("controller.listener.names", "<required>", "null"),
        ("listeners", "PLAINTEXT://:9092", "PLAINTEXT://127.0.0.1:9092"),
        ("log.dir", "/tmp/kafka-logs", "./klamm-data"),
        ("node.id", "<required>", "1"),
        ("process.roles", "<required>", "null"),
        ("socket.receive.buffer.bytes", "102400", "-1"),
    ];
    let named: Vec<_> = named.map(|(name, kafkas, ours)| (name, kafkas.to_owned(), ours.to_owned())).into();
    assert_eq!(differences, named);
}

/// What must stand beside a key so that a change of it can show.
fn context(name: &str) -> &'static str {
    match name {
        "compression.gzip.level" => "compression.type=gzip\n",
        "compression.lz4.level" => "compression.type=lz4\n",
        "compression.zstd.level" => "compression.type=zstd\n",
        "controller.listener.names" | "inter.broker.listener.name" => {
            "listeners=A://:1,B://:2\nlistener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT\n"
        }
        _ => "",
    }
}

/// Texts of which at least one is valid and not the default.
fn other_values(knob: &Knob) -> Vec<String> {
    let word = match knob.name {
        "listeners" => "PLAINTEXT://other:1",
        "advertised.listeners" => "PLAINTEXT://other:1",
        "controller.listener.names" => "B",
        "max.connections.per.ip.overrides" => "host:1",
        "queued.max.request.bytes" => "200000000",
        "log.cleanup.policy" => "compact",
        "compression.type" => "zstd",
        "log.message.timestamp.type" => "LogAppendTime",
        "inter.broker.listener.name" => "B",
        _ => "other",
    };
    let number = knob.default_value().and_then(|value| value.as_number()).unwrap_or(0);
    let near = [number.saturating_add(1), number.saturating_sub(1), number / 2].map(|number| number.to_string());
    [word, "true", "false", "1"].map(str::to_owned).into_iter().chain(near).collect()
}

#[test]
fn every_honoured_knob_changes_the_settings() {
    for knob in knobs::all().filter(|knob| matches!(knob.standing, Standing::Honoured(_))) {
        // It only allows other listeners, which `start` tests.
        if knob.name == "listener.security.protocol.map" {
            continue;
        }
        let settings = |text: String| Settings::from_sources(&Sources::new().with_properties("file", &text));
        let before = settings(context(knob.name).to_owned()).unwrap();
        let texts = other_values(knob).into_iter().map(|value| format!("{}{}={value}", context(knob.name), knob.name));
        let is_changed = texts.filter_map(|text| settings(text).ok()).any(|after| after != before);
        assert!(is_changed, "{} is said to take effect", knob.name);
    }
}

#[test]
fn every_idle_knob_leaves_the_settings_alone() {
    for knob in knobs::all().filter(|knob| matches!(knob.standing, Standing::Idle(_))) {
        let settings = |text: String| Settings::from_sources(&Sources::new().with_properties("file", &text));
        let before = settings(context(knob.name).to_owned()).unwrap();
        for value in other_values(knob) {
            if let Ok(after) = settings(format!("{}{}={value}", context(knob.name), knob.name)) {
                assert_eq!(after, before, "{}={value}", knob.name);
            }
        }
    }
}

#[test]
fn the_manual_names_every_knob_of_kafka_once() {
    let text = klamm::config::markdown_of_broker() + &klamm::config::markdown_of_the_rest();
    for key in keys().filter(|key| key.scope == "broker") {
        let is_internal_and_honoured = find(&key).is_internal && matches!(find(&key).standing, Standing::Honoured(_));
        let count = text.matches(&format!("`{}`", key.name)).count();
        assert_eq!(count, usize::from(!is_internal_and_honoured), "{}", key.name);
    }
    assert!(klamm::config::markdown_of_topics().contains("| `retention.ms` | long | `604800000` |"));
}

proptest! {
    #[test]
    fn no_text_of_any_knob_makes_it_panic(
        at in 0..512usize,
        text in prop_oneof![any::<String>(), any::<i64>().prop_map(|n| n.to_string()), "[A-Z]{0,3}(://)?[a-z:\\[\\],0-9.*-]{0,12}"],
    ) {
        let knob = knobs::all().nth(at % knobs::all().count()).expect("within the count");
        let pair = format!("{}={text}", knob.name);
        let _ = Settings::from_sources(&Sources::new().with_overrides([pair.as_str()]));
        let dynamic = DynamicConfig { broker: crate::configs(&[(knob.name, &text)]), ..DynamicConfig::default() };
        crate::with_layers("", &dynamic, |layers| {
            Settings::resolve(layers);
            let _ = validate_broker(BrokerScope::Cluster, &crate::configs(&[(knob.name, &text)]), layers);
            describe_broker(layers).len()
        });
    }
}
