//! The configuration as an operator meets it: files, variables and flags in; settings, lines of log and refusals out.

use klamm::config::{Settings, Sources, StaticConfig, knobs};

const KEYS: &str = include_str!("data/config/kafka-4.4-keys.txt");

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

fn refusal(text: &str) -> String {
    StaticConfig::from_sources(&Sources::new().with_properties("server.properties", text)).unwrap_err().to_string()
}

#[test]
fn a_stock_file_of_kafka_starts_the_broker() {
    let sources = Sources::new().with_properties("server.properties", STOCK);
    let settings = Settings::from_sources(&sources).unwrap();
    let [listener] = settings.network.listeners.as_slice() else { panic!("one listener is the broker's") };
    assert_eq!((listener.endpoint.host.as_str(), listener.endpoint.port), ("", 9092));
    assert_eq!(listener.advertised.as_ref().unwrap().host, "broker.example");
    assert_eq!(settings.node.broker_id.0, 7);
    assert_eq!(settings.log.dirs, ["/var/lib/kafka/a", "/var/lib/kafka/b"]);
    assert_eq!(settings.topic_defaults.retention_ms, Some(24 * 60 * 60 * 1000));
    assert_eq!(settings.network.receive_buffer_bytes, Some(102_400));
}

#[test]
fn every_key_of_kafka_is_known() {
    for line in KEYS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (scope, name) = (words.next().unwrap(), words.next().unwrap());
        let is_known = if scope == "broker" { knobs::find(name) } else { knobs::find_topic(name) }.is_some();
        assert!(is_known, "{scope} {name}");
    }
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    assert_eq!(
        refusal("\nlog.retention.msec=5"),
        "server.properties, line 2: log.retention.msec is not a key that Kafka or Klamm knows; did you mean log.retention.ms?"
    );
}
