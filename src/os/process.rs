//! What the process has of its own at the start: its environment, a file that the operator names, a place for log lines.
//!
//! It must not know what any of it means.

use std::io::{self, IsTerminal};
use std::path::Path;

use tracing_subscriber::filter::LevelFilter;

/// The environment's variables whose names and values are text, sorted by name.
pub fn variables() -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    variables.sort_unstable();
    variables
}

/// The bytes of a file.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

/// Sends log lines of this level and above to the standard output, as Kafka does; with colours on a terminal.
pub fn start_logging(level: &str) {
    let level: LevelFilter = level.parse().unwrap_or(LevelFilter::INFO);
    tracing_subscriber::fmt().with_max_level(level).with_target(false).with_ansi(io::stdout().is_terminal()).init();
}
