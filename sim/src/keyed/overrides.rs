//! Layers over the drawn decisions: replay, shrinking, fuzzing and guided exploration are one engine with different layers.
//!
//! It must not know what a decision means.

use std::collections::{BTreeMap, BTreeSet};

use crate::keyed::Site;

/// The name of one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Which kind of decision.
    pub site: Site,
    /// About whom: a stable identity, never an index into an arena.
    pub entity: u64,
    /// The how-manieth of this kind about this entity, from 0.
    pub ordinal: u64,
}

/// Some decisions: all of a site, all of an entity at a site, or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Select {
    /// Every decision of a site.
    Site(Site),
    /// Every decision of a site about an entity.
    Entity(Site, u64),
    /// One decision.
    One(Key),
}

impl Select {
    /// The site that it is about.
    pub fn site(&self) -> Site {
        match self {
            Select::Site(site) | Select::Entity(site, _) | Select::One(Key { site, .. }) => *site,
        }
    }

    fn around(key: Key) -> [Select; 3] {
        [Select::One(key), Select::Entity(key.site, key.entity), Select::Site(key.site)]
    }
}

/// From a time on, decisions are drawn by another seed. Time and not the number of an event, which every fault that is taken away moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The last nanosecond of the seed before.
    pub after_ns: u64,
    /// The seed from then on.
    pub seed: u64,
}

/// What overrides the drawn decisions of a run. Forbidding wins over allowing, and both over setting a value.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Faults that may not fire.
    pub forbidden: BTreeSet<Select>,
    /// If given, the only faults that may fire.
    pub allowed: Option<BTreeSet<Select>>,
    /// Other seeds from some time on: up to there the run is the same. In the order of time.
    pub turns: Vec<Turn>,
    /// Numbers in place of the drawn ones. At a fault site, 0 keeps the fault away and any other number makes it fire.
    pub values: BTreeMap<Select, u64>,
}

impl Overrides {
    pub(super) fn is_empty(&self) -> bool {
        self.forbidden.is_empty() && self.allowed.is_none() && self.values.is_empty()
    }

    /// Whether a fault may fire by what is set here.
    pub(crate) fn may_fire(&self, site: Site) -> bool {
        self.values.iter().any(|(select, value)| select.site() == site && *value != 0)
    }

    pub(super) fn permits(&self, key: Key) -> bool {
        let around = Select::around(key);
        let forbidden = around.iter().any(|select| self.forbidden.contains(select));
        !forbidden && self.allowed.as_ref().is_none_or(|allowed| around.iter().any(|select| allowed.contains(select)))
    }

    pub(super) fn value(&self, key: Key) -> Option<u64> {
        Select::around(key).iter().find_map(|select| self.values.get(select).copied())
    }
}
