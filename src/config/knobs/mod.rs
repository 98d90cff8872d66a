//! The table of all knobs, by theme, and how one is found.
//!
//! It must not know who obeys a knob.

mod cleaner;
mod dynamic_only;
mod group;
mod group_config;
mod kraft;
mod log;
mod metrics_and_other;
mod network;
mod own;
mod reasons;
mod remote_storage;
mod replication;
mod retired;
mod security;
mod share_group;
mod streams_group;
mod topic;
mod topic_default;
mod transaction;

use std::sync::LazyLock;

use crate::config::knob::Knob;
use crate::lookup_map::LookupMap;

pub use group_config::{GROUP_KNOBS, find_group, group_synonym};
pub use topic::{Synonym, TOPIC_KNOBS, find_topic, synonyms};

/// Every knob of a broker that Kafka 4.4 has, and Klamm's own, by theme.
const THEMES: [&[Knob]; 14] = [
    network::KNOBS,
    topic_default::KNOBS,
    log::KNOBS,
    cleaner::KNOBS,
    group::KNOBS,
    transaction::KNOBS,
    own::KNOBS,
    kraft::KNOBS,
    replication::KNOBS,
    share_group::KNOBS,
    streams_group::KNOBS,
    remote_storage::KNOBS,
    security::KNOBS,
    metrics_and_other::KNOBS,
];

/// What is looked up by the name of a knob.
type ByName<T> = LookupMap<&'static str, T>;

static BY_NAME: LazyLock<ByName<&'static Knob>> = LazyLock::new(|| by_name(all()));

fn by_name(knobs: impl IntoIterator<Item = &'static Knob>) -> ByName<&'static Knob> {
    let mut by_name = ByName::default();
    for knob in knobs {
        assert!(by_name.insert(knob.name, knob).is_none(), "a knob's name stands once: {}", knob.name);
    }
    by_name
}

/// Every knob of a broker, theme by theme.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    THEMES.into_iter().flatten()
}

/// The knob of a broker with this name.
pub fn find(name: &str) -> Option<&'static Knob> {
    BY_NAME.get(name).copied()
}

/// A knob that cannot be set in a file, only at run time.
pub fn find_dynamic_only(name: &str) -> Option<&'static Knob> {
    dynamic_only::KNOBS.iter().find(|knob| knob.name == name)
}

/// Why a key that Kafka 4.4 does not know is accepted all the same, if it is.
pub fn retired(name: &str) -> Option<&'static str> {
    retired::reason(name)
}

#[cfg(test)]
mod tests {
    use super::{all, dynamic_only, find};
    use crate::config::knob::Standing;

    #[test]
    fn every_default_passes_its_own_check() {
        for knob in all().chain(dynamic_only::KNOBS) {
            if let Some(text) = knob.default {
                assert_eq!(knob.parse(text).map(|_| ()), Ok(()), "{}", knob.name);
            }
        }
    }

    #[test]
    fn no_secret_is_ever_taken_in() {
        for knob in all().filter(|knob| knob.is_sensitive()) {
            assert!(matches!(knob.standing, Standing::Refused(_)) && knob.default.is_none(), "{}", knob.name);
        }
    }

    #[test]
    fn no_name_stands_twice() {
        assert_eq!(all().count(), super::BY_NAME.len());
        assert!(find("log.retention.ms").is_some() && find("log.retention.mss").is_none());
    }
}
