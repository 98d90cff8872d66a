//! Which marks a run has reached, how often, and when: what a campaign counts, and what guides an exploration.
//!
//! It must not know what a mark means.

use std::collections::BTreeMap;

use klamm::marks::Mark;
use klamm::types::Instant;

/// A mark was reached in this many steps: noted at the first, the second, the fourth and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The situation.
    pub mark: Mark,
    /// In how many steps so far: a power of two.
    pub steps: u32,
    /// When the last of these steps began.
    pub at: Instant,
}

/// What was reached so far. In a build that notes no marks it stays empty.
#[derive(Debug, Default)]
pub(crate) struct Sightings {
    steps: BTreeMap<Mark, u32>,
    noted: Vec<Sighting>,
    /// Every step's marks, if somebody wants them.
    all: Option<Vec<(Mark, Instant)>>,
}

impl Sightings {
    /// Of a run that begins: what this thread has reached before is somebody else's.
    pub(crate) fn begin() -> Sightings {
        drop(Mark::take_reached());
        Sightings::default()
    }

    /// Keeps every step's marks from now on.
    pub(crate) fn keep_all(&mut self) {
        self.all = Some(Vec::new());
    }

    /// A step ends; `at` tells when it began, if somebody wants to know.
    pub(crate) fn step_ends(&mut self, at: impl FnOnce() -> Instant) {
        let reached = Mark::take_reached();
        if reached.is_empty() {
            return;
        }
        let at = at();
        for mark in reached {
            let steps = self.steps.entry(mark).or_default();
            *steps += 1;
            if steps.is_power_of_two() {
                self.noted.push(Sighting { mark, steps: *steps, at });
            }
            self.all.iter_mut().for_each(|all| all.push((mark, at)));
        }
    }

    /// All of them, in order.
    pub(crate) fn take(&mut self) -> Vec<Sighting> {
        std::mem::take(&mut self.noted)
    }

    /// Every step's marks, if they were kept.
    pub(crate) fn take_all(&mut self) -> Vec<(Mark, Instant)> {
        self.all.take().unwrap_or_default()
    }
}
