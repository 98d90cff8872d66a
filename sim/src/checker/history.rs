//! What clients sent, what they were told about it, and what they read; and the verdict at the end.
//!
//! It must not know the broker. Sends fall into three classes: acknowledged, refused, unknown; everything is stated over those.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use klamm::types::Instant;

use super::admin_history::AdminHistory;
use super::aged_offsets::AgedOffsets;
use super::connection_limits::ConnectionLimits;
use super::deleted_records::DeletedRecords;
use super::destroyed_records::{DestroyedRecords, folder_of};
use super::group_history::GroupHistory;
use super::leader_epochs::LeaderEpochs;
use super::readable_records::ReadableRecords;
use super::sessions::Sessions;
use super::{Excuse, Oracle, Violation};
use crate::client::Value;
use crate::heritage::STALE_CLIENT;
use crate::keyed::Site;
use crate::ledger::Destroyed;

/// What a producer asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// No answer.
    None,
    /// An answer when the batch is written.
    Leader,
    /// An answer when the batch is on the disk.
    All,
}

impl Acks {
    pub(crate) fn to_wire(self) -> i16 {
        match self {
            Acks::None => 0,
            Acks::Leader => 1,
            Acks::All => -1,
        }
    }
}

/// Names one send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendId(usize);

/// Those whose records keep their order: the sends of one connection, or of one idempotent producer, by client and
/// producer id, over all its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    Connection(u64),
    Idempotent(u32, i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendOutcome {
    Acknowledged(i64),
    Refused,
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Send {
    value: Value,
    acks: Acks,
    partition: i32,
    lane: Lane,
    outcome: SendOutcome,
    /// When it was sent. An answer may have been on its way while something was lost.
    era: Era,
}

/// Where a record was seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Who read it.
    pub client: u32,
    /// In which partition.
    pub partition: i32,
    /// The leader epoch of its batch.
    pub epoch: i32,
    /// At which offset.
    pub offset: i64,
    /// The high watermark of the same answer.
    pub high_watermark: i64,
    /// When it was asked for. The answer may have been on its way while something was lost.
    pub era: Era,
    /// Before which offset there was nothing any more, as was known then.
    pub start: i64,
    /// Its time.
    pub timestamp: i64,
}

/// What had happened to the disk by some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Era {
    /// Times that what was not synced may have been lost.
    pub(crate) losses: u32,
    /// Starts that looked through the logs.
    pub(crate) recoveries: u32,
}

#[derive(Clone, Copy, Debug)]
struct ReadAt {
    partition: i32,
    offset: i64,
    era: Era,
}

/// Everything that the verdict needs.
#[derive(Debug, Default)]
pub struct History {
    sends: Vec<Send>,
    /// By partition, leader epoch and offset: what was read there first.
    reads: BTreeMap<(i32, i32, i64), Value>,
    /// Where each value was read first, and when.
    read_at: BTreeMap<Value, ReadAt>,
    /// What the last, whole reading found: by partition and offset.
    final_reads: BTreeMap<(i32, i64), Value>,
    /// The time of each of them.
    final_times: BTreeMap<(i32, i64), i64>,
    is_final: bool,
    /// By partition: behind the last record that was acknowledged as durable.
    durable_ends: BTreeMap<i32, i64>,
    losses: u32,
    /// Offsets of the first partition at which there never was anything.
    hollow: Range<i64>,
    groups: GroupHistory,
    sessions: Sessions,
    limits: ConnectionLimits,
    admin: AdminHistory,
    destroyed: DestroyedRecords,
    deleted: DeletedRecords,
    readable: ReadableRecords,
    epochs: LeaderEpochs,
    aged: AgedOffsets,
    violations: Vec<Violation>,
    oracle: Oracle,
}

impl History {
    /// A history that is judged in this way.
    pub(crate) fn judged_by(oracle: Oracle) -> History {
        History {
            oracle,
            groups: GroupHistory::judged_by(oracle),
            sessions: Sessions::judged_by(oracle),
            admin: AdminHistory::judged_by(oracle),
            destroyed: DestroyedRecords::judged_by(oracle),
            deleted: DeletedRecords::judged_by(oracle),
            ..History::default()
        }
    }

    /// Whether a promise was broken.
    pub(crate) fn has_violation(&self) -> bool {
        !self.violations.is_empty()
    }

    /// How many records the last, whole reading found.
    pub(crate) fn final_records(&self) -> usize {
        self.final_reads.len()
    }

    /// Notes a send; its outcome is unknown until told.
    pub(crate) fn sent(&mut self, value: Value, acks: Acks, partition: i32, lane: Lane) -> SendId {
        let era = self.era();
        self.sends.push(Send { value, acks, partition, lane, outcome: SendOutcome::Unknown, era });
        SendId(self.sends.len() - 1)
    }

    /// Another broker has left this on the disk, in the first partition.
    pub(crate) fn left(&mut self, value: Value, offset: i64) {
        let send = self.sent(value, Acks::All, 0, Lane::Connection(u64::from(value.client) << 32));
        self.acked(send, offset);
    }

    /// Another broker has left no record at these offsets of the first partition.
    pub(crate) fn left_hollow(&mut self, offsets: Range<i64>) {
        self.hollow = offsets;
    }

    /// Whether a reader may find nothing at these offsets.
    pub(crate) fn excuses_gap(&self, partition: i32, offsets: Range<i64>) -> bool {
        let is_hollow = partition == 0 && self.hollow.start <= offsets.start && offsets.end <= self.hollow.end;
        self.oracle.grants(Excuse::Hollow, is_hollow) || self.destroyed.excuses_gap(partition, offsets)
    }

    pub(crate) fn acked(&mut self, send: SendId, offset: i64) {
        if let Some(send) = self.sends.get(send.0).filter(|send| send.acks == Acks::All) {
            let end = self.durable_ends.entry(send.partition).or_default();
            *end = (*end).max(offset + 1);
        }
        self.settle(send, SendOutcome::Acknowledged(offset));
    }

    pub(crate) fn refused(&mut self, send: SendId) {
        let is_unknown = self.oracle.grants(Excuse::UnknownOutcome, false);
        self.settle(send, if is_unknown { SendOutcome::Unknown } else { SendOutcome::Refused });
    }

    pub(crate) fn unknown(&mut self, send: SendId) {
        let is_unknown = self.oracle.grants(Excuse::UnknownOutcome, true);
        self.settle(send, if is_unknown { SendOutcome::Unknown } else { SendOutcome::Refused });
    }

    fn settle(&mut self, send: SendId, outcome: SendOutcome) {
        if let Some(send) = self.sends.get_mut(send.0) {
            send.outcome = outcome;
        }
    }

    /// Notes a record that a consumer read where it expected the offset `expected`.
    pub(crate) fn seen(&mut self, seen: Seen, expected: i64, value: Option<Value>) {
        let Seen { client, partition, epoch, offset, high_watermark, era, start, timestamp } = seen;
        // What was destroyed may be missing.
        if offset != expected && !self.excuses_gap(partition, expected..offset) {
            self.violate(Violation::Gap { client, partition, offset, expected });
        }
        if offset < start {
            self.violate(Violation::DeletedServed { client, partition, offset, start });
        }
        if offset >= high_watermark {
            self.violate(Violation::AboveHighWatermark { client, partition, offset, high_watermark });
        }
        let Some(value) = value else { return self.violate(Violation::Foreign { partition, offset }) };
        if value.client == STALE_CLIENT {
            return self.violate(Violation::StaleServed { value, partition, offset });
        }
        let before = *self.reads.entry((partition, epoch, offset)).or_insert(value);
        if before != value && !self.may_have_moved_up(value, partition, offset) {
            self.violate(Violation::OffsetChanged { partition, offset, before, after: value });
        }
        self.destroyed.served(partition, offset, era.recoveries);
        self.read_at.entry(value).or_insert(ReadAt { partition, offset, era });
        if self.is_final {
            self.final_reads.insert((partition, offset), value);
            self.final_times.insert((partition, offset), timestamp);
            self.epochs.read(partition, epoch, offset);
        }
    }

    /// Whether a record that lay further down may be found here, since what says where its batch begins was destroyed.
    fn may_have_moved_up(&self, value: Value, partition: i32, offset: i64) -> bool {
        let read = self.read_at.get(&value).filter(|read| read.partition == partition).map(|read| read.offset);
        let told = self.sends.iter().filter(|send| send.value == value && send.partition == partition);
        let told = told.filter_map(|send| match send.outcome {
            SendOutcome::Acknowledged(offset) => Some(offset),
            SendOutcome::Refused | SendOutcome::Unknown => None,
        });
        read.into_iter().chain(told).any(|was| was < offset && self.destroyed.may_have_moved(partition, was))
    }

    /// Notes the mark of an ended transaction.
    pub(crate) fn marked(&mut self, partition: i32, epoch: i32, offset: i64, timestamp: i64) {
        if self.is_final {
            self.epochs.read(partition, epoch, offset);
            self.final_times.insert((partition, offset), timestamp);
        }
    }

    /// The times of all that the last reading has found, and the partitions that had something.
    pub(crate) fn times(&self) -> (Vec<i64>, Vec<i32>) {
        let partitions: BTreeSet<i32> = self.final_times.keys().map(|(partition, _)| *partition).collect();
        (self.final_times.values().copied().collect(), partitions.into_iter().collect())
    }

    /// The broker says which record of a partition is the first, by offset, that is not older than `timestamp`, and its time.
    pub(crate) fn sought(&mut self, partition: i32, timestamp: i64, found: (i64, i64)) {
        let its = self.final_times.range((partition, 0)..=(partition, i64::MAX));
        let first = its.map(|((_, offset), time)| (*offset, *time)).find(|(_, time)| *time >= timestamp);
        let expected = first.unwrap_or((-1, -1));
        if found != expected && !self.destroyed.may_mislead(partition) {
            let (expected, found) = (expected.0, found.0);
            self.violate(Violation::SoughtInVain { partition, timestamp, expected, found });
        }
    }

    /// The broker says where epochs of a partition end: the present one, all before it, and the next. What was deleted takes its epochs along, and may come back
    /// without them.
    pub(crate) fn epochs_told(&mut self, partition: i32, latest: i32, told: &[(i32, i64)]) {
        let Some((_, end)) = told.first().copied() else { return };
        if self.destroyed.is_touched(partition) {
            return;
        }
        let is_deleted = self.deleted.excuses(partition, 0);
        let end = end.max(self.epochs.end_of_reading(partition));
        for (epoch, found) in std::iter::once(latest).chain(0..latest).chain([latest + 1]).zip(told.iter().copied()) {
            let expected = self.epochs.end_of(partition, epoch, (latest, end));
            if found != expected && (epoch >= latest || !is_deleted) {
                self.violate(Violation::EpochEndsElsewhere { partition, epoch, expected, found });
            }
        }
    }

    /// From now on reads count for the verdict: the run is calm and one consumer reads everything.
    pub(crate) fn begin_final_reading(&mut self) {
        self.is_final = true;
    }

    /// Notes that what was not synced may be gone: the power was cut, or the disk has lost what a sync should have written.
    pub(crate) fn unsynced_lost(&mut self) {
        self.losses += 1;
    }

    /// By partition: behind the last record that was acknowledged as durable. Whatever happens, whoever is told of the partition's end is told of this at least,
    /// unless the disk has destroyed records of it.
    pub(crate) fn durable_ends(&self) -> &BTreeMap<i32, i64> {
        &self.durable_ends
    }

    /// How often what was not synced may have been lost so far.
    pub(crate) fn losses(&self) -> u32 {
        self.losses
    }

    /// What has happened to the disk so far.
    pub(crate) fn era(&self) -> Era {
        Era { losses: self.losses, recoveries: self.destroyed.recoveries() }
    }

    /// Takes note of what the disk has destroyed in the partitions of a topic.
    pub(crate) fn lost_on_disk(&mut self, topic: &str, destroyed: &[Destroyed]) {
        self.destroyed.take(topic, destroyed);
        let vanished = destroyed.iter().filter(|destroyed| destroyed.how == Site::DirectoryVanished);
        for partition in vanished.filter_map(|destroyed| folder_of(&destroyed.path, topic)) {
            self.deleted.vanished(partition);
        }
    }

    /// Which records the disk has destroyed.
    pub(crate) fn destroyed(&mut self) -> &mut DestroyedRecords {
        &mut self.destroyed
    }

    /// Which records clients have had deleted.
    pub(crate) fn deleted(&mut self) -> &mut DeletedRecords {
        &mut self.deleted
    }

    /// Up to where clients were told that partitions are readable.
    pub(crate) fn readable(&mut self) -> &mut ReadableRecords {
        &mut self.readable
    }

    /// Since when it is known that a reader at this offset finds something. Where there never was anything it waits for what comes behind.
    pub(crate) fn readable_since(&self, partition: i32, offset: i64) -> Option<Instant> {
        let is_hollow = partition == 0 && self.hollow.contains(&offset);
        let offset = if self.oracle.grants(Excuse::Hollow, is_hollow) { offset.max(self.hollow.end) } else { offset };
        self.readable.since(partition, offset)
    }

    /// Which committed offsets are too old.
    pub(crate) fn aged(&mut self) -> &mut AgedOffsets {
        &mut self.aged
    }

    /// What members of the group were told.
    pub(crate) fn groups(&mut self) -> &mut GroupHistory {
        &mut self.groups
    }

    /// What operators were told of how many connections there may be.
    pub(crate) fn limits(&mut self) -> &mut ConnectionLimits {
        &mut self.limits
    }

    /// When members were heard.
    pub(crate) fn sessions(&mut self) -> &mut Sessions {
        &mut self.sessions
    }

    /// What admins were told.
    pub(crate) fn admin(&mut self) -> &mut AdminHistory {
        &mut self.admin
    }

    pub(crate) fn violate(&mut self, violation: Violation) {
        // The first of a kind tells all; a thousand of them tell no more.
        if self.violations.len() < 100 && self.oracle.tells(&violation) {
            self.violations.push(violation);
        }
    }

    /// Sends that were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.sends.iter().filter(|send| matches!(send.outcome, SendOutcome::Acknowledged(_))).count()
    }

    /// What was found so far, without a judgement on a run that did not come to its final reading.
    pub(crate) fn into_violations(self) -> Vec<Violation> {
        self.violations
    }

    /// Judges, after the final reading, and returns everything that was found, in order.
    pub(crate) fn verdict(mut self) -> Vec<Violation> {
        let mut places: BTreeMap<Value, (i32, i64)> = BTreeMap::new();
        for ((partition, offset), value) in std::mem::take(&mut self.final_reads) {
            if let Some((_, first)) = places.insert(value, (partition, offset)) {
                self.violate(Violation::Twice { value, partition, first, second: offset });
            }
        }
        let mut last_of_lane: BTreeMap<(Lane, i32), (Value, i64)> = BTreeMap::new();
        for send in std::mem::take(&mut self.sends) {
            let found = places.get(&send.value).copied();
            self.judge(&send, found);
            let acknowledged = match send.outcome {
                SendOutcome::Acknowledged(offset) => Some(offset),
                SendOutcome::Refused | SendOutcome::Unknown => None,
            };
            // Whatever a client was told, what is there is there in order. What the disk has destroyed has left its place to others, and so has what was deleted
            // before the log behind it was destroyed and began anew.
            let is_excused = |offset: &i64| {
                self.destroyed.excuses(send.partition, *offset, send.era.recoveries)
                    || self.deleted.excuses(send.partition, *offset) && self.destroyed.is_touched(send.partition)
            };
            let acknowledged = acknowledged.filter(|offset| !is_excused(offset));
            let Some(offset) = found.map(|(_, offset)| offset).or(acknowledged) else { continue };
            let key = (send.lane, send.partition);
            if let Some((earlier, last)) = last_of_lane.insert(key, (send.value, offset))
                && last >= offset
            {
                let (later, partition) = (send.value, send.partition);
                self.violate(Violation::OutOfOrder { earlier, later, partition });
            }
        }
        self.groups.verdict().into_iter().for_each(|violation| self.violate(violation));
        self.violations
    }

    fn judge(&mut self, send: &Send, found: Option<(i32, i64)>) {
        let (value, partition) = (send.value, send.partition);
        match (send.outcome, found) {
            (SendOutcome::Acknowledged(offset), None) => {
                let survives = send.acks == Acks::All || send.era.losses == self.losses;
                let is_deleted = self.deleted.excuses(partition, offset);
                if survives && !is_deleted && !self.destroyed.excuses(partition, offset, send.era.recoveries) {
                    self.violate(Violation::AcknowledgedLost { value, partition, offset });
                }
            }
            (SendOutcome::Acknowledged(offset), Some(place)) if place != (partition, offset) => {
                if place.0 == partition && place.1 > offset && self.destroyed.may_have_moved(partition, offset) {
                    return;
                }
                self.violate(Violation::AcknowledgedElsewhere { value, partition, offset, found: place.1 });
            }
            (SendOutcome::Refused, Some((partition, offset))) => {
                self.violate(Violation::RefusedThere { value, partition, offset });
            }
            (SendOutcome::Acknowledged(_) | SendOutcome::Unknown, _) | (SendOutcome::Refused, None) => {}
        }
        let is_unfinished = !matches!(send.outcome, SendOutcome::Acknowledged(_));
        if is_unfinished && matches!(send.lane, Lane::Idempotent(..)) && !self.destroyed.is_touched(partition) {
            self.violate(Violation::NeverAcknowledged { value });
        }
        // What was not synced is lost by a power cut only.
        if let Some(ReadAt { partition, offset, era }) = self.read_at.get(&value).copied()
            && (send.acks == Acks::All || era.losses == self.losses)
            && found != Some((partition, offset))
            && !self.deleted.excuses(partition, offset)
            && !self.destroyed.excuses(partition, offset, era.recoveries)
        {
            self.violate(Violation::ReadLost { value, partition, offset });
        }
    }
}
