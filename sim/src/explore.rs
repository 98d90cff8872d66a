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
/// One of so many others goes on from something rare, the rest from a stage, if there are stages.
const RARE_ONE_OF: u64 = 4;
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
    /// Where to go on from: runs of different seeds.
    places: Vec<Place>,
}

/// Where a run can be gone on from.
#[derive(Debug)]
struct Place {
    scenario: Arc<Scenario>,
    at: Instant,
    /// How many runs have gone on from here.
    children: u64,
}

impl Known {
    /// A run of each seed is kept at most, and of several seeds those that had it earliest: most of the run is left then.
    fn add(&mut self, scenario: &Arc<Scenario>, at: Instant) {
        let is_same = |place: &Place| place.scenario.seed() == scenario.seed();
        let mut children = 0;
        if let Some(number) = self.places.iter().position(is_same) {
            if self.places[number].at <= at {
                return;
            }
            children = self.places.remove(number).children;
        }
        let behind = self.places.partition_point(|place| place.at <= at);
        self.places.insert(behind, Place { scenario: Arc::clone(scenario), at, children });
        self.places.truncate(PLACES_MAX);
    }

    /// One of those from which the fewest runs have gone on: a run from which nothing more can be reached does not stand in the way of another.
    fn place(&mut self, draw: Draw) -> Option<(Arc<Scenario>, Instant)> {
        let fewest = self.places.iter().map(|place| place.children).min()?;
        let mut places: Vec<&mut Place> = self.places.iter_mut().filter(|place| place.children == fewest).collect();
        let number = usize::try_from(draw.below(places.len() as u64)).ok()?;
        let place = places.get_mut(number)?;
        place.children += 1;
        Some((Arc::clone(&place.scenario), place.at))
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
        let mut child = (*scenario).clone();
        child.world.overrides.turns.retain(|turn| turn.after_ns < at.0);
        if child.world.overrides.turns.len() >= TURNS_MAX {
            return Scenario::new(self.profile, seed);
        }
        child.world.overrides.turns.push(Turn { after_ns: at.0, seed });
        child
    }

    /// A run that had a rare feature, and when it had it.
    fn parent(&mut self, draw: Draw) -> Option<(Arc<Scenario>, Instant)> {
        let is_rare_wanted = draw.part(DRAWN_FEATURES).below(RARE_ONE_OF) == 0;
        let stage = if is_rare_wanted { None } else { self.stage(draw.part(DRAWN_FEATURES + 1)) };
        let feature = stage.or_else(|| self.rarest(draw))?;
        self.known.get_mut(&feature)?.place(draw)
    }

    /// The last stage that is known in half of all cases, the one before it in a quarter, and so on: what leads to the last one may lead no further.
    fn stage(&self, draw: Draw) -> Option<Feature> {
        let mut stages = self.known.range(Feature::Stage(0)..).map(|(feature, _)| *feature).rev();
        let back = (0..u64::BITS).find(|index| draw.part((*index).into()).below(2) == 0)?;
        let first = Feature::Stage(0);
        stages.nth(back as usize).or_else(|| self.known.contains_key(&first).then_some(first))
    }

    /// The rarest of some features.
    fn rarest(&self, draw: Draw) -> Option<Feature> {
        let drawn = (0..DRAWN_FEATURES).filter_map(|index| choose(draw.part(index), &self.features).copied());
        drawn.min_by_key(|feature| self.known.get(feature).map(|known| known.runs))
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
