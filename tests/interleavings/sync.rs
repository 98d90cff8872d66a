//! Stand-ins for what the queues are made of, in terms that the scheduler of threads sees.
//!
//! It must not know who uses them.

use std::collections::VecDeque;
use std::sync::Arc;

pub(super) use shuttle::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
pub(super) use shuttle::sync::{Mutex, MutexGuard};

/// Why a value was not taken.
#[derive(Debug)]
pub(super) enum TrySendError<T> {
    Full(T),
    Disconnected(T),
}

struct Queue<T> {
    values: Mutex<VecDeque<T>>,
    capacity: usize,
}

/// The putting end.
pub(super) struct Sender<T>(Arc<Queue<T>>);

/// The taking end.
pub(super) struct Receiver<T>(Arc<Queue<T>>);

pub(super) fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let queue = Arc::new(Queue { values: Mutex::new(VecDeque::new()), capacity });
    (Sender(Arc::clone(&queue)), Receiver(queue))
}

pub(super) fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    bounded(usize::MAX)
}

impl<T> Sender<T> {
    pub(super) fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let mut values = self.0.values.lock().unwrap();
        if values.len() >= self.0.capacity {
            return Err(TrySendError::Full(value));
        }
        values.push_back(value);
        Ok(())
    }

    pub(super) fn send(&self, value: T) -> Result<(), T> {
        self.0.values.lock().unwrap().push_back(value);
        Ok(())
    }
}

impl<T> Receiver<T> {
    pub(super) fn try_recv(&self) -> Result<T, ()> {
        self.0.values.lock().unwrap().pop_front().ok_or(())
    }

    pub(super) fn len(&self) -> usize {
        self.0.values.lock().unwrap().len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
