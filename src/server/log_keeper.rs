//! Housekeeping of the logs: free space, retention, checkpoints, syncs that a topic's `flush.ms` asks for.
//!
//! Each duty has its own interval, Kafka's. It must not know what a log holds.

use std::sync::Arc;
use std::time::Duration;

use super::delivery::Delivery;
use crate::apis::KafkaApis;
use crate::env::{Clock, DiskError, Role, Step};
use crate::log::Checkpoint;
use crate::network::RequestChannel;
use crate::types::{Instant, Now};

/// How often free space and due syncs are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Something to be done again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duty {
    /// Stop appends before the last bytes of a disk are gone, and allow them again; ask for syncs that are due.
    Watch,
    /// Remove segments that are too old or too many, and files whose delay is over.
    CleanUp,
    /// Write down how far the logs are on the disk.
    Checkpoint,
}

/// The role that keeps the logs.
pub struct LogKeeper {
    apis: Arc<KafkaApis>,
    delivery: Delivery,
    /// What is due when; empty until the first step, which knows the time.
    due: Vec<(Instant, Duty)>,
    /// A checkpoint that is owed a sync.
    checkpoint: Option<Checkpoint>,
}

impl LogKeeper {
    pub(crate) fn new(apis: Arc<KafkaApis>, requests: Arc<RequestChannel>, stopwatch: Arc<dyn Clock>) -> LogKeeper {
        LogKeeper { apis, delivery: Delivery::new(requests, stopwatch, None), due: Vec::new(), checkpoint: None }
    }

    fn begin(&mut self, now: Now) {
        let delay_ms = self.apis.log_upkeep_delay_ms();
        let first = now.instant.after_ms(delay_ms);
        self.due = vec![(now.instant, Duty::Watch), (first, Duty::CleanUp), (first, Duty::Checkpoint)];
    }

    fn perform(&mut self, duty: Duty, now: Now) -> Instant {
        match duty {
            Duty::Watch => {
                self.delivery.complete(self.apis.watch_logs(now));
                now.instant.after(LOOK_EVERY)
            }
            Duty::CleanUp => now.instant.after_ms(self.apis.clean_up_logs(now)),
            Duty::Checkpoint => {
                self.checkpoint = Some(self.apis.begin_checkpoint());
                now.instant.after_ms(self.apis.checkpoint_interval_ms())
            }
        }
    }
}

impl Role for LogKeeper {
    fn name(&self) -> String {
        "log-keeper".to_string()
    }

    fn step(&mut self, now: Now) -> Step {
        if let Some(checkpoint) = &self.checkpoint {
            return Step::Job(checkpoint.job());
        }
        if self.due.is_empty() {
            self.begin(now);
        }
        match self.due.iter().position(|(at, _)| *at <= now.instant) {
            Some(position) => {
                let duty = self.due[position].1;
                self.due[position].0 = self.perform(duty, now);
                Step::Worked
            }
            None => Step::Idle { until: self.due.iter().map(|(at, _)| *at).min() },
        }
    }
    fn job_done(&mut self, _now: Now, result: Result<(), DiskError>) {
        self.checkpoint = self.checkpoint.take().and_then(|checkpoint| self.apis.checkpoint_synced(checkpoint, result));
    }
}
