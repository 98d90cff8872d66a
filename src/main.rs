//! The binary: flags, settings, start; exit code.

fn main() {}
