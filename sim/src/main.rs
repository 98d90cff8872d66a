//! The command `klamm-sim`.
//!
//! It must not know how a run works.

mod command;

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A run allocates some ten thousand times, and threads share nothing.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    command::main()
}
