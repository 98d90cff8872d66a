//! Why a knob of Kafka is idle here, or refused; each is the rest of a sentence without its full stop.
//!
//! It must not know which knob has which reason.

pub(super) const ONE_NODE: &str = "one broker talks to no other, and keeps one copy of each partition";
pub(super) const ONE_REPLICA: &str =
    "a partition has one copy, and one in sync is enough for it, as it is for Kafka; acks=all waits for its disk";
pub(super) const NO_QUORUM: &str = "Klamm is its own controller and keeps its metadata without a quorum";
pub(super) const NO_JVM: &str = "Klamm has metrics of its own and loads no Java class";
pub(super) const NO_QUOTAS: &str = "client quotas are not served";
pub(super) const OWN_WAY: &str = "Klamm does this work in a way of its own that needs no such setting";
pub(super) const NO_REMOTE_STORAGE: &str = "tiered storage is not served";
pub(super) const NO_SHARE_GROUPS: &str = "share groups are not served";
pub(super) const NO_STREAMS_GROUPS: &str = "streams groups are not served";
pub(super) const NO_TLS: &str = "TLS is not served; let a proxy in front of the broker do it";
pub(super) const NO_SASL: &str = "SASL is not served";
pub(super) const NO_TOKENS: &str = "delegation tokens are not served";
pub(super) const NO_AUTHORIZER: &str = "access control is not served, so every client may do everything";
pub(super) const NO_PLUGINS: &str = "Klamm loads no Java class";
pub(super) const NO_TWO_PHASE: &str = "transactions that an outside coordinator prepares (KIP-939) are not served";
pub(super) const NO_CORDONS: &str = "a log dir cannot be closed to new partitions";
pub(super) const NO_COMPACTION: &str = "no cleaner runs, so a topic with cleanup.policy=compact keeps every record";
pub(super) const NO_CONSUMER_PROTOCOL: &str =
    "groups of the consumer protocol (KIP-848) are not served, classic ones are";
pub(super) const NO_TRANSACTIONS: &str = "transactions are not served";
pub(super) const ONE_LZ4_LEVEL: &str =
    "the encoder of LZ4 has one level, the speed of which is that of Kafka's default";
