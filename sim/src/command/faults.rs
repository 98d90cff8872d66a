//! `faults`: the catalogue, and how often each fault fires.
//!
//! It must not know what a fault does.

use std::collections::BTreeMap;

use clap::Args;
use klamm_sim::Profile;
use klamm_sim::keyed::Site;
use serde::Serialize;

use super::campaign::Campaign;
use super::exit::Exit;
use super::host::processors;
use super::refuse;

/// The options of `faults`.
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

#[derive(Serialize)]
struct Row {
    number: u16,
    fired: u64,
    first_fired_within: Option<u64>,
    what: &'static str,
}

impl Options {
    pub(super) fn obey(self) -> Exit {
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
        let row = |site: &Site| Row {
            number: site.number(),
            fired: outcome.faults.get(site).copied().unwrap_or(0),
            first_fired_within: outcome.first_fired.get(site).copied(),
            what: site.sentence(),
        };
        let rows: BTreeMap<&str, Row> =
            Site::ALL.iter().filter(|site| site.is_fault()).map(|site| (site.name(), row(site))).collect();
        let silent = rows.values().filter(|row| row.fired == 0).count();
        if self.json {
            println!("{}", serde_json::to_string_pretty(&rows).expect("plain numbers and names are JSON"));
        } else {
            println!("{:>6} {:<26} {:>9} {:>7}  what", "number", "fault", "fired", "within");
            for (name, row) in &rows {
                let within = row.first_fired_within.map_or("never".to_string(), |seeds| seeds.to_string());
                println!("{:>6} {name:<26} {:>9} {within:>7}  {}", row.number, row.fired, row.what);
            }
            println!("{} faults, {silent} of which never fired in {} seeds", rows.len(), outcome.seeds);
        }
        match outcome.failures.first().and_then(|report| report.violations.first()) {
            Some(violation) => Exit::of(violation),
            None if self.seeds > 0 && silent > 0 => Exit::Vacuous,
            None => Exit::Ok,
        }
    }
}
