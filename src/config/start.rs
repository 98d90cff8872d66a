//! From everything that an operator wrote to a static configuration, or to every reason why the broker cannot start
//! with it.
//!
//! It must not read a file or the environment itself, nor know who obeys a knob.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::layers::{DynamicConfig, Layers, StaticConfig};
use crate::config::listener::parse_listeners;
use crate::config::problem::{ConfigProblem, ConfigProblems};
use crate::config::rules;
use crate::config::settings::is_of_controller;
use crate::config::source::{Setting, Sources};
use crate::config::verdict::{ListenerNames, Verdict, problem, verdict};

impl StaticConfig {
    /// Checks every setting by itself and against the others; the error has every problem at once.
    pub fn from_sources(sources: &Sources) -> Result<StaticConfig, ConfigProblems> {
        let mut problems = sources.problems().to_vec();
        let mut settings = BTreeMap::new();
        for setting in sources.settings() {
            settings.insert(setting.key.clone(), setting.clone());
        }
        let cluster_id = sources.cluster_id().map(str::to_owned);
        let mut config = StaticConfig { settings: Arc::new(settings), cluster_id, notices: Vec::new() };
        let listeners = ListenerNames::of(&config);
        let mut idle = IdleKeys::default();
        for variable in sources.idle_variables() {
            idle.add("the variable belongs to Kafka's scripts, to its JVM or to Kubernetes", variable);
        }
        // In the order of the sources, so that problems read like the file; a value that a later one replaces is not
        // judged.
        for setting in sources.settings().filter(|setting| config.settings.get(&setting.key) == Some(*setting)) {
            if sources.is_misread_path(setting) {
                problems.push(misread_path(setting));
            }
            match verdict(setting, &listeners) {
                Verdict::Taken => {}
                Verdict::Idle(reason) => idle.add(&reason, &setting.key),
                Verdict::Wrong(problem) => problems.push(problem),
            }
        }
        name_the_node_twice(Arc::make_mut(&mut config.settings));
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

/// Keys that mean nothing here, gathered by the reason, so that one line names all that share it.
#[derive(Default)]
struct IdleKeys(Vec<(String, Vec<String>)>);

impl IdleKeys {
    fn add(&mut self, reason: &str, key: &str) {
        match self.0.iter_mut().find(|(known, _)| known == reason) {
            Some((_, keys)) => keys.push(key.to_owned()),
            None => self.0.push((reason.to_owned(), vec![key.to_owned()])),
        }
    }

    fn lines(self) -> Vec<String> {
        self.0.into_iter().map(|(reason, keys)| format!("No effect: {} ({reason}).", keys.join(", "))).collect()
    }
}
