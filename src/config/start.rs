//! From everything that an operator wrote to a static configuration, or to every reason why the broker cannot start
//! with it.
//!
//! It must not read a file or the environment itself, nor know who obeys a knob.

use std::collections::BTreeMap;

use crate::config::knob::{Knob, Standing};
use crate::config::knobs;
use crate::config::layers::{DynamicConfig, Layers, StaticConfig, base_of_listener_key};
use crate::config::listener::parse_listeners;
use crate::config::nearest::nearest;
use crate::config::problem::{ConfigProblem, ConfigProblems};
use crate::config::rules;
use crate::config::settings::is_of_controller;
use crate::config::source::{Setting, Sources};

impl StaticConfig {
    /// Checks every setting by itself and against the others; the error has every problem at once.
    pub fn from_sources(sources: &Sources) -> Result<StaticConfig, ConfigProblems> {
        let mut problems = sources.problems().to_vec();
        let mut settings = BTreeMap::new();
        for setting in sources.settings() {
            settings.insert(setting.key.clone(), setting.clone());
        }
        let mut idle = IdleKeys::default();
        for variable in sources.idle_variables() {
            idle.add("the variable belongs to Kafka's scripts, to its JVM or to Kubernetes", variable);
        }
        // In the order of the sources, so that problems read like the file; a value that a later one replaces is not
        // judged.
        for setting in sources.settings().filter(|setting| settings.get(&setting.key) == Some(*setting)) {
            if sources.is_misread_path(setting) {
                problems.push(misread_path(setting));
            }
            match verdict(setting) {
                Verdict::Taken => {}
                Verdict::Idle(reason) => idle.add(reason, &setting.key),
                Verdict::Wrong(problem) => problems.push(problem),
            }
        }
        name_the_node_twice(&mut settings);
        let cluster_id = sources.cluster_id().map(str::to_owned);
        let mut config = StaticConfig { settings, cluster_id, notices: Vec::new() };
        if problems.is_empty() {
            let dynamic = DynamicConfig::default();
            problems = rules::problems(Layers { fixed: &config, dynamic: &dynamic });
        }
        if !problems.is_empty() {
            return Err(ConfigProblems(problems));
        }
        for name in controller_listeners(&config) {
            idle.add("the listener belongs to Kafka's controller and is not opened", &name);
        }
        config.notices = idle.lines();
        config.notices.extend(sources.notices().iter().cloned().chain(replication_notice(&config)));
        Ok(config)
    }
}

/// Gives `node.id` and its older name `broker.id` the value of the one that is set, as Kafka does and its tools expect.
fn name_the_node_twice(settings: &mut BTreeMap<String, Setting>) {
    for (key, other) in [("node.id", "broker.id"), ("broker.id", "node.id")] {
        let is_number = |setting: &&Setting| setting.value.trim().parse().is_ok_and(|id: i32| id >= 0);
        if let Some(setting) = settings.get(key).filter(is_number).cloned() {
            settings.entry(other.to_owned()).or_insert(Setting { key: other.to_owned(), ..setting });
        }
    }
}

/// Nobody knows whether the folder is meant that has these characters, or the one that Java and Klamm read.
fn misread_path(setting: &Setting) -> ConfigProblem {
    let (key, variable) = (&setting.key, setting.key.to_uppercase().replace('.', "_"));
    let reason = format!(
        "looks like UTF-8, which a properties file is not, so that another folder would be used than it seems to name: write \\uXXXX for \
         each character beyond ASCII, or name the folder by KAFKA_{variable} or --override {key}="
    );
    problem(setting, Some(&setting.value), reason)
}

/// What a file of a cluster makes of a broker that is alone: topics cannot have the copies that it wants.
fn replication_notice(config: &StaticConfig) -> Option<String> {
    let layers = Layers { fixed: config, dynamic: &DynamicConfig::default() };
    let copies = layers.int("default.replication.factor");
    (copies > 1).then(|| {
        format!(
            "default.replication.factor is {copies}, and there is one broker: topics that are created without a number of \
             copies are refused; set it to 1."
        )
    })
}

/// The names of the listeners that only a controller of Kafka's would open.
fn controller_listeners(config: &StaticConfig) -> Vec<String> {
    let layers = Layers { fixed: config, dynamic: &DynamicConfig::default() };
    let endpoints = parse_listeners(&layers.list("listeners")).unwrap_or_default();
    endpoints.into_iter().map(|endpoint| endpoint.name).filter(|name| is_of_controller(layers, name)).collect()
}

enum Verdict {
    Taken,
    Idle(&'static str),
    Wrong(ConfigProblem),
}

fn verdict(setting: &Setting) -> Verdict {
    let listener_base = base_of_listener_key(&setting.key).map(|(_, base)| base);
    let base = listener_base.map_or(setting.key.as_str(), base_of_mechanism_key);
    let Some(knob) = knobs::find(base) else {
        return match knobs::retired(&setting.key) {
            Some(reason) => Verdict::Idle(reason),
            None => Verdict::Wrong(problem(setting, None, unknown_key(&setting.key))),
        };
    };
    let shown = if knob.is_sensitive() { "[hidden]" } else { setting.value.as_str() };
    if let Err(reason) = knob.parse(&setting.value) {
        return Verdict::Wrong(problem(setting, Some(shown), format!("is not valid: it {reason}")));
    }
    match knob.standing {
        Standing::Honoured(_) => Verdict::Taken,
        Standing::Idle(reason) => Verdict::Idle(reason),
        Standing::Refused(reason) if turns_on(knob, &setting.value) => {
            Verdict::Wrong(problem(setting, Some(shown), format!("cannot be had: {reason}")))
        }
        Standing::Refused(_) => Verdict::Taken,
    }
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

fn unknown_key(key: &str) -> String {
    if key.is_empty() {
        return "there is a value without a key".to_owned();
    }
    let names = knobs::all().filter(|knob| !knob.is_internal).map(|knob| knob.name);
    match nearest(key, names) {
        Some(name) => format!("is not a key that Kafka or Klamm knows; did you mean {name}?"),
        None => "is not a key that Kafka or Klamm knows; remove it".to_owned(),
    }
}

fn problem(setting: &Setting, shown: Option<&str>, reason: String) -> ConfigProblem {
    let value = shown.map(str::to_owned);
    ConfigProblem { key: setting.key.clone(), value, origin: Some(setting.origin.clone()), reason }
}

/// Keys that mean nothing here, gathered by the reason, so that one line names all that share it.
#[derive(Default)]
struct IdleKeys(Vec<(&'static str, Vec<String>)>);

impl IdleKeys {
    fn add(&mut self, reason: &'static str, key: &str) {
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, keys)) => keys.push(key.to_owned()),
            None => self.0.push((reason, vec![key.to_owned()])),
        }
    }

    fn lines(self) -> Vec<String> {
        self.0.into_iter().map(|(reason, keys)| format!("No effect: {} ({reason}).", keys.join(", "))).collect()
    }
}
