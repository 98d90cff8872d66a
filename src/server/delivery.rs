//! Puts answers into the response queues of the Processors that wait for them.
//!
//! It is where `apis` and `network` meet; it must not know what an answer says.

use std::sync::Arc;
use std::time::Duration;

use crate::apis::{Answer, Completion};
use crate::env::Clock;
use crate::network::{RequestChannel, RequestTimes, Response, ResponseKind};
use crate::types::{Instant, ProcessorId, Ticket};

/// The way back to the Processors.
#[derive(Clone)]
pub(crate) struct Delivery {
    requests: Arc<RequestChannel>,
    stopwatch: Arc<dyn Clock>,
    /// The Processor whose driver steps this role, which needs no wake.
    own_processor: Option<ProcessorId>,
}

impl Delivery {
    pub(crate) fn new(
        requests: Arc<RequestChannel>,
        stopwatch: Arc<dyn Clock>,
        own_processor: Option<ProcessorId>,
    ) -> Delivery {
        Delivery { requests, stopwatch, own_processor }
    }

    pub(crate) fn stopwatch(&self) -> Instant {
        self.stopwatch.stopwatch()
    }

    /// Answers a request that a handler took at `dequeued`.
    pub(crate) fn answer(&self, ticket: Ticket, answer: Answer, dequeued: Instant) {
        let local_complete = self.stopwatch();
        let times = RequestTimes { dequeued, local_complete, response_complete: local_complete };
        self.send(ticket, answer, times);
    }

    /// Answers requests that were parked.
    pub(crate) fn complete(&self, completions: Vec<Completion>) {
        for completion in completions {
            let times = RequestTimes { response_complete: self.stopwatch(), ..RequestTimes::default() };
            self.send(completion.ticket, completion.answer, times);
        }
    }

    fn send(&self, ticket: Ticket, answer: Answer, times: RequestTimes) {
        let kind = match answer {
            Answer::Respond(pieces) => ResponseKind::Send(pieces),
            Answer::Nothing => ResponseKind::NoOp,
            Answer::Close(reason) => ResponseKind::Close(reason),
            Answer::Malformed(error) => ResponseKind::Malformed(error),
            Answer::Later => ResponseKind::Parked { keeps_frame: false },
            Answer::Retry => ResponseKind::Parked { keeps_frame: true },
        };
        self.requests.respond(Response { ticket, kind, throttle: Duration::ZERO, times }, self.own_processor);
    }
}
