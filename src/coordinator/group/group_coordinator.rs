//! The coordinator of all groups of one partition of `__consumer_offsets`: its state, and the way records become state.
//!
//! It must not know the log that holds the records, nor the requests; those are in the `group_*` files beside this one, and what becomes of
//! an append in `append_outcome`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::coordinator::group::classic_group::{ClassicGroup, GroupState};
use crate::coordinator::group::completion::CoordinatorResult;
use crate::coordinator::group::in_flight::CommitsInFlight;
use crate::coordinator::group::offsets::{Offsets, Stored};
use crate::coordinator::group::parked::ParkedRequests;
use crate::coordinator::group::rebalance::Turn;
use crate::coordinator::group::records::{GroupMetadata, GroupRecord};
use crate::coordinator::group::settings::GroupSettings;
use crate::coordinator::group::timers::Timers;
use crate::types::{Now, Offset, ProducerId};

/// What the records say, and nothing else. Equal records make equal state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DurableState {
    groups: BTreeMap<Arc<str>, GroupMetadata>,
    offsets: Offsets,
}

impl DurableState {
    /// The last metadata record of each group that was not deleted.
    pub fn groups(&self) -> &BTreeMap<Arc<str>, GroupMetadata> {
        &self.groups
    }

    /// The offsets.
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// Whether any record tells of the group.
    pub(super) fn knows(&self, group_id: &str) -> bool {
        self.groups.contains_key(group_id)
            || self.offsets.has_any(group_id)
            || self.offsets.has_open_transaction(group_id)
    }

    fn replay(&mut self, offset: Offset, producer_id: ProducerId, record: &GroupRecord) {
        match record {
            GroupRecord::OffsetCommit { group_id, topic, partition, value: Some(value) } => {
                let stored = Stored { record_offset: offset, value: value.clone() };
                self.offsets.put(producer_id, group_id, topic, *partition, stored);
            }
            GroupRecord::OffsetCommit { group_id, topic, partition, value: None } => {
                self.offsets.remove(group_id, topic, *partition);
            }
            GroupRecord::GroupMetadata { group_id, value: Some(value) } => {
                self.groups.insert(group_id.clone(), value.clone());
            }
            GroupRecord::GroupMetadata { group_id, value: None } => {
                self.groups.remove(group_id);
            }
        }
    }
}

/// Coordinates the groups of one partition.
///
/// To recover: [`replay`](GroupCoordinator::replay) and [`end_transaction`](GroupCoordinator::end_transaction) in the log's order, then
/// [`loaded`](GroupCoordinator::loaded) and [`opened`](GroupCoordinator::opened). In operation each handler returns a [`CoordinatorResult`]. Every JoinGroup and SyncGroup is
/// answered once, unless its connection closes first.
#[derive(Debug)]
pub struct GroupCoordinator {
    pub(super) settings: GroupSettings,
    pub(super) durable: DurableState,
    /// The living groups. Soft: at least all that the durable state knows of.
    pub(super) groups: BTreeMap<Arc<str>, ClassicGroup>,
    pub(super) timers: Timers,
    pub(super) parked: ParkedRequests,
    pub(super) in_flight: CommitsInFlight,
    /// The group at which the search for old offsets goes on; `None` between searches.
    pub(super) retention_next: Option<Arc<str>>,
}

impl GroupCoordinator {
    /// A coordinator that knows no group.
    pub fn new(settings: GroupSettings) -> GroupCoordinator {
        GroupCoordinator {
            settings,
            durable: DurableState::default(),
            groups: BTreeMap::new(),
            timers: Timers::default(),
            parked: ParkedRequests::default(),
            in_flight: CommitsInFlight::default(),
            retention_next: None,
        }
    }

    /// What the records say. For comparing with a coordinator that was rebuilt from them.
    pub fn durable(&self) -> &DurableState {
        &self.durable
    }

    /// The state of a group, `Dead` if there is none.
    pub fn state(&self, group_id: &str) -> GroupState {
        self.groups.get(group_id).map_or(GroupState::Dead, ClassicGroup::state)
    }

    /// Takes in one record of the log: the only way to change durable state. `producer_id` is that of the batch, if it belongs to a
    /// transaction, else `NONE`.
    pub fn replay(&mut self, offset: Offset, producer_id: ProducerId, record: &GroupRecord) {
        self.durable.replay(offset, producer_id, record);
    }

    /// Takes in the end marker of a producer's transaction.
    pub fn end_transaction(&mut self, producer_id: ProducerId, is_committed: bool) {
        self.durable.offsets.end_transaction(producer_id, is_committed);
    }

    /// Runs `act` on a living group, if there is one of that name.
    pub(super) fn with_group(
        &mut self,
        now: Now,
        group_id: &str,
        result: &mut CoordinatorResult,
        act: impl FnOnce(&mut Turn<'_>, &mut ClassicGroup),
    ) {
        if let Some(group) = self.groups.get_mut(group_id) {
            let mut turn =
                Turn { now, settings: &self.settings, timers: &mut self.timers, parked: &mut self.parked, result };
            act(&mut turn, group);
        }
    }
}
