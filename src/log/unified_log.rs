//! The log of one partition: its segments, its offsets, and the lock around them.
//!
//! It must not know clients, requests or who leads. Reads, appends and syncs of it stand in files of their own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};

use crate::env::{Disk, DiskError, DiskFile};
use crate::log::lazy_file::SegmentPlace;
use crate::log::leader_epoch_cache::{LeaderEpochCache, WrittenEpochs};
use crate::log::log_segment::LogSegment;
use crate::log::producer_state_manager::{OpenTransaction, ProducerStateManager};
use crate::log::recent_batches::RecentBatches;
use crate::log::retention::PendingRemovals;
use crate::log::settings::LogSettings;
use crate::log::sync::SyncState;
use crate::marks::Mark;
use crate::types::{LeaderEpoch, Offset, ProducerId, TopicId, TopicPartition, WallTime};

/// Inactive segments of one log whose files stay open for the next read.
const OPEN_INACTIVE_SEGMENTS_MAX: usize = 2;

/// An offset and where it lies on disk. Kafka's type of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogOffsetMetadata {
    /// The offset.
    pub(super) offset: Offset,
    /// Base offset of the segment in which it lies.
    pub(super) segment: Offset,
    /// Where in that segment's file the batch with that offset starts, or would.
    pub(super) position: u64,
}

/// Whether a log takes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogStatus {
    /// It does.
    Online,
    /// A disk error left it in an unknown state; a restart recovers it.
    Offline,
    /// Its partition is gone.
    Deleted,
    /// The broker shuts down, and the files are complete.
    Closed,
}

/// What the lock of a log guards.
#[derive(Debug)]
pub(super) struct LogState {
    pub(super) status: LogStatus,
    pub(super) directory: Arc<Path>,
    pub(super) segments: BTreeMap<Offset, LogSegment>,
    pub(super) log_start: Offset,
    pub(super) end: LogOffsetMetadata,
    pub(super) high_watermark: LogOffsetMetadata,
    pub(super) leader_epoch: LeaderEpoch,
    pub(super) recent: RecentBatches,
    pub(super) sync: SyncState,
    pub(super) producers: ProducerStateManager,
    pub(super) epochs: LeaderEpochCache,
    pub(super) removals: PendingRemovals,
    /// Places at which a read found damage: segment and position.
    pub(super) damaged: BTreeSet<(Offset, u64)>,
    /// Errors of the disk that the operator was told of since the last upkeep.
    pub(super) troubles: BTreeSet<String>,
    /// Whether its folder is marked as newer than the checkpoints.
    pub(super) is_new: bool,
    /// Not used since the last upkeep.
    pub(super) is_idle: bool,
    open_inactive: VecDeque<Offset>,
}

impl LogState {
    /// The segment that is appended to.
    pub(super) fn active(&mut self) -> &mut LogSegment {
        self.segments.values_mut().next_back().expect("a log has at least one segment")
    }

    /// Base offset of the active segment.
    pub(super) fn active_base(&self) -> Offset {
        *self.segments.keys().next_back().expect("a log has at least one segment")
    }

    /// Remembers that an inactive segment's file is open, and closes the one that was used longest ago.
    pub(super) fn note_open(&mut self, segment: Offset) {
        self.is_idle = false;
        if segment == self.active_base() {
            return;
        }
        self.open_inactive.retain(|open| *open != segment);
        self.open_inactive.push_back(segment);
        while self.open_inactive.len() > OPEN_INACTIVE_SEGMENTS_MAX {
            Mark::SegmentClosed.reached();
            if let Some(segment) = self.open_inactive.pop_front().and_then(|oldest| self.segments.get_mut(&oldest)) {
                segment.close();
            }
        }
    }

    /// The offset below which every transaction is decided, as seen below the high watermark.
    pub(super) fn last_stable(&self) -> LogOffsetMetadata {
        match self.producers.first_unstable() {
            Some((offset, place)) if offset < self.high_watermark.offset => {
                // A transaction that began below the log's start shows nothing at all: no position matters then.
                let hidden = LogOffsetMetadata { offset: self.log_start, ..LogOffsetMetadata::default() };
                place.filter(|place| place.offset >= self.log_start).unwrap_or(hidden)
            }
            _ => self.high_watermark,
        }
    }
}

/// Offsets and status as of the end of the last change, to be read without the lock.
#[derive(Debug, Default)]
struct OffsetSnapshot {
    log_start: AtomicI64,
    high_watermark: AtomicI64,
    last_stable: AtomicI64,
    durable_end: AtomicI64,
    end: AtomicI64,
    is_offline: AtomicBool,
    is_deleted: AtomicBool,
    owes_sync: AtomicBool,
    has_failed_sync: AtomicBool,
}

/// What a loader hands over to make a log of.
#[derive(Debug)]
pub(super) struct LoadedLog {
    pub(super) segments: BTreeMap<Offset, LogSegment>,
    pub(super) log_start: Offset,
    pub(super) end: LogOffsetMetadata,
    pub(super) producers: ProducerStateManager,
    pub(super) epochs: LeaderEpochCache,
    /// So many bytes had to be read again, since the last end was not in order.
    pub(super) checked_bytes: u64,
    /// What the last checkpoint knew to be on disk, if it was about this log.
    pub(super) recovery_point: Offset,
    /// Whether its folder is marked as newer than the checkpoints.
    pub(super) is_new: bool,
}

/// What does not change about a log.
#[derive(Debug)]
pub(super) struct LogIdentity {
    pub(super) topic_partition: TopicPartition,
    pub(super) topic_id: OnceLock<TopicId>,
    pub(super) was_clean: bool,
    /// The last checkpoint knew of records, or recovery met bytes.
    pub(super) had_records: bool,
    pub(super) checked_bytes: u64,
    pub(super) log_directory: Arc<Path>,
    pub(super) is_disk_full: Arc<AtomicBool>,
}

/// The log of one partition.
#[derive(Debug)]
pub struct UnifiedLog {
    identity: LogIdentity,
    pub(super) disk: Arc<dyn Disk>,
    settings: RwLock<Arc<LogSettings>>,
    state: Mutex<LogState>,
    offsets: OffsetSnapshot,
}

impl UnifiedLog {
    /// A log over what was loaded from `directory`.
    pub(super) fn new(
        identity: LogIdentity,
        disk: Arc<dyn Disk>,
        directory: Arc<Path>,
        settings: Arc<LogSettings>,
        loaded: LoadedLog,
    ) -> UnifiedLog {
        let mut state = LogState {
            status: LogStatus::Online,
            directory,
            segments: loaded.segments,
            log_start: loaded.log_start,
            end: loaded.end,
            high_watermark: loaded.end,
            leader_epoch: loaded.epochs.latest().unwrap_or_default(),
            recent: RecentBatches::default(),
            sync: SyncState::new(loaded.end.offset),
            producers: loaded.producers,
            epochs: loaded.epochs,
            removals: PendingRemovals::new(),
            damaged: BTreeSet::new(),
            troubles: BTreeSet::new(),
            is_new: loaded.is_new,
            is_idle: true,
            open_inactive: VecDeque::new(),
        };
        if state.epochs.is_behind() {
            // The load has changed something, and has made the first segment of an empty log above all: its name goes with the first sync.
            let directory = Arc::clone(&state.directory);
            state.sync.owe_directory(directory);
        }
        state.advance_high_watermark();
        let log = UnifiedLog {
            identity,
            disk,
            settings: RwLock::new(settings),
            state: Mutex::new(state),
            offsets: OffsetSnapshot::default(),
        };
        log.publish(&log.lock());
        log
    }

    /// Says that this broker leads the partition in `epoch`: later batches carry it. An epoch never goes back: returned is the one that
    /// holds, the latest on disk if that is newer.
    pub fn become_leader(&self, epoch: LeaderEpoch) -> LeaderEpoch {
        let mut state = self.lock();
        let epoch = state.epochs.latest().map_or(epoch, |latest| latest.max(epoch));
        state.leader_epoch = epoch;
        let end = state.end.offset;
        state.epochs.assign(epoch, end);
        self.publish(&state);
        epoch
    }

    /// The latest leader epoch in which something was appended, or a leader began.
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.lock().epochs.latest()
    }

    /// The largest epoch at or below `epoch`, and the offset behind its last record; `None` if `epoch` is newer than all (KIP-101).
    pub fn end_offset_for_epoch(&self, epoch: LeaderEpoch) -> Option<(LeaderEpoch, Offset)> {
        let state = self.lock();
        state.epochs.end_offset_for(epoch, state.end.offset)
    }

    /// The highest id of all producers that the log remembers.
    pub fn producer_id_max(&self) -> Option<ProducerId> {
        self.lock().producers.producer_id_max()
    }

    /// The transactions that have begun and not ended, by producer.
    pub fn open_transactions(&self) -> Vec<OpenTransaction> {
        self.lock().producers.open_transactions()
    }

    /// The leader epoch to which an offset belongs.
    pub fn epoch_for_offset(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.lock().epochs.epoch_for(offset)
    }

    /// Which partition it is.
    pub fn topic_partition(&self) -> &TopicPartition {
        &self.identity.topic_partition
    }

    /// The id of its topic, if its folder says so.
    pub fn topic_id(&self) -> Option<TopicId> {
        self.identity.topic_id.get().copied()
    }

    /// Whether it has no record, and nobody knows of any that it had.
    pub(super) fn is_blank(&self) -> bool {
        self.log_end_offset() == Offset(0) && !self.identity.had_records
    }

    /// Whether it has records or knows its topic. Else it may be the empty folder that a refused creation has left.
    pub fn is_claimed(&self) -> bool {
        self.topic_id().is_some() || self.log_end_offset() > Offset(0)
    }

    /// Takes the id of its topic, unless it knows one.
    pub(super) fn set_topic_id(&self, topic_id: TopicId) {
        self.identity.topic_id.get_or_init(|| topic_id);
    }

    /// Whether the last shutdown was clean. If not, records of unsynced appends may be gone, and the partition needs a new leader epoch.
    pub fn was_clean(&self) -> bool {
        self.identity.was_clean
    }

    /// How much of it had to be read again when it was loaded, since the last shutdown was not clean.
    pub(super) fn checked_bytes(&self) -> u64 {
        self.identity.checked_bytes
    }

    /// The log directory in which it lies.
    pub(super) fn log_directory(&self) -> Arc<Path> {
        Arc::clone(&self.identity.log_directory)
    }

    /// Whether it lies in this log directory.
    pub(super) fn is_in(&self, directory: &Path) -> bool {
        *self.identity.log_directory == *directory
    }

    /// Whether the disk has so few bytes left that clients may not append.
    pub(super) fn is_disk_full(&self) -> bool {
        self.identity.is_disk_full.load(Ordering::Relaxed)
    }

    /// The first sync is to cover that the folder is new, with its `metadata` file, and what happened in these `log_directories` before.
    pub(super) fn owe_creation(&self, metadata: Arc<dyn DiskFile>, log_directories: BTreeSet<Arc<Path>>) {
        let mut state = self.lock();
        let directory = Arc::clone(&state.directory);
        state.sync.owe_files(None, [metadata]);
        state.sync.owe_directory(directory);
        state.sync.owe_directory(self.log_directory());
        log_directories.into_iter().for_each(|directory| state.sync.owe_directory(directory));
        self.publish(&state);
    }

    /// Its settings.
    pub fn settings(&self) -> Arc<LogSettings> {
        Arc::clone(&self.settings.read().expect("no panic while the settings are locked"))
    }

    /// Takes other settings, which hold from the next append on.
    pub fn set_settings(&self, settings: Arc<LogSettings>) {
        *self.settings.write().expect("no panic while the settings are locked") = settings;
    }

    /// The first offset that can be read.
    pub fn log_start_offset(&self) -> Offset {
        Offset(self.offsets.log_start.load(Ordering::Acquire))
    }

    /// The offset up to which consumers may read.
    pub fn high_watermark(&self) -> Offset {
        Offset(self.offsets.high_watermark.load(Ordering::Acquire))
    }

    /// The offset up to which transactional consumers may read.
    pub fn last_stable_offset(&self) -> Offset {
        Offset(self.offsets.last_stable.load(Ordering::Acquire))
    }

    /// The offset up to which everything is on disk: an `acks=all` append is done when this is above its last offset.
    pub fn durable_end_offset(&self) -> Offset {
        Offset(self.offsets.durable_end.load(Ordering::Acquire))
    }

    /// The offset that the next record gets.
    pub fn log_end_offset(&self) -> Offset {
        Offset(self.offsets.end.load(Ordering::Acquire))
    }

    /// Whether a sync would make anything durable that is not: records, their indexes, names of files, leader epochs.
    pub fn owes_sync(&self) -> bool {
        self.offsets.owes_sync.load(Ordering::Acquire)
    }

    /// Bytes of all segments.
    pub fn bytes(&self) -> u64 {
        self.lock().segments.values().map(LogSegment::bytes).sum()
    }

    /// How many segments there are.
    pub fn segments(&self) -> usize {
        self.lock().segments.len()
    }

    /// Whether a disk error took it offline.
    pub fn is_offline(&self) -> bool {
        self.offsets.is_offline.load(Ordering::Acquire)
    }

    /// Whether its partition is gone.
    pub fn is_deleted(&self) -> bool {
        self.offsets.is_deleted.load(Ordering::Acquire)
    }

    /// Takes another status, for those who ask without the lock too.
    pub(super) fn set_status(&self, state: &mut LogState, status: LogStatus) {
        state.status = status;
        self.offsets.is_offline.store(status == LogStatus::Offline, Ordering::Release);
        self.offsets.is_deleted.store(status == LogStatus::Deleted, Ordering::Release);
        self.offsets.owes_sync.store(state.owes_sync(), Ordering::Release);
    }

    /// Takes no more requests until the next start, and tells the operator why.
    pub(super) fn go_offline(&self, state: &mut LogState, error: &DiskError) {
        let (partition, folder) = (self.topic_partition(), state.directory.display());
        tracing::error!(%partition, %folder, %error, "a log goes offline: it is not served until the disk is mended and the broker started again");
        self.set_status(state, LogStatus::Offline);
    }

    /// Takes no more requests until the next start, since the directory in which it lies does not.
    pub(super) fn follow_offline(&self) {
        let mut state = self.lock();
        if state.status == LogStatus::Online {
            self.set_status(&mut state, LogStatus::Offline);
        }
    }

    /// Tells the operator of an error of the disk after which the log stays in use: of each once until the next upkeep, since clients come
    /// again and again.
    pub(super) fn tell_of_trouble(&self, state: &mut LogState, error: &DiskError, what: &'static str) {
        if state.troubles.insert(error.to_string()) {
            let (partition, folder) = (self.topic_partition(), state.directory.display());
            tracing::error!(%partition, %folder, %error, "{what}, and the client was told so: see to the disk");
        }
    }

    /// Looks whether the file that is appended to still lies in its folder, and goes offline if somebody has removed it.
    pub(super) fn check_place(&self, state: &mut LogState) -> Result<(), DiskError> {
        if state.status != LogStatus::Online {
            return Ok(());
        }
        let result = state.active().check_place();
        if let Err(error) = &result {
            self.go_offline(state, error);
        }
        result
    }

    /// Whether a sync that it made by itself has failed: nobody knows what is on the disk, and the broker must stop.
    pub fn has_failed_sync(&self) -> bool {
        self.offsets.has_failed_sync.load(Ordering::Acquire)
    }

    /// The folder it lies in.
    pub fn directory(&self) -> Arc<Path> {
        Arc::clone(&self.lock().directory)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().expect("no panic while a log is locked: an assertion aborts")
    }

    /// Shows the offsets of `state` to those who read without the lock. The end goes first up, so that no reader sees a high
    /// watermark above it.
    pub(super) fn publish(&self, state: &LogState) {
        self.offsets.end.store(state.end.offset.0, Ordering::Release);
        self.offsets.durable_end.store(state.sync.durable_end().0, Ordering::Release);
        self.offsets.high_watermark.store(state.high_watermark.offset.0, Ordering::Release);
        self.offsets.last_stable.store(state.last_stable().offset.0, Ordering::Release);
        self.offsets.log_start.store(state.log_start.0, Ordering::Release);
        self.offsets.owes_sync.store(state.owes_sync(), Ordering::Release);
    }

    /// Where the files of the segment with this base offset lie.
    pub(super) fn place(&self, state: &LogState, base_offset: Offset) -> SegmentPlace {
        SegmentPlace { disk: Arc::clone(&self.disk), directory: Arc::clone(&state.directory), base_offset }
    }

    /// A number of this partition's own, to spread what would otherwise happen in all partitions at once.
    pub(super) fn seed(&self) -> u64 {
        let TopicPartition { topic, partition } = self.topic_partition();
        let name = topic.bytes().chain(partition.0.to_be_bytes());
        name.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// Before a second segment begins, the name of the first has to be on the disk: a power cut may take it and leave the other, and the
    /// log would begin there. Before any begins, so has where the leader epoch began: a gap behind what the cut has torn away would else pass for one that
    /// this epoch has found. A later segment that is missing is noticed by the gap. This waits for the disk, once in a leader epoch, and only if
    /// nothing was synced before.
    fn sync_before_segment(&self, state: &mut LogState) -> Result<(), DiskError> {
        if state.epochs.owes_latest() {
            self.sync_epochs(state)?;
        }
        let is_needed = state.epochs.take_new_name() || state.segments.len() == 1;
        if is_needed && state.sync.owes_directory(&state.directory) {
            Mark::NameSyncedFirst.reached();
            self.sync_names(state)?;
        }
        Ok(())
    }

    /// Waits until the leader epochs are on the disk, but for the file's new name.
    fn sync_epochs(&self, state: &mut LogState) -> Result<(), DiskError> {
        let Some(WrittenEpochs { file, changes }) = state.epochs.write_beside()? else { return Ok(()) };
        let synced = file.sync();
        self.note_sync_in_lock(state, synced)?;
        if state.epochs.replace(changes)? {
            state.sync.owe_directory(Arc::clone(&state.directory));
        }
        Ok(())
    }

    /// Waits until the names in the log's folder are on the disk.
    pub(super) fn sync_names(&self, state: &mut LogState) -> Result<(), DiskError> {
        let synced = self.disk.sync_directory(&state.directory);
        self.note_sync_in_lock(state, synced)
    }

    fn note_sync_in_lock(&self, state: &mut LogState, synced: Result<(), DiskError>) -> Result<(), DiskError> {
        if synced.is_err() {
            self.set_status(state, LogStatus::Offline);
            self.offsets.has_failed_sync.store(true, Ordering::Release);
        }
        synced
    }

    /// Begins a new active segment at the log's end. The old one and the folder are then owed a sync.
    pub(super) fn roll_now(&self, state: &mut LogState, now: WallTime) -> Result<(), DiskError> {
        let base_offset = state.end.offset;
        if state.active().bytes() == 0 && state.active_base() == base_offset {
            return Ok(());
        }
        self.check_place(state)?;
        self.sync_before_segment(state)?;
        let (old, files) = (state.active_base(), state.active().settle()?);
        let snapshot = state.producers.take_snapshot()?;
        let segment = match LogSegment::create(self.place(state, base_offset), now) {
            Ok(segment) => segment,
            Err(error) => {
                Mark::RollFails.reached();
                if !matches!(error, DiskError::Full { .. }) {
                    self.go_offline(state, &error);
                }
                return Err(error);
            }
        };
        state.active().close();
        state.sync.owe_files(Some(old), files);
        state.sync.owe_files(None, snapshot);
        state.sync.owe_directory(Arc::clone(&state.directory));
        state.segments.insert(base_offset, segment);
        state.recent.clear();
        let was_end = state.end;
        state.end = LogOffsetMetadata { offset: base_offset, segment: base_offset, position: 0 };
        if state.high_watermark == was_end {
            state.high_watermark = state.end;
        }
        Ok(())
    }
}
