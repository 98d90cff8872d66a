//! Which changes at run time are let in, and what they come to.

use klamm::config::{
    AlterConfigError, BrokerScope, DynamicConfig, Settings, list_default_of_broker, list_default_of_group,
    list_default_of_topic, validate_broker, validate_group, validate_topic,
};

use crate::{configs, with_layers};

fn topic(pairs: &[(&str, &str)]) -> Result<(), AlterConfigError> {
    with_layers("", &DynamicConfig::default(), |layers| validate_topic(&configs(pairs), layers))
}

fn broker(scope: BrokerScope, key: &str, value: &str) -> Result<(), AlterConfigError> {
    with_layers("", &DynamicConfig::default(), |layers| validate_broker(scope, &configs(&[(key, value)]), layers))
}

fn is_invalid_config(result: Result<(), AlterConfigError>) -> bool {
    matches!(result, Err(AlterConfigError::InvalidConfig(_)))
}

fn is_invalid_request(result: Result<(), AlterConfigError>) -> bool {
    matches!(result, Err(AlterConfigError::InvalidRequest(_)))
}

#[test]
fn a_list_has_a_default_to_append_to_and_nothing_else_has() {
    assert_eq!(list_default_of_topic("cleanup.policy"), Some("delete"));
    assert_eq!(list_default_of_topic("leader.replication.throttled.replicas"), Some(""));
    assert_eq!(list_default_of_topic("retention.ms"), None);
    assert_eq!(list_default_of_topic("nope"), None);
    assert_eq!(list_default_of_broker("log.cleanup.policy"), Some("delete"));
    assert_eq!(list_default_of_broker("log.retention.ms"), None);
    assert_eq!(list_default_of_group("consumer.session.timeout.ms"), None);
}

#[test]
fn a_topic_refuses_what_kafka_refuses() {
    for (key, value) in [
        ("nope", "1"),
        ("retention.ms", "-2"),
        ("retention.ms", "abc"),
        ("retention.ms", "1.5"),
        ("segment.bytes", "1024"),
        ("segment.bytes", ""),
        ("cleanup.policy", "none"),
        ("cleanup.policy", ","),
        ("compression.type", "GZIP"),
        ("compression.gzip.level", "0"),
        ("preallocate", "yes"),
        ("message.timestamp.type", "foo"),
        ("min.insync.replicas", "0"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("leader.replication.throttled.replicas", "1:2,x"),
        ("max.compaction.lag.ms", "5"),
        ("remote.storage.enable", "true"),
    ] {
        let pairs = [("min.compaction.lag.ms", "10"), (key, value)];
        assert!(is_invalid_config(topic(&pairs)), "{key}={value}");
    }
}

#[test]
fn a_topic_accepts_what_kafka_accepts() {
    for (key, value) in [
        ("cleanup.policy", "compact , delete"),
        ("cleanup.policy", "delete,delete"),
        ("cleanup.policy", ""),
        ("retention.ms", " 5 "),
        ("retention.bytes", "+5"),
        ("min.insync.replicas", "5"),
        ("internal.segment.bytes", "1024"),
        ("leader.replication.throttled.replicas", "*"),
        ("remote.log.copy.disable", "true"),
        ("remote.storage.enable", "false"),
        ("local.retention.ms", "5"),
        ("errors.deadletterqueue.group.enable", "true"),
    ] {
        topic(&[(key, value)]).unwrap();
    }
}

#[test]
fn what_is_wrong_is_said_as_kafka_says_it_and_a_hint_helps() {
    let text = |pairs: &[(&str, &str)]| topic(pairs).unwrap_err().to_string();
    assert_eq!(
        text(&[("retention.msec", "5")]),
        "Unknown topic config name: retention.msec; did you mean retention.ms?"
    );
    assert_eq!(
        text(&[("retention.ms", "-2")]),
        "Invalid value -2 for configuration retention.ms: Value must be at least -1"
    );
    assert_eq!(
        text(&[("retention.ms", "x")]),
        "Invalid value x for configuration retention.ms: Not a number of type LONG"
    );
    let error = broker(BrokerScope::Broker, "node.id", "3").unwrap_err();
    assert_eq!(
        error.to_string(),
        "Cannot update these configs dynamically: [node.id]; a value in the broker's properties takes effect at its next start only"
    );
}

#[test]
fn what_a_broker_has_already_may_stay() {
    let dynamic = DynamicConfig { broker: configs(&[("node.id", "3")]), ..DynamicConfig::default() };
    let both = configs(&[("node.id", "3"), ("log.retention.ms", "5")]);
    with_layers("", &dynamic, |layers| {
        assert_eq!(validate_broker(BrokerScope::Broker, &both, layers), Ok(()));
        assert!(is_invalid_request(validate_broker(BrokerScope::Cluster, &both, layers)));
    });
}

#[test]
fn a_broker_changes_what_its_table_allows() {
    for (key, value) in [
        ("background.threads", "20"),
        ("background.threads", "5"),
        ("log.retention.ms", "-1"),
        ("max.connections", "77"),
        ("max.connections.per.ip", "77"),
        ("max.connections.per.ip.overrides", "127.0.0.1:5, [::1]:0,fd00::1:7"),
        ("max.connections.per.ip.overrides", ""),
        ("max.connection.creation.rate", "77"),
        ("leader.replication.throttled.rate", "3"),
        ("listener.name.plaintext.max.connections", "77"),
        ("message.max.bytes", "5"),
    ] {
        broker(BrokerScope::Broker, key, value).unwrap();
    }
    broker(BrokerScope::Cluster, "listener.name.plaintext.max.connections", "4").unwrap();
}

#[test]
fn a_broker_refuses_the_rest_as_an_invalid_request() {
    for (key, value) in [
        ("background.threads", "21"),
        ("background.threads", "4"),
        ("num.io.threads", "16"),
        ("num.network.threads", "4"),
        ("listener.name.plaintext.num.network.threads", "4"),
        ("listeners", "PLAINTEXT://:1"),
        ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,A:PLAINTEXT"),
        ("max.connections.per.ip.overrides", "foo:1"),
        ("max.connections.per.ip.overrides", "127.0.0.1:1,localhost:2"),
        ("max.connections.per.ip.overrides", "127.0.0.1"),
        ("max.connections.per.ip.overrides", "127.0.0.1:-1"),
        ("log.retention.ms", "abc"),
        ("log.retention.ms", ""),
        ("log.retention.hours", "5"),
        ("node.id", "3"),
        ("log.initial.task.delay.ms", "3"),
        ("klamm.acks.all.fsync", "false"),
        ("log.message.timestamp.type", "nope"),
        ("log.segment.bytes", "77"),
        ("max.connections", "0"),
        ("max.connections.per.ip", "0"),
        ("ssl.keystore.location", "/x"),
        ("unknown.key", "5"),
    ] {
        assert!(is_invalid_request(broker(BrokerScope::Broker, key, value)), "{key}={value}");
    }
    assert!(is_invalid_request(broker(BrokerScope::Cluster, "ssl.keystore.location", "/x")));
}

#[test]
fn what_was_set_at_run_time_shines_through_and_nonsense_does_not() {
    let dynamic = DynamicConfig {
        broker: configs(&[("num.io.threads", "nonsense"), ("log.retention.ms", "1")]),
        cluster: configs(&[("num.io.threads", "5"), ("log.retention.ms", "2")]),
    };
    let settings = with_layers("num.io.threads=3", &dynamic, Settings::resolve);
    assert_eq!(settings.request.io_threads, 5);
    assert_eq!(settings.topic_defaults.retention_ms, Some(1));
}

#[test]
fn a_group_stays_within_the_bounds_of_its_broker() {
    let group = |pairs: &[(&str, &str)]| {
        with_layers("", &DynamicConfig::default(), |layers| validate_group(&configs(pairs), layers))
    };
    assert!(group(&[("consumer.session.timeout.ms", "50000")]).is_ok());
    assert!(is_invalid_config(group(&[("consumer.session.timeout.ms", "1")])));
    assert!(is_invalid_config(group(&[("consumer.heartbeat.interval.ms", "60000")])));
    assert!(is_invalid_config(group(&[("nope", "1")])));
}
