//! Housekeeping of the logs: retention, checkpoints, files whose time to go has come.
//!
//! It must not know what a log holds.

use std::sync::Arc;
use std::time::Duration;

use crate::apis::KafkaApis;
use crate::env::{Role, Step};
use crate::types::{Instant, Now};

/// How often the keeper looks whether something is due.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The role that keeps the logs.
pub struct LogKeeper {
    apis: Arc<KafkaApis>,
    next_look: Option<Instant>,
}

impl LogKeeper {
    pub(crate) fn new(apis: Arc<KafkaApis>) -> LogKeeper {
        LogKeeper { apis, next_look: None }
    }
}

impl Role for LogKeeper {
    fn name(&self) -> String {
        "log-keeper".to_string()
    }

    fn step(&mut self, now: Now) -> Step {
        if self.next_look.is_none_or(|at| at <= now.instant) {
            self.apis.keep_logs(now);
            self.next_look = Some(now.instant.after(LOOK_EVERY));
        }
        Step::Idle { until: self.next_look }
    }
}
