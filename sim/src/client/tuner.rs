//! An admin that changes the configuration of the topic that everybody uses, and gives it more partitions, while they use it: every promise to the others
//! holds all the same, and what the admin was told is so until it changes it again, whatever goes down meanwhile.
//!
//! It must not touch what says which records may go. It must not know what a setting does.

use std::collections::BTreeMap;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::alter_configs::{
    AlterConfigsRequest, AlterConfigsResource as ReplacedResource, AlterConfigsResponse,
    AlterableConfig as ReplacedConfig,
};
use klamm::protocol::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic,
};
use klamm::protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse,
};
use klamm::protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};

use super::dialogue::Dialogue;
use super::link::Link;
use super::versions::ANY;
use super::{ClientConnection, ClientContext, Habits};
use crate::checker::Violation;
use crate::keyed::{Draw, Site};

const TOPIC_RESOURCE: i8 = 2;
/// The source of a value that was set for the topic.
const TOPIC_SOURCE: i8 = 1;
const SET: i8 = 0;
const DELETE: i8 = 1;
const PARTITIONS_MAX: i32 = 5;
const TIMEOUT_MS: i32 = 300_000;
const PACE_NS_MAX: u64 = 30_000_000;
/// What is changed, and into what.
const SETTINGS: [(&str, &[&str]); 7] = [
    ("compression.type", &["producer", "uncompressed", "gzip", "snappy", "lz4"]),
    ("message.timestamp.type", &["CreateTime", "LogAppendTime"]),
    ("segment.ms", &["1", "5", "50", "604800000"]),
    ("index.interval.bytes", &["0", "100", "4096"]),
    ("flush.messages", &["1", "3", "9223372036854775807"]),
    ("flush.ms", &["1", "50", "9223372036854775807"]),
    ("file.delete.delay.ms", &["0", "50", "60000"]),
];

/// What one tuner is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TunerProfile {
    pub(crate) client: u32,
    /// Changes.
    pub(crate) rounds: u32,
    pub(crate) habits: Habits,
}

/// A key, and the value that it is given, if it is not given its default.
type Change = (&'static str, Option<&'static str>);

/// What it asks.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Task {
    Metadata,
    /// One key is changed.
    Alter(Change),
    /// These keys are set, and all others are not.
    Replace(Vec<Change>),
    Describe,
    Widen(i32),
}

/// The client.
pub(crate) struct Tuner {
    profile: TunerProfile,
    topic: &'static str,
    link: Link,
    task: Task,
    partitions: i32,
    /// What each key that it knows of is set to.
    known: BTreeMap<&'static str, Option<&'static str>>,
    /// A change without an answer was sent to this start of the broker: it may be made at any time, also after later ones.
    doubtful_in: Option<u32>,
    asked_in: u32,
    rounds_left: u32,
}

fn one_of<T: Copy>(draw: Draw, choices: &[T]) -> Option<T> {
    choices.get(usize::try_from(draw.below(choices.len() as u64)).ok()?).copied()
}

fn change(draw: Draw) -> Option<Change> {
    let (key, values) = one_of(draw, &SETTINGS)?;
    Some((key, one_of(draw.part(0), values).filter(|_| draw.part(1).below(5) > 0)))
}

impl Tuner {
    pub(crate) fn new(profile: TunerProfile, topic: &'static str) -> Tuner {
        Tuner {
            profile,
            topic,
            link: Link::new(profile.client, profile.habits),
            task: Task::Metadata,
            partitions: 0,
            known: BTreeMap::new(),
            doubtful_in: None,
            asked_in: 0,
            rounds_left: profile.rounds,
        }
    }

    /// Whether a change was made. If nothing is wrong, it is.
    fn is_done_as_asked(&mut self, context: &mut ClientContext<'_>, error: Option<i16>) -> bool {
        let error = ErrorCode::from_code(error.unwrap_or(ErrorCode::UnknownServerError.code()));
        if error != ErrorCode::None {
            self.known.clear();
            if context.is_disk_sound && error != ErrorCode::RequestTimedOut {
                context.history.violate(Violation::NotDone { name: self.topic.to_owned(), error });
            }
        }
        error == ErrorCode::None && self.doubtful_in != Some(self.asked_in)
    }

    /// What was set is found as it was set, and what was set no more comes from elsewhere.
    fn check_described(&self, context: &mut ClientContext<'_>, response: &DescribeConfigsResponse<'_>) {
        let result = response.results.first().filter(|result| result.error_code == ErrorCode::None.code());
        for (key, told) in self.known.iter().filter(|_| result.is_some()) {
            let found = result.and_then(|result| result.configs.iter().find(|config| config.name == *key));
            let value = found.filter(|found| found.config_source == TOPIC_SOURCE).and_then(|found| found.value);
            if value != *told {
                let (told, found) = (told.map(str::to_owned), value.map(str::to_owned));
                context.history.violate(Violation::SettingNotAsTold { key, told, found });
            }
        }
    }

    /// Goes on with what is to be looked at, or with another change.
    fn go_on(&mut self, context: &ClientContext<'_>, look: Option<Task>) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.link.pause(context, draw.part(0).between(1, PACE_NS_MAX));
        if let Some(look) = look {
            self.task = look;
            return;
        }
        if self.rounds_left == 0 || context.is_calm {
            self.link.leave();
            return;
        }
        self.rounds_left -= 1;
        let changes = (0..draw.part(1).between(0, 3)).filter_map(|number| change(draw.part(10 + number)));
        self.task = match draw.part(2).below(8) {
            0 if self.partitions < PARTITIONS_MAX => Task::Widen(self.partitions + 1),
            1 | 2 => {
                let changes: BTreeMap<_, _> = changes.filter(|(_, value)| value.is_some()).collect();
                Task::Replace(changes.into_iter().collect())
            }
            _ => change(draw.part(3)).map_or(Task::Metadata, Task::Alter),
        };
    }
}

impl Dialogue for Tuner {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        self.asked_in = context.boot;
        let api = |connection: &ClientConnection, api_key| connection.api(context, api_key, &ANY);
        match &self.task {
            Task::Metadata => {
                let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
                let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
                connection.send(context, api(connection, ApiKey::Metadata), &request, true);
            }
            Task::Alter((name, value)) => {
                let config_operation = if value.is_some() { SET } else { DELETE };
                let configs = vec![AlterableConfig { name, config_operation, value: *value }];
                let resource =
                    AlterConfigsResource { resource_type: TOPIC_RESOURCE, resource_name: self.topic, configs };
                let request = IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
                connection.send(context, api(connection, ApiKey::IncrementalAlterConfigs), &request, true);
            }
            Task::Replace(changes) => {
                let configs = changes.iter().map(|(name, value)| ReplacedConfig { name, value: *value }).collect();
                let resource = ReplacedResource { resource_type: TOPIC_RESOURCE, resource_name: self.topic, configs };
                let request = AlterConfigsRequest { resources: vec![resource], ..Default::default() };
                connection.send(context, api(connection, ApiKey::AlterConfigs), &request, true);
            }
            Task::Describe => {
                let resource = DescribeConfigsResource {
                    resource_type: TOPIC_RESOURCE,
                    resource_name: self.topic,
                    configuration_keys: Some(SETTINGS.iter().map(|(key, _)| *key).collect()),
                };
                let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
                connection.send(context, api(connection, ApiKey::DescribeConfigs), &request, true);
            }
            Task::Widen(count) => {
                let topics = vec![CreatePartitionsTopic { name: self.topic, count: *count, assignments: None }];
                let request = CreatePartitionsRequest { topics, timeout_ms: TIMEOUT_MS, ..Default::default() };
                connection.send(context, api(connection, ApiKey::CreatePartitions), &request, true);
            }
        }
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        match self.task.clone() {
            Task::Metadata => {
                let response = MetadataResponse::decode(decoder, version)?;
                let topic = response.topics.iter().find(|topic| topic.error_code == ErrorCode::None.code());
                let count = topic.map_or(0, |topic| i32::try_from(topic.partitions.len()).unwrap_or(0));
                if count < self.partitions && count > 0 {
                    let (told, found) = (self.partitions, count);
                    context.history.violate(Violation::PartitionsGone { told, found });
                }
                self.partitions = count;
                self.go_on(context, if count == 0 { Some(Task::Metadata) } else { Some(Task::Describe) });
            }
            Task::Alter((key, value)) => {
                let response = IncrementalAlterConfigsResponse::decode(decoder, version)?;
                let error = response.responses.first().map(|response| response.error_code);
                if self.is_done_as_asked(context, error) {
                    self.known.insert(key, value);
                }
                self.go_on(context, Some(Task::Describe));
            }
            Task::Replace(changes) => {
                let response = AlterConfigsResponse::decode(decoder, version)?;
                let error = response.responses.first().map(|response| response.error_code);
                if self.is_done_as_asked(context, error) {
                    self.known = SETTINGS.iter().map(|(key, _)| (*key, None)).collect();
                    self.known.extend(changes);
                }
                self.go_on(context, Some(Task::Describe));
            }
            Task::Describe => {
                self.check_described(context, &DescribeConfigsResponse::decode(decoder, version)?);
                self.go_on(context, None);
            }
            Task::Widen(count) => {
                let response = CreatePartitionsResponse::decode(decoder, version)?;
                let error = response.results.first().map(|result| result.error_code);
                // One whose answer was lost may have done it already.
                if error == Some(ErrorCode::None.code()) {
                    self.partitions = count;
                }
                self.go_on(context, Some(Task::Metadata));
            }
        }
        Ok(())
    }

    fn connection_lost(&mut self, _: &mut ClientContext<'_>) {
        if matches!(self.task, Task::Alter(_) | Task::Replace(_)) {
            self.known.clear();
            self.doubtful_in = Some(self.asked_in);
        }
        self.task = Task::Metadata;
    }

    fn is_at(&self) -> String {
        format!("tuner {} is at {:?}", self.profile.client, self.task)
    }
}
