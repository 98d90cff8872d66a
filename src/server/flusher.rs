//! Group commit: one sync for all appends that wait for one.
//!
//! It notes what the sync will cover first, holds no lock while the driver runs it, and answers what it covered. It must not know files.

use std::sync::Arc;

use super::connection_limits::LimitsInForce;
use super::delivery::Delivery;
use crate::apis::{KafkaApis, SyncRound};
use crate::env::{Clock, DiskError, Role, Step};
use crate::network::RequestChannel;
use crate::types::Now;

/// The role that makes appends durable.
pub struct Flusher {
    apis: Arc<KafkaApis>,
    delivery: Delivery,
    running: Option<SyncRound>,
    limits: LimitsInForce,
}

impl Flusher {
    pub(crate) fn new(
        apis: Arc<KafkaApis>,
        requests: Arc<RequestChannel>,
        stopwatch: Arc<dyn Clock>,
        limits: LimitsInForce,
    ) -> Flusher {
        Flusher { apis, delivery: Delivery::new(requests, stopwatch, None), running: None, limits }
    }
}

impl Role for Flusher {
    fn name(&self) -> String {
        "flusher".to_string()
    }

    fn step(&mut self, _now: Now) -> Step {
        debug_assert!(self.running.is_none(), "the driver hands the outcome in before it steps again");
        if self.apis.must_stop() {
            return Step::Stopped;
        }
        match self.apis.begin_sync() {
            Some((round, job)) => {
                self.running = Some(round);
                Step::Job(job)
            }
            None => Step::Idle { until: None },
        }
    }

    fn job_done(&mut self, now: Now, result: Result<(), DiskError>) {
        if let Some(round) = self.running.take() {
            let completions = self.apis.end_sync(now, round, result);
            // Before the answer: whoever hears that a limit has changed finds it in force.
            self.limits.follow(self.apis.settings());
            self.delivery.complete(completions);
        }
    }
}
