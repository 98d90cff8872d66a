//! The first records of a fresh node, and the registration that each start writes.
//!
//! It must not know where listeners, ids or supported features come from.

use super::broker_registration::BrokerRegistration;
use super::image::MetadataImage;
use super::record::MetadataRecord;

/// The feature that says which metadata records a cluster may hold.
pub const METADATA_VERSION_FEATURE: &str = "metadata.version";
/// The level of it that Kafka 4.4 writes (4.4-IV2), and whose records Klamm writes.
pub const METADATA_VERSION: i16 = 33;
/// Features of a fresh cluster and their levels: the consumer protocol (KIP-848) and transactions that fence by epoch (KIP-890).
pub const BOOTSTRAP_FEATURES: [(&str, i16); 3] =
    [(METADATA_VERSION_FEATURE, METADATA_VERSION), ("group.version", 1), ("transaction.version", 2)];

/// The records of a cluster that has none yet, with those that were `adopted`. They come as one transaction (KIP-868), as in Kafka's log:
/// an older Kafka that does not know the format stops at the first of them.
pub fn bootstrap(features: &[(&str, i16)], adopted: Vec<MetadataRecord>) -> Vec<MetadataRecord> {
    let mut records = vec![MetadataRecord::BeginTransaction { name: Some("Bootstrap records".into()) }];
    let feature = |(name, level): &(&str, i16)| MetadataRecord::FeatureLevel { name: (*name).into(), level: *level };
    records.extend(features.iter().map(feature));
    records.extend(adopted);
    records.push(MetadataRecord::EndTransaction);
    records
}

/// The record of a start: the broker registers itself, unfenced, with an epoch above any that it had.
/// Kafka registers fenced and unfences once the broker has caught up with the metadata log; here it has, before it listens.
pub fn register_broker(image: &MetadataImage, broker: BrokerRegistration) -> Vec<MetadataRecord> {
    let broker_epoch = image.broker(broker.broker_id).map_or(0, |previous| previous.broker_epoch.saturating_add(1));
    let registration = BrokerRegistration { broker_epoch, fenced: false, in_controlled_shutdown: false, ..broker };
    vec![MetadataRecord::RegisterBroker(registration)]
}
