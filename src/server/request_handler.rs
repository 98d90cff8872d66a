//! Takes one request from the queue, has it handled, and sends what came of it.
//!
//! It must not know what a request asks, nor whether it has a thread of its own or shares its Processor's.

use std::sync::Arc;

use super::delivery::Delivery;
use crate::apis::{ApiRequest, KafkaApis, RequestLocal};
use crate::env::{Clock, Step};
use crate::network::{Departure, Request, RequestChannel};
use crate::types::{Now, ProcessorId};

/// One request handler.
pub struct RequestHandler {
    place: Place,
    requests: Arc<RequestChannel>,
    apis: Arc<KafkaApis>,
    local: RequestLocal,
    delivery: Delivery,
}

/// Where a handler works.
enum Place {
    /// In the pool, under this number: it is woken when there is work.
    Pool(usize),
    /// Beside a Processor, whose driver steps it after the Processor.
    Beside,
}

impl RequestHandler {
    /// Handler `number` of the pool.
    pub fn of_pool(
        number: usize,
        requests: Arc<RequestChannel>,
        apis: Arc<KafkaApis>,
        stopwatch: Arc<dyn Clock>,
    ) -> RequestHandler {
        let delivery = Delivery::new(Arc::clone(&requests), stopwatch, None);
        RequestHandler { place: Place::Pool(number), requests, apis, local: RequestLocal::new(), delivery }
    }

    /// A handler that shares the thread of `processor`.
    pub fn beside(
        processor: ProcessorId,
        requests: Arc<RequestChannel>,
        apis: Arc<KafkaApis>,
        stopwatch: Arc<dyn Clock>,
    ) -> RequestHandler {
        let delivery = Delivery::new(Arc::clone(&requests), stopwatch, Some(processor));
        RequestHandler { place: Place::Beside, requests, apis, local: RequestLocal::new(), delivery }
    }

    /// Handles one request, or the news of one closed connection.
    pub fn step(&mut self, now: Now) -> Step {
        if let Some(departure) = self.requests.take_departure() {
            self.delivery.complete(match departure {
                Departure::Finished(connection) => self.apis.peer_finished(now, connection),
                Departure::Closed(connection) => self.apis.connection_closed(now, connection),
            });
            return Step::Worked;
        }
        if let Some(request) = self.requests.take() {
            self.handle(now, request);
            return Step::Worked;
        }
        match self.place {
            Place::Pool(number) if !self.requests.handler_sleeps(number) => Step::Worked,
            Place::Pool(_) | Place::Beside => Step::Idle { until: None },
        }
    }

    fn handle(&mut self, now: Now, request: Request) {
        let dequeued = self.delivery.stopwatch();
        let ticket = request.ticket;
        let outcome = self.apis.handle(
            now,
            &mut self.local,
            ApiRequest {
                ticket,
                frame: request.frame,
                body_at: request.body_at,
                listener: request.listener.index,
                peer: request.peer,
                local: request.local,
                is_retry: false,
            },
        );
        self.delivery.answer(ticket, outcome.answer, dequeued);
        self.delivery.complete(outcome.completions);
    }
}
