//! How many bytes of requests the broker may hold at once (`queued.max.request.bytes`).
//!
//! Kafka's rule, not a strict one: an allocation succeeds while any byte is left, so use may exceed the limit by one request for each
//! Processor. A Processor that got nothing is woken when there is memory again, whoever gave it back. It must not know who reads or who
//! handles.

use std::sync::Arc;

use super::sync::{AtomicBool, AtomicI64, Mutex, MutexGuard, Ordering};
use crate::env::Wake;
use crate::marks::Mark;
use crate::types::ProcessorId;
use crate::zoo::{self, Bug};

/// Counts request bytes. Without a limit it counts nothing.
pub struct MemoryPool {
    limit_bytes: i64,
    available_bytes: Option<AtomicI64>,
    /// How to wake each Processor, by number.
    processors: Vec<Arc<dyn Wake>>,
    starved_processors: Mutex<Vec<ProcessorId>>,
    some_processor_is_starved: AtomicBool,
}

impl MemoryPool {
    /// A pool of `limit_bytes`, or one without limit. `processors` are how to wake each of them, by number.
    pub fn new(limit_bytes: Option<i64>, processors: Vec<Arc<dyn Wake>>) -> MemoryPool {
        MemoryPool {
            limit_bytes: limit_bytes.unwrap_or(0),
            available_bytes: limit_bytes.map(AtomicI64::new),
            processors,
            starved_processors: Mutex::new(Vec::new()),
            some_processor_is_starved: AtomicBool::new(false),
        }
    }

    /// How many bytes are taken.
    pub fn taken_bytes(&self) -> u64 {
        let available = self.available_bytes.as_ref().map(|available| available.load(Ordering::SeqCst));
        available.map_or(0, |available| self.limit_bytes.abs_diff(available))
    }

    /// Takes `bytes` if any byte is left.
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let Some(available) = &self.available_bytes else { return true };
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        available
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| (left > 0).then(|| left.saturating_sub(bytes)))
            .is_ok()
    }

    /// Gives `bytes` back. Whoever starved is told when that leaves something.
    pub(crate) fn give_back(&self, bytes: usize) {
        let Some(available) = &self.available_bytes else { return };
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let left = available.fetch_add(bytes, Ordering::SeqCst).saturating_add(bytes);
        if left > 0 && self.some_processor_is_starved.swap(false, Ordering::SeqCst) && !zoo::is(Bug::MemoryWakesNobody)
        {
            for processor in std::mem::take(&mut *self.starved_processors()) {
                Mark::MemoryWakes.reached();
                self.wake(processor);
            }
        }
    }

    /// Says that `processor` is about to wait for memory. `false` if there is some by now, so that it must not.
    pub(crate) fn processor_starves(&self, processor: ProcessorId) -> bool {
        let mut starved = self.starved_processors();
        if !starved.contains(&processor) {
            starved.push(processor);
        }
        // The flag is raised before the look: memory that comes back later finds the flag, memory that came back earlier is seen here.
        self.some_processor_is_starved.store(true, Ordering::SeqCst);
        self.available_bytes.as_ref().is_some_and(|available| available.load(Ordering::SeqCst) <= 0)
    }

    fn wake(&self, processor: ProcessorId) {
        let number = usize::try_from(processor.0).ok();
        if let Some(waker) = number.and_then(|number| self.processors.get(number)) {
            waker.wake();
        }
    }

    fn starved_processors(&self) -> MutexGuard<'_, Vec<ProcessorId>> {
        self.starved_processors.lock().expect("nobody panics while holding the list: panics abort the process")
    }
}
