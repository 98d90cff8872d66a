//! Metadata records to bytes and back, by way of the protocol's own record messages.
//!
//! It must not know what replaying a record does.

use crate::protocol::codec::{DecodeError, Decoder};
use crate::protocol::records::metadata::{self as wire, MetadataRecord as WireRecord, MetadataRecordError};
use crate::types::{BrokerId, PartitionIndex};

use super::broker_codec::{controller_from_wire, controller_to_wire, registration_from_wire, registration_to_wire};
use super::config_resource::{ConfigResource, ConfigResourceType};
use super::partition_codec::{change_from_wire, change_to_wire, partition_from_wire, partition_to_wire};
use super::record::{BrokerRegistrationChange, MetadataRecord};

/// Kafka's names of all record types, those that Klamm does not keep too, so that a refusal can name them.
const NAMES: [(u32, &str); 27] = [
    (0, "REGISTER_BROKER_RECORD"),
    (1, "UNREGISTER_BROKER_RECORD"),
    (2, "TOPIC_RECORD"),
    (3, "PARTITION_RECORD"),
    (4, "CONFIG_RECORD"),
    (5, "PARTITION_CHANGE_RECORD"),
    (7, "FENCE_BROKER_RECORD"),
    (8, "UNFENCE_BROKER_RECORD"),
    (9, "REMOVE_TOPIC_RECORD"),
    (10, "DELEGATION_TOKEN_RECORD"),
    (11, "USER_SCRAM_CREDENTIAL_RECORD"),
    (12, "FEATURE_LEVEL_RECORD"),
    (14, "CLIENT_QUOTA_RECORD"),
    (15, "PRODUCER_IDS_RECORD"),
    (17, "BROKER_REGISTRATION_CHANGE_RECORD"),
    (18, "ACCESS_CONTROL_ENTRY_RECORD"),
    (19, "REMOVE_ACCESS_CONTROL_ENTRY_RECORD"),
    (20, "NO_OP_RECORD"),
    (21, "ZK_MIGRATION_STATE_RECORD"),
    (22, "REMOVE_USER_SCRAM_CREDENTIAL_RECORD"),
    (23, "BEGIN_TRANSACTION_RECORD"),
    (24, "END_TRANSACTION_RECORD"),
    (25, "ABORT_TRANSACTION_RECORD"),
    (26, "REMOVE_DELEGATION_TOKEN_RECORD"),
    (27, "REGISTER_CONTROLLER_RECORD"),
    (28, "CLEAR_ELR_RECORD"),
    (29, "UNREGISTER_CONTROLLER_RECORD"),
];

/// Why bytes are no metadata record that Klamm can obey.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordCodecError {
    /// A record type, or a version of one, that this release does not know. Skipping it would serve a wrong picture of the cluster.
    #[error("metadata record {name} (type {code}), version {version}, is not supported: {}", reason_and_cure(*.code))]
    Unsupported {
        /// Kafka's name of the type, or `?`.
        name: &'static str,
        /// The type's number.
        code: u32,
        /// The version.
        version: u32,
    },
    /// A configuration of a kind of resource that this release does not know.
    #[error("metadata record CONFIG_RECORD names the unknown resource type {0}")]
    ResourceType(i8),
    /// The bytes are damaged.
    #[error(transparent)]
    Malformed(MetadataRecordError),
}

/// Why a record cannot be passed over, and what an operator can do.
fn reason_and_cure(code: u32) -> String {
    let missing = match code {
        10 | 26 => "delegation tokens",
        11 | 22 => "SCRAM users",
        14 => "client quotas",
        18 | 19 => "ACLs",
        _ => return "it was written by a newer release, and skipping it would show another cluster than the one that it \
                     belongs to; start that release, or a newer Klamm"
            .to_owned(),
    };
    format!(
        "Klamm has no {missing}, and would serve as if there had never been any. Where that is wanted, move the folder \
         __cluster_metadata-0, and the meta.properties of every log directory, away: the start then makes the topics anew from their \
         partitions, with their ids, records and committed offsets, but with the broker's defaults for their configs"
    )
}

impl MetadataRecord {
    /// Reads a record with its frame.
    pub fn decode(bytes: &[u8]) -> Result<MetadataRecord, RecordCodecError> {
        match WireRecord::decode(bytes) {
            Ok(record) => from_wire(record),
            Err(
                error @ (MetadataRecordError::UnknownType(_)
                | MetadataRecordError::Malformed(DecodeError::UnsupportedVersion { .. })),
            ) => Err(unsupported(bytes).unwrap_or(RecordCodecError::Malformed(error))),
            Err(error) => Err(RecordCodecError::Malformed(error)),
        }
    }

    /// The record's bytes with the frame, in the version that Kafka 4.4 would choose.
    pub fn encode(&self) -> Vec<u8> {
        let record = to_wire(self);
        match self {
            MetadataRecord::BrokerRegistrationChange { change, .. } => record.encode_as(change_version(change)),
            _ => record.encode(),
        }
    }
}

/// The oldest version that can say what changed, as Kafka chooses it.
fn change_version(change: &BrokerRegistrationChange) -> i16 {
    if change.cordoned_log_dirs.is_some() {
        3
    } else if change.log_dirs.is_some() {
        2
    } else {
        i16::from(change.in_controlled_shutdown)
    }
}

fn unsupported(bytes: &[u8]) -> Option<RecordCodecError> {
    let mut decoder = Decoder::new(bytes);
    let _frame_version = decoder.get_unsigned_varint().ok()?;
    let code = decoder.get_unsigned_varint().ok()?;
    let version = decoder.get_unsigned_varint().ok()?;
    let name = NAMES.iter().find(|(known, _)| *known == code).map_or("?", |(_, name)| *name);
    Some(RecordCodecError::Unsupported { name, code, version })
}

fn from_wire(record: WireRecord<'_>) -> Result<MetadataRecord, RecordCodecError> {
    Ok(match record {
        WireRecord::RegisterBroker(record) => MetadataRecord::RegisterBroker(registration_from_wire(record)),
        WireRecord::UnregisterBroker(record) => MetadataRecord::UnregisterBroker {
            broker_id: BrokerId(record.broker_id),
            broker_epoch: record.broker_epoch,
        },
        WireRecord::Topic(record) => MetadataRecord::Topic { name: record.name.into(), topic_id: record.topic_id },
        WireRecord::Partition(record) => MetadataRecord::Partition {
            topic_id: record.topic_id,
            partition: PartitionIndex(record.partition_id),
            registration: partition_from_wire(record),
        },
        WireRecord::Config(record) => MetadataRecord::Config {
            resource: ConfigResource {
                resource_type: ConfigResourceType::from_id(record.resource_type)
                    .ok_or(RecordCodecError::ResourceType(record.resource_type))?,
                name: record.resource_name.into(),
            },
            name: record.name.into(),
            value: record.value.map(Into::into),
        },
        WireRecord::PartitionChange(record) => MetadataRecord::PartitionChange {
            topic_id: record.topic_id,
            partition: PartitionIndex(record.partition_id),
            change: change_from_wire(record),
        },
        WireRecord::FenceBroker(record) => fencing(record.id, record.epoch, true),
        WireRecord::UnfenceBroker(record) => fencing(record.id, record.epoch, false),
        WireRecord::RemoveTopic(record) => MetadataRecord::RemoveTopic { topic_id: record.topic_id },
        WireRecord::FeatureLevel(record) => {
            MetadataRecord::FeatureLevel { name: record.name.into(), level: record.feature_level }
        }
        WireRecord::ProducerIds(record) => MetadataRecord::ProducerIds {
            broker_id: BrokerId(record.broker_id),
            broker_epoch: record.broker_epoch,
            next_producer_id: record.next_producer_id,
        },
        WireRecord::BrokerRegistrationChange(record) => broker_change_from_wire(record),
        WireRecord::NoOp(_) => MetadataRecord::NoOp,
        WireRecord::ZkMigrationState(record) => MetadataRecord::ZkMigrationState { state: record.zk_migration_state },
        WireRecord::BeginTransaction(record) => MetadataRecord::BeginTransaction { name: record.name.map(Into::into) },
        WireRecord::EndTransaction(_) => MetadataRecord::EndTransaction,
        WireRecord::AbortTransaction(record) => {
            MetadataRecord::AbortTransaction { reason: record.reason.map(Into::into) }
        }
        WireRecord::RegisterController(record) => controller_from_wire(record),
        WireRecord::ClearElr(record) => MetadataRecord::ClearElr { topic: record.topic_name.into() },
        WireRecord::UnregisterController(wire::UnregisterControllerRecord { controller_id }) => {
            MetadataRecord::UnregisterController { controller_id }
        }
    })
}

fn to_wire(record: &MetadataRecord) -> WireRecord<'_> {
    match record {
        MetadataRecord::RegisterBroker(registration) => registration_to_wire(registration).into(),
        MetadataRecord::UnregisterBroker { broker_id, broker_epoch } => {
            wire::UnregisterBrokerRecord { broker_id: broker_id.0, broker_epoch: *broker_epoch }.into()
        }
        MetadataRecord::Topic { name, topic_id } => wire::TopicRecord { name, topic_id: *topic_id }.into(),
        MetadataRecord::Partition { topic_id, partition, registration } => {
            partition_to_wire(*topic_id, *partition, registration).into()
        }
        MetadataRecord::Config { resource, name, value } => wire::ConfigRecord {
            resource_type: resource.resource_type.id(),
            resource_name: &resource.name,
            name,
            value: value.as_deref(),
        }
        .into(),
        MetadataRecord::PartitionChange { topic_id, partition, change } => {
            change_to_wire(*topic_id, *partition, change).into()
        }
        MetadataRecord::RemoveTopic { topic_id } => wire::RemoveTopicRecord { topic_id: *topic_id }.into(),
        MetadataRecord::FeatureLevel { name, level } => wire::FeatureLevelRecord { name, feature_level: *level }.into(),
        MetadataRecord::ProducerIds { broker_id, broker_epoch, next_producer_id } => wire::ProducerIdsRecord {
            broker_id: broker_id.0,
            broker_epoch: *broker_epoch,
            next_producer_id: *next_producer_id,
        }
        .into(),
        MetadataRecord::BrokerRegistrationChange { broker_id, broker_epoch, change } => {
            broker_change_to_wire(*broker_id, *broker_epoch, change).into()
        }
        MetadataRecord::RegisterController {
            controller_id,
            incarnation_id,
            zk_migration_ready,
            endpoints,
            features,
        } => controller_to_wire(*controller_id, *incarnation_id, *zk_migration_ready, endpoints, features).into(),
        MetadataRecord::UnregisterController { controller_id } => {
            wire::UnregisterControllerRecord { controller_id: *controller_id }.into()
        }
        MetadataRecord::ClearElr { topic } => wire::ClearElrRecord { topic_name: topic }.into(),
        MetadataRecord::NoOp => wire::NoOpRecord {}.into(),
        MetadataRecord::ZkMigrationState { state } => {
            wire::ZkMigrationStateRecord { zk_migration_state: *state }.into()
        }
        MetadataRecord::BeginTransaction { name } => wire::BeginTransactionRecord { name: name.as_deref() }.into(),
        MetadataRecord::EndTransaction => wire::EndTransactionRecord {}.into(),
        MetadataRecord::AbortTransaction { reason } => {
            wire::AbortTransactionRecord { reason: reason.as_deref() }.into()
        }
    }
}

// The wire says 1 for fence and -1 for unfence.
fn broker_change_from_wire(record: wire::BrokerRegistrationChangeRecord) -> MetadataRecord {
    MetadataRecord::BrokerRegistrationChange {
        broker_id: BrokerId(record.broker_id),
        broker_epoch: record.broker_epoch,
        change: BrokerRegistrationChange {
            fenced: (record.fenced != 0).then_some(record.fenced > 0),
            in_controlled_shutdown: record.in_controlled_shutdown > 0,
            log_dirs: (!record.log_dirs.is_empty()).then_some(record.log_dirs),
            cordoned_log_dirs: record.cordoned_log_dirs,
        },
    }
}

fn broker_change_to_wire(
    broker_id: BrokerId,
    broker_epoch: i64,
    change: &BrokerRegistrationChange,
) -> wire::BrokerRegistrationChangeRecord {
    wire::BrokerRegistrationChangeRecord {
        broker_id: broker_id.0,
        broker_epoch,
        fenced: change.fenced.map_or(0, |fenced| if fenced { 1 } else { -1 }),
        in_controlled_shutdown: i8::from(change.in_controlled_shutdown),
        log_dirs: change.log_dirs.clone().unwrap_or_default(),
        cordoned_log_dirs: change.cordoned_log_dirs.clone(),
    }
}

/// The older way to say that a broker was fenced or not.
fn fencing(broker_id: i32, broker_epoch: i64, fenced: bool) -> MetadataRecord {
    MetadataRecord::BrokerRegistrationChange {
        broker_id: BrokerId(broker_id),
        broker_epoch,
        change: BrokerRegistrationChange { fenced: Some(fenced), ..Default::default() },
    }
}
