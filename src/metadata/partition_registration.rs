//! One partition as the metadata log knows it, and how a change makes a new one of it.
//!
//! It must not know its topic, nor where a directory lies on disk.

use crate::types::{BrokerId, LeaderEpoch, TopicId};

/// The directory of a replica whose broker has not chosen one yet (KIP-858).
pub const DIRECTORY_UNASSIGNED: TopicId = TopicId([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

/// Who holds a partition and who leads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionRegistration {
    /// The brokers that hold it, the preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// For each replica the id of the log directory that holds it.
    pub directories: Vec<TopicId>,
    /// The replicas that have all acknowledged records.
    pub isr: Vec<BrokerId>,
    /// Replicas that a reassignment takes away.
    pub removing_replicas: Vec<BrokerId>,
    /// Replicas that a reassignment brings.
    pub adding_replicas: Vec<BrokerId>,
    /// Replicas outside the ISR that may still lead without loss (KIP-966).
    pub eligible_leader_replicas: Vec<BrokerId>,
    /// The last replicas known to have been eligible (KIP-966).
    pub last_known_elr: Vec<BrokerId>,
    /// Who leads; nobody while no replica may.
    pub leader: Option<BrokerId>,
    /// Whether the leader was elected although it may lack records.
    pub leader_is_recovering: bool,
    /// The leader's incarnation: grows with every election, also when the same broker is elected again.
    pub leader_epoch: LeaderEpoch,
    /// Grows with every change of this partition.
    pub partition_epoch: i32,
}

/// What changes in a partition; `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionChange {
    /// The new ISR.
    pub isr: Option<Vec<BrokerId>>,
    /// The outcome of an election: a leader or nobody. Any outcome raises the leader epoch, the same leader too.
    pub leader: Option<Option<BrokerId>>,
    /// The new replicas.
    pub replicas: Option<Vec<BrokerId>>,
    /// The new removing replicas.
    pub removing_replicas: Option<Vec<BrokerId>>,
    /// The new adding replicas.
    pub adding_replicas: Option<Vec<BrokerId>>,
    /// The new state of the leader's recovery.
    pub leader_is_recovering: Option<bool>,
    /// The new eligible leader replicas.
    pub eligible_leader_replicas: Option<Vec<BrokerId>>,
    /// The new last known eligible leader replicas.
    pub last_known_elr: Option<Vec<BrokerId>>,
    /// The new directories.
    pub directories: Option<Vec<TopicId>>,
}

impl PartitionRegistration {
    /// A new partition that its first in-sync replica leads.
    pub(super) fn new(replicas: Vec<BrokerId>, directories: Vec<TopicId>, isr: Vec<BrokerId>) -> PartitionRegistration {
        PartitionRegistration {
            leader: isr.first().copied(),
            replicas,
            directories,
            isr,
            removing_replicas: Vec::new(),
            adding_replicas: Vec::new(),
            eligible_leader_replicas: Vec::new(),
            last_known_elr: Vec::new(),
            leader_is_recovering: false,
            leader_epoch: LeaderEpoch(0),
            partition_epoch: 0,
        }
    }

    /// Applies a change: every change raises the partition epoch, every election the leader epoch. Epochs stay at the end of their range.
    pub(super) fn merge(&mut self, change: &PartitionChange) {
        fn replace<T: Clone>(target: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                target.clone_from(value);
            }
        }
        replace(&mut self.isr, &change.isr);
        replace(&mut self.replicas, &change.replicas);
        replace(&mut self.removing_replicas, &change.removing_replicas);
        replace(&mut self.adding_replicas, &change.adding_replicas);
        replace(&mut self.eligible_leader_replicas, &change.eligible_leader_replicas);
        replace(&mut self.last_known_elr, &change.last_known_elr);
        replace(&mut self.directories, &change.directories);
        replace(&mut self.leader_is_recovering, &change.leader_is_recovering);
        if let Some(leader) = change.leader {
            self.leader = leader;
            self.leader_epoch = LeaderEpoch(self.leader_epoch.0.saturating_add(1));
        }
        self.partition_epoch = self.partition_epoch.saturating_add(1);
    }
}
