//! Which changes at run time are let in, and what they come to.

use klamm::config::{
    AlterConfigError, BrokerScope, ConfigChange, ConfigOperation, Configs, ConsumerGroupSettings, DynamicConfig,
    Settings, alter_broker, alter_group, alter_topic, changes_to_replace, configs_of_new_topic, edited,
};

use crate::{configs, with_layers};

const SET: ConfigOperation = ConfigOperation::Set;
const DELETE: ConfigOperation = ConfigOperation::Delete;
const APPEND: ConfigOperation = ConfigOperation::Append;
const SUBTRACT: ConfigOperation = ConfigOperation::Subtract;

fn change<'a>(operation: ConfigOperation, key: &'a str, value: &'a str) -> ConfigChange<'a> {
    ConfigChange { key, operation, value: Some(value).filter(|_| operation != DELETE) }
}

fn topic(current: &Configs, changes: &[ConfigChange<'_>]) -> Result<Configs, AlterConfigError> {
    with_layers("", &DynamicConfig::default(), |layers| {
        alter_topic(current, changes, layers).map(|edits| edited(current, &edits))
    })
}

fn broker(scope: BrokerScope, change: ConfigChange<'_>) -> Result<(), AlterConfigError> {
    with_layers("", &DynamicConfig::default(), |layers| alter_broker(scope, &[change], layers).map(|_| ()))
}

fn is_invalid_config<T: std::fmt::Debug>(result: Result<T, AlterConfigError>) -> bool {
    matches!(result, Err(AlterConfigError::InvalidConfig(_)))
}

fn is_invalid_request<T: std::fmt::Debug>(result: Result<T, AlterConfigError>) -> bool {
    matches!(result, Err(AlterConfigError::InvalidRequest(_)))
}

#[test]
fn lists_grow_and_shrink_from_the_default_on() {
    let appended = topic(&Configs::new(), &[change(APPEND, "cleanup.policy", "compact")]).unwrap();
    assert_eq!(appended, configs(&[("cleanup.policy", "delete,compact")]));
    let subtracted = topic(&appended, &[change(SUBTRACT, "cleanup.policy", "delete,absent")]).unwrap();
    assert_eq!(subtracted, configs(&[("cleanup.policy", "compact")]));
    let empty = topic(&subtracted, &[change(SUBTRACT, "cleanup.policy", "compact")]).unwrap();
    assert_eq!(empty, configs(&[("cleanup.policy", "")]));
    let twice = topic(&Configs::new(), &[change(APPEND, "leader.replication.throttled.replicas", "0:1,0:1")]).unwrap();
    assert_eq!(twice, configs(&[("leader.replication.throttled.replicas", "0:1")]));
}

#[test]
fn only_what_changes_becomes_an_edit() {
    let current = configs(&[("retention.ms", "5"), ("flush.ms", "6")]);
    let changes = [change(SET, "retention.ms", "5"), change(DELETE, "flush.ms", ""), change(DELETE, "nope", "")];
    let edits = with_layers("", &DynamicConfig::default(), |layers| alter_topic(&current, &changes, layers)).unwrap();
    assert_eq!(edits.len(), 1);
    assert_eq!((edits[0].key.as_str(), edits[0].value.as_deref()), ("flush.ms", None));
}

#[test]
fn a_request_that_contradicts_itself_is_an_invalid_request() {
    let none = Configs::new();
    assert!(is_invalid_request(topic(&none, &[change(SET, "flush.ms", "1"), change(SET, "flush.ms", "2")])));
    let no_value = ConfigChange { key: "flush.ms", operation: SET, value: None };
    assert!(is_invalid_request(topic(&none, &[no_value])));
    assert_eq!(ConfigOperation::from_code(4), None);
    assert_eq!([0, 1, 2, 3].map(ConfigOperation::from_code), [SET, DELETE, APPEND, SUBTRACT].map(Some));
}

#[test]
fn a_topic_refuses_what_kafka_refuses() {
    let current = configs(&[("min.compaction.lag.ms", "10")]);
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
        assert!(is_invalid_config(topic(&current, &[change(SET, key, value)])), "{key}={value}");
    }
    assert!(is_invalid_config(topic(&current, &[change(APPEND, "retention.ms", "1")])));
    assert!(is_invalid_config(topic(&current, &[change(APPEND, "nope", "1")])));
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
        topic(&Configs::new(), &[change(SET, key, value)]).unwrap();
    }
}

#[test]
fn a_new_topic_needs_a_value_for_each_config_and_a_hint_helps() {
    let new = |pairs: &[(&str, Option<&str>)]| {
        with_layers("", &DynamicConfig::default(), |layers| configs_of_new_topic(pairs, layers))
    };
    assert_eq!(new(&[("retention.ms", Some("5"))]), Ok(configs(&[("retention.ms", "5")])));
    assert!(is_invalid_config(new(&[("retention.ms", None)])));
    let error = new(&[("retention.msec", Some("5"))]).unwrap_err();
    assert_eq!(error.to_string(), "retention.msec is not a config of a topic; did you mean retention.ms?");
}

#[test]
fn the_older_request_replaces_everything() {
    let current = configs(&[("retention.ms", "5"), ("flush.ms", "6")]);
    let changes = changes_to_replace(&current, &[("retention.ms", Some("7"))]);
    assert_eq!(topic(&current, &changes), Ok(configs(&[("retention.ms", "7")])));
    assert!(is_invalid_request(topic(&current, &changes_to_replace(&current, &[("retention.ms", None)]))));
}

#[test]
fn a_broker_changes_what_its_table_allows() {
    for (key, value) in [
        ("num.io.threads", "16"),
        ("num.io.threads", "4"),
        ("log.retention.ms", "-1"),
        ("max.connections.per.ip.overrides", "foo:1"),
        ("leader.replication.throttled.rate", "3"),
        ("listener.name.plaintext.max.connections", "77"),
        ("message.max.bytes", "5"),
        ("listeners", "PLAINTEXT://:1"),
    ] {
        broker(BrokerScope::Broker, change(SET, key, value)).unwrap();
    }
    broker(BrokerScope::Cluster, change(SET, "num.network.threads", "4")).unwrap();
    broker(BrokerScope::Cluster, change(SET, "listener.name.plaintext.max.connections", "4")).unwrap();
    broker(BrokerScope::Broker, change(APPEND, "log.cleanup.policy", "compact")).unwrap();
    broker(BrokerScope::Broker, change(DELETE, "nothing.here", "")).unwrap();
}

#[test]
fn a_broker_refuses_the_rest_as_an_invalid_request() {
    for (key, value) in [
        ("num.io.threads", "17"),
        ("num.io.threads", "3"),
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
        ("max.connections.per.ip.overrides", "foo"),
        ("listeners", "FOO"),
        ("listeners", "SSL://:1"),
        ("ssl.keystore.location", "/x"),
        ("unknown.key", "5"),
    ] {
        assert!(is_invalid_request(broker(BrokerScope::Broker, change(SET, key, value))), "{key}={value}");
    }
    assert!(is_invalid_request(broker(BrokerScope::Cluster, change(SET, "listeners", "PLAINTEXT://:1"))));
    assert!(is_invalid_config(broker(BrokerScope::Broker, change(APPEND, "log.retention.ms", "5"))));
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
        let changes: Vec<_> = pairs.iter().map(|(key, value)| change(SET, key, value)).collect();
        with_layers("", &DynamicConfig::default(), |layers| alter_group(&Configs::new(), &changes, layers))
    };
    assert!(group(&[("consumer.session.timeout.ms", "50000")]).is_ok());
    assert!(is_invalid_config(group(&[("consumer.session.timeout.ms", "1")])));
    assert!(is_invalid_config(group(&[("consumer.heartbeat.interval.ms", "60000")])));
    assert!(is_invalid_config(group(&[("nope", "1")])));
    let settings: ConsumerGroupSettings = Settings::default().consumer_group;
    let own = settings.clone().with_configs(&configs(&[
        ("consumer.session.timeout.ms", "50000"),
        ("consumer.heartbeat.interval.ms", "99000"),
        ("consumer.assignment.interval.ms", "x"),
    ]));
    assert_eq!((own.session_timeout_ms, own.heartbeat_interval_ms), (50_000, settings.heartbeat_interval_ms_max));
    assert_eq!(own.assignment_interval_ms, settings.assignment_interval_ms);
}
