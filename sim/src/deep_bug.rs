//! Bugs that nobody planted: they show only when the broker has been in several situations, one after the other.
//!
//! They measure what guidance is worth, since their depth is known. It must not know who looks for them.

use std::collections::BTreeSet;

use klamm::marks::Mark;
use klamm::types::Instant;

use crate::keyed::{Draw, Site, draw_config};

/// A bug: these situations, in this order, each in a later step than the one before.
#[derive(Clone, Debug)]
pub struct DeepBug {
    /// The situations.
    pub situations: Vec<Mark>,
}

impl DeepBug {
    /// The bug of this number that `seed` draws: situations of one of these runs, in the order in which it came to them. None if that run has too few,
    /// or came to some in one step.
    pub fn draw(seed: u64, number: u64, depth: usize, runs: &[Vec<(Mark, Instant)>]) -> Option<DeepBug> {
        let draw = draw_config(seed, Site::Exploration, number << 32);
        let run = choose(draw, runs)?;
        let mut marks: Vec<Mark> = run.iter().map(|(mark, _)| *mark).collect::<BTreeSet<_>>().into_iter().collect();
        let mut drawn = Vec::new();
        for index in 0..depth as u64 {
            let mark = *choose(draw.part(2 * index), &marks)?;
            marks.retain(|other| *other != mark);
            let times: Vec<Instant> = run.iter().filter(|(other, _)| *other == mark).map(|(_, at)| *at).collect();
            drawn.push((*choose(draw.part(2 * index + 1), &times)?, mark));
        }
        drawn.sort_unstable();
        let are_apart = drawn.is_sorted_by(|(before, _), (after, _)| before < after);
        are_apart.then(|| DeepBug { situations: drawn.into_iter().map(|(_, mark)| mark).collect() })
    }

    /// When a run with these marks came to each situation, up to the last one that it came to.
    pub fn stages(&self, marks: &[(Mark, Instant)]) -> Vec<Instant> {
        let mut stages: Vec<Instant> = Vec::new();
        for (mark, at) in marks {
            let is_later = stages.last().is_none_or(|last| last < at);
            if is_later && self.situations.get(stages.len()) == Some(mark) {
                stages.push(*at);
            }
        }
        stages
    }

    /// Whether that run shows it.
    pub fn shows_in(&self, marks: &[(Mark, Instant)]) -> bool {
        self.stages(marks).len() == self.situations.len()
    }
}

fn choose<T>(draw: Draw, from: &[T]) -> Option<&T> {
    from.get(usize::try_from(draw.below(from.len() as u64)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn situations_count_in_their_order_and_one_in_a_step() {
        let bug = DeepBug { situations: vec![Mark::Rolled, Mark::Duplicate, Mark::Starved] };
        let run = |marks: &[(Mark, u64)]| {
            bug.stages(&marks.iter().map(|(mark, at)| (*mark, Instant(*at))).collect::<Vec<_>>()).len()
        };
        assert_eq!(run(&[(Mark::Rolled, 1), (Mark::Duplicate, 2), (Mark::Starved, 3)]), 3);
        assert_eq!(run(&[(Mark::Rolled, 1), (Mark::Duplicate, 1), (Mark::Starved, 3)]), 1);
        assert_eq!(run(&[(Mark::Duplicate, 1), (Mark::Starved, 2), (Mark::Rolled, 3)]), 1);
    }

    #[test]
    fn a_run_from_which_a_bug_is_drawn_shows_it_and_no_situation_twice() {
        let run: Vec<_> = Mark::ALL.iter().chain(Mark::ALL).copied().zip((0..).map(Instant)).collect();
        for number in 0..50 {
            let bug = DeepBug::draw(1, number, 5, std::slice::from_ref(&run)).unwrap();
            let situations: BTreeSet<Mark> = bug.situations.iter().copied().collect();
            assert!(bug.shows_in(&run) && situations.len() == 5, "{bug:?}");
        }
    }

    #[test]
    fn a_run_with_too_few_situations_or_all_in_one_step_has_no_bug() {
        let few: Vec<_> = Mark::ALL[..4].iter().copied().zip((0..).map(Instant)).collect();
        assert!(DeepBug::draw(1, 2, 5, &[few]).is_none());
        let at_once: Vec<_> = Mark::ALL.iter().map(|mark| (*mark, Instant(3))).collect();
        assert!(DeepBug::draw(1, 2, 5, &[at_once]).is_none());
    }
}
