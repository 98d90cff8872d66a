//! What a person types and reads: the command line of the broker.
//!
//! It must not know how a broker works.

mod arguments; // flags, files and variables into a configuration

pub use arguments::{Arguments, ConfigurationError};
