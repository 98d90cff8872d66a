//! Counters and histograms: names and cells. Who counts, calls it; it must not know who counts or who reads.

mod request_metrics; // how long requests spend where, for each API

pub use request_metrics::{RequestMetrics, RequestPhase};
