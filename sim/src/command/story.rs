//! `story`: a run as a page that people read.
//!
//! It must not know what is on the page.

use std::path::PathBuf;

use clap::Args;
use klamm_sim::Profile;
use klamm_sim::story::Story;

use super::bug::plant;
use super::exit::Exit;
use super::host::{read, write};
use super::shrink::scenario;
use super::{profiles, refuse};

/// The options of `story`.
#[derive(Args)]
pub(super) struct Options {
    /// A capsule, or a seed.
    what: String,
    /// Where the page is written.
    #[arg(short, long, default_value = "story.html")]
    out: PathBuf,
    /// What kind of run the seed is for.
    #[arg(long, default_value = Profile::Swarm.name(), value_parser = profiles())]
    profile: String,
    /// Plants this bug first; a capsule names its own.
    #[arg(long)]
    bug: Option<String>,
}

impl Options {
    pub(super) fn obey(self) -> Exit {
        match self.tell() {
            Ok(page) => {
                println!("{page}");
                Exit::Ok
            }
            Err(reason) => refuse(&reason),
        }
    }

    fn tell(&self) -> Result<String, String> {
        let profile = Profile::from_name(&self.profile).ok_or("there is no such profile")?;
        let (scenario, bug) = scenario(&self.what, profile, self.bug.clone())?;
        plant(bug.as_deref())?;
        let bugs = bug.as_ref().map(|bug| format!(" --bug '{bug}'")).unwrap_or_default();
        let run = || format!("cargo sim run {} --profile {}{bugs}", self.what, self.profile);
        let capsule = read(self.what.as_ref()).unwrap_or_else(|_| run());
        let title = format!(
            "seed {}{}",
            scenario.seed(),
            bug.map(|bug| format!(", with the planted bug \u{201c}{bug}\u{201d}")).unwrap_or_default()
        );
        let story = Story::of(scenario);
        write(&self.out, &story.to_html(&title, &capsule))?;
        let slice = story.moments.iter().filter(|moment| moment.is_in_slice).count();
        Ok(format!("{}: {} moments, {slice} of which led to the end", self.out.display(), story.moments.len()))
    }
}
