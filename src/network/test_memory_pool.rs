//! Who is woken when request memory comes back. Here and not beside the pool, whose file a test of interleavings compiles too.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::memory_pool::MemoryPool;
use crate::env::Wake;
use crate::types::ProcessorId;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn the_last_byte_admits_one_more_request_and_then_none() {
    let pool = MemoryPool::new(Some(10), Vec::new());
    assert!(pool.try_take(9));
    assert!(pool.try_take(100));
    assert!(!pool.try_take(1));
    pool.give_back(100);
    assert!(pool.try_take(1));
    assert!(!pool.try_take(1));
}

#[test]
fn a_pool_without_limit_is_never_exhausted() {
    let pool = MemoryPool::new(None, Vec::new());
    assert!(pool.try_take(usize::MAX));
    assert!(!pool.processor_starves(ProcessorId(0)));
}

#[test]
fn a_processor_that_starves_is_woken_once_when_memory_is_left_again() {
    let processors = [Arc::new(Count::default()), Arc::new(Count::default())];
    let pool = MemoryPool::new(Some(10), processors.iter().map(|waker| Arc::clone(waker) as _).collect());
    let woken = || processors.each_ref().map(|count| count.0.load(Ordering::SeqCst));
    assert!(pool.try_take(9) && pool.try_take(5));
    assert!(pool.processor_starves(ProcessorId(1)) && pool.processor_starves(ProcessorId(1)));
    pool.give_back(3);
    assert_eq!(woken(), [0, 0], "still nothing is left");
    pool.give_back(5);
    pool.give_back(5);
    assert_eq!(woken(), [0, 1]);
}

#[test]
fn memory_that_came_back_before_a_processor_starves_lets_it_go_on() {
    let pool = MemoryPool::new(Some(10), Vec::new());
    assert!(pool.try_take(10));
    pool.give_back(10);
    assert!(!pool.processor_starves(ProcessorId(0)));
}
