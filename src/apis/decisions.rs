//! Decisions about the cluster, and what waits for them to be durable: answers, requests that are handled once more, producer ids.
//!
//! It must not know what is decided.

use std::sync::Arc;

use rand::Rng;

use super::answer::{Answer, Completion, Outcome};
use super::api_request::ApiRequest;
use super::controller::Decided;
use super::deferred::Deferred;
use super::kafka_apis::KafkaApis;
use super::request_local::RequestLocal;
use crate::error_code::ErrorCode;
use crate::limits::DECISION_TIMEOUT_MS;
use crate::metadata::{ControllerResult, MetadataImage, ProducerIdsBlock};
use crate::types::{Instant, Now, ProducerId, Ticket};
use crate::zoo::{self, Bug};

/// Stands for a block that could not be had.
const NO_PRODUCER_IDS: ProducerIdsBlock = ProducerIdsBlock { first: ProducerId(0), size: 0 };

impl KafkaApis {
    /// Has the controller decide. The answer is worded by `word`, and given when the records are durable; without records, when everything
    /// that it may tell of is, which is at once if nothing is on its way to the disk. `refuse` words the answer if nothing could be decided,
    /// and if the records are not durable in time: then they take effect later.
    pub(crate) fn decide<T>(
        &self,
        now: Now,
        ticket: Ticket,
        timeout_ms: i32,
        decide: impl FnOnce(&MetadataImage, &mut dyn Rng) -> ControllerResult<T>,
        word: impl Fn(&T) -> Answer,
        refuse: impl Fn(ErrorCode) -> Answer,
    ) -> Answer {
        let deadline = request_deadline(now, timeout_ms);
        let decided = self.controller.decide(now, Some(deadline), decide, |response| Deferred::Answer {
            ticket,
            answer: word(&response),
            timed_out: refuse(ErrorCode::RequestTimedOut),
        });
        match decided.inspect_err(|_| self.stop_if_undecidable()) {
            Ok(Decided::Nothing(response)) => word(&response),
            Ok(Decided::Appended) => {
                self.watch_deadline(deadline);
                if !zoo::is(Bug::DecisionBeforeFsync) {
                    self.replica_manager.want_sync([self.controller.log()]);
                }
                Answer::Later
            }
            Err(error) => refuse(error),
        }
    }

    /// Has the controller decide something that this request needs, and handles the request once more when it is durable. `None` if
    /// there was nothing to append and nothing is on its way, so that waiting would not help.
    pub(crate) fn decide_and_retry<T>(
        &self,
        now: Now,
        request: &ApiRequest,
        decide: impl FnOnce(&MetadataImage, &mut dyn Rng) -> ControllerResult<T>,
    ) -> Option<Answer> {
        let retry = Deferred::Retry(Box::new(request.again()));
        let deadline = request_deadline(now, DECISION_TIMEOUT_MS);
        match self.controller.decide(now, Some(deadline), decide, |_| retry) {
            Ok(Decided::Appended) => {
                self.watch_deadline(deadline);
                self.replica_manager.want_sync([self.controller.log()]);
                Some(Answer::Retry)
            }
            Ok(Decided::Nothing(_)) => None,
            Err(_) => {
                self.stop_if_undecidable();
                None
            }
        }
    }

    /// Asks the controller for a block of producer ids.
    pub(crate) fn ask_producer_ids(&self, now: Now) -> Result<(), ErrorCode> {
        let allocate = |image: &MetadataImage, _: &mut dyn Rng| {
            crate::metadata::allocate_producer_ids(image, self.broker_id())
                .unwrap_or_else(|_| ControllerResult { records: Vec::new(), response: NO_PRODUCER_IDS })
        };
        // Those who wait for it have deadlines of their own.
        let decided = self.controller.decide(now, None, allocate, Deferred::ProducerIds);
        match decided.inspect_err(|_| self.stop_if_undecidable())? {
            Decided::Appended => {
                self.replica_manager.want_sync([self.controller.log()]);
                Ok(())
            }
            Decided::Nothing(_) => Err(ErrorCode::UnknownServerError),
        }
    }

    pub(super) fn complete(&self, now: Now, deferred: Deferred) -> Vec<Completion> {
        match deferred {
            Deferred::Answer { ticket, answer, .. } => vec![Completion { ticket, answer }],
            Deferred::Retry(request) => self.handle_again(now, *request),
            Deferred::ProducerIds(block) => {
                let waiting = self.producer_ids().refill(&block);
                waiting.into_iter().flat_map(|request| self.handle_again(now, *request)).collect()
            }
        }
    }

    pub(super) fn handle_again(&self, now: Now, request: ApiRequest) -> Vec<Completion> {
        let ticket = request.ticket;
        let Outcome { answer, mut completions } = self.handle(now, &mut RequestLocal::new(), request);
        if !matches!(answer, Answer::Later | Answer::Retry) {
            completions.push(Completion { ticket, answer });
        }
        completions
    }

    /// Makes an image, or what is left of the last one, true: logs and coordinators for new partitions, none for removed ones. Ends
    /// what waited for the removed.
    pub(super) fn follow(&self, now: Now, image: Option<&Arc<MetadataImage>>) -> Vec<Completion> {
        let (change, image) = {
            let mut followed = self.followed.lock().expect("nobody panics while following: panics abort the process");
            let image = Arc::clone(image.unwrap_or(&followed));
            let change = self.logs.follow(now, &self.configs, &followed, &image);
            *followed = Arc::clone(&image);
            (change, image)
        };
        self.open_transactions.abort(now, &change.added);
        let mut completions = self.groups.follow(now, &image, &change);
        for partition in &change.removed {
            completions.extend(self.replica_manager.removed(now, partition.key));
        }
        completions
    }

    pub(super) fn stop_if_undecidable(&self) {
        if self.controller.log().log.is_offline() {
            tracing::error!("the metadata log is offline, so the broker must stop");
            self.replica_manager.stop();
        }
    }
}

/// Until when a request waits for the disk. One that gives no time to it gets what is usual.
pub(super) fn request_deadline(now: Now, timeout_ms: i32) -> Instant {
    now.instant.after_ms(i64::from(if timeout_ms > 0 { timeout_ms } else { DECISION_TIMEOUT_MS }))
}
