//! What starts a broker, and what is refused with which words.

use klamm::config::{CompressionType, Settings, Sources, StaticConfig, TimestampType, TopicSettings};

use crate::started;

/// A one-node file as Kafka's own distribution has it, in other words and with other values.
const STOCK: &str = "\
# one node, both roles
process.roles=broker,controller
node.id=7
controller.quorum.voters=7@localhost:9093
controller.quorum.bootstrap.servers=localhost:9093

listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://broker.example:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/var/lib/kafka/a,\\
         /var/lib/kafka/b
num.partitions=3
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=24
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
";

fn settings(text: &str) -> Settings {
    Settings::from_sources(&Sources::new().with_properties("server.properties", text)).expect(text)
}

fn refusal(text: &str) -> String {
    let sources = Sources::new().with_properties("server.properties", text);
    StaticConfig::from_sources(&sources).expect_err(text).to_string()
}

#[test]
fn a_stock_file_of_kafka_starts_the_broker() {
    let settings = settings(STOCK);
    let [listener] = settings.network.listeners.as_slice() else { panic!("one listener is the broker's") };
    assert_eq!((listener.endpoint.host.as_str(), listener.endpoint.port), ("", 9092));
    assert_eq!(listener.advertised.as_ref().unwrap().host, "broker.example");
    assert_eq!(settings.node.broker_id.0, 7);
    assert_eq!(settings.log.dirs, ["/var/lib/kafka/a", "/var/lib/kafka/b"]);
    assert_eq!(settings.log.metadata_dir, "/var/lib/kafka/a");
    assert_eq!(settings.topic_defaults.retention_ms, Some(24 * 60 * 60 * 1000));
    assert_eq!(settings.topic_creation.partitions, 3);
    assert_eq!(settings.network.receive_buffer_bytes, Some(102_400));
}

#[test]
fn what_has_no_effect_is_said_in_one_line_for_each_reason() {
    let config = started(STOCK);
    let notices = config.notices();
    assert_eq!(notices.len(), 4, "{notices:?}");
    assert_eq!(
        notices[0],
        "No effect: process.roles, controller.quorum.voters, controller.quorum.bootstrap.servers \
         (Klamm is its own controller and keeps its metadata without a quorum)."
    );
    assert!(started("num.partitions=3").notices().is_empty());
}

#[test]
fn a_file_of_a_cluster_is_told_what_becomes_of_its_copies() {
    let notices = started("default.replication.factor=3\nmin.insync.replicas=2").notices().join("\n");
    assert!(notices.contains("default.replication.factor is 3") && notices.contains("set it to 1"), "{notices}");
    assert!(notices.contains("No effect: min.insync.replicas (a partition has one copy"), "{notices}");
    assert!(started("default.replication.factor=1").notices().is_empty());
}

#[test]
fn a_log_directory_that_is_named_twice_counts_once() {
    assert_eq!(settings("log.dirs=/b, /a,/b").log.dirs, ["/b", "/a"]);
}

#[test]
fn a_file_is_read_as_java_reads_it_and_what_is_no_plain_text_is_said() {
    let start = |bytes: &[u8]| StaticConfig::from_sources(&Sources::new().with_properties("a.properties", bytes));
    let marked = start(b"\xef\xbb\xbfbroker.rack=r\xe4ck").unwrap();
    assert_eq!(marked.get("broker.rack"), Some("r\u{e4}ck"));
    assert!(marked.notices().is_empty(), "{:?}", marked.notices());
    let utf_8 = start("# ä\nbroker.rack=räck".as_bytes()).unwrap();
    assert_eq!(utf_8.get("broker.rack"), Some("r\u{c3}\u{a4}ck"));
    let notices = utf_8.notices().join("\n");
    assert!(notices.contains("a.properties, line 2") && notices.contains("\\uXXXX"), "{notices}");
    let utf_16: Vec<u8> = "\u{feff}broker.rack=r".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let refused = start(&utf_16).unwrap_err().to_string();
    assert!(refused.contains("a.properties, line 1: the file is in UTF-16"), "{refused}");
}

#[test]
fn the_path_of_a_log_directory_in_utf_8_is_refused_unless_it_is_escaped_or_replaced() {
    let file = |text: &str| Sources::new().with_properties("a.properties", text);
    for key in ["log.dir", "log.dirs", "metadata.log.dir"] {
        let refused = refusal(&format!("node.id=1\n{key}=/daten/kläm"));
        assert!(
            refused.starts_with("server.properties, line 2: ") && refused.contains("looks like UTF-8"),
            "{refused}"
        );
        for (escaped, meant) in [("kl\\u00e4m", "kläm"), ("kl\\u00c3\\u00a4m", "kl\u{c3}\u{a4}m")] {
            let config = StaticConfig::from_sources(&file(&format!("{key}=/{escaped}"))).unwrap();
            assert_eq!(config.get(key), Some(format!("/{meant}").as_str()));
        }
        let replaced = file(&format!("{key}=/kläm")).with_overrides([format!("{key}=/kläm").as_str()]);
        assert_eq!(StaticConfig::from_sources(&replaced).unwrap().get(key), Some("/kläm"));
        let variable = format!("KAFKA_{}", key.to_uppercase().replace('.', "_"));
        let replaced = file(&format!("{key}=/kläm")).with_environment([(variable.as_str(), "/kläm")]);
        assert_eq!(StaticConfig::from_sources(&replaced).unwrap().get(key), Some("/kläm"));
    }
}

#[test]
fn nothing_at_all_starts_the_broker_too() {
    let settings = settings("");
    let [listener] = settings.network.listeners.as_slice() else { panic!("one listener is the default") };
    assert_eq!((listener.endpoint.host.as_str(), listener.endpoint.port), ("127.0.0.1", 9092));
    assert_eq!(listener.advertised, None);
    assert_eq!(listener.network_threads, 3);
    assert_eq!(settings.node.broker_id.0, 1);
    assert_eq!(settings.log.dirs, ["./klamm-data"]);
    assert!(settings.log.acks_all_fsync);
    assert_eq!(settings.network.receive_buffer_bytes, None);
    assert_eq!(settings.network.queued_request_bytes_max, None);
    assert_eq!(settings.topic_defaults.compression_type, CompressionType::Producer);
    assert_eq!(settings.topic_defaults.timestamp_type, TimestampType::CreateTime);
    assert_eq!(settings.topic_defaults.flush_ms, None);
    assert_eq!(settings, Settings::default());
}

#[test]
fn the_variables_of_a_test_container_start_the_broker() {
    let sources = Sources::new().with_environment([
        ("CLUSTER_ID", "4L6g3nShT-eMCtK--X86sw"),
        ("HOME", "/home/appuser"),
        ("KAFKA_ADVERTISED_LISTENERS", "PLAINTEXT://localhost:32771,BROKER://f00:9093"),
        ("KAFKA_CONTROLLER_LISTENER_NAMES", "CONTROLLER"),
        ("KAFKA_CONTROLLER_QUORUM_VOTERS", "1@localhost:9094"),
        ("KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS", "0"),
        ("KAFKA_HEAP_OPTS", "-Xmx1g"),
        ("KAFKA_INTER_BROKER_LISTENER_NAME", "BROKER"),
        ("KAFKA_LISTENERS", "PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094"),
        ("KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"),
        ("KAFKA_LOG_FLUSH_INTERVAL_MESSAGES", "9223372036854775807"),
        ("KAFKA_NODE_ID", "1"),
        ("KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS", "1"),
        ("KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR", "1"),
        ("KAFKA_PROCESS_ROLES", "broker,controller"),
        ("KAFKA_TRANSACTION_STATE_LOG_MIN_ISR", "1"),
        ("KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR", "1"),
    ]);
    let settings = Settings::from_sources(&sources).unwrap();
    let names: Vec<_> = settings.network.listeners.iter().map(|listener| listener.endpoint.name.as_str()).collect();
    assert_eq!(names, ["PLAINTEXT", "BROKER"]);
    assert_eq!(settings.network.listeners[0].advertised.as_ref().unwrap().port, 32771);
    assert_eq!(settings.group.initial_rebalance_delay_ms, 0);
    assert_eq!(settings.topic_defaults.flush_messages, None);
    assert_eq!(settings.offsets.topic_partitions, 1);
    assert_eq!(settings.node.cluster_id.as_deref(), Some("4L6g3nShT-eMCtK--X86sw"));
    let notices = StaticConfig::from_sources(&sources).unwrap().notices().join("\n");
    assert!(notices.contains("KAFKA_HEAP_OPTS") && notices.contains("controller.quorum.voters"), "{notices}");
}

#[test]
fn a_flag_beats_a_variable_and_a_variable_beats_the_file() {
    let sources = Sources::new()
        .with_overrides(["num.io.threads=4"])
        .with_environment([("KAFKA_NUM_IO_THREADS", "3"), ("KAFKA_NUM_PARTITIONS", "3")])
        .with_properties("a", "num.io.threads=1\nnum.partitions=1\nbroker.rack=first")
        .with_properties("b", "num.io.threads=2\nbroker.rack=second");
    let settings = Settings::from_sources(&sources).unwrap();
    assert_eq!(settings.request.io_threads, 4);
    assert_eq!(settings.topic_creation.partitions, 3);
    assert_eq!(settings.node.rack.as_deref(), Some("second"));
}

#[test]
fn a_wrong_value_that_is_overridden_does_no_harm() {
    let sources = Sources::new().with_properties("a", "num.io.threads=many").with_overrides(["num.io.threads=4"]);
    assert_eq!(Settings::from_sources(&sources).unwrap().request.io_threads, 4);
}

#[test]
fn the_finer_unit_wins_whatever_the_order() {
    let retention_ms = |text| settings(text).topic_defaults.retention_ms;
    assert_eq!(retention_ms("log.retention.ms=5\nlog.retention.minutes=2\nlog.retention.hours=1"), Some(5));
    assert_eq!(retention_ms("log.retention.hours=1\nlog.retention.minutes=2"), Some(120_000));
    assert_eq!(retention_ms("log.retention.hours=1"), Some(3_600_000));
    assert_eq!(retention_ms("log.retention.ms=-1"), None);
    assert_eq!(retention_ms("log.retention.hours=-2"), None);
    assert_eq!(settings("log.roll.hours=1").topic_defaults.segment_ms, 3_600_000);
    assert_eq!(settings("log.roll.hours=1\nlog.roll.ms=7").topic_defaults.segment_ms, 7);
    assert_eq!(settings("log.flush.scheduler.interval.ms=9").topic_defaults.flush_ms, Some(9));
    assert_eq!(settings("log.dir=/a").log.dirs, ["/a"]);
    assert_eq!(settings("log.dir=/a\nlog.dirs=/b").log.dirs, ["/b"]);
}

#[test]
fn a_listener_may_have_values_of_its_own() {
    let settings = settings(
        "listeners=A://:1,B://:2\nlistener.security.protocol.map=a:plaintext,B:PLAINTEXT\nnum.network.threads=2\n\
         listener.name.a.num.network.threads=5\nlistener.name.b.max.connections=9\n\
         listener.name.b.max.connection.creation.rate=8",
    );
    let [a, b] = settings.network.listeners.as_slice() else { panic!("two listeners") };
    assert_eq!((a.network_threads, a.connections_max), (5, None));
    assert_eq!((b.network_threads, b.connections_max, b.connection_creation_rate_max), (2, Some(9), Some(8)));
}

#[test]
fn a_topics_own_configs_come_first() {
    let overrides = crate::configs(&[("retention.ms", "5"), ("cleanup.policy", ""), ("segment.bytes", "broken")]);
    let topic = crate::with_layers("log.retention.ms=9\nlog.segment.bytes=2000000", &Default::default(), |layers| {
        TopicSettings::resolve(&overrides, layers)
    });
    assert_eq!(topic.retention_ms, Some(5));
    assert_eq!((topic.deletes, topic.compacts), (false, false));
    assert_eq!(topic.segment_bytes, 2_000_000);
}

#[test]
fn internal_keys_that_tests_set_are_accepted() {
    let settings = settings(
        "log.initial.task.delay.ms=0\ngroup.min.session.timeout.ms=1\nlog.retention.check.interval.ms=1\n\
         unstable.api.versions.enable=true\nlog.segment.delete.delay.ms=1",
    );
    assert_eq!(settings.log.initial_task_delay_ms, 0);
    assert_eq!(settings.group.session_timeout_ms_min, 1);
}

#[test]
fn keys_of_older_kafkas_and_of_plugins_are_accepted() {
    let config = started(
        "zookeeper.connect=localhost:2181\nlog.message.format.version=2.8\ninter.broker.protocol.version=3.0\n\
         confluent.support.metrics.enable=false\nrsm.config.a=b\nmetric.reporters=com.example.Reporter",
    );
    assert_eq!(config.notices().len(), 5, "{:?}", config.notices());
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    assert_eq!(
        refusal("\nlog.retention.msec=5"),
        "server.properties, line 2: log.retention.msec is not a key that Kafka or Klamm knows; did you mean log.retention.ms?"
    );
    assert!(
        refusal("listener.name.plaintext.max.conections=5")
            .ends_with("did you mean listener.name.plaintext.max.connections?")
    );
    assert!(refusal("listener.name.plaintext.num.partition=5").ends_with("did you mean num.partitions?"));
    assert!(refusal("colour=blue").ends_with("remove it."));
}

#[test]
fn a_key_for_one_listener_that_has_no_effect_is_said_with_what_to_set_instead() {
    for (text, line) in [
        (
            "listener.name.plaintext.connections.max.idle.ms=1000",
            "No effect: listener.name.plaintext.connections.max.idle.ms (a listener has no such key of its own: set \
             connections.max.idle.ms for the whole broker).",
        ),
        (
            "listener.name.plaintext.foo.num.partitions=7",
            "No effect: listener.name.plaintext.foo.num.partitions (a listener has no such key of its own: set \
             num.partitions for the whole broker).",
        ),
        (
            "listener.name.plaintext.foo.max.connections=7",
            "No effect: listener.name.plaintext.foo.max.connections (it has no SASL mechanism: set \
             listener.name.plaintext.max.connections).",
        ),
        (
            "listener.name.ssl.max.connections=7",
            "No effect: listener.name.ssl.max.connections (no listener is called ssl: name it in `listeners`, or remove \
             the key).",
        ),
    ] {
        assert_eq!(started(text).notices(), [line]);
    }
    for text in [
        "listener.name.plaintext.num.network.threads=2",
        "listener.name.plaintext.max.connections=2\nlistener.name.plaintext.max.connection.creation.rate=2",
        "listeners=A.B://:1\nlistener.security.protocol.map=A.B:PLAINTEXT\nlistener.name.a.b.num.network.threads=2",
    ] {
        assert!(started(text).notices().is_empty(), "{text}");
    }
}

#[test]
fn a_key_for_a_listener_that_is_not_there_has_no_effect_and_the_operator_learns_it() {
    let notices = |text: &str| started(text).notices().join("\n");
    let told = notices("listener.name.nolistener.max.connections=5");
    assert!(told.contains("no listener is called nolistener: name it in `listeners`, or remove the key"), "{told}");
    for name in ["plantext", "PLAINTEXT"] {
        let told = notices(&format!("listener.name.{name}.max.connections=5"));
        assert!(told.contains("did you mean listener.name.plaintext.max.connections?"), "{told}");
    }
    let refused = refusal("listeners=A:9092\nlistener.name.a.max.connections=5");
    assert!(refused.contains("is not NAME://host:port") && !refused.contains("not there"), "{refused}");
}

#[test]
fn keys_that_a_broker_takes_at_run_time_only_and_those_of_an_authorizer_have_no_effect() {
    for key in [
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "super.users",
        "allow.everyone.if.no.acl.found",
    ] {
        let notices = started(&format!("{key}=1")).notices().join("\n");
        assert!(notices.starts_with(&format!("No effect: {key} (")), "{notices}");
    }
}

#[test]
fn a_key_of_a_topic_or_a_group_is_told_its_name_for_the_broker() {
    for (key, words) in [
        ("retention.ms", "is a key of a single topic; the broker's, for all of them, is log.retention.ms."),
        ("segment.bytes", "is log.segment.bytes."),
        ("max.message.bytes", "is message.max.bytes."),
        (
            "consumer.session.timeout.ms",
            "single group; the broker's, for all of them, is group.consumer.session.timeout.ms.",
        ),
        ("remote.storage.enable", "set it on the topic at run time, and remove it here."),
    ] {
        let refused = refusal(&format!("{key}=5"));
        assert!(refused.contains(key) && refused.ends_with(words), "{refused}");
    }
    assert!(started("min.insync.replicas=1").get("min.insync.replicas").is_some());
}

#[test]
fn every_problem_is_told_at_once_with_its_place() {
    let sources = Sources::new()
        .with_properties("server.properties", "num.io.threads=many\nok\\u=1")
        .with_properties("more.properties", "num.partitions=0\n")
        .with_environment([("KAFKA_LOG_RETENTION_MS", "1h"), ("KAFKA_LISTNERS", "A")])
        .with_overrides(["auto.create.topics.enable=yes", "node.id"]);
    let problems = StaticConfig::from_sources(&sources).unwrap_err();
    let lines: Vec<_> = problems.0.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "server.properties, line 2: has a \\u that is not followed by the four hexadecimal digits of a character.",
            "the flag --override: node.id has no value; write key=value.",
            "more.properties, line 1: num.partitions = 0 is not valid: it must be at least 1.",
            "the variable KAFKA_LISTNERS: listners is not a key that Kafka or Klamm knows; did you mean listeners?",
            "the variable KAFKA_LOG_RETENTION_MS: log.retention.ms = 1h is not valid: it must be a whole number of 64 bits.",
            "the flag --override: auto.create.topics.enable = yes is not valid: it must be true or false.",
        ]
    );
    assert_eq!(problems.to_string().lines().count(), 6);
}

#[test]
fn wrong_values_are_refused_with_the_right_words() {
    for (text, words) in [
        ("log.cleanup.policy=delte", "has `delte`, which is none of compact, delete"),
        ("compression.gzip.level=0", "must be from 1 to 9, or -1"),
        ("log.cleaner.min.cleanable.ratio=NaN", "must be from 0 to 1"),
        ("log.cleaner.min.cleanable.ratio=1.5", "must be from 0 to 1"),
        ("log.segment.bytes=1024", "must be at least 1048576"),
        ("offsets.topic.replication.factor=40000", "must be a whole number of 16 bits"),
        ("listeners=localhost:9092", "is not NAME://host:port"),
        ("listeners=", "must name at least one listener"),
        ("listeners=A://:1", "listener A, which listener.security.protocol.map does not know"),
        ("listeners=SSL://:1", "listener SSL with TLS or SASL, which is not served"),
        ("listeners=C://:1\ncontroller.listener.names=C", "no client could connect"),
        ("advertised.listeners=PLAINTEXT://0.0.0.0:9092", "has the host 0.0.0.0"),
        ("advertised.listeners=OTHER://h:9092", "has OTHER, which is not among the listeners"),
        ("listener.security.protocol.map=A:TLS", "whose protocol is none of PLAINTEXT"),
        ("node.id=1\nbroker.id=2", "differs from node.id"),
        ("process.roles=controller", "a controller without a broker"),
        ("log.dir=", "names no folder"),
        ("log.roll.ms=0", "log.roll.ms = 0 is not valid: it must be at least 1"),
        (
            "log.flush.scheduler.interval.ms=-1",
            "log.flush.scheduler.interval.ms = -1 is not valid: it must be at least 0",
        ),
        ("log.cleaner.min.compaction.lag.ms=5\nlog.cleaner.max.compaction.lag.ms=4", "is larger than log.cleaner.max"),
        ("max.connections.per.ip=0", "lets nobody in"),
        ("max.connections.per.ip.overrides=host", "is not host:count"),
        ("queued.max.request.bytes=5", "is smaller than socket.request.max.bytes, 104857600"),
        ("group.min.session.timeout.ms=2000000", "is larger than group.max.session.timeout.ms"),
        ("group.consumer.session.timeout.ms=61000", "is larger than group.consumer.max.session.timeout.ms, 60000"),
        ("group.coordinator.rebalance.protocols=consumer", "lacks classic"),
        ("group.consumer.assignors=com.example.Mine", "has com.example.Mine; Klamm has uniform and range"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(words), "{text}: {refusal}");
    }
}

#[test]
fn a_promise_that_cannot_be_kept_is_refused_and_its_absence_is_not() {
    for text in [
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "ssl.keystore.location=/k",
        "ssl.client.auth=required",
        "listener.name.plaintext.ssl.keystore.location=/k",
        "listener.name.sasl.plain.sasl.jaas.config=secret words",
        "sasl.enabled.mechanisms=PLAIN",
        "remote.log.storage.system.enable=true",
        "delegation.token.secret.key=secret words",
        "create.topic.policy.class.name=com.example.Policy",
        "transaction.two.phase.commit.enable=true",
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains("cannot be had:") && !refusal.contains("secret words"), "{refusal}");
    }
    started(
        "authorizer.class.name=\nssl.client.auth=none\nremote.log.storage.system.enable=false\nssl.keystore.location=\n\
         ssl.endpoint.identification.algorithm=\nsasl.enabled.mechanisms=GSSAPI",
    );
}

#[test]
fn listeners_that_belong_to_the_controller_may_have_any_protocol() {
    let settings = settings("listeners=PLAINTEXT://:1,SSL://:2\ncontroller.listener.names=SSL");
    assert_eq!(settings.network.listeners.len(), 1);
}

#[test]
fn a_retention_of_nothing_is_refused_under_the_key_that_counts() {
    let refused = |text: &str| {
        let error = StaticConfig::from_sources(&Sources::new().with_properties("server.properties", text));
        error.err().map(|error| error.to_string()).unwrap_or_default()
    };
    for key in ["log.retention.ms", "log.retention.minutes", "log.retention.hours"] {
        let said = refused(&format!("{key}=0"));
        assert!(said.contains(key) && said.contains("must be -1, for ever, or at least 1"), "{said}");
    }
    assert_eq!(refused("log.retention.hours=0\nlog.retention.ms=5"), "");
    assert_eq!(refused("log.retention.minutes=-1"), "");
}
