//! What the roles that look after the logs ask for: syncs, checkpoints, retention, and the end of a run.
//!
//! It must not know who drives them, nor run a sync itself before the end.

use super::answer::Completion;
use super::kafka_apis::KafkaApis;
use super::start_failure::StartFailure;
use super::sync_queue::SyncRound;
use crate::env::{DiskError, SyncJob};
use crate::log::{Checkpoint, LogError};
use crate::types::Now;
use crate::zoo::{self, Bug};

impl KafkaApis {
    /// What to sync now, if anything waits for it.
    pub fn begin_sync(&self) -> Option<(SyncRound, SyncJob)> {
        self.replica_manager.begin_sync()
    }

    /// Whether the broker cannot go on: a sync has failed, or the metadata log takes no more records. Its process must end, and the next
    /// start finds out what is on the disk.
    pub fn must_stop(&self) -> bool {
        self.replica_manager.must_stop()
    }

    /// Takes the outcome of a sync: answers all that it made durable.
    pub fn end_sync(&self, now: Now, round: SyncRound, result: Result<(), DiskError>) -> Vec<Completion> {
        let keys = round.keys();
        let mut completions = self.replica_manager.end_sync(now, round, result);
        completions.extend(self.groups.settle(now, keys));
        if self.controller.log().log.is_offline() {
            self.replica_manager.stop();
        }
        for durable in self.controller.take_durable() {
            completions.extend(self.follow(now, Some(&durable.image)));
            self.controller.publish(durable.image);
            completions.extend(durable.deferred.into_iter().flat_map(|deferred| self.complete(now, deferred)));
        }
        completions
    }

    /// Looks whether the log directories are there and have room, and whether a log has failed to sync by itself; asks for syncs that
    /// `flush.ms` makes due; and gives what the disk refused another try: logs of partitions, and groups that could not be read.
    pub fn watch_logs(&self, now: Now) -> Vec<Completion> {
        self.logs.manager().check_free_space();
        self.stop_if_undecidable();
        self.replica_manager.stop_if_a_sync_failed();
        self.replica_manager.want_due_syncs(now);
        if zoo::is(Bug::DecisionBeforeFsync) {
            self.replica_manager.want_sync([self.controller.log()]);
        }
        self.groups.load_again(now);
        let mut completions = if self.logs.has_missing() { self.follow(now, None) } else { Vec::new() };
        for partition in self.open_transactions.abort_left(now) {
            completions.extend(self.replica_manager.high_watermark_moved(now, partition.key));
        }
        completions
    }

    /// Applies retention and regular upkeep. Returns the milliseconds until the next time.
    pub fn clean_up_logs(&self, now: Now) -> i64 {
        if let Err(error) = self.logs.manager().clean_up(now) {
            tracing::error!(%error, "retention could not remove old segments");
        }
        self.settings().log.retention_check_interval_ms
    }

    /// Begins to write down how far the logs are on the disk, and asks for a sync of what is not, so that the next checkpoint is nearer
    /// to the end and a recovery shorter.
    pub fn begin_checkpoint(&self) -> Checkpoint {
        self.replica_manager.want_all_syncs();
        self.logs.manager().begin_checkpoint()
    }

    /// Takes the outcome of a checkpoint's sync, and gives the checkpoint back if it needs another.
    pub fn checkpoint_synced(&self, checkpoint: Checkpoint, result: Result<(), DiskError>) -> Option<Checkpoint> {
        self.logs.manager().checkpoint_synced(checkpoint, result).unwrap_or_else(|error| {
            tracing::error!(%error, "recovery points could not be written; a recovery will take longer");
            if matches!(error, LogError::Sync(_)) {
                self.replica_manager.stop();
            }
            None
        })
    }

    /// Milliseconds from one checkpoint to the next.
    pub fn checkpoint_interval_ms(&self) -> i64 {
        let settings = self.settings();
        settings.log.recovery_point_checkpoint_interval_ms.min(settings.log.start_offset_checkpoint_interval_ms)
    }

    /// Whether a produce or a fetch waits.
    pub fn has_parked(&self) -> bool {
        self.replica_manager.has_parked()
    }

    /// Milliseconds after the start before the logs are tidied.
    pub fn log_upkeep_delay_ms(&self) -> i64 {
        self.settings().log.initial_task_delay_ms
    }

    /// Answers what waits for data or for other members: the broker is about to stop. What waits for the disk is answered by the sync.
    pub fn drain(&self, now: Now) -> Vec<Completion> {
        let mut completions = Vec::new();
        if !zoo::is(Bug::DrainForgetsFetches) {
            completions.extend(self.replica_manager.release_fetches(now));
        }
        if !zoo::is(Bug::DrainForgetsGroups) {
            completions.extend(self.groups.drain(now));
        }
        completions
    }

    /// Syncs everything and marks the logs as cleanly shut down. Waits for the disk; nothing is appended any more.
    pub fn shut_down(&self) -> Result<(), StartFailure> {
        let broker_epoch = self.controller.image().broker(self.broker_id()).map_or(-1, |broker| broker.broker_epoch);
        Ok(self.logs.manager().shutdown(broker_epoch)?)
    }
}
