//! Counters and histograms: names and cells. Who counts, calls it; it must not know who counts or who reads.

mod rare_lines; // when to write a line about what happens often
mod request_metrics; // how long requests spend where, for each API

pub use rare_lines::RareLines;
pub use request_metrics::{RequestMetrics, RequestPhase};
