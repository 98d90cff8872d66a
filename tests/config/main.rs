//! The configuration as an operator meets it: files, variables and flags in; settings, lines of log and refusals out.
//!
//! It must not know how the room is built inside.

mod alter;
mod describe;
mod obeyed;
mod start;
mod table;

use klamm::config::{DynamicConfig, Layers, Sources, StaticConfig};

/// The configuration of a broker that starts with this file.
fn started(text: &str) -> StaticConfig {
    StaticConfig::from_sources(&Sources::new().with_properties("server.properties", text)).expect(text)
}

/// Runs `test` with the layers of a broker that starts with this file and has these configs from run time.
fn with_layers<T>(text: &str, dynamic: &DynamicConfig, test: impl FnOnce(Layers<'_>) -> T) -> T {
    let fixed = started(text);
    test(Layers { fixed: &fixed, dynamic })
}

/// Configs by key.
fn configs(pairs: &[(&str, &str)]) -> klamm::config::Configs {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
