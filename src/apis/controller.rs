//! Decides about the cluster, one decision after the other, and publishes a decision when it is on the disk.
//!
//! The rooms decide and replay; this joins them with the metadata log. No answer goes out before its records are durable. It must not
//! know which API asks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bytes::Bytes;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::metadata_snapshot::newest_snapshot;
use super::partition::Partition;
use super::read_whole::read_whole;
use super::start_failure::StartFailure;
use crate::env::Disk;
use crate::error_code::ErrorCode;
use crate::limits::METADATA_BATCH_BYTES_MAX;
use crate::log::{AppendOrigin, Durability};
use crate::metadata::{ControllerResult, LoadError, MetadataImage, MetadataLoader, MetadataRecord, encode_batches};
use crate::types::{Instant, LeaderEpoch, Now, Offset};
use crate::zoo::{self, Bug};

/// The decider. `D` is what waits for a decision to be durable.
pub(crate) struct Controller<D> {
    log: Arc<Partition>,
    state: Mutex<State>,
    /// Taken after the state, and never while something is written: the expiry role looks here.
    waiting: Mutex<VecDeque<Waiting<D>>>,
    published: RwLock<Arc<MetadataImage>>,
}

struct State {
    loader: MetadataLoader,
    random: ChaCha12Rng,
}

/// A decision whose records are appended and not yet durable.
struct Waiting<D> {
    required: Offset,
    image: Arc<MetadataImage>,
    deadline: Option<Instant>,
    /// Taken out when its deadline has come.
    deferred: Option<D>,
}

impl<D> Waiting<D> {
    /// The deadline that is still to come.
    fn deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| self.deferred.is_some())
    }
}

/// A decision that has become durable.
pub(crate) struct Durable<D> {
    pub(crate) image: Arc<MetadataImage>,
    /// `None` if its deadline has come before.
    pub(crate) deferred: Option<D>,
}

impl<D> Controller<D> {
    /// Replays the metadata log.
    pub(crate) fn load(
        disk: &dyn Disk,
        log: Arc<Partition>,
        cluster_id: &str,
        seed: [u8; 32],
    ) -> Result<Controller<D>, StartFailure> {
        let mut loader = MetadataLoader::new(MetadataImage::empty(cluster_id));
        let damaged = |error: LoadError| StartFailure::Metadata { reason: error.to_string() };
        let start = log.log.log_start_offset();
        if start > Offset(0) {
            let newest = newest_snapshot(disk, &log.log.directory())?;
            let snapshot =
                newest.filter(|snapshot| snapshot.next_offset >= start).ok_or_else(|| StartFailure::Metadata {
                    reason: format!("it begins at offset {start}, and no snapshot says what was before"),
                })?;
            loader.replay_snapshot(&snapshot.bytes, snapshot.next_offset, snapshot.leader_epoch).map_err(damaged)?;
        }
        read_whole(&log.log, |bytes| loader.replay_bytes(bytes).map(drop).map_err(damaged))?;
        let published = RwLock::new(Arc::clone(loader.image()));
        let state = State { loader, random: ChaCha12Rng::from_seed(seed) };
        Ok(Controller { log, state: Mutex::new(state), waiting: Mutex::default(), published })
    }

    /// The metadata log, for whoever syncs it.
    pub(crate) fn log(&self) -> &Arc<Partition> {
        &self.log
    }

    /// The newest image that is durable: what every answer is made from.
    pub(crate) fn image(&self) -> Arc<MetadataImage> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends records while the broker starts, when nobody waits yet. [`Controller::settle_start`] makes them durable.
    pub(crate) fn append_at_start(
        &self,
        now: Now,
        decide: impl FnOnce(&MetadataImage, &mut dyn Rng) -> Vec<MetadataRecord>,
    ) -> Result<(), StartFailure> {
        let mut state = self.state();
        let state = &mut *state;
        let mut records = decide(state.loader.image(), &mut state.random);
        if records.is_empty() {
            return Ok(());
        }
        if state.loader.is_in_transaction() {
            let reason = Some("the broker was stopped in the middle of it".into());
            records.insert(0, MetadataRecord::AbortTransaction { reason });
        }
        // There may be a record for each partition: more than a batch holds.
        self.append(now, state, records, METADATA_BATCH_BYTES_MAX).map(drop).map_err(|error| StartFailure::Metadata {
            reason: format!("records of this start could not be appended: {error:?}"),
        })
    }

    /// Waits until everything appended at the start is on the disk, and publishes it.
    pub(crate) fn settle_start(&self, disk: &dyn Disk) -> Result<(), StartFailure> {
        let point = self.log.log.sync_point()?;
        crate::log::SyncPoint::job(std::iter::once(&point)).run(disk)?;
        self.log.log.synced(&point);
        let image = Arc::clone(self.state().loader.image());
        self.publish(image);
        Ok(())
    }

    /// Takes a decision. One without records while nothing else waits has nothing to wait for: its response comes back. Else `defer` says what waits for the
    /// records, until the deadline if there is one, and the caller sees to the sync.
    pub(crate) fn decide<T>(
        &self,
        now: Now,
        deadline: Option<Instant>,
        decide: impl FnOnce(&MetadataImage, &mut dyn Rng) -> ControllerResult<T>,
        defer: impl FnOnce(T) -> D,
    ) -> Result<Decided<T>, ErrorCode> {
        let mut state = self.state();
        let state = &mut *state;
        let ControllerResult { records, response } = decide(state.loader.image(), &mut state.random);
        let required = if records.is_empty() { None } else { Some(self.append(now, state, records, usize::MAX)?) };
        let image = Arc::clone(state.loader.image());
        let mut waiting = self.waiting();
        // A decision that changes nothing may tell of one that is not on the disk yet.
        let told_of = waiting.back().map(|last| last.required);
        let Some(required) = required.or(told_of) else { return Ok(Decided::Nothing(response)) };
        waiting.push_back(Waiting { required, image, deadline, deferred: Some(defer(response)) });
        Ok(Decided::Appended)
    }

    /// Takes out the decisions that have become durable, in order. The caller makes them true and then publishes their images.
    pub(crate) fn take_durable(&self) -> Vec<Durable<D>> {
        let mut waiting = self.waiting();
        let durable = self.log.log.high_watermark();
        let is_durable = |waiting: &&Waiting<D>| waiting.required <= durable || zoo::is(Bug::DecisionBeforeFsync);
        let count = waiting.iter().take_while(is_durable).count();
        let taken = waiting.drain(..count);
        taken.map(|Waiting { image, deferred, .. }| Durable { image, deferred }).collect()
    }

    /// Takes out what has waited long enough. The decisions take effect all the same when they become durable.
    pub(crate) fn expire(&self, now: Instant) -> Vec<D> {
        let mut waiting = self.waiting();
        let due = waiting.iter_mut().filter(|waiting| waiting.deadline().is_some_and(|deadline| deadline <= now));
        due.filter_map(|waiting| waiting.deferred.take()).collect()
    }

    /// The next deadline of anything that waits.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.waiting().iter().filter_map(Waiting::deadline).min()
    }

    /// From now on answers are made from this image.
    pub(crate) fn publish(&self, image: Arc<MetadataImage>) {
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = image;
    }

    /// Appends records, in one batch if that may be so large, and replays them: durable state changes only so. Says which offset must be
    /// durable.
    fn append(
        &self,
        now: Now,
        state: &mut State,
        records: Vec<MetadataRecord>,
        batch_bytes_max: usize,
    ) -> Result<Offset, ErrorCode> {
        let epoch = LeaderEpoch(state.loader.image().leader_epoch().0.max(1));
        let batches = encode_batches(&records, batch_bytes_max, now.wall, epoch);
        let batches = batches.map_err(|_| ErrorCode::UnknownServerError)?;
        let appended = self.log.log.append(now, Bytes::from(batches), AppendOrigin::Replication, Durability::Synced);
        let appended = appended.map_err(|error| {
            tracing::error!(%error, "the metadata log takes no records");
            ErrorCode::from(&error)
        })?;
        let next = appended.last_offset.plus(1);
        state
            .loader
            .replay_records(records, appended.base_offset, next, epoch)
            .expect("a decision is replayed on the image that it was taken on");
        Ok(next)
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting<D>>> {
        self.waiting.lock().expect("nobody panics while holding what waits: panics abort the process")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while deciding: panics abort the process")
    }
}

/// What a decision came to.
pub(crate) enum Decided<T> {
    /// Nothing to append, and nothing that is not on the disk: this is the answer.
    Nothing(T),
    /// Records are appended, by this decision or one that it tells of; what was deferred comes back when they are durable.
    Appended,
}
