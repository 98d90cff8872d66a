//! The binary: flags, settings, start; exit code.

use std::process::ExitCode;

use klamm::config::{Sources, StaticConfig};

fn main() -> ExitCode {
    tracing_subscriber::fmt().init();
    let overrides: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--override").collect();
    let sources = Sources::new().with_overrides(overrides.iter().map(String::as_str));
    let fixed = match StaticConfig::from_sources(&sources) {
        Ok(fixed) => fixed,
        Err(problems) => {
            eprintln!("{problems}");
            return ExitCode::from(2);
        }
    };
    match klamm::os::run(fixed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("klamm: {error}");
            ExitCode::FAILURE
        }
    }
}
