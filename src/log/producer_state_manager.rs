//! All producers of a partition: who is known, which transactions are open, and the snapshots of that on disk.
//!
//! It must not know segments; the log shows it every batch and says when to take a snapshot. Snapshots are a cache of the log.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::{Disk, DiskError, DiskFile, OpenMode};
use crate::log::append::AppendOrigin;
use crate::log::failed_batches::FailedBatches;
use crate::log::log_file_name::{SNAPSHOT, file_name};
use crate::log::producer_append_info::{
    CompletedTransaction, EndTransactionMarker, ProducerAppendInfo, VerificationGuard, VerificationState,
};
use crate::log::producer_snapshot;
use crate::log::producer_state_entry::ProducerStateEntry;
use crate::log::unified_log::LogOffsetMetadata;
use crate::marks::Mark;
use crate::record::{BatchHeader, RecordBatch};
use crate::types::{Offset, ProducerEpoch, ProducerId, WallTime};
use crate::zoo::{self, Bug};

/// Largest snapshot that is read; ten million producers are fewer.
const SNAPSHOT_BYTES_MAX: u64 = 512 << 20;

/// A transaction that has begun and not ended: what its marker has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Whose.
    pub producer_id: ProducerId,
    /// In which of its epochs.
    pub epoch: ProducerEpoch,
    /// The epoch of the coordinator that ended its last one; 0 if none did.
    pub coordinator_epoch: i32,
}

/// All producers of a partition. Kafka's type of the same name.
#[derive(Debug)]
pub(super) struct ProducerStateManager {
    disk: Arc<dyn Disk>,
    directory: Arc<Path>,
    producers: BTreeMap<ProducerId, ProducerStateEntry>,
    /// Open transactions by first offset, with their place where it is known.
    ongoing: BTreeMap<Offset, Option<LogOffsetMetadata>>,
    /// Ended transactions whose marker is at or above the high watermark: by first offset, place and marker.
    unreplicated: BTreeMap<Offset, (Option<LogOffsetMetadata>, Offset)>,
    verifications: BTreeMap<ProducerId, VerificationState>,
    /// Of unknown producers.
    failed: FailedBatches,
    next_guard: u64,
    snapshots: BTreeSet<Offset>,
    /// The state is that of the log up to here.
    end: Offset,
    last_snapshot: Offset,
}

impl ProducerStateManager {
    /// Knows nobody, and which snapshots there are.
    pub(super) fn new(disk: Arc<dyn Disk>, directory: Arc<Path>, snapshots: BTreeSet<Offset>) -> ProducerStateManager {
        ProducerStateManager {
            disk,
            directory,
            producers: BTreeMap::new(),
            ongoing: BTreeMap::new(),
            unreplicated: BTreeMap::new(),
            verifications: BTreeMap::new(),
            failed: FailedBatches::default(),
            next_guard: 0,
            snapshots,
            end: Offset(0),
            last_snapshot: Offset(0),
        }
    }

    /// The offset up to which the state is that of the log.
    pub(super) fn end(&self) -> Offset {
        self.end
    }

    /// Says that the state is that of the log up to `end`.
    pub(super) fn set_end(&mut self, end: Offset) {
        self.end = end;
    }

    /// What is known of a producer.
    pub(super) fn entry(&self, producer_id: ProducerId) -> Option<&ProducerStateEntry> {
        self.producers.get(&producer_id)
    }

    /// The highest id of all.
    pub(super) fn producer_id_max(&self) -> Option<ProducerId> {
        self.producers.last_key_value().map(|(producer_id, _)| *producer_id)
    }

    /// The transactions that have begun and not ended.
    pub(super) fn open_transactions(&self) -> Vec<OpenTransaction> {
        let open = self.producers.values().filter(|entry| entry.transaction_first_offset.is_some());
        let described = open.map(|entry| OpenTransaction {
            producer_id: entry.producer_id,
            epoch: entry.epoch,
            coordinator_epoch: entry.coordinator_epoch.max(0),
        });
        described.collect()
    }

    /// What an append would be checked against.
    pub(super) fn prepare(&self, producer_id: ProducerId, origin: AppendOrigin) -> ProducerAppendInfo {
        let entry = self.producers.get(&producer_id).cloned().unwrap_or_else(|| ProducerStateEntry::new(producer_id));
        let failed = self.failed.get(producer_id);
        ProducerAppendInfo::new(entry, origin, self.verifications.get(&producer_id).copied(), failed)
    }

    /// Takes over what an append did, whose first batch lies at `start`. Returns the transactions that it ended.
    pub(super) fn update(
        &mut self,
        mut info: ProducerAppendInfo,
        start: LogOffsetMetadata,
    ) -> Vec<CompletedTransaction> {
        for (offset, position) in &info.started {
            let position = start.position + position;
            self.ongoing.insert(*offset, Some(LogOffsetMetadata { offset: *offset, position, ..start }));
        }
        let completed = std::mem::take(&mut info.completed);
        if !info.started.is_empty() || !completed.is_empty() {
            self.verifications.remove(&info.producer_id());
        }
        self.failed.forget(info.producer_id());
        self.producers.insert(info.producer_id(), info.into_entry());
        completed
    }

    /// Remembers that a batch could not be written, if its producer is not known: any first sequence would do for it.
    pub(super) fn note_failed(&mut self, batch: &BatchHeader) {
        if !self.producers.contains_key(&batch.producer_id()) && !zoo::is(Bug::FailedBatchForgotten) {
            self.failed.note(batch);
        }
    }

    /// Remembers so the batches that came before there was this log.
    pub(super) fn take_failed(&mut self, failed: FailedBatches) {
        self.failed.take(failed, |producer_id| !self.producers.contains_key(&producer_id));
    }

    /// The last stable offset when `transaction` has ended and before the high watermark has passed its marker.
    pub(super) fn last_stable_after(&self, transaction: &CompletedTransaction) -> Offset {
        let other = self.ongoing.keys().find(|first| **first != transaction.first_offset);
        other.copied().unwrap_or(transaction.last_offset.plus(1))
    }

    /// Takes note that a transaction has ended; it holds the last stable offset until the high watermark has passed its marker.
    pub(super) fn complete(&mut self, transaction: &CompletedTransaction) {
        let place = self.ongoing.remove(&transaction.first_offset).flatten();
        self.unreplicated.insert(transaction.first_offset, (place, transaction.last_offset));
    }

    /// Takes note of the high watermark.
    pub(super) fn high_watermark_moved(&mut self, high_watermark: Offset) {
        while let Some(first) = self.unreplicated.first_entry() {
            if first.get().1 >= high_watermark {
                break;
            }
            first.remove();
        }
    }

    /// The first offset that a transactional consumer may not see, and its place where it is known.
    pub(super) fn first_unstable(&self) -> Option<(Offset, Option<LogOffsetMetadata>)> {
        let ongoing = self.ongoing.first_key_value().map(|(offset, place)| (*offset, *place));
        let unreplicated = self.unreplicated.first_key_value().map(|(offset, (place, _))| (*offset, *place));
        [ongoing, unreplicated].into_iter().flatten().min_by_key(|(offset, _)| *offset)
    }

    /// Sets the places of open transactions that a snapshot knew only by offset.
    pub(super) fn resolve_places<E>(
        &mut self,
        mut find: impl FnMut(Offset) -> Result<LogOffsetMetadata, E>,
    ) -> Result<(), E> {
        for (offset, place) in &mut self.ongoing {
            if place.is_none() {
                *place = Some(find(*offset)?);
            }
        }
        Ok(())
    }

    /// Takes a batch that a recovery or a load has read, which lies at `place`. Nothing is refused: it was accepted once.
    /// Returns the transactions that it ended, each with the last stable offset after it.
    pub(super) fn replay(
        &mut self,
        batch: &RecordBatch<'_>,
        place: LogOffsetMetadata,
    ) -> Vec<(CompletedTransaction, Offset)> {
        self.end = batch.next_offset();
        if !batch.has_producer_id() || zoo::is(Bug::ProducerStateNotRebuilt) {
            return Vec::new();
        }
        let marker = if batch.is_control_batch() { EndTransactionMarker::read(batch) } else { None };
        let mut info = self.prepare(batch.producer_id(), AppendOrigin::Replication);
        if info.append(batch.header(), marker, 0, 0).is_err() {
            return Vec::new();
        }
        let completed = self.update(info, place);
        let ended = completed.into_iter().map(|transaction| {
            let last_stable = self.last_stable_after(&transaction);
            self.complete(&transaction);
            (transaction, last_stable)
        });
        ended.collect()
    }

    /// Begins to verify a producer's transaction, or goes on: what the append has to show.
    pub(super) fn start_verification(
        &mut self,
        now: WallTime,
        producer_id: ProducerId,
        epoch: ProducerEpoch,
        sequence: i32,
        supports_epoch_bump: bool,
    ) -> VerificationGuard {
        if !self.verifications.contains_key(&producer_id) {
            self.next_guard += 1;
        }
        let guard = VerificationGuard(self.next_guard);
        let fresh = VerificationState { since: now.0, guard, lowest_sequence: sequence, epoch, supports_epoch_bump };
        let state = self.verifications.entry(producer_id).or_insert(fresh);
        if epoch > state.epoch || (epoch == state.epoch && sequence < state.lowest_sequence) {
            (state.epoch, state.lowest_sequence) = (epoch, sequence);
        }
        state.guard
    }

    /// Whether `guard` is the one that the producer's verification gave out.
    pub(super) fn is_verified(&self, producer_id: ProducerId, guard: Option<VerificationGuard>) -> bool {
        guard.is_some() && self.verifications.get(&producer_id).map(|state| state.guard) == guard
    }

    /// Forgets producers that were silent for `expiration_ms` and have no open transaction, and verifications that old.
    pub(super) fn remove_expired(&mut self, now: WallTime, expiration_ms: i64) {
        self.producers.retain(|_, entry| !is_expired(entry, now, expiration_ms));
        self.verifications.retain(|_, state| now.0.saturating_sub(state.since) < expiration_ms);
    }

    /// Forgets everything, and that the log begins at `offset`: all below was removed at once.
    pub(super) fn restart_at(&mut self, offset: Offset) -> Result<(), DiskError> {
        self.producers.clear();
        self.ongoing.clear();
        self.unreplicated.clear();
        for snapshot in std::mem::take(&mut self.snapshots) {
            self.remove_file(snapshot)?;
        }
        self.end = offset;
        self.last_snapshot = offset;
        Ok(())
    }

    /// Removes snapshots that no log between `log_start` and `log_end` can use.
    pub(super) fn remove_useless_snapshots(&mut self, log_start: Offset, log_end: Offset) -> Result<(), DiskError> {
        let is_useless = |snapshot: &Offset| *snapshot > log_end || *snapshot <= log_start;
        let useless: Vec<Offset> = self.snapshots.iter().filter(|snapshot| is_useless(snapshot)).copied().collect();
        useless.into_iter().try_for_each(|snapshot| self.remove_snapshot(snapshot))
    }

    /// Makes the state one from which the log between `log_start` and `log_end` can be replayed, from [`ProducerStateManager::end`] on.
    pub(super) fn reload(
        &mut self,
        log_start: Offset,
        log_end: Offset,
        now: WallTime,
        expiration_ms: i64,
    ) -> Result<(), DiskError> {
        if self.end == log_end {
            return Ok(());
        }
        self.producers.clear();
        self.ongoing.clear();
        self.unreplicated.clear();
        while let Some(snapshot) =
            self.snapshots.range(..=log_end).next_back().copied().filter(|newest| *newest > log_start)
        {
            if let Some(entries) = self.read_snapshot(snapshot)? {
                Mark::ProducersFromSnapshot.reached();
                for entry in entries.into_iter().filter(|entry| !is_expired(entry, now, expiration_ms)) {
                    if let Some(first) = entry.transaction_first_offset {
                        self.ongoing.insert(first, None);
                    }
                    self.producers.insert(entry.producer_id, entry);
                }
                (self.end, self.last_snapshot) = (snapshot, snapshot);
                return Ok(());
            }
            Mark::SnapshotDamaged.reached();
            self.remove_snapshot(snapshot)?;
        }
        (self.end, self.last_snapshot) = (log_start, log_start);
        Ok(())
    }

    /// Writes the state as a snapshot at [`ProducerStateManager::end`] if that is new, without a sync. The file is then owed one.
    pub(super) fn take_snapshot(&mut self) -> Result<Option<Arc<dyn DiskFile>>, DiskError> {
        if self.end <= self.last_snapshot || zoo::is(Bug::NoSnapshotTaken) {
            return Ok(None);
        }
        let file = self.disk.open(&self.path(self.end), OpenMode::CreateEmpty)?;
        file.append(&[IoSlice::new(&producer_snapshot::encode(self.producers.values()))])?;
        self.snapshots.insert(self.end);
        self.last_snapshot = self.end;
        Ok(Some(file))
    }

    /// Removes snapshots that belong to no segment, except for the newest if it lies above all of them: a clean shutdown's.
    pub(super) fn remove_stray_snapshots(&mut self, segments: &BTreeSet<Offset>) -> Result<(), DiskError> {
        let strays: Vec<Offset> = self.snapshots.difference(segments).copied().collect();
        let newest_above = strays.last().copied().filter(|stray| segments.last().is_some_and(|last| stray > last));
        strays
            .into_iter()
            .filter(|stray| Some(*stray) != newest_above)
            .try_for_each(|stray| self.remove_snapshot(stray))
    }

    /// Removes the snapshot at this offset, if there is one.
    pub(super) fn remove_snapshot(&mut self, snapshot: Offset) -> Result<(), DiskError> {
        if self.snapshots.remove(&snapshot) { self.remove_file(snapshot) } else { Ok(()) }
    }

    /// Takes note that the log begins at `log_start` now.
    pub(super) fn log_start_moved(&mut self, log_start: Offset) {
        self.high_watermark_moved(log_start);
        self.end = self.end.max(log_start);
    }

    /// Follows its folder to a new name.
    pub(super) fn move_to(&mut self, directory: Arc<Path>) {
        self.directory = directory;
    }

    fn path(&self, snapshot: Offset) -> PathBuf {
        self.directory.join(file_name(snapshot, SNAPSHOT))
    }

    fn remove_file(&self, snapshot: Offset) -> Result<(), DiskError> {
        match self.disk.remove_file(&self.path(snapshot)) {
            Err(error) if error.is_not_found() => Ok(()),
            result => result,
        }
    }

    fn read_snapshot(&self, snapshot: Offset) -> Result<Option<Vec<ProducerStateEntry>>, DiskError> {
        let file = match self.disk.open(&self.path(snapshot), OpenMode::Read) {
            Err(error) if error.is_not_found() => return Ok(None),
            result => result?,
        };
        let bytes = file.bytes()?;
        if bytes > SNAPSHOT_BYTES_MAX {
            return Ok(None);
        }
        let mut buffer = vec![0; usize::try_from(bytes).unwrap_or(0)];
        let read = file.read_at(0, &mut buffer)?;
        Ok(producer_snapshot::decode(buffer.get(..read).unwrap_or_default()))
    }
}

fn is_expired(entry: &ProducerStateEntry, now: WallTime, expiration_ms: i64) -> bool {
    entry.transaction_first_offset.is_none() && now.0.saturating_sub(entry.last_timestamp) >= expiration_ms
}
