//! A run as a page that people read: swim lanes, faults, what led to the violation, and a slider over all events.
//!
//! One self-contained HTML text. It must not know how a run works; it reads the trace.

mod cast; // who takes part, by name
mod causes; // what led to what
mod page; // the HTML

pub use cast::Cast;

use crate::run::{RunReport, run_with_cast};
use crate::scenario::Scenario;
use crate::trace::{TraceEvent, TraceKind};

/// A run as it is told.
#[derive(Debug)]
pub struct Story {
    /// How it ended.
    pub report: RunReport,
    /// The lanes from top to bottom.
    pub lanes: Vec<String>,
    /// What happened, without the passing of time.
    pub moments: Vec<Moment>,
}

/// One event of a story.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The event.
    pub event: TraceEvent,
    /// Index of its lane.
    pub lane: usize,
    /// What happened, in words.
    pub words: String,
    /// Indices of the moments that led to it.
    pub causes: Vec<usize>,
    /// Whether it is among those that led to the end.
    pub is_in_slice: bool,
}

impl Story {
    /// Runs a scenario and tells it.
    pub fn of(scenario: Scenario) -> Story {
        let (report, events, cast) = run_with_cast(scenario);
        let mut moments = Vec::new();
        let mut actor = cast.network_lane();
        for event in events {
            match event.kind {
                TraceKind::Time => {
                    actor = cast.network_lane();
                    continue;
                }
                TraceKind::Step => actor = cast.lane_of_step(event.entity),
                _ => {}
            }
            let lane = cast.lane_of(&event).unwrap_or(actor);
            let words = cast.words(&event);
            moments.push(Moment { event, lane, words, causes: Vec::new(), is_in_slice: false });
        }
        causes::link(&mut moments, &cast);
        causes::mark_slice(&mut moments, report.violations.first());
        Story { report, lanes: cast.lanes(), moments }
    }

    /// The page.
    pub fn to_html(&self, title: &str, capsule: &str) -> String {
        page::render(self, title, capsule)
    }
}
