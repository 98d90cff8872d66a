//! Which faults exist in a run, drawn once per seed: a run with every fault always on hides what a rarer mix would show.
//!
//! It must not know what a fault does.

use crate::keyed::draw::{Draw, mix};
use crate::keyed::{Site, SiteKind};

/// The kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each fault kind is there or not, by a coin of its own.
    Swarm,
    /// Every fault kind is there.
    AllOn,
    /// One fault kind is there.
    Single(Site),
    /// No fault at all.
    Calm,
}

/// How often each fault fires, in parts per million.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swarm {
    mode: Mode,
    rates: [u32; Site::NUMBERS],
}

impl Swarm {
    /// No fault at all.
    pub fn calm() -> Swarm {
        Swarm { mode: Mode::Calm, rates: [0; Site::NUMBERS] }
    }

    /// What `seed` draws: of 100 seeds about 60 are a swarm, 15 have every fault, 15 a single one, 10 none.
    pub fn from_seed(seed: u64) -> Swarm {
        let draw = draw_config(seed, Site::SwarmMode, 0);
        match draw.below(100) {
            0..60 => Swarm::with_mode(seed, Mode::Swarm),
            60..75 => Swarm::with_mode(seed, Mode::AllOn),
            75..90 => Swarm::single_from_seed(seed),
            _ => Swarm::calm(),
        }
    }

    /// One fault kind, which `seed` draws.
    pub fn single_from_seed(seed: u64) -> Swarm {
        let draw = draw_config(seed, Site::SwarmMode, 0);
        let faults = Site::ALL.iter().filter(|site| matches!(site.kind(), SiteKind::Fault(_)));
        let count = faults.clone().count() as u64;
        let chosen = faults.clone().nth(usize::try_from(draw.part(0).below(count)).unwrap_or(0));
        chosen.map_or_else(Swarm::calm, |site| Swarm::with_mode(seed, Mode::Single(*site)))
    }

    /// A run of this mode; how often a present fault fires (rarely, sometimes, often) comes from `seed`.
    pub fn with_mode(seed: u64, mode: Mode) -> Swarm {
        let mut swarm = Swarm { mode, rates: [0; Site::NUMBERS] };
        for site in Site::ALL {
            let SiteKind::Fault(profiles) = site.kind() else { continue };
            let draw = draw_config(seed, Site::SwarmPresence, u64::from(site.number()));
            let present = match mode {
                Mode::Swarm => draw.happens(500_000),
                Mode::AllOn => true,
                Mode::Single(single) => single == *site,
                Mode::Calm => false,
            };
            if present {
                let profile = usize::try_from(draw.part(0).below(3)).unwrap_or(0);
                swarm.set_rate(*site, profiles[profile]);
            }
        }
        swarm
    }

    /// What a turn to another seed makes of it: another mix, but a run without faults keeps none, and one whose network is sound keeps it so, since it
    /// is laid out for that.
    pub(crate) fn turned(&self, seed: u64) -> Swarm {
        if self.mode == Mode::Calm {
            return self.clone();
        }
        let drawn = Swarm::from_seed(seed);
        let mut turned = if drawn.mode == Mode::Calm { Swarm::with_mode(seed, Mode::Swarm) } else { drawn };
        if self.has_sound_network() {
            Site::ALL.iter().filter(|site| site.ends_connections()).for_each(|site| turned.set_rate(*site, 0));
        }
        turned
    }

    /// Whether it has no fault that ends a connection.
    pub(crate) fn has_sound_network(&self) -> bool {
        Site::ALL.iter().filter(|site| site.ends_connections()).all(|site| self.rate(*site) == 0)
    }

    /// What was drawn.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// How often `site` fires, in parts per million.
    pub fn rate(&self, site: Site) -> u32 {
        self.rates[usize::from(site.number())]
    }

    /// Makes `site` fire this often, in parts per million.
    pub fn set_rate(&mut self, site: Site, parts: u32) {
        self.rates[usize::from(site.number())] = parts;
    }
}

pub(crate) fn draw_config(seed: u64, site: Site, entity: u64) -> Draw {
    Draw::new(mix(mix(mix(seed) ^ u64::from(site.number())) ^ mix(entity)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_has_its_share_of_seeds() {
        let mut counts = [0; 4];
        for seed in 0..1_000 {
            let index = match Swarm::from_seed(seed).mode() {
                Mode::Swarm => 0,
                Mode::AllOn => 1,
                Mode::Single(_) => 2,
                Mode::Calm => 3,
            };
            counts[index] += 1;
        }
        let [swarm, all, single, calm] = counts;
        assert!((550..650).contains(&swarm) && (110..190).contains(&all), "{counts:?}");
        assert!((110..190).contains(&single) && (60..140).contains(&calm), "{counts:?}");
    }

    #[test]
    fn a_single_fault_run_has_one_fault() {
        let swarm = Swarm::with_mode(7, Mode::Single(Site::ShortRead));
        let present: Vec<_> = Site::ALL.iter().filter(|site| swarm.rate(**site) > 0).collect();
        assert_eq!(present, vec![&Site::ShortRead]);
    }
}
