//! The engine of decisions: numbers them, draws them, lets the layers speak, and records every fault that fired.
//!
//! It must not know what a fault does.

use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;

use crate::keyed::draw::{Draw, MILLION, mix};
use crate::keyed::{Key, Overrides, Site, SiteKind, Swarm};

/// A short run takes about so many decisions of different names; a longer one has room made.
const DECISIONS: usize = 1_500;

/// A fault that fired.
pub type Fired = Key;

/// Decides. Two with the same seed, swarm and overrides that are asked the same questions give the same answers, and the answer
/// to one question does not depend on the others.
#[derive(Debug)]
pub struct Chance {
    seed: u64,
    /// The one before any turn: by it decisions are counted.
    first_seed: u64,
    /// How many turns are behind.
    turns: usize,
    swarm: Swarm,
    overrides: Overrides,
    has_overrides: bool,
    /// A decision counts even while its fault cannot fire: it can after a turn, and has the same name then in a run whose faults are set to fire.
    counts_all: bool,
    calm: bool,
    /// How many decisions each site has made about each entity; looked up by hash, never walked.
    ordinals: HashMap<u64, u64, BuildHasherDefault<AlreadyMixed>>,
    fired: Vec<Fired>,
}

impl Chance {
    /// Decides by `seed`.
    pub fn new(seed: u64, swarm: Swarm, overrides: Overrides) -> Chance {
        let has_overrides = !overrides.is_empty();
        let counts_all = has_overrides || !overrides.turns.is_empty();
        Chance {
            seed,
            first_seed: seed,
            turns: 0,
            swarm,
            overrides,
            has_overrides,
            counts_all,
            calm: false,
            ordinals: HashMap::with_capacity_and_hasher(DECISIONS, BuildHasherDefault::default()),
            fired: Vec::new(),
        }
    }

    /// Time has come to `now`: decisions may be another seed's from here on.
    pub(crate) fn time_is(&mut self, now_ns: u64) {
        while let Some(turn) = self.overrides.turns.get(self.turns).filter(|turn| turn.after_ns < now_ns) {
            self.seed = turn.seed;
            self.swarm = self.swarm.turned(turn.seed);
            self.turns += 1;
        }
    }

    /// The root of every decision.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Which faults exist in this run.
    pub fn swarm(&self) -> &Swarm {
        &self.swarm
    }

    /// Whether this fault may fire at all, now or after a turn to come: a run that prepares for it is the same when the fault is set to fire by its name.
    pub fn may_fire(&self, site: Site) -> bool {
        self.swarm.rate(site) > 0 || self.counts_all
    }

    /// Whether the fault fires now; if so, the draw from which it takes its numbers.
    pub fn fault(&mut self, site: Site, entity: u64) -> Option<Draw> {
        let rate = self.swarm.rate(site);
        if self.calm || (rate == 0 && !self.counts_all) {
            return None;
        }
        self.strike(site, entity, rate)
    }

    /// Whether a fate strikes now: by its own share, whatever faults the run has.
    pub fn fate(&mut self, site: Site, entity: u64) -> Option<Draw> {
        match site.kind() {
            SiteKind::Fate(share) => self.strike(site, entity, share),
            SiteKind::Fault(_) | SiteKind::Value | SiteKind::Config => None,
        }
    }

    fn strike(&mut self, site: Site, entity: u64, rate: u32) -> Option<Draw> {
        let (key, bits) = self.decide(site, entity);
        let drawn = Draw::new(bits).below(MILLION) < u64::from(rate);
        let fires = if self.has_overrides {
            let set = self.overrides.value(key);
            set.map_or(drawn, |value| value != 0) && self.overrides.permits(key)
        } else {
            drawn
        };
        if !fires {
            return None;
        }
        self.fired.push(key);
        Some(Draw::new(mix(bits ^ 0x3c6e_f372_fe94_f82b)))
    }

    /// A number for a decision that is no fault: a delay, a choice among equals.
    pub fn value(&mut self, site: Site, entity: u64) -> Draw {
        let (key, bits) = self.decide(site, entity);
        self.draw(key, bits)
    }

    /// The number of a decision whose ordinal the caller counts, as often as it is asked for.
    pub fn value_at(&self, key: Key) -> Draw {
        let bits = bits_of(who(self.seed, key.site, key.entity), key.ordinal);
        self.draw(key, bits)
    }

    /// The same of a decision that no turn changes.
    pub fn value_for_good(&self, key: Key) -> Draw {
        let bits = bits_of(who(self.first_seed, key.site, key.entity), key.ordinal);
        self.draw(key, bits)
    }

    /// Makes a fault fire this often from now on, in parts per million.
    pub fn set_rate(&mut self, site: Site, parts: u32) {
        self.swarm.set_rate(site, parts);
    }

    /// Turns every fault off from now on.
    pub fn calm_down(&mut self) {
        self.calm = true;
    }

    /// Whether every fault is off.
    pub fn is_calm(&self) -> bool {
        self.calm
    }

    /// The faults that fired, in order.
    pub fn fired(&self) -> &[Fired] {
        &self.fired
    }

    fn draw(&self, key: Key, bits: u64) -> Draw {
        let set = if self.has_overrides { self.overrides.value(key) } else { None };
        set.map_or(Draw::new(bits), |value| Draw::fixed(bits, value))
    }

    fn decide(&mut self, site: Site, entity: u64) -> (Key, u64) {
        // Counted through over all turns, so that no two decisions of a run have one name.
        let counted = who(self.first_seed, site, entity);
        let next = self.ordinals.entry(counted).or_insert(0);
        let ordinal = *next;
        *next += 1;
        let who = if self.seed == self.first_seed { counted } else { who(self.seed, site, entity) };
        (Key { site, entity, ordinal }, bits_of(who, ordinal))
    }
}

fn who(seed: u64, site: Site, entity: u64) -> u64 {
    mix(mix(seed ^ (u64::from(site.number()) << 48)).wrapping_add(entity))
}

fn bits_of(who: u64, ordinal: u64) -> u64 {
    mix(who.wrapping_add(mix(ordinal.wrapping_add(0xbb67_ae85_84ca_a73b))))
}

/// The hash of a number that is a hash already.
#[derive(Clone, Copy, Debug, Default)]
struct AlreadyMixed(u64);

impl Hasher for AlreadyMixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mix(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::keyed::{Mode, Select, Turn};

    fn chance(overrides: Overrides) -> Chance {
        let mut swarm = Swarm::with_mode(3, Mode::Calm);
        swarm.set_rate(Site::ShortRead, 400_000);
        swarm.set_rate(Site::ShortWrite, 400_000);
        Chance::new(3, swarm, overrides)
    }

    fn run(chance: &mut Chance) -> Vec<(bool, u64)> {
        (0..40)
            .map(|index| {
                let site = if index % 2 == 0 { Site::ShortRead } else { Site::ShortWrite };
                let fault = chance.fault(site, index % 3);
                (fault.is_some(), fault.map_or(0, |draw| draw.below(1_000)))
            })
            .collect()
    }

    #[test]
    fn the_same_questions_get_the_same_answers() {
        assert_eq!(run(&mut chance(Overrides::default())), run(&mut chance(Overrides::default())));
    }

    #[test]
    fn decisions_have_golden_values() {
        let mut chance = chance(Overrides::default());
        let values: Vec<u64> = (0..4).map(|entity| chance.value(Site::SegmentDelay, entity).below(1_000_000)).collect();
        assert_eq!(values, GOLDEN);
    }

    const GOLDEN: [u64; 4] = [6_131, 527_954, 594_154, 838_502];

    #[test]
    fn a_forbidden_fault_leaves_every_other_decision_in_place() {
        let mut plain = chance(Overrides::default());
        let before = run(&mut plain);
        let victim = plain.fired()[3];
        let forbidden = BTreeSet::from([Select::One(victim)]);
        let mut without = chance(Overrides { forbidden, ..Overrides::default() });
        let after = run(&mut without);
        let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
        assert_eq!(changed, 1);
        assert_eq!(without.fired().len() + 1, plain.fired().len());
    }

    #[test]
    fn after_a_turn_decisions_are_those_of_the_other_seed() {
        let turns = vec![Turn { after_ns: 5, seed: 77 }];
        let mut turned = chance(Overrides { turns, ..Overrides::default() });
        let mut plain = chance(Overrides::default());
        let mut other = Chance::new(77, Swarm::calm(), Overrides::default());
        for (now_ns, is_turned) in [(0, false), (5, false), (6, true), (7, true)] {
            turned.time_is(now_ns);
            let key = Key { site: Site::ApiVersion, entity: 1, ordinal: 0 };
            assert_eq!(turned.value_for_good(key), plain.value_at(key));
            assert_eq!(turned.value_at(key) == plain.value_at(key), !is_turned);
            let [plain, other, turned] =
                [&mut plain, &mut other, &mut turned].map(|chance| chance.value(Site::StepCost, 1).below(1 << 40));
            assert_eq!(turned, if is_turned { other } else { plain });
        }
    }

    #[test]
    fn what_may_fire_after_a_turn_may_be_prepared_for() {
        let turns = vec![Turn { after_ns: 5, seed: 77 }];
        let may_fire = |overrides| chance(overrides).may_fire(Site::DirectoryStale);
        assert!(may_fire(Overrides { turns, ..Overrides::default() }));
        assert!(!may_fire(Overrides::default()));
    }

    #[test]
    fn only_allowed_faults_fire() {
        let mut plain = chance(Overrides::default());
        run(&mut plain);
        let kept = plain.fired()[2];
        let mut only = chance(Overrides { allowed: Some(BTreeSet::from([Select::One(kept)])), ..Overrides::default() });
        run(&mut only);
        assert_eq!(only.fired(), &[kept]);
    }

    #[test]
    fn a_set_value_makes_an_absent_fault_fire_once() {
        let key = Key { site: Site::AcceptAborted, entity: 5, ordinal: 1 };
        let mut chance = chance(Overrides { values: [(Select::One(key), 1)].into(), ..Overrides::default() });
        let fired: Vec<bool> = (0..3).map(|_| chance.fault(Site::AcceptAborted, 5).is_some()).collect();
        assert_eq!(fired, [false, true, false]);
    }

    #[test]
    fn no_fault_fires_after_the_calm_switch() {
        let mut chance = chance(Overrides::default());
        chance.calm_down();
        assert!(run(&mut chance).iter().all(|(fired, _)| !fired));
    }
}
