//! Rules between several keys of one broker, each of which is valid by itself.
//!
//! It must not know how a single value is read or checked.

use std::collections::BTreeMap;

use crate::config::knobs::{TOPIC_KNOBS, synonyms};
use crate::config::layers::Layers;
use crate::config::listener::{
    SecurityProtocol, parse_advertised, parse_connection_overrides, parse_listeners, parse_protocol_map,
};
use crate::config::problem::ConfigProblem;
use crate::config::settings::{TopicLayers, is_of_controller, protocol_of};

/// Every rule that is broken.
pub(crate) fn problems(layers: Layers<'_>) -> Vec<ConfigProblem> {
    let mut broken = Broken { layers, problems: Vec::new() };
    broken.listeners();
    broken.identity();
    broken.connections();
    broken.groups();
    broken.topic_defaults();
    broken.retention();
    broken.problems
}

struct Broken<'a> {
    layers: Layers<'a>,
    problems: Vec<ConfigProblem>,
}

impl Broken<'_> {
    fn add(&mut self, key: &str, reason: String) {
        let setting = self.layers.fixed.settings.get(key);
        self.problems.push(ConfigProblem {
            key: key.to_owned(),
            value: setting.map(|setting| setting.value.clone()),
            origin: setting.map(|setting| setting.origin.clone()),
            reason,
        });
    }

    /// Kafka refuses 0, too, which would delete every record at the first look.
    fn retention(&mut self) {
        let keys = ["log.retention.ms", "log.retention.minutes", "log.retention.hours"];
        let effective = keys.into_iter().find_map(|key| Some((key, self.layers.number_set(key)?)));
        if let Some((key, _)) = effective.filter(|(_, value)| *value == 0) {
            self.add(key, "must be -1, for ever, or at least 1".to_owned());
        }
    }

    fn listeners(&mut self) {
        let layers = self.layers;
        let map = layers.text("listener.security.protocol.map").unwrap_or_default();
        if let Err(reason) = parse_protocol_map(&map) {
            return self.add("listener.security.protocol.map", reason);
        }
        let endpoints = match parse_listeners(&layers.list("listeners")) {
            Ok(endpoints) => endpoints,
            Err(reason) => return self.add("listeners", reason),
        };
        let names: Vec<_> = endpoints.into_iter().map(|endpoint| endpoint.name).collect();
        for name in names.iter().filter(|name| !is_of_controller(layers, name)) {
            match protocol_of(layers, name) {
                Some(SecurityProtocol::Plaintext) => {}
                Some(_) => self.add(
                    "listeners",
                    format!("has the listener {name} with TLS or SASL, which is not served; only PLAINTEXT is"),
                ),
                None => self.add(
                    "listeners",
                    format!("has the listener {name}, which listener.security.protocol.map does not know"),
                ),
            }
        }
        if names.iter().all(|name| is_of_controller(layers, name)) {
            self.add("listeners", "has listeners of the controller only, so no client could connect".to_owned());
        }
        let of_brokers = layers.text("inter.broker.listener.name").map(|name| name.to_uppercase());
        if let Some(stranger) = of_brokers.filter(|name| !names.contains(name)) {
            self.add("inter.broker.listener.name", format!("is {stranger}, which is not among the listeners"));
        }
        if layers.list("advertised.listeners").is_empty() {
            return;
        }
        match parse_advertised(&layers.list("advertised.listeners")) {
            Ok(advertised) => {
                let strangers = advertised.iter().filter(|endpoint| !names.contains(&endpoint.name));
                for stranger in strangers {
                    self.add(
                        "advertised.listeners",
                        format!("has {}, which is not among the listeners", stranger.name),
                    );
                }
            }
            Err(reason) => self.add("advertised.listeners", reason),
        }
    }

    fn identity(&mut self) {
        let (node_id, broker_id) = (self.layers.fixed.get("node.id"), self.layers.int("broker.id"));
        if node_id.is_some() && broker_id >= 0 && i64::from(broker_id) != self.layers.long("node.id") {
            self.add("broker.id", "differs from node.id; set one of them only".to_owned());
        }
        let roles = self.layers.list("process.roles");
        if !roles.is_empty() && !roles.iter().any(|role| role == "broker") {
            self.add("process.roles", "asks for a controller without a broker, which Klamm cannot be".to_owned());
        }
        let has_dirs = !self.layers.list("log.dirs").is_empty() || !self.layers.list("log.dir").is_empty();
        if !has_dirs {
            self.add("log.dirs", "names no folder for the data".to_owned());
        }
    }

    fn connections(&mut self) {
        let text = self.layers.text("max.connections.per.ip.overrides").unwrap_or_default();
        match parse_connection_overrides(&text) {
            Ok(overrides) if overrides.is_empty() && self.layers.int("max.connections.per.ip") == 0 => {
                self.add(
                    "max.connections.per.ip",
                    "lets nobody in; 0 needs max.connections.per.ip.overrides".to_owned(),
                );
            }
            Ok(_) => {}
            Err(reason) => self.add("max.connections.per.ip.overrides", reason),
        }
        let queued = self.layers.long("queued.max.request.bytes");
        let largest = self.layers.long("socket.request.max.bytes");
        if queued > 0 && queued < largest {
            self.add("queued.max.request.bytes", format!("is smaller than socket.request.max.bytes, {largest}"));
        }
    }

    fn groups(&mut self) {
        let protocols = self.layers.list("group.coordinator.rebalance.protocols");
        if !protocols.iter().any(|protocol| protocol == "classic") {
            self.add("group.coordinator.rebalance.protocols", "lacks classic, which cannot be switched off".to_owned());
        }
        self.in_order("group.min.session.timeout.ms", "group.max.session.timeout.ms");
        for what in ["session.timeout", "heartbeat.interval", "assignment.interval"] {
            let [least, value, most] = ["min.", "", "max."].map(|bound| format!("group.consumer.{bound}{what}.ms"));
            self.in_order(&least, &value);
            self.in_order(&value, &most);
        }
        if self.layers.int("group.consumer.heartbeat.interval.ms")
            >= self.layers.int("group.consumer.session.timeout.ms")
        {
            let reason = "must be smaller than group.consumer.session.timeout.ms".to_owned();
            self.add("group.consumer.heartbeat.interval.ms", reason);
        }
        for assignor in self.layers.list("group.consumer.assignors") {
            if !["uniform", "range"].contains(&assignor.as_str()) {
                let reason = format!("has {assignor}; Klamm has uniform and range, and loads no Java class");
                self.add("group.consumer.assignors", reason);
            }
        }
    }

    /// What the broker says for all topics must be what one topic could say for itself.
    fn topic_defaults(&mut self) {
        let none = BTreeMap::new();
        let topic = TopicLayers { overrides: &none, layers: self.layers };
        for knob in TOPIC_KNOBS {
            let Some(Err(reason)) = topic.broker_value(knob.name).map(|value| knob.check.test(&value)) else {
                continue;
            };
            let synonym = synonyms(knob.name).iter().find(|synonym| self.layers.value(synonym.name).is_some());
            self.add(synonym.map_or(knob.name, |synonym| synonym.name), format!("is not valid: it {reason}"));
        }
        let (least, most) = (topic.long("min.compaction.lag.ms"), topic.long("max.compaction.lag.ms"));
        if least > most {
            let reason = format!("is larger than log.cleaner.max.compaction.lag.ms, {most}");
            self.add("log.cleaner.min.compaction.lag.ms", reason);
        }
    }

    /// The first key may not be larger than the second; the one that was set is named.
    fn in_order(&mut self, smaller: &str, larger: &str) {
        let (low, high) = (self.layers.long(smaller), self.layers.long(larger));
        if low > high {
            match self.layers.fixed.get(smaller) {
                Some(_) => self.add(smaller, format!("is larger than {larger}, {high}")),
                None => self.add(larger, format!("is smaller than {smaller}, {low}")),
            }
        }
    }
}
