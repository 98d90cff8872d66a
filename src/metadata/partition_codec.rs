//! The records about partitions, between the wire's integers and this room's types.
//!
//! It must not know the frame around a record.

use crate::protocol::records::metadata as wire;
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId};

use super::partition_registration::{PartitionChange, PartitionRegistration};

/// On the wire: nobody leads.
const NO_LEADER: i32 = -1;
/// On the wire: who leads did not change.
const NO_LEADER_CHANGE: i32 = -2;
/// On the wire: the recovery state did not change.
const NO_RECOVERY_CHANGE: i8 = -1;

fn brokers(ids: Vec<i32>) -> Vec<BrokerId> {
    ids.into_iter().map(BrokerId).collect()
}

fn ids(brokers: &[BrokerId]) -> Vec<i32> {
    brokers.iter().map(|broker| broker.0).collect()
}

/// Kafka leaves an empty list of this kind out.
fn ids_or_null(brokers: &[BrokerId]) -> Option<Vec<i32>> {
    (!brokers.is_empty()).then(|| ids(brokers))
}

pub(super) fn partition_from_wire(record: wire::PartitionRecord) -> PartitionRegistration {
    // Before version 1 a replica had no directory.
    let directories = match record.directories.len() == record.replicas.len() {
        true => record.directories,
        false => vec![TopicId::ZERO; record.replicas.len()],
    };
    PartitionRegistration {
        replicas: brokers(record.replicas),
        directories,
        isr: brokers(record.isr),
        removing_replicas: brokers(record.removing_replicas),
        adding_replicas: brokers(record.adding_replicas),
        eligible_leader_replicas: brokers(record.eligible_leader_replicas.unwrap_or_default()),
        last_known_elr: brokers(record.last_known_elr.unwrap_or_default()),
        leader: (record.leader != NO_LEADER).then_some(BrokerId(record.leader)),
        leader_is_recovering: record.leader_recovery_state > 0,
        leader_epoch: LeaderEpoch(record.leader_epoch),
        partition_epoch: record.partition_epoch,
    }
}

pub(super) fn partition_to_wire(
    topic_id: TopicId,
    partition: PartitionIndex,
    registration: &PartitionRegistration,
) -> wire::PartitionRecord {
    wire::PartitionRecord {
        partition_id: partition.0,
        topic_id,
        replicas: ids(&registration.replicas),
        isr: ids(&registration.isr),
        removing_replicas: ids(&registration.removing_replicas),
        adding_replicas: ids(&registration.adding_replicas),
        leader: registration.leader.map_or(NO_LEADER, |leader| leader.0),
        leader_epoch: registration.leader_epoch.0,
        partition_epoch: registration.partition_epoch,
        directories: registration.directories.clone(),
        leader_recovery_state: i8::from(registration.leader_is_recovering),
        eligible_leader_replicas: ids_or_null(&registration.eligible_leader_replicas),
        last_known_elr: ids_or_null(&registration.last_known_elr),
    }
}

pub(super) fn change_from_wire(record: wire::PartitionChangeRecord) -> PartitionChange {
    PartitionChange {
        isr: record.isr.map(brokers),
        leader: match record.leader {
            NO_LEADER_CHANGE => None,
            NO_LEADER => Some(None),
            leader => Some(Some(BrokerId(leader))),
        },
        replicas: record.replicas.map(brokers),
        removing_replicas: record.removing_replicas.map(brokers),
        adding_replicas: record.adding_replicas.map(brokers),
        leader_is_recovering: (record.leader_recovery_state != NO_RECOVERY_CHANGE)
            .then_some(record.leader_recovery_state > 0),
        eligible_leader_replicas: record.eligible_leader_replicas.map(brokers),
        last_known_elr: record.last_known_elr.map(brokers),
        directories: record.directories,
    }
}

pub(super) fn change_to_wire(
    topic_id: TopicId,
    partition: PartitionIndex,
    change: &PartitionChange,
) -> wire::PartitionChangeRecord {
    wire::PartitionChangeRecord {
        partition_id: partition.0,
        topic_id,
        isr: change.isr.as_deref().map(ids),
        leader: match change.leader {
            None => NO_LEADER_CHANGE,
            Some(None) => NO_LEADER,
            Some(Some(leader)) => leader.0,
        },
        replicas: change.replicas.as_deref().map(ids),
        removing_replicas: change.removing_replicas.as_deref().map(ids),
        adding_replicas: change.adding_replicas.as_deref().map(ids),
        leader_recovery_state: change.leader_is_recovering.map_or(NO_RECOVERY_CHANGE, i8::from),
        eligible_leader_replicas: change.eligible_leader_replicas.as_deref().map(ids),
        last_known_elr: change.last_known_elr.as_deref().map(ids),
        directories: change.directories.clone(),
    }
}
