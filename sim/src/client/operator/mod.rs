//! An operator who changes the configuration of the broker while it runs: what is promised holds from the answer on, and what makes no sense is refused.
//!
//! It comes in by a listener of its own, which no limit of all connections is about, and each time from another address, so that it can always take back
//! what it has set. It must not know who meets the limits.

mod settings; // what it changes

use std::collections::BTreeMap;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse, DescribeConfigsResult,
};
use klamm::protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};

use settings::{Change, KEY_OF_BROKER, KEY_OF_TOPIC, SETTINGS, Scope, change, nonsense, setting};

use super::dialogue::Dialogue;
use super::link::Link;
use super::versions::ANY;
use super::{ClientConnection, ClientContext, Habits};
use crate::checker::{Limited, Violation};
use crate::keyed::Site;

const TOPIC_RESOURCE: i8 = 2;
const BROKER_RESOURCE: i8 = 4;
const SET: i8 = 0;
const DELETE: i8 = 1;
const PACE_NS_MAX: u64 = 30_000_000;
/// Long enough for any limit to have taken effect.
const WATCH_NS: u64 = 420_000_000;

/// What one operator is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperatorProfile {
    pub(crate) client: u32,
    /// Changes.
    pub(crate) rounds: u32,
}

/// What it asks.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Task {
    /// Which broker it is.
    Metadata,
    Alter(Change),
    /// Whether it could be altered so.
    Validate(Change),
    AlterBadly(&'static str, &'static str),
    Describe,
    /// Takes everything back.
    Lift,
}

/// The client.
pub(crate) struct Operator {
    profile: OperatorProfile,
    topic: &'static str,
    link: Link,
    task: Task,
    broker_id: String,
    /// What each key that it knows of is set to.
    known: BTreeMap<&'static str, Option<&'static str>>,
    /// A change without an answer was sent to this start of the broker: it may be made at any time, also after later ones.
    doubtful_in: Option<u32>,
    asked_in: u32,
    rounds_left: u32,
}

impl Operator {
    pub(crate) fn new(profile: OperatorProfile, topic: &'static str) -> Operator {
        Operator {
            profile,
            topic,
            link: Link::new(profile.client, Habits::none()).by_inner_listener(),
            task: Task::Metadata,
            broker_id: String::new(),
            known: BTreeMap::new(),
            doubtful_in: None,
            asked_in: 0,
            rounds_left: profile.rounds,
        }
    }

    fn ask_to_alter(
        &self,
        context: &ClientContext<'_>,
        connection: &mut ClientConnection,
        changes: &[(&str, Option<&str>)],
        validate_only: bool,
    ) {
        let resource = |scope, resource_name| AlterConfigsResource {
            resource_type: BROKER_RESOURCE,
            resource_name,
            configs: changes.iter().filter(|(key, _)| scope_of(key) == scope).map(alterable).collect(),
        };
        let mut resources = vec![resource(Scope::Cluster, ""), resource(Scope::Broker, self.broker_id.as_str())];
        resources.retain(|resource| !resource.configs.is_empty());
        let request = IncrementalAlterConfigsRequest { resources, validate_only };
        connection.send(context, connection.api(context, ApiKey::IncrementalAlterConfigs, &ANY), &request, true);
    }

    fn ask_for_description(&self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let keys = SETTINGS.iter().map(|setting| setting.key).collect();
        let resource = |resource_type, resource_name, keys| DescribeConfigsResource {
            resource_type,
            resource_name,
            configuration_keys: Some(keys),
        };
        let resources = vec![
            resource(BROKER_RESOURCE, self.broker_id.as_str(), keys),
            resource(TOPIC_RESOURCE, self.topic, vec![KEY_OF_TOPIC]),
        ];
        let request = DescribeConfigsRequest { resources, ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::DescribeConfigs, &ANY), &request, true);
    }

    /// A change was made, if it was: then what it limits is limited.
    fn take_altered(&mut self, context: &mut ClientContext<'_>, (key, value): Change, error: ErrorCode) {
        if error == ErrorCode::None && self.doubtful_in != Some(self.asked_in) {
            self.known.insert(key, value);
            self.note_limit(context, key, value);
        } else {
            self.forget(context, key);
        }
        if error != ErrorCode::None && error != ErrorCode::RequestTimedOut && context.is_disk_sound {
            context.history.violate(Violation::NotDone { name: key.to_owned(), error });
        }
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        // What is there stays for a while when all connections are limited; of other limits it is seen at once whether they hold.
        let watches = value.is_some() && (limited_by(key) == Some(Limited::All) || draw.part(4).below(3) == 0);
        self.link.pause(context, if watches { WATCH_NS } else { draw.part(0).between(1, PACE_NS_MAX) });
        self.task = Task::Describe;
    }

    fn note_limit(&self, context: &mut ClientContext<'_>, key: &'static str, value: Option<&str>) {
        // An override is host:count.
        let limit = value.and_then(|value| value.rsplit(':').next()?.parse().ok());
        let limited = limited_by(key);
        match limited.zip(limit).filter(|_| self.asked_in == context.boot) {
            Some((limited, limit)) => {
                let accepted = context.world.accepted();
                let now = (context.now(), context.boot);
                context.history.limits().told(now, (key, limited, limit), &accepted);
            }
            None => context.history.limits().forget(key, limited),
        }
    }

    fn forget(&mut self, context: &mut ClientContext<'_>, key: &str) {
        self.known.remove(key);
        context.history.limits().forget(key, limited_by(key));
    }

    fn forget_all(&mut self, context: &mut ClientContext<'_>) {
        SETTINGS.iter().for_each(|setting| self.forget(context, setting.key));
    }

    /// What was set is found as it was set, and what was set no more comes from elsewhere.
    fn check_described(&self, context: &mut ClientContext<'_>, response: &DescribeConfigsResponse<'_>) {
        let [broker, topic] = response.results.as_slice() else { return };
        for (key, told) in self.known.iter().filter(|_| broker.error_code == ErrorCode::None.code()) {
            let source = scope_of(key).source();
            let found = found_in(broker, key).filter(|(its_source, _)| *its_source == source).and_then(|found| found.1);
            if found != *told {
                context.history.violate(not_as_told(key, *told, found));
            }
        }
        let Some(told) = self.known.get(KEY_OF_BROKER).copied().flatten() else { return };
        let found = found_in(topic, KEY_OF_TOPIC).filter(|_| topic.error_code == ErrorCode::None.code());
        // What the topic has for itself is no default.
        if let Some((_, found)) = found.filter(|(source, found)| *source != 1 && *found != Some(told)) {
            context.history.violate(not_as_told(KEY_OF_BROKER, Some(told), found));
        }
    }

    fn go_on(&mut self, context: &ClientContext<'_>) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.link.pause(context, draw.part(0).between(1, PACE_NS_MAX));
        self.task = Task::Describe;
        if self.rounds_left == 0 {
            self.link.pause(context, WATCH_NS);
            return;
        }
        self.rounds_left -= 1;
        self.task = match draw.part(5).below(8) {
            1 | 2 => nonsense(draw).map_or(Task::Describe, |(key, value)| Task::AlterBadly(key, value)),
            0 => change(draw).map_or(Task::Describe, Task::Validate),
            _ => change(draw).map_or(Task::Describe, Task::Alter),
        };
    }
}

/// Whom a key is for, which may be one that nobody knows.
fn scope_of(key: &str) -> Scope {
    setting(key).map_or(Scope::Cluster, |setting| setting.scope)
}

/// What a key limits, if it is a limit.
fn limited_by(key: &str) -> Option<Limited> {
    setting(key)?.limited
}

fn alterable<'a>((name, value): &(&'a str, Option<&'a str>)) -> AlterableConfig<'a> {
    AlterableConfig { name, config_operation: if value.is_some() { SET } else { DELETE }, value: *value }
}

fn found_in<'a>(result: &DescribeConfigsResult<'a>, key: &str) -> Option<(i8, Option<&'a str>)> {
    let config = result.configs.iter().find(|config| config.name == key)?;
    Some((config.config_source, config.value))
}

fn not_as_told(key: &'static str, told: Option<&str>, found: Option<&str>) -> Violation {
    Violation::BrokerSettingNotAsTold { key, told: told.map(str::to_owned), found: found.map(str::to_owned) }
}

/// The first error of an answer, if there is one.
fn error_of(response: &IncrementalAlterConfigsResponse<'_>) -> ErrorCode {
    let mut codes = response.responses.iter().map(|response| ErrorCode::from_code(response.error_code));
    codes.find(|code| *code != ErrorCode::None).unwrap_or(ErrorCode::None)
}

impl Dialogue for Operator {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    /// When faults are over it takes everything back, so that nobody is kept out; but not before it has seen that it was as it was told.
    fn look_about(&mut self, context: &mut ClientContext<'_>) {
        let now = (context.now(), context.boot);
        if context.is_time_sound && context.is_machine_sound && !context.is_draining {
            let accepted = context.world.accepted();
            let passed = context.history.limits().check(now, &accepted);
            passed.into_iter().for_each(|violation| context.history.violate(violation));
        }
        if context.is_calm && self.link.outstanding() == 0 && !self.broker_id.is_empty() {
            self.task = Task::Lift;
            if let Some(at) = context.history.limits().settled_at().filter(|at| *at > now.0) {
                self.link.pause(context, at.0 - now.0.0);
            }
        }
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        self.asked_in = context.boot;
        match self.task.clone() {
            Task::Metadata => {
                let request = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Metadata, &(1..=i16::MAX)), &request, true);
            }
            Task::Alter((key, value)) => {
                // It may hold before the answer comes.
                self.forget(context, key);
                self.ask_to_alter(context, connection, &[(key, value)], false);
            }
            Task::Validate((key, value)) => self.ask_to_alter(context, connection, &[(key, value)], true),
            Task::AlterBadly(key, value) => self.ask_to_alter(context, connection, &[(key, Some(value))], false),
            Task::Describe => self.ask_for_description(context, connection),
            Task::Lift => {
                self.forget_all(context);
                let changes: Vec<_> = SETTINGS.iter().map(|setting| (setting.key, None)).collect();
                self.ask_to_alter(context, connection, &changes, false);
            }
        }
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        match self.task.clone() {
            Task::Metadata => {
                let response = MetadataResponse::decode(decoder, version)?;
                self.broker_id = response.brokers.first().map_or_else(String::new, |broker| broker.node_id.to_string());
                self.go_on(context);
            }
            Task::Alter(change) => {
                let response = IncrementalAlterConfigsResponse::decode(decoder, version)?;
                self.take_altered(context, change, error_of(&response));
            }
            Task::Validate(_) => {
                IncrementalAlterConfigsResponse::decode(decoder, version)?;
                self.task = Task::Describe;
            }
            Task::AlterBadly(key, value) => {
                let response = IncrementalAlterConfigsResponse::decode(decoder, version)?;
                if error_of(&response) == ErrorCode::None {
                    context.history.violate(Violation::BadSettingTaken { key, value });
                }
                self.task = Task::Describe;
            }
            Task::Describe => {
                self.check_described(context, &DescribeConfigsResponse::decode(decoder, version)?);
                self.go_on(context);
            }
            Task::Lift => {
                let response = IncrementalAlterConfigsResponse::decode(decoder, version)?;
                match error_of(&response) {
                    ErrorCode::None => self.link.leave(),
                    _ => self.link.retry(context),
                }
            }
        }
        Ok(())
    }

    /// What became of a change nobody knows.
    fn connection_lost(&mut self, context: &mut ClientContext<'_>) {
        if matches!(self.task, Task::Alter(_)) {
            self.forget_all(context);
            self.doubtful_in = Some(self.asked_in);
        }
        self.task = if self.broker_id.is_empty() { Task::Metadata } else { Task::Describe };
    }

    fn is_at(&self) -> String {
        format!("operator {} is at {:?}", self.profile.client, self.task)
    }
}
