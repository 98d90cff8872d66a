//! Ends what has waited long enough: fetches at their maximum wait, group members at their session timeout.
//!
//! It must not know what waits.

use std::sync::Arc;

use super::delivery::Delivery;
use crate::apis::KafkaApis;
use crate::env::{Clock, Role, Step};
use crate::network::RequestChannel;
use crate::types::Now;

/// The role that watches deadlines.
pub struct Expiry {
    apis: Arc<KafkaApis>,
    delivery: Delivery,
}

impl Expiry {
    pub(crate) fn new(apis: Arc<KafkaApis>, requests: Arc<RequestChannel>, stopwatch: Arc<dyn Clock>) -> Expiry {
        Expiry { apis, delivery: Delivery::new(requests, stopwatch, None) }
    }
}

impl Role for Expiry {
    fn name(&self) -> String {
        "expiry".to_string()
    }

    fn step(&mut self, now: Now) -> Step {
        let completions = self.apis.expire(now);
        if !completions.is_empty() {
            self.delivery.complete(completions);
            return Step::Worked;
        }
        match self.apis.next_deadline() {
            Some(until) if until <= now.instant => Step::Worked,
            until => Step::Idle { until },
        }
    }
}
