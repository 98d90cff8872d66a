//! What the process has of its own at the start: its environment, a file that the operator names, a place for log lines.
//!
//! It must not know what any of it means.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
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
///
/// A line that cannot be written (its reader has gone, its disk is full) is lost, and nothing else: the library would tell the standard error of it, which
/// is often the same place, and a thread that cannot write there panics.
pub fn start_logging(level: &str) {
    let level: LevelFilter = level.parse().unwrap_or(LevelFilter::INFO);
    let lines = tracing_subscriber::fmt().with_max_level(level).with_target(false).log_internal_errors(false);
    lines.with_ansi(io::stdout().is_terminal()).init();
}

/// Tells whoever started the process why it ends, if anybody can be told.
pub fn complain(reason: &dyn Display) {
    let _ = writeln!(io::stderr(), "klamm: {reason}");
}
