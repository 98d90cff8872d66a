//! What becomes of one static setting: it is taken, it has no effect, or the broker cannot start with it.
//!
//! It must not know what other settings say, but for the names of the listeners.

use crate::config::knob::{Knob, Standing};
use crate::config::knobs;
use crate::config::layers::{DynamicConfig, Layers, StaticConfig, base_of_listener_key};
use crate::config::listener::{parse_listeners, parse_protocol_map};
use crate::config::nearest::nearest;
use crate::config::problem::ConfigProblem;
use crate::config::source::Setting;

/// What becomes of a setting.
pub(super) enum Verdict {
    Taken,
    Idle(String),
    Wrong(ConfigProblem),
}

/// The names of listeners, as keys have them.
pub(super) struct ListenerNames {
    /// Of those that are opened, by this broker or Kafka's controller; `None` if they cannot be read, which is told elsewhere.
    opened: Option<Vec<String>>,
    /// Of those that `listener.security.protocol.map` knows.
    mapped: Vec<String>,
}

impl ListenerNames {
    pub(super) fn of(config: &StaticConfig) -> ListenerNames {
        let layers = Layers { fixed: config, dynamic: &DynamicConfig::default() };
        let of_controller = layers.list("controller.listener.names");
        let endpoints = parse_listeners(&layers.list("listeners")).ok();
        let opened =
            endpoints.map(|endpoints| endpoints.into_iter().map(|endpoint| endpoint.name).chain(of_controller));
        let map = layers.text("listener.security.protocol.map").unwrap_or_default();
        ListenerNames {
            opened: opened.map(|names| names.map(|name| name.to_lowercase()).collect()),
            mapped: parse_protocol_map(&map).unwrap_or_default().into_keys().map(|name| name.to_lowercase()).collect(),
        }
    }
}

/// What becomes of this setting on a broker with these listeners.
pub(super) fn verdict(setting: &Setting, listeners: &ListenerNames) -> Verdict {
    let listener_key = base_of_listener_key(&setting.key);
    let base = listener_key.map_or(setting.key.as_str(), |(_, base)| base_of_mechanism_key(base));
    let Some(knob) = knobs::find(base) else {
        return without_knob(setting);
    };
    let shown = if knob.is_sensitive() { "[hidden]" } else { setting.value.as_str() };
    if let Err(reason) = knob.parse(&setting.value) {
        return Verdict::Wrong(problem(setting, Some(shown), format!("is not valid: it {reason}")));
    }
    match knob.standing {
        Standing::Refused(reason) if turns_on(knob, &setting.value) => {
            Verdict::Wrong(problem(setting, Some(shown), format!("cannot be had: {reason}")))
        }
        Standing::Idle(reason) => Verdict::Idle(reason.to_owned()),
        Standing::Refused(_) => Verdict::Taken,
        Standing::Honoured(_) => match listener_key {
            Some((listener, key)) => verdict_on_listener(setting, listener, key, knob, listeners),
            None => Verdict::Taken,
        },
    }
}

/// Knobs that one listener may have for itself. Kafka has more, all of them of TLS and SASL.
const KNOBS_OF_LISTENERS: [&str; 3] = ["max.connection.creation.rate", "max.connections", "num.network.threads"];

/// What becomes of a knob that takes effect, set for one listener under `key`.
fn verdict_on_listener(
    setting: &Setting,
    listener: &str,
    key: &str,
    knob: &Knob,
    listeners: &ListenerNames,
) -> Verdict {
    if !KNOBS_OF_LISTENERS.contains(&knob.name) {
        return Verdict::Idle(format!("a listener has no such key of its own: set {} for the whole broker", knob.name));
    }
    let Some(opened) = &listeners.opened else { return Verdict::Taken };
    if opened.iter().any(|name| setting.key == format!("listener.name.{name}.{}", knob.name)) {
        return Verdict::Taken;
    }
    if key != knob.name {
        return Verdict::Idle(format!("it has no SASL mechanism: set listener.name.{listener}.{}", knob.name));
    }
    if listeners.mapped.iter().any(|name| name == listener) {
        return Verdict::Idle(format!("no listener is called {listener}: name it in `listeners`, or remove the key"));
    }
    let cure = match nearest(&listener.to_lowercase(), opened.iter().map(String::as_str)) {
        Some(name) => format!("did you mean listener.name.{name}.{key}?"),
        None => "name it in `listeners`, or remove the key".to_owned(),
    };
    Verdict::Idle(format!("no listener is called {listener}: {cure}"))
}

/// Whether a value of a refused knob asks for what is not there: anything but its default and nothing at all.
pub(crate) fn turns_on(knob: &Knob, text: &str) -> bool {
    let is_empty = text.trim().is_empty() || text.trim() == "null";
    let is_default = knob.parse(text).ok() == knob.default_value();
    !is_empty && !is_default
}

/// The key behind `<mechanism>.`, as SASL's keys of a listener have it; else the key itself.
fn base_of_mechanism_key(base: &str) -> &str {
    match base.split_once('.') {
        Some((_, rest)) if knobs::find(base).is_none() && knobs::find(rest).is_some() => rest,
        _ => base,
    }
}

/// What becomes of a key that no file of a broker has an effect with.
fn without_knob(setting: &Setting) -> Verdict {
    let key = setting.key.as_str();
    if let Some(reason) = knobs::retired(key) {
        return Verdict::Idle(reason.to_owned());
    }
    if knobs::find_dynamic_only(key).is_some() {
        return Verdict::Idle("Kafka takes it at run time only, and one broker moves no replica".to_owned());
    }
    Verdict::Wrong(problem(setting, None, unknown_key(key)))
}

fn unknown_key(key: &str) -> String {
    if key.is_empty() {
        return "there is a value without a key".to_owned();
    }
    if let Some(reason) = key_of_narrower_scope(key) {
        return reason;
    }
    let names = knobs::all().filter(|knob| !knob.is_internal).map(|knob| knob.name);
    // What stands before is part of every such key, and would make the longest name the nearest.
    let (base, prefix) = match base_of_listener_key(key) {
        Some((listener, base)) => (base, format!("listener.name.{listener}.")),
        None => (key, String::new()),
    };
    match nearest(base, names) {
        Some(name) if prefix.is_empty() || is_of_listener(name) => {
            format!("is not a key that Kafka or Klamm knows; did you mean {prefix}{name}?")
        }
        Some(name) => format!("is not a key that Kafka or Klamm knows; did you mean {name}?"),
        None => "is not a key that Kafka or Klamm knows; remove it".to_owned(),
    }
}

/// Whether Kafka takes the key for one listener.
fn is_of_listener(name: &str) -> bool {
    KNOBS_OF_LISTENERS.contains(&name) || name.starts_with("ssl.") || name.starts_with("sasl.")
}

/// What to say of a key that a topic or a group has, and a broker under another name or not at all.
fn key_of_narrower_scope(key: &str) -> Option<String> {
    let (owner, of_broker) = if knobs::find_topic(key).is_some() {
        ("topic", knobs::synonyms(key).first().map(|synonym| synonym.name))
    } else if knobs::find_group(key).is_some() {
        ("group", knobs::group_synonym(key).map(|knob| knob.name))
    } else {
        return None;
    };
    Some(match of_broker {
        Some(name) => format!("is a key of a single {owner}; the broker's, for all of them, is {name}"),
        None => format!("is a key of a single {owner}; set it on the {owner} at run time, and remove it here"),
    })
}

/// A problem with this setting.
pub(super) fn problem(setting: &Setting, shown: Option<&str>, reason: String) -> ConfigProblem {
    let value = shown.map(str::to_owned);
    ConfigProblem { key: setting.key.clone(), value, origin: Some(setting.origin.clone()), reason }
}
