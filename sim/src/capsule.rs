//! A failing run as one small text: whoever gets it runs the same few events again.
//!
//! A scenario by names alone (seed, profile, the faults that fire, numbers that are set, what is left out), and what came of it. TOML, so that
//! it is read and pasted by people. It must not know files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::checker::Oracle;
use crate::keyed::{Key, Overrides, Select, Site, Swarm, Turn};
use crate::reduction::{Reduction, Simple};
use crate::run::RunReport;
use crate::scenario::{Profile, Scenario};
use crate::world::WorldOptions;

/// The format that this simulator writes and reads.
const FORMAT: u32 = 1;

/// A scenario and what came of it.
#[derive(Clone, Debug)]
pub struct Capsule {
    /// What is run.
    pub scenario: Scenario,
    /// Which promise it broke, as [`crate::checker::Violation::identity`] says.
    pub violation: String,
    /// The violation in words.
    pub said: String,
    /// Events noted.
    pub events: u64,
    /// The hash of the run.
    pub hash: u64,
    /// The hash after 1, 2, 4, 8 … events.
    pub checkpoints: Vec<u64>,
    /// Which build made it.
    pub made_by: String,
    /// What was wrong, once somebody knows.
    pub cause: String,
    /// The planted bug that it shows, if it shows one.
    pub bug: Option<String>,
}

/// Why a text is no capsule.
#[derive(Debug, thiserror::Error)]
pub enum CapsuleError {
    /// It is not the text of one.
    #[error("{0}")]
    Malformed(#[from] toml::de::Error),
    /// It is of another time.
    #[error("its format is {0}, and this simulator reads format {FORMAT}")]
    Format(u32),
    /// It names what is not there.
    #[error("there is no {what} '{name}'")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
}

/// What is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    format: u32,
    made_by: String,
    violation: String,
    said: String,
    #[serde(default)]
    cause: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bug: Option<String>,
    seed: String,
    profile: String,
    /// Other seeds from some time on: nanosecond, seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    turns: Vec<String>,
    /// The faults that fire: site, entity, ordinal.
    faults: Vec<String>,
    /// Numbers that are set: site, number.
    values: BTreeMap<String, u64>,
    simple: Vec<String>,
    operations: BTreeMap<String, u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chaos_ns_max: Option<u64>,
    events: u64,
    hash: String,
    checkpoints: Vec<String>,
}

impl Capsule {
    /// The capsule of a run: the faults that fired in it are set to fire, which is the same run. `None` if nothing was wrong with it.
    pub fn new(mut scenario: Scenario, report: &RunReport, made_by: String) -> Option<Capsule> {
        let violation = report.violations.first()?;
        scenario.world.fire_only(&report.fired);
        Some(Capsule {
            scenario,
            violation: violation.identity(),
            said: violation.to_string(),
            events: report.events,
            hash: report.hash,
            checkpoints: report.checkpoints.clone(),
            made_by,
            cause: String::new(),
            bug: None,
        })
    }

    /// Its text.
    pub fn to_text(&self) -> String {
        let overrides = &self.scenario.world.overrides;
        let faults = overrides.values.iter().filter_map(|(select, value)| match select {
            Select::One(Key { site, entity, ordinal }) if site.is_fault() && *value != 0 => {
                Some(format!("{} {entity} {ordinal}", site.name()))
            }
            _ => None,
        });
        let values = overrides.values.iter().filter_map(|(select, value)| match select {
            Select::Site(site) if !site.is_fault() => Some((site.name().to_string(), *value)),
            _ => None,
        });
        let reduction = &self.scenario.reduction;
        let text = Text {
            format: FORMAT,
            made_by: self.made_by.clone(),
            violation: self.violation.clone(),
            said: self.said.clone(),
            cause: self.cause.clone(),
            bug: self.bug.clone(),
            seed: self.scenario.seed().to_string(),
            profile: self.scenario.profile.name().to_string(),
            turns: overrides.turns.iter().map(|turn| format!("{} {}", turn.after_ns, turn.seed)).collect(),
            faults: faults.collect(),
            values: values.collect(),
            simple: reduction.simple.iter().map(|simple| simple.name().to_string()).collect(),
            operations: reduction.operations.iter().map(|(client, most)| (client.to_string(), *most)).collect(),
            chaos_ns_max: reduction.chaos_ns_max,
            events: self.events,
            hash: hexadecimal(self.hash),
            checkpoints: self.checkpoints.iter().copied().map(hexadecimal).collect(),
        };
        toml::to_string(&text).expect("a flat structure of strings and numbers below 2^63 is TOML")
    }

    /// The capsule of this text.
    pub fn from_text(text: &str) -> Result<Capsule, CapsuleError> {
        let text: Text = toml::from_str(text)?;
        if text.format != FORMAT {
            return Err(CapsuleError::Format(text.format));
        }
        let mut values = BTreeMap::new();
        for (name, value) in &text.values {
            values.insert(Select::Site(Site::from_name(name).ok_or_else(|| unknown("value", name))?), *value);
        }
        let simple =
            text.simple.iter().map(|name| Simple::from_name(name).ok_or_else(|| unknown("simplification", name)));
        let operations = text.operations.iter().map(|(client, most)| {
            let client = client.parse().map_err(|_| unknown("client", client))?;
            Ok::<_, CapsuleError>((client, *most))
        });
        let seed = text.seed.parse().map_err(|_| unknown("seed", &text.seed))?;
        let faults = text.faults.iter().map(|fault| parse_fault(fault).ok_or_else(|| unknown("fault", fault)));
        let faults = faults.collect::<Result<Vec<Key>, _>>()?;
        let turns = text.turns.iter().map(|turn| parse_turn(turn).ok_or_else(|| unknown("turn", turn)));
        let overrides = Overrides { values, turns: turns.collect::<Result<_, _>>()?, ..Overrides::default() };
        let mut world = WorldOptions { seed, swarm: Swarm::calm(), overrides, flaw: None };
        world.fire_only(&faults);
        Ok(Capsule {
            scenario: Scenario {
                profile: Profile::from_name(&text.profile).ok_or_else(|| unknown("profile", &text.profile))?,
                world,
                reduction: Reduction {
                    operations: operations.collect::<Result<_, _>>()?,
                    simple: simple.collect::<Result<_, _>>()?,
                    chaos_ns_max: text.chaos_ns_max,
                },
                oracle: Oracle::Whole,
            },
            violation: text.violation,
            said: text.said,
            events: text.events,
            hash: parse_hexadecimal(&text.hash)?,
            checkpoints: text.checkpoints.iter().map(|hash| parse_hexadecimal(hash)).collect::<Result<_, _>>()?,
            made_by: text.made_by,
            cause: text.cause,
            bug: text.bug,
        })
    }

    /// The faults that it sets to fire.
    pub fn faults(&self) -> impl Iterator<Item = Key> + '_ {
        self.scenario.world.overrides.values.iter().filter_map(|(select, value)| match select {
            Select::One(key) if key.site.is_fault() && *value != 0 => Some(*key),
            _ => None,
        })
    }

    /// How many of its faults no longer fire: the code has moved on, and it says less than it did.
    pub fn stale_faults(&self, report: &RunReport) -> usize {
        self.faults().filter(|fault| !report.fired.contains(fault)).count()
    }
}

fn parse_turn(text: &str) -> Option<Turn> {
    let (after_ns, seed) = text.split_once(' ')?;
    Some(Turn { after_ns: after_ns.parse().ok()?, seed: seed.parse().ok()? })
}

fn parse_fault(text: &str) -> Option<Key> {
    let mut words = text.split(' ');
    let site = Site::from_name(words.next()?).filter(|site| site.is_fault())?;
    let key = Key { site, entity: words.next()?.parse().ok()?, ordinal: words.next()?.parse().ok()? };
    words.next().is_none().then_some(key)
}

fn unknown(what: &'static str, name: &str) -> CapsuleError {
    CapsuleError::Unknown { what, name: name.to_string() }
}

fn hexadecimal(number: u64) -> String {
    format!("{number:016x}")
}

fn parse_hexadecimal(text: &str) -> Result<u64, CapsuleError> {
    u64::from_str_radix(text, 16).map_err(|_| unknown("hash", text))
}
