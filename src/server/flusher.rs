//! Group commit: one sync for all appends that wait for one.
//!
//! It notes what the sync will cover first, holds no lock while the driver runs it, and answers what it covered. A sync is also what makes
//! a change of settings hold, so that limits that others keep are changed here. It must not know files.

use std::sync::Arc;

use super::connection_limits::change_limits;
use super::delivery::Delivery;
use crate::apis::{KafkaApis, SyncRound};
use crate::config::Settings;
use crate::env::{Clock, DiskError, Role, Step};
use crate::network::{ConnectionQuotas, RequestChannel};
use crate::types::Now;

/// The role that makes appends durable.
pub struct Flusher {
    apis: Arc<KafkaApis>,
    delivery: Delivery,
    running: Option<SyncRound>,
    quotas: Arc<ConnectionQuotas>,
    /// The settings whose limits hold for connections.
    settings: Arc<Settings>,
}

impl Flusher {
    pub(crate) fn new(
        apis: Arc<KafkaApis>,
        requests: Arc<RequestChannel>,
        stopwatch: Arc<dyn Clock>,
        quotas: Arc<ConnectionQuotas>,
    ) -> Flusher {
        let (settings, delivery) = (apis.settings(), Delivery::new(requests, stopwatch, None));
        Flusher { apis, delivery, running: None, quotas, settings }
    }

    /// Lets the limits of connections follow the settings, which a durable change has just replaced.
    fn follow_settings(&mut self) {
        let settings = self.apis.settings();
        if !Arc::ptr_eq(&settings, &self.settings) {
            change_limits(&self.quotas, &settings.network);
            self.settings = settings;
        }
    }
}

impl Role for Flusher {
    fn name(&self) -> String {
        "flusher".to_string()
    }

    fn step(&mut self, now: Now) -> Step {
        debug_assert!(self.running.is_none(), "the driver hands the outcome in before it steps again");
        if self.apis.must_stop() {
            return Step::Stopped;
        }
        match self.apis.begin_sync(now) {
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
            self.follow_settings();
            self.delivery.complete(completions);
        }
    }
}
