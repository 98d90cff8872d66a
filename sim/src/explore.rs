//! Guided exploration: runs that go on from where something rare was reached, with another seed.
//!
//! What a run reached is a list of features, each with its time. A child is a run that has one of them: the same up to that time, then another
//! seed's. The features that the fewest runs had are chosen, so that what is rare is looked at as often as what is not; who explores towards
//! something goes on from the last stage that was reached as often (as IJON does, Aschermann et al. 2020). One base seed is one
//! exploration, whoever carries it out. It must not know how a run works.

use std::collections::BTreeMap;
use std::sync::Arc;

use klamm::marks::Mark;
use klamm::types::Instant;

use crate::keyed::{Draw, Site, Turn, draw_config};
use crate::scenario::{Profile, Scenario};
use crate::sightings::Sighting;

/// One of so many runs begins with a seed of its own.
const FRESH_ONE_OF: u64 = 4;
/// One of so many others goes on from the last stage that is known, if there are stages.
const STAGED_ONE_OF: u64 = 2;
/// Of so many features the rarest is chosen.
const DRAWN_FEATURES: u64 = 16;
/// So many runs of different seeds are kept for each feature.
const PLACES_MAX: usize = 64;

/// A run that has turned so often is long enough.
const TURNS_MAX: usize = 8;

/// Something that a run can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A mark, in 4 to this power steps.
    Mark(Mark, u32),
    /// The situation of this number on the way to where the exploration goes, after those before it.
    Stage(u32),
}

/// A feature that some run had.
#[derive(Debug, Default)]
struct Known {
    /// How many runs had it.
    runs: u64,
    /// Where to go on from: runs of different seeds, and when each had it.
    places: Vec<(Arc<Scenario>, Instant)>,
}

impl Known {
    /// A run of each seed is kept at most, and of several seeds those that had it earliest: most of the run is left then.
    fn add(&mut self, scenario: &Arc<Scenario>, at: Instant) {
        if let Some(place) = self.places.iter_mut().find(|(other, _)| other.seed() == scenario.seed()) {
            if at < place.1 {
                *place = (Arc::clone(scenario), at);
            }
            return;
        }
        let behind = self.places.partition_point(|(_, other)| *other <= at);
        self.places.insert(behind, (Arc::clone(scenario), at));
        self.places.truncate(PLACES_MAX);
    }

    fn place(&self, draw: Draw) -> Option<&(Arc<Scenario>, Instant)> {
        choose(draw, &self.places)
    }
}

fn choose<T>(draw: Draw, from: &[T]) -> Option<&T> {
    from.get(usize::try_from(draw.below(from.len() as u64)).ok()?)
}

/// Makes scenarios, and learns from what they reach.
#[derive(Debug)]
pub struct Explorer {
    profile: Profile,
    seed: u64,
    made: u64,
    features: Vec<Feature>,
    known: BTreeMap<Feature, Known>,
}

impl Explorer {
    /// Explores runs of this profile. `seed` decides all that is decided here.
    pub fn new(profile: Profile, seed: u64) -> Explorer {
        Explorer { profile, seed, made: 0, features: Vec::new(), known: BTreeMap::new() }
    }

    /// How many features are known.
    pub fn features(&self) -> usize {
        self.features.len()
    }

    /// The next scenario. Several may be asked for before their runs are learnt from.
    pub fn next_scenario(&mut self) -> Scenario {
        let draw = draw_config(self.seed, Site::Exploration, self.made);
        self.made += 1;
        let seed = draw.part(0).below(u64::MAX);
        let parent = if draw.below(FRESH_ONE_OF) == 0 { None } else { self.parent(draw.part(1)) };
        let Some((scenario, at)) = parent else { return Scenario::new(self.profile, seed) };
        let mut child = (**scenario).clone();
        child.world.overrides.turns.retain(|turn| turn.after_ns < at.0);
        if child.world.overrides.turns.len() >= TURNS_MAX {
            return Scenario::new(self.profile, seed);
        }
        child.world.overrides.turns.push(Turn { after_ns: at.0, seed });
        child
    }

    /// A run that had a rare feature, and when it had it.
    fn parent(&self, draw: Draw) -> Option<&(Arc<Scenario>, Instant)> {
        let last_stage = self.known.range(Feature::Stage(0)..).next_back().map(|(_, known)| known);
        let last_stage = last_stage.filter(|_| draw.part(DRAWN_FEATURES).below(STAGED_ONE_OF) == 0);
        last_stage.or_else(|| self.rarest(draw))?.place(draw)
    }

    /// The rarest of some features.
    fn rarest(&self, draw: Draw) -> Option<&Known> {
        let drawn = (0..DRAWN_FEATURES).map(|index| choose(draw.part(index), &self.features));
        drawn.filter_map(|feature| self.known.get(feature?)).min_by_key(|known| known.runs)
    }

    /// A scenario that was made here has had these features, each at this time first. Only as long as faults are about can another run go on from there.
    pub fn learn(&mut self, scenario: Scenario, chaos_ns: u64, features: impl IntoIterator<Item = (Feature, Instant)>) {
        let scenario = Arc::new(scenario);
        for (feature, at) in features.into_iter().filter(|(_, at)| at.0 < chaos_ns) {
            let known = self.known.entry(feature).or_insert_with(|| {
                self.features.push(feature);
                Known::default()
            });
            known.runs += 1;
            known.add(&scenario, at);
        }
    }
}

/// What guides by the marks of a run.
pub fn features_of(marks: &[Sighting]) -> impl Iterator<Item = (Feature, Instant)> + '_ {
    let is_fourfold = |sighting: &&Sighting| sighting.steps.trailing_zeros().is_multiple_of(2);
    let fourfold = marks.iter().filter(is_fourfold);
    fourfold.map(|sighting| (Feature::Mark(sighting.mark, sighting.steps.trailing_zeros() / 2), sighting.at))
}
