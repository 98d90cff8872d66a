//! The binary: flags, configuration, start; exit code.
//!
//! 0 after an orderly end, 1 if the broker cannot start or had to stop, 2 if it cannot be configured. It must not know how a broker works.

use std::process::ExitCode;

use clap::Parser;
use klamm::cli::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    klamm::os::start_logging(&arguments.log_level);
    let configuration = arguments.configuration(|path| klamm::os::read_file(path), &klamm::os::variables());
    let configuration = match configuration {
        Ok(configuration) => configuration,
        Err(error) => {
            klamm::os::complain(&error);
            return ExitCode::from(2);
        }
    };
    configuration.notices().iter().for_each(|notice| tracing::info!("{notice}"));
    match klamm::os::run(configuration) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            klamm::os::complain(&error);
            ExitCode::FAILURE
        }
    }
}
