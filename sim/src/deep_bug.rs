//! Bugs that nobody planted: they show only when the broker has been in several situations, one after the other.
//!
//! They measure what guidance is worth, since their depth is known. It must not know who looks for them.

use klamm::marks::Mark;
use klamm::types::Instant;

use crate::keyed::{Site, draw_config};

/// A bug: these situations, in this order, each in a later step than the one before.
#[derive(Clone, Debug)]
pub struct DeepBug {
    /// The situations.
    pub situations: Vec<Mark>,
}

impl DeepBug {
    /// The bug of this number that `seed` draws, with so many different situations of those that may be.
    pub fn draw(seed: u64, number: u64, depth: usize, mut from: Vec<Mark>) -> DeepBug {
        let draw = draw_config(seed, Site::Exploration, number << 32);
        let drawn = (0..depth as u64).map_while(|index| {
            let place = usize::try_from(draw.part(index).below(from.len() as u64)).ok()?;
            (place < from.len()).then(|| from.swap_remove(place))
        });
        DeepBug { situations: drawn.collect() }
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
    fn no_situation_is_drawn_twice() {
        let mut situations = DeepBug::draw(1, 2, 5, Mark::ALL.to_vec()).situations;
        situations.sort_unstable();
        situations.dedup();
        assert_eq!(situations.len(), 5);
    }
}
