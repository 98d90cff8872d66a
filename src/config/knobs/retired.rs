//! Keys that older Kafkas or other distributions write into their files: accepted, so that those files still start a
//! broker.
//!
//! It must not know what the keys once meant in detail.

use super::reasons::NO_AUTHORIZER;

/// Keys of Kafka before 4.4 that no longer exist.
const REMOVED: [&str; 18] = [
    "control.plane.listener.name",
    "controlled.shutdown.max.retries",
    "controlled.shutdown.retry.backoff.ms",
    "broker.id.generation.enable",
    "reserved.broker.max.id",
    "delegation.token.master.key",
    "eligible.leader.replicas.enable",
    "group.coordinator.new.enable",
    "inter.broker.protocol.version",
    "leader.imbalance.per.broker.percentage",
    "log.message.downconversion.enable",
    "log.message.format.version",
    "log.message.timestamp.difference.max.ms",
    "metadata.log.segment.min.bytes",
    "offsets.commit.required.acks",
    "auto.include.jmx.reporter",
    "group.share.enable",
    "group.share.max.groups",
];

/// Keys that no broker has but its authorizer: without one, they allow and forbid nothing in Kafka either.
const OF_AUTHORIZER: [&str; 2] = ["super.users", "allow.everyone.if.no.acl.found"];

/// Beginnings of keys of plugins and of other distributions.
const FOREIGN: [(&str, &str); 11] = [
    ("config.providers.", "Klamm loads no Java class"),
    ("zookeeper.", "Klamm needs no ZooKeeper"),
    ("password.encoder.", "Klamm stores no secret"),
    ("confluent.", "the key belongs to another distribution"),
    ("strimzi.", "the key belongs to another distribution"),
    ("cruise.control.", "the key belongs to a plugin, and Klamm loads none"),
    ("client.quota.callback.", "the key belongs to a plugin, and Klamm loads none"),
    ("rsm.config.", "the key belongs to a plugin, and Klamm loads none"),
    ("rlmm.config.", "the key belongs to a plugin, and Klamm loads none"),
    ("remote.log.metadata.", "the key belongs to a plugin, and Klamm loads none"),
    ("metrics.context.", "Klamm has metrics of its own"),
];

/// Why the key is accepted and idle, if it is one of these.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    if REMOVED.contains(&name) {
        return Some("Kafka 4 removed it");
    }
    if OF_AUTHORIZER.contains(&name) {
        return Some(NO_AUTHORIZER);
    }
    FOREIGN.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, reason)| *reason)
}
