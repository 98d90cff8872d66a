//! The binary: flags, settings, start; exit code.

use std::process::ExitCode;
use std::sync::Arc;

use klamm::config::{Settings, Sources};

fn main() -> ExitCode {
    tracing_subscriber::fmt().init();
    let overrides: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--override").collect();
    let sources = Sources::new().with_overrides(overrides.iter().map(String::as_str));
    let settings = match Settings::from_sources(&sources) {
        Ok(settings) => settings,
        Err(problems) => {
            eprintln!("{problems}");
            return ExitCode::from(2);
        }
    };
    match klamm::os::run(Arc::new(settings)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("klamm: {error}");
            ExitCode::FAILURE
        }
    }
}
