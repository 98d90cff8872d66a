//! What DescribeConfigs is told, compared with what Kafka 4.4 answers.

use klamm::config::{
    ConfigEntry, ConfigSource, DynamicConfig, describe_broker, describe_cluster, describe_group, describe_topic,
};

use crate::{configs, with_layers};

fn find<'a>(entries: &'a [ConfigEntry], name: &str) -> &'a ConfigEntry {
    entries.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("{name} is described"))
}

fn synonyms(entry: &ConfigEntry) -> Vec<(&str, &str, i8)> {
    let synonyms = entry.synonyms.iter();
    synonyms.map(|it| (it.name.as_str(), it.value.as_deref().unwrap_or("null"), it.source.code())).collect()
}

#[test]
fn an_overridden_topic_config_lists_itself_before_the_brokers() {
    let overrides = configs(&[("retention.ms", "1000"), ("index.interval.bytes", "5000")]);
    let entries = with_layers("", &DynamicConfig::default(), |layers| describe_topic(&overrides, layers));
    assert_eq!(entries.len(), 37, "every topic config but the internal one");
    let entry = find(&entries, "retention.ms");
    assert_eq!(entry.value.as_deref(), Some("1000"));
    assert_eq!((entry.source, entry.config_type), (ConfigSource::DynamicTopicConfig, 5));
    assert!(!entry.is_read_only && !entry.is_sensitive);
    assert_eq!(synonyms(entry), [("retention.ms", "1000", 1)]);
    let entry = find(&entries, "index.interval.bytes");
    assert_eq!(synonyms(entry), [("index.interval.bytes", "5000", 1), ("log.index.interval.bytes", "4096", 5)]);
    let entry = find(&entries, "segment.ms");
    assert_eq!((entry.value.as_deref(), entry.source), (Some("604800000"), ConfigSource::DefaultConfig));
    assert_eq!(synonyms(entry), []);
    assert_eq!(synonyms(find(&entries, "remote.storage.enable")), []);
}

#[test]
fn a_topic_config_falls_back_through_every_layer_of_the_broker() {
    let dynamic = DynamicConfig {
        broker: configs(&[("log.retention.ms", "-1"), ("log.cleanup.policy", "compact")]),
        cluster: configs(&[("log.flush.interval.ms", "5")]),
    };
    let overrides = configs(&[("retention.ms", "1000")]);
    let entries = with_layers("log.retention.hours=1\nlog.flush.scheduler.interval.ms=7", &dynamic, |layers| {
        describe_topic(&overrides, layers)
    });
    assert_eq!(
        synonyms(find(&entries, "retention.ms")),
        [
            ("retention.ms", "1000", 1),
            ("log.retention.ms", "-1", 2),
            ("log.retention.hours", "1", 4),
            ("log.retention.hours", "168", 5),
        ]
    );
    let entry = find(&entries, "cleanup.policy");
    assert_eq!((entry.value.as_deref(), entry.source), (Some("compact"), ConfigSource::DynamicBrokerConfig));
    assert_eq!(synonyms(entry), [("log.cleanup.policy", "compact", 2), ("log.cleanup.policy", "delete", 5)]);
    let entry = find(&entries, "flush.ms");
    assert_eq!((entry.value.as_deref(), entry.source), (Some("5"), ConfigSource::DynamicDefaultBrokerConfig));
    assert_eq!(synonyms(entry).len(), 3);
}

#[test]
fn a_broker_describes_every_knob_that_is_not_internal_and_whatever_is_set() {
    let dynamic = DynamicConfig {
        broker: configs(&[("background.threads", "16"), ("listener.name.plaintext.max.connections", "77")]),
        cluster: configs(&[("num.replica.fetchers", "2"), ("leader.replication.throttled.rate", "3")]),
    };
    let file = "node.id=1\ngroup.initial.rebalance.delay.ms=0\nlog.initial.task.delay.ms=3\nssl.key.password=";
    let (entries, cluster) = with_layers(file, &dynamic, |layers| (describe_broker(layers), describe_cluster(layers)));
    // Kafka shows 350 entries when no internal key is set; here are one that is set, one of a listener,
    // one that exists at run time only and three of Klamm's own.
    assert_eq!(entries.len(), 350 + 6);
    let entry = find(&entries, "background.threads");
    assert_eq!((entry.value.as_deref(), entry.is_read_only), (Some("16"), false));
    assert_eq!(synonyms(entry), [("background.threads", "16", 2), ("background.threads", "10", 5)]);
    let entry = find(&entries, "listener.name.plaintext.max.connections");
    assert_eq!((entry.value.as_deref(), entry.is_read_only, entry.config_type), (Some("77"), true, 3));
    assert_eq!(
        synonyms(entry),
        [("listener.name.plaintext.max.connections", "77", 2), ("max.connections", "2147483647", 5)]
    );
    assert_eq!(synonyms(find(&entries, "broker.id")), [("broker.id", "1", 4), ("broker.id", "-1", 5)]);
    assert_eq!(find(&entries, "log.initial.task.delay.ms").value.as_deref(), Some("3"));
    let entry = find(&entries, "log.dir");
    assert_eq!((entry.config_type, entry.is_read_only), (7, true));
    let entry = find(&entries, "log.retention.ms");
    assert_eq!((entry.value.as_deref(), synonyms(entry)), (None, vec![]));
    assert_eq!(synonyms(find(&entries, "log.retention.hours")), [("log.retention.hours", "168", 5)]);
    assert_eq!(find(&entries, "klamm.acks.all.fsync").value.as_deref(), Some("true"));

    let [rate, entry] = cluster.as_slice() else { panic!("two configs of the cluster are set") };
    assert_eq!(synonyms(rate), [("leader.replication.throttled.rate", "3", 3)]);
    assert_eq!((entry.name.as_str(), entry.value.as_deref()), ("num.replica.fetchers", Some("2")));
    assert_eq!(synonyms(entry), [("num.replica.fetchers", "2", 3)]);
}

#[test]
fn a_secret_is_never_described() {
    let entries = with_layers("ssl.key.password=\n", &DynamicConfig::default(), describe_broker);
    for entry in entries.iter().filter(|entry| entry.config_type == 9) {
        assert!(entry.is_sensitive && entry.value.is_none(), "{}", entry.name);
        assert!(entry.synonyms.iter().all(|synonym| synonym.value.is_none()), "{}", entry.name);
    }
    let dynamic = DynamicConfig { broker: configs(&[("stranger", "secret")]), ..DynamicConfig::default() };
    let entries = with_layers("", &dynamic, describe_broker);
    let entry = find(&entries, "stranger");
    assert_eq!((entry.value.as_deref(), entry.is_sensitive, entry.config_type), (None, true, 0));
    assert_eq!(synonyms(entry), [("stranger", "null", 2)]);
}

#[test]
fn a_group_config_falls_back_to_the_brokers() {
    let overrides = configs(&[("consumer.session.timeout.ms", "50000")]);
    let entries = with_layers("group.consumer.heartbeat.interval.ms=6000", &DynamicConfig::default(), |layers| {
        describe_group(&overrides, layers)
    });
    let entry = find(&entries, "consumer.session.timeout.ms");
    assert_eq!((entry.value.as_deref(), entry.source), (Some("50000"), ConfigSource::GroupConfig));
    assert_eq!(
        synonyms(entry),
        [("consumer.session.timeout.ms", "50000", 8), ("group.consumer.session.timeout.ms", "45000", 5)]
    );
    let entry = find(&entries, "consumer.heartbeat.interval.ms");
    assert_eq!((entry.value.as_deref(), entry.source), (Some("6000"), ConfigSource::StaticBrokerConfig));
    assert_eq!(synonyms(find(&entries, "share.isolation.level")), [("share.isolation.level", "read_uncommitted", 5)]);
}
