//! The queues between Processors and handlers: one bounded request queue, one response queue for each Processor.
//!
//! A full request queue is the back-pressure of the whole broker: the Processor that is refused stops reading and is woken when there is
//! room. Idle handlers are woken newest first, since the newest has the warmest caches. It must not know what a request asks, nor
//! threads: sleepers are reached through `Wake`.

use std::sync::Arc;

use super::request::{Departure, Request, Response};
use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering, Receiver, Sender, TrySendError, bounded, unbounded};
use crate::env::Wake;
use crate::types::ProcessorId;
use crate::zoo::{self, Bug};

/// All queues. Processors put requests and take responses, handlers the other way round.
pub struct RequestChannel {
    requests: (Sender<Request>, Receiver<Request>),
    departures: (Sender<Departure>, Receiver<Departure>),
    processors: Vec<ProcessorEnd>,
    sleepers: Mutex<Sleepers>,
    some_processor_was_refused: AtomicBool,
    /// Requests that may wait before a handler of the pool is woken: 1 where each Processor's driver steps a handler of its own, which takes
    /// one right after it was queued.
    backlog_tolerated: usize,
}

struct ProcessorEnd {
    responses: (Sender<Response>, Receiver<Response>),
    waker: Arc<dyn Wake>,
}

/// Who sleeps until something of this channel changes.
struct Sleepers {
    handlers: Vec<Arc<dyn Wake>>,
    idle_handlers: Vec<usize>,
    refused_processors: Vec<ProcessorId>,
}

impl RequestChannel {
    /// A channel for requests up to `capacity`. `processors` and `handlers` are how to wake each of them, by number.
    pub fn new(
        capacity: usize,
        processors: Vec<Arc<dyn Wake>>,
        handlers: Vec<Arc<dyn Wake>>,
        backlog_tolerated: usize,
    ) -> RequestChannel {
        RequestChannel {
            requests: bounded(capacity),
            departures: unbounded(),
            processors: processors.into_iter().map(|waker| ProcessorEnd { responses: unbounded(), waker }).collect(),
            sleepers: Mutex::new(Sleepers { handlers, idle_handlers: Vec::new(), refused_processors: Vec::new() }),
            some_processor_was_refused: AtomicBool::new(false),
            backlog_tolerated,
        }
    }

    /// Queues a request, or gives it back if the queue is full: `processor` is then woken when there is room.
    pub(crate) fn offer(&self, processor: ProcessorId, request: Request) -> Result<(), Box<Request>> {
        let refused = match self.requests.0.try_send(request) {
            Ok(()) => {
                self.wake_handler();
                return Ok(());
            }
            Err(TrySendError::Full(refused) | TrySendError::Disconnected(refused)) => refused,
        };
        let mut sleepers = self.sleepers();
        if !sleepers.refused_processors.contains(&processor) {
            sleepers.refused_processors.push(processor);
        }
        // The flag is raised before the second try: room that is made later finds the flag, room made earlier is used here.
        self.some_processor_was_refused.store(true, Ordering::SeqCst);
        match self.requests.0.try_send(refused) {
            Ok(()) => {
                // Between the two tries every handler may have emptied the queue and gone to sleep.
                drop(sleepers);
                self.wake_handler();
                Ok(())
            }
            Err(TrySendError::Full(refused) | TrySendError::Disconnected(refused)) => Err(Box::new(refused)),
        }
    }

    /// The next request. Whoever was refused is told that there is room.
    pub fn take(&self) -> Option<Request> {
        let request = self.requests.1.try_recv().ok()?;
        if self.some_processor_was_refused.swap(false, Ordering::SeqCst) && !zoo::is(Bug::QueueWakesNobody) {
            let refused = std::mem::take(&mut self.sleepers().refused_processors);
            for processor in refused {
                self.wake_processor(processor);
            }
        }
        Some(request)
    }

    /// Says that `handler` is about to sleep. `false` if there is work, so that it must not.
    pub fn handler_sleeps(&self, handler: usize) -> bool {
        let mut sleepers = self.sleepers();
        // Nothing is tolerated here: the Processor whose request this is may be inside an older one for long.
        if !self.requests.1.is_empty() || !self.departures.1.is_empty() {
            return false;
        }
        if !sleepers.idle_handlers.contains(&handler) {
            sleepers.idle_handlers.push(handler);
        }
        true
    }

    /// Tells the handlers that a peer leaves while a request of it is in work.
    pub(crate) fn depart(&self, departure: Departure) {
        // Both ends live in `self`, so the queue is never disconnected.
        let _ = self.departures.0.send(departure);
        self.wake_newest_idle_handler();
    }

    /// The next peer that leaves.
    pub fn take_departure(&self) -> Option<Departure> {
        self.departures.1.try_recv().ok()
    }

    /// Sends a response to the Processor that owns the connection; one to a Processor that is no more is dropped.
    pub fn respond(&self, response: Response, own: Option<ProcessorId>) {
        let processor = response.ticket.connection.processor;
        let Some(end) = self.processor(processor) else { return };
        // Both ends live in `self`, so the queue is never disconnected.
        let _ = end.responses.0.send(response);
        if own != Some(processor) {
            end.waker.wake();
        }
    }

    /// The next response for `processor`.
    pub(crate) fn take_response(&self, processor: ProcessorId) -> Option<Response> {
        self.processor(processor)?.responses.1.try_recv().ok()
    }

    fn wake_handler(&self) {
        if self.requests.1.len() > self.backlog_tolerated {
            self.wake_newest_idle_handler();
        }
    }

    fn wake_newest_idle_handler(&self) {
        let woken = {
            let mut sleepers = self.sleepers();
            let newest = sleepers.idle_handlers.pop();
            newest.and_then(|handler| sleepers.handlers.get(handler).cloned())
        };
        if let Some(woken) = woken {
            woken.wake();
        }
    }

    fn wake_processor(&self, processor: ProcessorId) {
        if let Some(end) = self.processor(processor) {
            end.waker.wake();
        }
    }

    fn processor(&self, processor: ProcessorId) -> Option<&ProcessorEnd> {
        self.processors.get(usize::try_from(processor.0).ok()?)
    }

    fn sleepers(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().expect("nobody panics while holding the sleepers: panics abort the process")
    }
}
