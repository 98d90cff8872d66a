//! A client that creates, alters and deletes topics of its own, and in the end looks whether what it was told is true.
//!
//! One request at a time, and no more about a topic once an answer about it was lost: what is known is known exactly. It must not know how
//! the broker keeps its metadata.

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest, CreateTopicsResponse};
use klamm::protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse};
use klamm::protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse,
};
use klamm::protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
use klamm::protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic,
};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};

use super::dialogue::Dialogue;
use super::link::Link;
use super::versions::ANY;
use super::{ClientConnection, ClientContext, Habits};
use crate::checker::{AdminHistory, Violation};
use crate::keyed::Site;

const TOPIC_RESOURCE: i8 = 2;
const KEY: &str = "retention.ms";
/// The versions of Metadata that can ask for a topic without creating it.
const LOOKS_ONLY: std::ops::RangeInclusive<i16> = 4..=i16::MAX;
/// The first version in which the numbers of a topic can be left to the broker.
const DEFAULTS_FROM: i16 = 4;
/// What has no log yet is tried again every second.
const LEADERLESS_MAX: u32 = 200;
const PACE_NS_MAX: u64 = 20_000_000;

/// What one admin is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdminProfile {
    pub(crate) client: u32,
    /// Changes before it only looks.
    pub(crate) rounds: u32,
    pub(crate) habits: Habits,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Create,
    /// Whether it could be created.
    Validate,
    Alter(u32),
    /// Into what no broker takes.
    AlterBadly,
    Delete,
    /// Which topics there are.
    List,
    /// What their configuration is.
    Describe,
}

/// The client.
pub(crate) struct Admin {
    profile: AdminProfile,
    link: Link,
    task: Task,
    /// A change is on its way.
    is_open: bool,
    /// The topic is created once more, since the first answer was lost. It is not deleted: the first request may still come.
    is_again: bool,
    /// The topics that the open question is about, if it only looks.
    asked: Vec<String>,
    /// Counts the topics of which it has made changes.
    topic: u32,
    rounds_left: u32,
    /// How often nobody led a partition of a topic in the calm phase.
    leaderless: u32,
}

impl Admin {
    pub(crate) fn new(profile: AdminProfile) -> Admin {
        Admin {
            profile,
            link: Link::new(profile.client, profile.habits),
            task: if profile.rounds == 0 { Task::List } else { Task::Create },
            is_open: false,
            is_again: false,
            asked: Vec::new(),
            topic: 0,
            rounds_left: profile.rounds,
            leaderless: 0,
        }
    }

    fn name(&self) -> String {
        format!("admin-{}-{}", self.profile.client, self.topic)
    }

    fn judge(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        self.is_open = false;
        match self.task {
            Task::Create | Task::Validate => {
                let response = CreateTopicsResponse::decode(decoder, version)?;
                self.take_outcome(context, response.topics.first().map(|topic| topic.error_code));
            }
            Task::Alter(_) | Task::AlterBadly => {
                let response = IncrementalAlterConfigsResponse::decode(decoder, version)?;
                self.take_outcome(context, response.responses.first().map(|resource| resource.error_code));
            }
            Task::Delete => {
                let response = DeleteTopicsResponse::decode(decoder, version)?;
                self.take_outcome(context, response.responses.first().map(|topic| topic.error_code));
            }
            Task::List => {
                let response = MetadataResponse::decode(decoder, version)?;
                self.check_mentioned(context, |asked| response.topics.iter().any(|topic| topic.name == Some(asked)));
                for topic in &response.topics {
                    let is_there = topic.error_code == ErrorCode::None.code();
                    let is_known = is_there || topic.error_code == ErrorCode::UnknownTopicOrPartition.code();
                    let Some(name) = topic.name.filter(|_| is_known) else { continue };
                    let violation = context.history.admin().found(name, is_there);
                    violation.into_iter().for_each(|violation| context.history.violate(violation));
                }
                if context.is_calm && self.is_one_without_leader(context, &response) {
                    return Ok(());
                }
                self.task = Task::Describe;
            }
            Task::Describe => {
                let response = DescribeConfigsResponse::decode(decoder, version)?;
                self.check_mentioned(context, |asked| {
                    response.results.iter().any(|result| result.resource_name == asked)
                });
                for result in response.results.iter().filter(|result| result.error_code == ErrorCode::None.code()) {
                    let value = result.configs.iter().find(|config| config.name == KEY).and_then(|config| config.value);
                    let violation = context.history.admin().described(result.resource_name, value);
                    violation.into_iter().for_each(|violation| context.history.violate(violation));
                }
                if context.is_calm {
                    self.link.leave();
                }
                self.task = Task::List;
            }
        }
        Ok(())
    }

    /// Whether a partition of a topic that is there has no leader, though nothing is wrong any more; then it looks again, and not for ever.
    fn is_one_without_leader(&mut self, context: &mut ClientContext<'_>, response: &MetadataResponse<'_>) -> bool {
        let without = |topic: &&MetadataResponseTopic<'_>| topic.partitions.iter().any(|one| one.error_code != 0);
        let Some(topic) = response.topics.iter().find(without) else { return false };
        self.leaderless += 1;
        if self.leaderless > LEADERLESS_MAX {
            let error = topic.partitions.iter().map(|one| one.error_code).find(|code| *code != 0).unwrap_or(0);
            let (name, error) = (topic.name.unwrap_or_default().to_owned(), ErrorCode::from_code(error));
            context.history.violate(Violation::Leaderless { name, error });
        }
        true
    }

    /// Silence about a topic is no answer.
    fn check_mentioned(&self, context: &mut ClientContext<'_>, is_mentioned: impl Fn(&str) -> bool) {
        if let Some(name) = self.asked.iter().find(|name| !is_mentioned(name)) {
            context.history.violate(Violation::Unmentioned { name: name.clone() });
        }
    }

    fn take_outcome(&mut self, context: &mut ClientContext<'_>, error: Option<i16>) {
        let name = self.name();
        let is_disk_sound = context.is_disk_sound;
        let admin: &mut AdminHistory = context.history.admin();
        let error = ErrorCode::from_code(error.unwrap_or(ErrorCode::UnknownServerError.code()));
        let violation = match (self.task, error) {
            (Task::Create, ErrorCode::None) => admin.created(&name),
            (Task::Create, ErrorCode::TopicAlreadyExists) if self.is_again => admin.created(&name),
            (Task::Validate, ErrorCode::None) => admin.could_be_created(&name),
            (Task::Delete, ErrorCode::None) => admin.deleted(&name),
            (Task::Alter(value), ErrorCode::None) => admin.altered_to(&name, value),
            (Task::AlterBadly, ErrorCode::InvalidConfig) => admin.found(&name, true),
            (Task::Create | Task::Validate, ErrorCode::TopicAlreadyExists) => admin.found(&name, true),
            (_, ErrorCode::UnknownTopicOrPartition) => admin.found(&name, false),
            (_, error) => {
                admin.unknown(&name);
                let is_excused = !is_disk_sound || error == ErrorCode::RequestTimedOut;
                (!is_excused).then(|| Violation::NotDone { name: name.clone(), error })
            }
        };
        violation.into_iter().for_each(|violation| context.history.violate(violation));
        self.go_on(context);
    }

    /// What comes next, about this topic or another one.
    fn go_on(&mut self, context: &mut ClientContext<'_>) {
        self.rounds_left = self.rounds_left.saturating_sub(1);
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.link.pause(context, draw.part(0).between(1, PACE_NS_MAX));
        let name = self.name();
        let is_there = context.history.admin().is_there(&name);
        self.task = match draw.part(1).below(5) {
            _ if self.rounds_left == 0 => Task::List,
            0 if is_there == Some(true) && !self.is_again => Task::Delete,
            3 if is_there == Some(true) => Task::AlterBadly,
            // Another topic of the same name.
            4 if is_there == Some(false) && !self.is_again => Task::Create,
            1 | 2 if is_there == Some(true) => {
                Task::Alter(1_000_000 + u32::try_from(draw.part(2).below(1_000)).unwrap_or(0))
            }
            _ => {
                self.topic += 1;
                self.is_again = false;
                if draw.part(3).below(4) == 0 { Task::Validate } else { Task::Create }
            }
        };
    }
}

impl Dialogue for Admin {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        let name = self.name();
        self.is_open = !matches!(self.task, Task::List | Task::Describe);
        match self.task {
            Task::Create | Task::Validate => {
                let api = connection.api(context, ApiKey::CreateTopics, &ANY);
                // Some leave the numbers to the broker (KIP-464).
                let count: i16 = if self.topic.is_multiple_of(2) || api.1 < DEFAULTS_FROM { 1 } else { -1 };
                let topic = CreatableTopic {
                    name: &name,
                    num_partitions: count.into(),
                    replication_factor: count,
                    ..Default::default()
                };
                let validate_only = self.task == Task::Validate;
                let request = CreateTopicsRequest { topics: vec![topic], validate_only, ..Default::default() };
                connection.send(context, api, &request, true);
            }
            Task::Alter(_) | Task::AlterBadly => {
                let value = if let Task::Alter(value) = self.task { value.to_string() } else { "soon".to_string() };
                let configs = vec![AlterableConfig { name: KEY, config_operation: 0, value: Some(&value) }];
                let resource = AlterConfigsResource { resource_type: TOPIC_RESOURCE, resource_name: &name, configs };
                let request = IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
                connection.send(
                    context,
                    connection.api(context, ApiKey::IncrementalAlterConfigs, &ANY),
                    &request,
                    true,
                );
            }
            Task::Delete => {
                // As old versions name it and as new ones do: which is written, the version decides.
                let topics = vec![DeleteTopicState { name: Some(&name), ..Default::default() }];
                let request = DeleteTopicsRequest { topics, topic_names: vec![&name], timeout_ms: 60_000 };
                connection.send(context, connection.api(context, ApiKey::DeleteTopics, &ANY), &request, true);
            }
            Task::List => {
                let names = context.history.admin().names();
                let topic = |name| MetadataRequestTopic { name: Some(name), ..Default::default() };
                let topics = Some(names.iter().map(|name| topic(name.as_str())).collect());
                let request = MetadataRequest { topics, allow_auto_topic_creation: false, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Metadata, &LOOKS_ONLY), &request, true);
                self.asked = names;
            }
            Task::Describe => {
                let names = context.history.admin().altered();
                let resource = |name| DescribeConfigsResource {
                    resource_type: TOPIC_RESOURCE,
                    resource_name: name,
                    configuration_keys: Some(vec![KEY]),
                };
                let resources = names.iter().map(|name| resource(name.as_str())).collect();
                let request = DescribeConfigsRequest { resources, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::DescribeConfigs, &ANY), &request, true);
                self.asked = names;
            }
        }
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let judged = self.judge(context, version, body);
        if self.task == Task::List {
            self.link.retry(context);
        }
        judged
    }

    /// What became of a change whose answer was lost nobody knows, nor when it happens.
    fn connection_lost(&mut self, context: &mut ClientContext<'_>) {
        if self.is_open {
            self.is_open = false;
            let name = self.name();
            context.history.admin().unknown(&name);
            // What became of it the next answer tells: that it exists is true once and for all.
            match self.task {
                Task::Create if !context.is_calm => self.is_again = true,
                _ => self.go_on(context),
            }
        }
    }

    fn is_at(&self) -> String {
        format!("admin {} is at {:?} of topic {}", self.profile.client, self.task, self.topic)
    }
}
