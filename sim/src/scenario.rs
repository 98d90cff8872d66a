//! All that decides a run: the same scenario is the same run in every process, and a capsule is one written down.
//!
//! It must not know how a run works.

use crate::checker::Oracle;
use crate::keyed::{Mode, Overrides, Site, Swarm};
use crate::reduction::Reduction;
use crate::world::WorldOptions;

macro_rules! profiles {
    ($($(#[doc = $sentence:literal])+ $variant:ident = $name:literal;)*) => {
        /// What kind of runs a campaign has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Profile {
            $($(#[doc = $sentence])+ $variant,)*
        }

        impl Profile {
            /// Every one.
            pub const ALL: &[Profile] = &[$(Profile::$variant,)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Profile::$variant => $name,)*
                }
            }

            /// What its runs are like, in a sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Profile::$variant => concat!($($sentence),+).trim_ascii(),)*
                }
            }
        }
    };
}

profiles! {
    /// Each seed draws its own mix of faults: a swarm, all, a single one, or none.
    Swarm = "swarm";
    /// Every fault kind in every run.
    AllOn = "all-on";
    /// One fault kind in each run.
    Single = "single";
    /// No fault, and one client whose every answer is compared with that of a reference broker.
    Calm = "calm";
    /// Little work in each run, about a thousand events, so that many seeds are seen.
    Short = "short";
    /// Much work in each run, groups and crashes in all of them.
    Soak = "soak";
}

impl Profile {
    /// The profile of this name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Profile::ALL.iter().copied().find(|profile| profile.name() == name)
    }

    fn swarm(self, seed: u64) -> Swarm {
        match self {
            Profile::Swarm | Profile::Short => Swarm::from_seed(seed),
            Profile::AllOn => Swarm::with_mode(seed, Mode::AllOn),
            Profile::Single => Swarm::single_from_seed(seed),
            Profile::Calm => Swarm::calm(),
            Profile::Soak => Swarm::with_mode(seed, Mode::Swarm),
        }
    }
}

/// What decides a run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How much there is to do.
    pub profile: Profile,
    /// The seed, the faults, and layers over the decisions.
    pub world: WorldOptions,
    /// What is left out of the plan.
    pub reduction: Reduction,
    /// How it is judged.
    pub oracle: Oracle,
}

impl Scenario {
    /// What `seed` decides in a campaign of this profile.
    pub fn new(profile: Profile, seed: u64) -> Scenario {
        let world = WorldOptions { seed, swarm: profile.swarm(seed), overrides: Overrides::default(), flaw: None };
        Scenario { profile, world, reduction: Reduction::default(), oracle: Oracle::Whole }
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        self.world.seed
    }

    /// Whether a run of this seed has no fault at all.
    pub(crate) fn is_sound(&self) -> bool {
        self.profile.swarm(self.seed()).mode() == Mode::Calm
    }

    /// Whether nothing ends a connection in a run of this seed. What was left out of its faults does not count, so that a capsule with few faults is
    /// laid out as the run that it was made from.
    pub(crate) fn has_sound_network(&self) -> bool {
        let is_set = |site: &&Site| site.ends_connections() && self.world.overrides.may_fire(**site);
        self.profile.swarm(self.seed()).has_sound_network() && Site::ALL.iter().find(is_set).is_none()
    }
}

impl From<WorldOptions> for Scenario {
    fn from(world: WorldOptions) -> Scenario {
        Scenario { profile: Profile::Swarm, world, reduction: Reduction::default(), oracle: Oracle::Whole }
    }
}
