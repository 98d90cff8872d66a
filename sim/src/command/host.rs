//! The machine that the command runs on: its clock, threads, files and chance. Runs never see it.
//!
//! It must not know what is run.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the one file of the simulator that may meet the real machine: it measures runs, writes capsules, and starts processes"
)]

use std::env;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Measures what the command takes.
#[derive(Clone, Copy)]
pub(super) struct Stopwatch(Instant);

impl Stopwatch {
    pub(super) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Time since it was started.
    pub(super) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// A seed that nobody has chosen.
pub(super) fn random_seed() -> u64 {
    RandomState::new().hash_one(0)
}

/// How many processors there are.
pub(super) fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does this for 0, 1, 2 … below `count` on so many threads, until it says that it wants no more.
pub(super) fn in_parallel(threads: usize, count: u64, each: impl Fn(u64) -> bool + Sync) {
    let next = AtomicU64::new(0);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count || !each(index) {
                break;
            }
        }
    };
    if threads <= 1 {
        // On this very thread, which is the one that shows what the broker logs.
        return work();
    }
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The text of a file; none if there is no such file.
#[cfg(feature = "zoo")]
pub(super) fn read_if_there(path: &Path) -> Result<String, String> {
    if path.exists() { read(path) } else { Ok(String::new()) }
}

/// Writes a file, and the folder for it if there is none.
pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    let write = || {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)
    };
    write().map_err(|error: io::Error| format!("{}: {error}", path.display()))
}

/// Adds a line to a file, which is made if there is none.
#[cfg(feature = "zoo")]
pub(super) fn append(path: &Path, line: &str) -> Result<(), String> {
    use std::io::Write as _;

    let file = fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| writeln!(file, "{line}")).map_err(|error| format!("{}: {error}", path.display()))
}

/// What another process of this program prints for these arguments.
pub(super) fn another_process(arguments: &[&str]) -> Result<String, String> {
    let output = env::current_exe().and_then(|program| Command::new(program).args(arguments).output());
    let output = output.map_err(|error| format!("no second process: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "the second process ends with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("the second process says nothing readable: {error}"))
}

/// Whether somebody watches the progress.
pub(super) fn is_watched() -> bool {
    io::stderr().is_terminal()
}
