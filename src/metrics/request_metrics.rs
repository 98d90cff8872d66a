//! How long requests spend where, for each API: Kafka's `RequestMetrics` (queue, local, remote, response queue, send, total).
//!
//! It must not know requests; it takes six points of a stopwatch.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::types::Instant;

/// API keys that are counted, from 0.
const APIS: usize = 96;
/// Upper bounds of the histogram's buckets are powers of two microseconds; the last takes all that is longer.
const BUCKETS: usize = 26;

/// A span between two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPhase {
    /// In the request queue (`RequestQueueTimeMs`).
    RequestQueue,
    /// With the handler (`LocalTimeMs`).
    Local,
    /// Parked (`RemoteTimeMs`).
    Remote,
    /// In the response queue (`ResponseQueueTimeMs`).
    ResponseQueue,
    /// Being written (`ResponseSendTimeMs`).
    ResponseSend,
    /// From whole frame to last byte (`TotalTimeMs`).
    Total,
}

impl RequestPhase {
    /// All, in the order in which they pass.
    pub const ALL: [RequestPhase; 6] = [
        RequestPhase::RequestQueue,
        RequestPhase::Local,
        RequestPhase::Remote,
        RequestPhase::ResponseQueue,
        RequestPhase::ResponseSend,
        RequestPhase::Total,
    ];
}

/// One histogram per API and phase, made when the API is first used.
#[derive(Debug)]
pub struct RequestMetrics {
    apis: Vec<OnceLock<Box<[Histogram; 6]>>>,
}

#[derive(Debug, Default)]
struct Histogram {
    count: AtomicU64,
    sum_ns: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
    /// The longest of those in the last bucket, which has no other bound.
    longest_us: AtomicU64,
}

impl Histogram {
    fn record(&self, ns: u64) {
        let microseconds = ns / 1_000;
        let bucket = (u64::BITS - microseconds.leading_zeros()) as usize;
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
        if bucket >= BUCKETS - 1 {
            self.longest_us.fetch_max(microseconds, Ordering::Relaxed);
        }
        self.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
    }

    /// Upper bound of the bucket, or of all in the last one, in which the value lies that `percent` of all do not exceed.
    fn quantile_us(&self, percent: u64) -> u64 {
        let counts: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let rank = (counts.iter().sum::<u64>() * percent).div_ceil(100);
        let reaches = |seen: &mut u64, count: &u64| {
            *seen += count;
            Some(*seen)
        };
        let bucket = counts.iter().scan(0, reaches).take_while(|seen| *seen < rank).count();
        match bucket {
            _ if rank == 0 => 0,
            bucket if bucket < BUCKETS - 1 => 1 << bucket,
            _ => self.longest_us.load(Ordering::Relaxed),
        }
    }
}

impl RequestMetrics {
    /// All zero.
    pub fn new() -> RequestMetrics {
        RequestMetrics { apis: (0..APIS).map(|_| OnceLock::new()).collect() }
    }

    /// Counts one request of the API with this key, by the six points: received, dequeued, local complete, response complete, response
    /// dequeued, sent. A point before the one in front of it counts as that one.
    pub fn record(&self, api_key: i16, points: [Instant; 6]) {
        let Some(phases) = usize::try_from(api_key).ok().and_then(|key| self.apis.get(key)) else { return };
        let phases = phases.get_or_init(Default::default);
        let mut latest = points[0];
        for (phase, point) in phases.iter().zip(points.iter().skip(1)) {
            let reached = latest.max(*point);
            phase.record(reached.0 - latest.0);
            latest = reached;
        }
        phases[RequestPhase::Total as usize].record(latest.0 - points[0].0);
    }

    /// Requests counted for an API and the nanoseconds that they spent in a phase.
    pub fn totals(&self, api_key: i16, phase: RequestPhase) -> (u64, u64) {
        self.histogram(api_key, phase).map_or((0, 0), |histogram| {
            (histogram.count.load(Ordering::Relaxed), histogram.sum_ns.load(Ordering::Relaxed))
        })
    }

    /// Microseconds that so many in a hundred requests of an API did not exceed in a phase, rounded up to a power of two if that is
    /// below 2^25. 0 if there were none.
    pub fn microseconds_max(&self, api_key: i16, phase: RequestPhase, percent: u64) -> u64 {
        self.histogram(api_key, phase).map_or(0, |histogram| histogram.quantile_us(percent))
    }

    fn histogram(&self, api_key: i16, phase: RequestPhase) -> Option<&Histogram> {
        let phases = usize::try_from(api_key).ok().and_then(|key| self.apis.get(key)?.get());
        phases.map(|phases| &phases[phase as usize])
    }
}

impl Default for RequestMetrics {
    fn default() -> RequestMetrics {
        RequestMetrics::new()
    }
}

#[cfg(test)]
mod tests {
    use super::{RequestMetrics, RequestPhase};
    use crate::types::Instant;

    #[test]
    fn phases_add_up_to_the_total_also_when_a_point_is_missing() {
        let metrics = RequestMetrics::new();
        metrics.record(1, [10, 20, 0, 50, 60, 100].map(Instant));
        let sum = RequestPhase::ALL[..5].iter().map(|phase| metrics.totals(1, *phase).1).sum::<u64>();
        assert_eq!(metrics.totals(1, RequestPhase::Total), (1, 90));
        assert_eq!(sum, 90);
        assert_eq!(metrics.totals(1, RequestPhase::Remote), (1, 30));
        assert_eq!(metrics.microseconds_max(1, RequestPhase::Total, 99), 1);
        metrics.record(-1, [Instant(0); 6]);
        assert_eq!(metrics.totals(-1, RequestPhase::Total), (0, 0));
    }

    #[test]
    fn a_bound_leaves_out_the_share_of_requests_that_it_may() {
        let metrics = RequestMetrics::new();
        for request in 0..100 {
            let total_us = if request < 98 { 100 } else { 5_000 };
            metrics.record(0, [0, 0, 0, 0, 0, total_us * 1_000].map(Instant));
        }
        let bound = |percent| metrics.microseconds_max(0, RequestPhase::Total, percent);
        assert_eq!((bound(98), bound(99), bound(100)), (128, 8192, 8192));
        assert_eq!(metrics.microseconds_max(7, RequestPhase::Total, 99), 0);
        metrics.record(7, [0, 0, 0, 0, 0, 40_000_000_000].map(Instant));
        metrics.record(7, [0, 0, 0, 0, 0, 100_000_000_000].map(Instant));
        assert_eq!(
            metrics.microseconds_max(7, RequestPhase::Total, 99),
            100_000_000,
            "of the longest the bound is true, too"
        );
    }
}
