//! `faults` and `marks`: what a campaign can meet, and how often it does.
//!
//! It must not know what a fault does, nor what a mark means.

use std::collections::BTreeMap;

use clap::Args;
use klamm::marks::Mark;
use klamm_sim::Profile;
use klamm_sim::keyed::Site;
use serde::Serialize;

use super::campaign::{Campaign, Met, Outcome, SEEDS_THAT_MEET_ALL};
use super::exit::Exit;
use super::host::processors;
use super::refuse;

/// The options of `faults` and of `marks`.
#[derive(Args)]
pub(super) struct Options {
    /// The first seed of the campaign that counts.
    #[arg(default_value = "1")]
    seed: String,
    /// How many seeds; 0 shows the catalogue alone.
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// Prints one object instead of a table.
    #[arg(long)]
    json: bool,
}

/// A fault or a mark.
#[derive(Serialize)]
struct Row {
    /// The number of a fault's site.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u16>,
    /// How often a fault fired, over all seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<u64>,
    /// In how many seeds it came.
    seeds: u64,
    /// The first of them.
    first_seed: Option<u64>,
    /// Within so many seeds it has to come.
    within: u64,
    what: &'static str,
}

impl Options {
    /// Every fault: one that never fires makes a failure.
    pub(super) fn list_faults(self) -> Exit {
        let faults = |outcome: &Outcome| {
            let row = |site: &Site| Row {
                number: Some(site.number()),
                times: Some(outcome.faults.get(site).map_or(0, |tally| tally.times)),
                ..row(outcome, &outcome.faults, site, site.sentence())
            };
            Site::ALL.iter().filter(|site| site.is_fault()).map(|site| (site.name(), row(site))).collect()
        };
        self.list("faults", "fired", faults)
    }

    /// Every mark: one that is never reached makes a failure.
    pub(super) fn list_marks(self) -> Exit {
        if !Mark::ARE_NOTED {
            return refuse("this build notes no marks: build it with the feature zoo");
        }
        let marks = |outcome: &Outcome| {
            let row =
                |mark: &Mark| Row { within: mark.within(), ..row(outcome, &outcome.marks, mark, mark.sentence()) };
            Mark::ALL.iter().map(|mark| (mark.name(), row(mark))).collect()
        };
        self.list("marks", "reached", marks)
    }

    fn list(&self, what: &str, met: &str, rows: impl Fn(&Outcome) -> BTreeMap<&'static str, Row>) -> Exit {
        let first = match super::seed::parse(&self.seed) {
            Ok(first) => first,
            Err(reason) => return refuse(&reason),
        };
        let campaign = Campaign {
            profile: Profile::Swarm,
            first,
            seeds: self.seeds,
            threads: processors(),
            budget: None,
            stops_at_failure: false,
        };
        let outcome = campaign.run(|_| {});
        let rows = rows(&outcome);
        let missing: Vec<&Row> = rows.values().filter(|row| row.seeds == 0).collect();
        let is_overdue = missing.iter().any(|row| row.within <= self.seeds.max(SEEDS_THAT_MEET_ALL));
        if self.json {
            println!("{}", serde_json::to_string_pretty(&rows).expect("plain numbers and names are JSON"));
        } else {
            println!("{:>6} {:<26} {:>9} {:>6} {:>7}  what", "number", what, "times", "seeds", "first");
            for (name, row) in &rows {
                let Row { times, seeds, what, .. } = row;
                let or_nothing = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
                let (number, times) = (or_nothing(row.number.map(u64::from)), or_nothing(*times));
                let first = row.first_seed.map_or("never".to_string(), |seed| seed.to_string());
                println!("{number:>6} {name:<26} {times:>9} {seeds:>6} {first:>7}  {what}");
            }
            println!("{} {what}, {} of which were never {met} in {} seeds", rows.len(), missing.len(), outcome.seeds);
        }
        match outcome.failures.first().and_then(|report| report.violations.first()) {
            Some(violation) => Exit::of(violation),
            None if self.seeds > 0 && is_overdue => Exit::Vacuous,
            None => Exit::Ok,
        }
    }
}

fn row<Kind: Ord>(outcome: &Outcome, met: &Met<Kind>, kind: &Kind, what: &'static str) -> Row {
    let tally = met.get(kind).copied().unwrap_or_default();
    let first_seed = (tally.seeds > 0).then(|| outcome.first.wrapping_add(tally.first));
    Row { number: None, times: None, seeds: tally.seeds, first_seed, within: SEEDS_THAT_MEET_ALL, what }
}
