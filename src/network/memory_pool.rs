//! How many bytes of requests the broker may hold at once (`queued.max.request.bytes`).
//!
//! Kafka's rule, not a strict one: an allocation succeeds while any byte is left, so use may exceed the limit by one request for each
//! Processor. It must not know who reads or who handles.

use std::sync::atomic::{AtomicI64, Ordering};

/// Counts request bytes. Without a limit it counts nothing.
#[derive(Debug)]
pub struct MemoryPool {
    available_bytes: Option<AtomicI64>,
    limit_bytes: i64,
}

impl MemoryPool {
    /// A pool of `limit_bytes`, or one without limit.
    pub fn new(limit_bytes: Option<i64>) -> MemoryPool {
        MemoryPool { available_bytes: limit_bytes.map(AtomicI64::new), limit_bytes: limit_bytes.unwrap_or(i64::MAX) }
    }

    /// Takes `bytes` if any byte is left.
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let Some(available) = &self.available_bytes else { return true };
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        available
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| (left > 0).then(|| left.saturating_sub(bytes)))
            .is_ok()
    }

    /// Gives `bytes` back.
    pub(crate) fn give_back(&self, bytes: usize) {
        if let Some(available) = &self.available_bytes {
            available.fetch_add(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::AcqRel);
        }
    }

    /// Whether nothing is left at this moment.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.available_bytes.as_ref().is_some_and(|available| available.load(Ordering::Acquire) <= 0)
    }

    /// Bytes in use; 0 without a limit.
    pub fn used_bytes(&self) -> i64 {
        self.available_bytes.as_ref().map_or(0, |available| self.limit_bytes - available.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryPool;

    #[test]
    fn the_last_byte_admits_one_more_request_and_then_none() {
        let pool = MemoryPool::new(Some(10));
        assert!(pool.try_take(9));
        assert!(pool.try_take(100));
        assert!(pool.is_exhausted());
        assert!(!pool.try_take(1));
        pool.give_back(100);
        assert!(pool.try_take(1));
        assert_eq!(pool.used_bytes(), 10);
    }

    #[test]
    fn a_pool_without_limit_is_never_exhausted() {
        let pool = MemoryPool::new(None);
        assert!(pool.try_take(usize::MAX));
        assert!(!pool.is_exhausted());
        assert_eq!(pool.used_bytes(), 0);
    }
}
