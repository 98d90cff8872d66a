//! What an operator changes, and into what.
//!
//! It must not know what it is told.

use crate::checker::Limited;
use crate::keyed::Draw;

/// The topic's key that has the broker's `message.max.bytes` for its default.
pub(super) const KEY_OF_TOPIC: &str = "max.message.bytes";
pub(super) const KEY_OF_BROKER: &str = "message.max.bytes";

/// The key of exceptions from what an address may have.
pub(super) const KEY_OF_OVERRIDES: &str = "max.connections.per.ip.overrides";

/// A key, and the value that it is given, if it is not given its default.
pub(super) type Change = (&'static str, Option<&'static str>);

/// Whom a setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Broker,
    Cluster,
}

impl Scope {
    /// What DescribeConfigs says of where a value comes from.
    pub(super) fn source(self) -> i8 {
        match self {
            Scope::Broker => 2,
            Scope::Cluster => 3,
        }
    }
}

/// What is changed, for whom, what it limits, and into what.
pub(super) struct Setting {
    pub(super) key: &'static str,
    pub(super) scope: Scope,
    pub(super) limited: Option<Limited>,
    values: &'static [&'static str],
}

const fn limit(key: &'static str, limited: Limited, values: &'static [&'static str]) -> Setting {
    Setting { key, scope: Scope::Cluster, limited: Some(limited), values }
}

/// So many of the first of them are limits of what there is, which are changed most often, and so many behind those limit how fast it comes.
const LIMITS: usize = 4;
const RATES: usize = 2;
/// What is changed.
pub(super) const SETTINGS: [Setting; 8] = [
    limit("max.connections", Limited::All, &["3", "6", "12"]),
    limit("listener.name.plaintext.max.connections", Limited::Listener, &["2", "5", "9"]),
    limit("max.connections.per.ip", Limited::Address, &["1", "2", "4"]),
    // From this address (`OVERRIDDEN`) a crowd comes.
    limit(KEY_OF_OVERRIDES, Limited::Overridden, &["10.0.0.211:1", "10.0.0.211:3", "10.0.0.1:2, 10.0.0.211:6"]),
    limit("max.connection.creation.rate", Limited::Rate, &["1", "2", "5"]),
    limit("listener.name.plaintext.max.connection.creation.rate", Limited::Rate, &["1", "2"]),
    Setting { key: KEY_OF_BROKER, scope: Scope::Cluster, limited: None, values: &["900000", "1000000"] },
    Setting { key: "log.index.interval.bytes", scope: Scope::Broker, limited: None, values: &["0", "100", "8192"] },
];
/// What no broker takes at run time.
const NONSENSE: [(&str, &str); 10] = [
    ("max.connections", "0"),
    ("max.connections", "many"),
    ("max.connections.per.ip", "-1"),
    (KEY_OF_OVERRIDES, "10.0.0.211"),
    (KEY_OF_OVERRIDES, "a.name:1"),
    ("max.connection.creation.rate", "0"),
    ("num.network.threads", "1"),
    ("no.such.key", "1"),
    ("log.retention.ms", "0"),
    ("num.recovery.threads.per.data.dir", "1000"),
];

/// A change that makes sense, but for a draw that says nothing.
pub(super) fn change(draw: Draw) -> Option<Change> {
    let choices = match draw.part(7).below(6) {
        0..4 => &SETTINGS[..LIMITS],
        4 => &SETTINGS[LIMITS..LIMITS + RATES],
        _ => &SETTINGS[..],
    };
    let setting = one_of(draw.part(1), choices)?;
    Some((setting.key, one_of(draw.part(2), setting.values).copied().filter(|_| draw.part(3).below(5) > 0)))
}

/// A change that must be refused.
pub(super) fn nonsense(draw: Draw) -> Option<(&'static str, &'static str)> {
    one_of(draw.part(6), &NONSENSE).copied()
}

/// What is known of a key.
pub(super) fn setting(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key)
}

fn one_of<T>(draw: Draw, choices: &[T]) -> Option<&T> {
    choices.get(usize::try_from(draw.below(choices.len() as u64)).ok()?)
}
