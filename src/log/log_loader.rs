//! Makes a log of what lies in a partition's folder: finishes what a crash interrupted, recovers what may be torn.
//!
//! It must not know the folder above, nor whose partition it is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use crate::env::{Disk, DiskError};
use crate::log::batch_scanner::{BatchScanner, LOOKUP_CHUNK_BYTES, RECOVERY_CHUNK_BYTES, ScanError};
use crate::log::error::LogError;
use crate::log::folder_files::FolderFiles;
use crate::log::lazy_file::SegmentPlace;
use crate::log::leader_epoch_cache::LeaderEpochCache;
use crate::log::log_segment::{Cut, LogSegment, RecoveredSegment};
use crate::log::producer_state_manager::ProducerStateManager;
use crate::log::settings::LogSettings;
use crate::log::transaction_index::AbortedTransaction;
use crate::log::unified_log::{LoadedLog, LogOffsetMetadata};
use crate::marks::Mark;
use crate::record::RecordBatch;
use crate::types::{Offset, WallTime};
use crate::zoo::{self, Bug};

type Segments = BTreeMap<Offset, LogSegment>;

/// What a loader needs to know beside the folder.
#[derive(Debug)]
pub(super) struct LogLoader<'a> {
    /// The file system.
    pub(super) disk: &'a Arc<dyn Disk>,
    /// The partition's folder.
    pub(super) directory: &'a Arc<Path>,
    /// The log's settings.
    pub(super) settings: &'a LogSettings,
    /// The present.
    pub(super) now: WallTime,
    /// Whether the last shutdown of the directory was clean, so that nothing can be torn.
    pub(super) was_clean: bool,
    /// Whether the caller syncs everything before it counts as being on disk. Else what a load writes is left to the log's first sync.
    pub(super) is_synced_after: bool,
    /// What is known to be on disk, as the checkpoint says.
    pub(super) recovery_point: Offset,
    /// The first offset, as the checkpoint says.
    pub(super) log_start: Offset,
}

impl LogLoader<'_> {
    /// Loads the log. Everything in it is whole; what was not clean is still owed a sync, by the caller.
    pub(super) fn load(&self) -> Result<LoadedLog, LogError> {
        let files = FolderFiles::tidy_up(&**self.disk, self.directory)?;
        // A mark that an end in order has left is older than a broker that knows none, and whose checkpoints are right.
        if files.is_new && !self.was_clean && self.is_checkpointed() && !zoo::is(Bug::FormerCheckpointBelieved) {
            Mark::OtherLogsCheckpoint.reached();
            return self.without_checkpoints().load();
        }
        let (mut epochs, epochs_are_trusted) = LeaderEpochCache::load(Arc::clone(self.disk), self.directory)?;
        let mut producers = self.producers(files.snapshots.clone());
        let mut segments: Segments = BTreeMap::new();
        for (base, bytes) in &files.segments {
            segments.insert(*base, LogSegment::new(self.place(*base), *bytes, self.now));
        }
        self.rebuild_indexes(&mut segments, &files)?;
        if !self.was_clean {
            self.recover_unflushed(&mut segments, &mut producers, &mut epochs)?;
        }
        let mut end = self.find_end(&mut segments, &files)?;
        let checked_bytes = if self.was_clean { 0 } else { self.unflushed_bytes(&segments) };
        if !self.was_clean && end.offset < self.recovery_point {
            // What was synced is not there: the checkpoints speak of another log, of a topic of the same name that was deleted.
            Mark::OtherLogsCheckpoint.reached();
            return self.without_checkpoints().load();
        }
        if end.offset < self.log_start || segments.is_empty() {
            Mark::LogBegunAnew.reached();
            segments.values_mut().try_for_each(LogSegment::remove_files)?;
            segments.clear();
            segments.insert(self.log_start, LogSegment::create(self.place(self.log_start), self.now)?);
            end = LogOffsetMetadata { offset: self.log_start, segment: self.log_start, position: 0 };
            producers.restart_at(self.log_start)?;
            epochs.clear();
        }
        let log_start = segments.keys().next().map_or(self.log_start, |first| self.log_start.max(*first));
        if !epochs_are_trusted {
            self.rebuild_epochs(&mut segments, &mut epochs)?;
        }
        epochs.truncate_from_end(end.offset);
        epochs.truncate_from_start(log_start);
        if self.is_synced_after {
            epochs.write()?;
        }
        self.load_producers(&mut segments, &mut producers, log_start, end.offset)?;
        producers.resolve_places(|offset| find_place(&mut segments, offset))?;
        segments.values_mut().for_each(LogSegment::close);
        let (recovery_point, is_new) = (self.recovery_point, files.is_new);
        Ok(LoadedLog { segments, log_start, end, producers, epochs, checked_bytes, recovery_point, is_new })
    }

    fn is_checkpointed(&self) -> bool {
        self.recovery_point > Offset(0) || self.log_start > Offset(0)
    }

    /// The same for a log of which the checkpoints say nothing.
    fn without_checkpoints(&self) -> LogLoader<'_> {
        LogLoader { recovery_point: Offset(0), log_start: Offset(0), ..*self }
    }

    fn place(&self, base_offset: Offset) -> SegmentPlace {
        SegmentPlace { disk: Arc::clone(self.disk), directory: Arc::clone(self.directory), base_offset }
    }

    fn producers(&self, snapshots: BTreeSet<Offset>) -> ProducerStateManager {
        ProducerStateManager::new(Arc::clone(self.disk), Arc::clone(self.directory), snapshots)
    }

    /// Builds the indexes of segments again where they are missing, torn or wrong. Records are not cut off for that.
    fn rebuild_indexes(&self, segments: &mut Segments, files: &FolderFiles) -> Result<(), LogError> {
        let mut damaged = files.without_indexes.clone();
        if !damaged.is_empty() && zoo::is(Bug::MissingIndexFatal) {
            return Err(LogError::malformed(self.directory, "a segment has no index"));
        }
        for (base, segment) in segments.iter_mut() {
            if !segment.has_sane_indexes()? {
                damaged.insert(*base);
            }
        }
        if !self.was_clean {
            damaged.retain(|base| *base < self.first_unflushed(segments));
        }
        if !damaged.is_empty() {
            Mark::IndexRebuilt.reached();
        }
        damaged.into_iter().try_for_each(|base| self.recover_alone(segments, files, base, Cut::Keep))
    }

    /// Recovers one segment without a change to what else is known.
    fn recover_alone(
        &self,
        segments: &mut Segments,
        files: &FolderFiles,
        base: Offset,
        cut: Cut,
    ) -> Result<(), LogError> {
        let mut producers = self.producers(files.snapshots.clone());
        self.replay_to(segments, &mut producers, self.log_start, base)?;
        if let Some(segment) = segments.get_mut(&base) {
            segment.recover(self.settings, cut, |batch, position| replay(&mut producers, batch, base, position))?;
        }
        Ok(())
    }

    /// Base offset of the segment that ends at the recovery point or behind it. One that ends just there may have been rolled after the
    /// sync that moved the recovery point: then its indexes may be torn.
    fn first_unflushed(&self, segments: &Segments) -> Offset {
        segments.range(..self.recovery_point).next_back().map_or(Offset(0), |(base, _)| *base)
    }

    /// How much a recovery has read and kept.
    fn unflushed_bytes(&self, segments: &Segments) -> u64 {
        segments.range(self.first_unflushed(segments)..).map(|(_, segment)| segment.bytes()).sum()
    }

    /// Recovers every segment from the recovery point on. Behind the first one that had to be cut, nothing is left.
    fn recover_unflushed(
        &self,
        segments: &mut Segments,
        producers: &mut ProducerStateManager,
        epochs: &mut LeaderEpochCache,
    ) -> Result<(), LogError> {
        let first = self.first_unflushed(segments);
        let bases: Vec<Offset> = segments.range(first..).map(|(base, _)| *base).collect();
        let Some(first) = bases.first().copied() else { return Ok(()) };
        if segments.keys().next() != Some(&first) {
            Mark::RecoveryFromTheMiddle.reached();
        }
        self.replay_to(segments, producers, self.log_start, first)?;
        for (index, base) in bases.iter().copied().enumerate() {
            let segment = segments.get_mut(&base).expect("its base was listed above");
            let recovered = segment.recover(self.settings, Cut::Remove, |batch, position| {
                epochs.note_batch(batch.partition_leader_epoch(), batch.base_offset());
                replay(producers, batch, base, position)
            })?;
            producers.take_snapshot()?;
            if recovered.cut_bytes > 0 {
                Mark::TornTailCut.reached();
            }
            let has_lost_its_end = match bases.get(index + 1).and_then(|next| segments.get_mut(next)) {
                Some(next) => self.has_lost_its_end(&recovered, next, epochs)?,
                None => false,
            };
            if recovered.cut_bytes > 0 || has_lost_its_end {
                let later = segments.split_off(&base.plus(1));
                self.tell_of_cut(base, &recovered, &later);
                for (later, mut segment) in later {
                    Mark::LaterSegmentsRemoved.reached();
                    segment.remove_files()?;
                    producers.remove_snapshot(later)?;
                }
                break;
            }
        }
        Ok(())
    }

    /// Tells the operator what a cut has cost. Only of what no sync had reached is it known that the crash has torn it.
    fn tell_of_cut(&self, segment: Offset, recovered: &RecoveredSegment, later: &Segments) {
        let (folder, offset, segments_removed) = (self.directory.display(), recovered.next_offset, later.len());
        let bytes = recovered.cut_bytes + later.values().map(LogSegment::bytes).sum::<u64>();
        let reason = if offset >= self.recovery_point {
            "a crash has torn what was not synced yet"
        } else {
            "records that the last checkpoint has on the disk are damaged, unless it speaks of a deleted topic of the same name"
        };
        tracing::warn!(%folder, %segment, %offset, bytes, segments_removed, "the end of a log is cut off from this offset on: {reason}");
    }

    /// Whether a segment that is followed by one at `next_base` ended there once: a power cut may also end a file early at a batch's end.
    /// Where a compaction was, or may have been, a gap proves nothing, nor does one behind which a later leader epoch begins: a start, which has synced what there
    /// was, has found the log like that. It does if that epoch is known to have begun where the segment ends now: what it appended there was torn away.
    fn has_lost_its_end(
        &self,
        recovered: &RecoveredSegment,
        next: &mut LogSegment,
        epochs: &LeaderEpochCache,
    ) -> Result<bool, LogError> {
        let (end, is_compacted) = (recovered.next_offset, self.settings.compact || recovered.has_gaps);
        if end >= next.base_offset() || end < self.recovery_point || is_compacted {
            return Ok(false);
        }
        let epoch = next.first_epoch()?;
        let is_later = epoch.zip(recovered.last_epoch).is_some_and(|(next, last)| next > last);
        let was_there = is_later && epoch.and_then(|epoch| epochs.start_of(epoch)).is_none_or(|start| start > end);
        if !was_there {
            Mark::EndLost.reached();
        }
        Ok(!was_there)
    }

    /// The log's end, from the last segment. One that does not end with a whole batch, in spite of a clean shutdown, is cut.
    fn find_end(&self, segments: &mut Segments, files: &FolderFiles) -> Result<LogOffsetMetadata, LogError> {
        let Some((base, active)) = segments.iter_mut().next_back() else { return Ok(LogOffsetMetadata::default()) };
        let (base, bytes, mut found) = (*base, active.bytes(), active.find_next_offset());
        if let Err(ScanError::Damaged { .. }) = found {
            Mark::EndDamaged.reached();
            self.recover_alone(segments, files, base, Cut::Remove)?;
            found = segments.get_mut(&base).expect("it was the last of them").find_next_offset();
        }
        let active = segments.get_mut(&base).expect("it was the last of them");
        if active.bytes() < bytes {
            let (folder, bytes) = (self.directory.display(), bytes - active.bytes());
            let offset = found.as_ref().ok();
            tracing::warn!(%folder, segment = %base, offset = offset.map(|offset| offset.0), bytes, "the end of a log is damaged, though the last end was in order, and was cut off from this offset on");
        }
        match found {
            Ok(offset) => Ok(LogOffsetMetadata { offset, segment: base, position: active.bytes() }),
            Err(ScanError::Disk(error)) => Err(error.into()),
            Err(error) => Err(LogError::malformed(self.directory, error.to_string())),
        }
    }

    fn rebuild_epochs(&self, segments: &mut Segments, epochs: &mut LeaderEpochCache) -> Result<(), LogError> {
        for segment in segments.values_mut() {
            let (file, bytes) = (segment.file()?, segment.bytes());
            let mut scanner = BatchScanner::new(&*file, 0, bytes, LOOKUP_CHUNK_BYTES).carefully();
            loop {
                match scanner.next_header() {
                    Ok(Some(batch)) => {
                        epochs.note_batch(batch.header.partition_leader_epoch(), batch.header.base_offset())
                    }
                    Ok(None) | Err(ScanError::Damaged { .. }) => break,
                    Err(ScanError::Disk(error)) => return Err(error.into()),
                }
            }
            segment.close();
        }
        Ok(())
    }

    /// Brings the producers' state to the log's end, with snapshots at the last two segments and at the end.
    fn load_producers(
        &self,
        segments: &mut Segments,
        producers: &mut ProducerStateManager,
        log_start: Offset,
        end: Offset,
    ) -> Result<(), LogError> {
        producers.remove_stray_snapshots(&segments.keys().copied().collect())?;
        let to_snapshot: Vec<Offset> = segments.keys().rev().take(2).rev().copied().collect();
        let expiration_ms = self.settings.producer_id_expiration_ms;
        producers.remove_useless_snapshots(log_start, end)?;
        producers.reload(log_start, end, self.now, expiration_ms)?;
        for offset in to_snapshot {
            if offset > producers.end() {
                self.replay_segments(segments, producers, log_start, offset)?;
                producers.set_end(offset);
                producers.take_snapshot()?;
            }
        }
        self.replay_segments(segments, producers, log_start, end)?;
        producers.set_end(end);
        producers.take_snapshot()?;
        Ok(())
    }

    /// Loads the newest snapshot at or below `to`, and replays what follows it up to `to`.
    fn replay_to(
        &self,
        segments: &mut Segments,
        producers: &mut ProducerStateManager,
        log_start: Offset,
        to: Offset,
    ) -> Result<(), LogError> {
        producers.reload(log_start, to, self.now, self.settings.producer_id_expiration_ms)?;
        self.replay_segments(segments, producers, log_start, to)?;
        producers.set_end(to);
        Ok(())
    }

    /// Replays the batches between the producers' end and `to`, as far as they are whole.
    fn replay_segments(
        &self,
        segments: &mut Segments,
        producers: &mut ProducerStateManager,
        log_start: Offset,
        to: Offset,
    ) -> Result<(), LogError> {
        let from = producers.end().max(log_start);
        if from >= to {
            return Ok(());
        }
        Mark::ProducersReplayed.reached();
        let first = segments.range(..=from).next_back().map_or(Bound::Unbounded, |(base, _)| Bound::Included(*base));
        for (base, segment) in segments.range_mut((first, Bound::Excluded(to))) {
            let start = segment.position_before(from)?;
            let (file, bytes) = (segment.file()?, segment.bytes());
            let mut scanner = BatchScanner::new(&*file, start, bytes, RECOVERY_CHUNK_BYTES).carefully();
            loop {
                match scanner.next_batch() {
                    Ok(Some((located, batch))) if batch.last_offset() >= from && batch.base_offset() < to => {
                        replay(producers, &batch, *base, located.position);
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(ScanError::Damaged { .. }) => break,
                    Err(ScanError::Disk(error)) => return Err(error.into()),
                }
            }
            segment.close();
        }
        Ok(())
    }
}

/// Shows a batch to the producers; the transactions that it aborts come back.
fn replay(
    producers: &mut ProducerStateManager,
    batch: &RecordBatch<'_>,
    segment: Offset,
    position: u64,
) -> Vec<AbortedTransaction> {
    let place = LogOffsetMetadata { offset: batch.base_offset(), segment, position };
    let ended = producers.replay(batch, place).into_iter();
    let aborted = ended.filter(|(transaction, _)| transaction.is_aborted);
    aborted.map(|(transaction, last_stable)| AbortedTransaction::new(&transaction, last_stable)).collect()
}

/// Where the batch that holds `offset` starts; where its segment starts if that cannot be said.
fn find_place(segments: &mut Segments, offset: Offset) -> Result<LogOffsetMetadata, DiskError> {
    let Some((base, segment)) = segments.range_mut(..=offset).next_back() else {
        return Ok(LogOffsetMetadata { offset, ..LogOffsetMetadata::default() });
    };
    Mark::TransactionSought.reached();
    let start = segment.position_before(offset)?;
    let (file, bytes) = (segment.file()?, segment.bytes());
    let mut scanner = BatchScanner::new(&*file, start, bytes, LOOKUP_CHUNK_BYTES);
    loop {
        match scanner.next_header() {
            Ok(Some(batch)) if batch.header.last_offset() >= offset => {
                return Ok(LogOffsetMetadata { offset, segment: *base, position: batch.position });
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(ScanError::Damaged { .. }) => {
                return Ok(LogOffsetMetadata { offset, segment: *base, position: 0 });
            }
            Err(ScanError::Disk(error)) => return Err(error),
        }
    }
}
