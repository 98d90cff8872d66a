//! The command `klamm-sim`.
//!
//! It must not know how a run works.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
