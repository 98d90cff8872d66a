//! Topics of the reference broker: made, widened, configured, described and deleted.
//!
//! It must not know what lies in a partition.

use std::collections::BTreeMap;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::alter_configs::{self, AlterConfigsRequest, AlterConfigsResponse};
use klamm::protocol::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic, CreatePartitionsTopicResult,
};
use klamm::protocol::messages::create_topics::{
    CreatableTopic, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};
use klamm::protocol::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use klamm::protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigsResult,
};
use klamm::protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
use klamm::protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition,
    MetadataResponseTopic,
};
use klamm::types::TopicId;

use super::{Log, OWN_PREFIX, ReferenceBroker, beside};

/// The first version that may ask by id.
const METADATA_BY_ID_FROM: i16 = 12;
const TOPIC_RESOURCE: i8 = 2;
/// The source of a value that was set for the topic.
const TOPIC_SOURCE: i8 = 1;
const SET: i8 = 0;
const DELETE: i8 = 1;
const NAME_LENGTH_MAX: usize = 249;
/// The keys that are altered: all are numbers.
const KEYS: [&str; 3] = ["retention.ms", "max.message.bytes", "segment.bytes"];

/// A topic.
#[derive(Debug, Default)]
pub(crate) struct Topic {
    /// All zeroes while nobody has told it.
    pub(crate) id: TopicId,
    pub(crate) partitions: Vec<Log>,
    /// What was set, by key.
    pub(crate) configs: BTreeMap<String, String>,
}

impl Topic {
    /// Its id, which is learnt when it is told first, and the same ever after.
    pub(super) fn learn_id(&mut self, told: TopicId) -> TopicId {
        if self.id == TopicId::ZERO {
            self.id = told;
        }
        self.id
    }

    /// As metadata tell of it.
    fn described<'a>(&self, name: &'a str, node_id: i32) -> MetadataResponseTopic<'a> {
        let partitions = (0..).zip(&self.partitions).map(|(partition_index, _)| MetadataResponsePartition {
            partition_index,
            leader_id: node_id,
            leader_epoch: 0,
            replica_nodes: vec![node_id],
            isr_nodes: vec![node_id],
            ..Default::default()
        });
        let partitions = partitions.collect();
        MetadataResponseTopic { name: Some(name), topic_id: self.id, partitions, ..Default::default() }
    }
}

fn is_valid_name(name: &str) -> bool {
    let is_legal = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    !matches!(name, "" | "." | "..") && name.len() <= NAME_LENGTH_MAX && name.chars().all(is_legal)
}

/// A number that the key may have.
fn is_valid_config(key: &str, value: Option<&str>) -> bool {
    let least = if key == "segment.bytes" { 1_048_576 } else { -1 };
    KEYS.contains(&key) && value.and_then(|value| value.parse::<i64>().ok()).is_some_and(|value| value >= least)
}

impl ReferenceBroker {
    pub(super) fn topics_created<'a>(
        &'a mut self,
        _: i16,
        request: &CreateTopicsRequest<'a>,
        told: &mut CreateTopicsResponse<'a>,
    ) -> CreateTopicsResponse<'a> {
        let results = request.topics.iter().zip(&mut told.topics).map(|(asked, told)| {
            let result = self.create(asked, request.validate_only);
            told.error_message = told.error_message.filter(|_| result.is_ok());
            let configs = told.configs.clone();
            match result {
                Ok(()) => {
                    let known = self.topics.get_mut(asked.name);
                    let topic_id = known.map_or(told.topic_id, |topic| topic.learn_id(told.topic_id));
                    let (num_partitions, replication_factor) = (asked.num_partitions, 1);
                    let name = asked.name;
                    let error_message = None;
                    CreatableTopicResult {
                        name,
                        topic_id,
                        error_message,
                        num_partitions,
                        replication_factor,
                        configs,
                        ..Default::default()
                    }
                }
                Err(error) => CreatableTopicResult {
                    name: asked.name,
                    error_code: error.code(),
                    error_message: None,
                    configs,
                    ..Default::default()
                },
            }
        });
        CreateTopicsResponse { topics: results.collect(), ..Default::default() }
    }

    fn create(&mut self, asked: &CreatableTopic<'_>, only_validates: bool) -> Result<(), ErrorCode> {
        if !is_valid_name(asked.name) {
            return Err(ErrorCode::InvalidTopicException);
        }
        if self.topics.contains_key(asked.name) {
            return Err(ErrorCode::TopicAlreadyExists);
        }
        if asked.replication_factor != 1 {
            return Err(ErrorCode::InvalidReplicationFactor);
        }
        let count = usize::try_from(asked.num_partitions).unwrap_or(0);
        if count == 0 {
            return Err(ErrorCode::InvalidPartitions);
        }
        if !asked.configs.iter().all(|config| is_valid_config(config.name, config.value)) {
            return Err(ErrorCode::InvalidConfig);
        }
        if !only_validates {
            let set = |name: &str, value: Option<&str>| (name.to_owned(), value.unwrap_or_default().to_owned());
            let configs = asked.configs.iter().map(|config| set(config.name, config.value)).collect();
            let partitions = (0..count).map(|_| Log::default()).collect();
            self.topics.insert(asked.name.to_owned(), Topic { id: TopicId::ZERO, partitions, configs });
        }
        Ok(())
    }

    pub(super) fn topics_deleted<'a>(
        &'a mut self,
        version: i16,
        request: &DeleteTopicsRequest<'a>,
        told: &mut DeleteTopicsResponse<'a>,
    ) -> DeleteTopicsResponse<'a> {
        told.responses.iter_mut().for_each(|told| told.error_message = None);
        let by_name = request.topic_names.iter().map(|name| (Some(*name), TopicId::ZERO));
        let by_either = request.topics.iter().map(|DeleteTopicState { name, topic_id }| (*name, *topic_id));
        let asked: Vec<(Option<&str>, TopicId)> = by_name.chain(by_either).collect();
        let results = beside(&asked, &told.responses).map(|(&(name, id), told)| {
            let known = self.name_of(name.unwrap_or_default(), id, name.is_none());
            let error = match (name, known.and_then(|known| self.topics.remove(&known))) {
                (_, Some(topic)) => {
                    let topic_id = if topic.id == TopicId::ZERO { told.topic_id } else { topic.id };
                    // The name of a topic that was named by its id is told too.
                    let name = name.or(told.name);
                    return DeletableTopicResult { name, topic_id, ..Default::default() };
                }
                (Some(_), None) => ErrorCode::UnknownTopicOrPartition,
                (None, None) => ErrorCode::UnknownTopicId,
            };
            DeletableTopicResult { name, topic_id: id, error_code: error.code(), error_message: None }
        });
        let responses = results.collect();
        debug_assert!(version >= 1);
        DeleteTopicsResponse { responses, ..Default::default() }
    }

    pub(super) fn partitions_created<'a>(
        &'a mut self,
        _: i16,
        request: &CreatePartitionsRequest<'a>,
        told: &mut CreatePartitionsResponse<'a>,
    ) -> CreatePartitionsResponse<'a> {
        told.results.iter_mut().for_each(|told| told.error_message = None);
        let results = request.topics.iter().map(|asked| CreatePartitionsTopicResult {
            name: asked.name,
            error_code: self.widen(asked, request.validate_only).code(),
            error_message: None,
        });
        CreatePartitionsResponse { results: results.collect(), ..Default::default() }
    }

    fn widen(&mut self, asked: &CreatePartitionsTopic<'_>, only_validates: bool) -> ErrorCode {
        let Some(topic) = self.topics.get_mut(asked.name) else { return ErrorCode::UnknownTopicOrPartition };
        let wanted = usize::try_from(asked.count).unwrap_or(0);
        if wanted <= topic.partitions.len() {
            return ErrorCode::InvalidPartitions;
        }
        if !only_validates {
            topic.partitions.resize_with(wanted, Log::default);
        }
        ErrorCode::None
    }

    pub(super) fn configs_altered<'a>(
        &'a mut self,
        _: i16,
        request: &IncrementalAlterConfigsRequest<'a>,
        told: &mut IncrementalAlterConfigsResponse<'a>,
    ) -> IncrementalAlterConfigsResponse<'a> {
        told.responses.iter_mut().for_each(|told| told.error_message = None);
        let responses = request.resources.iter().map(|asked| AlterConfigsResourceResponse {
            error_code: self.alter(asked, request.validate_only).code(),
            error_message: None,
            resource_type: asked.resource_type,
            resource_name: asked.resource_name,
        });
        IncrementalAlterConfigsResponse { responses: responses.collect(), ..Default::default() }
    }

    fn alter(&mut self, asked: &AlterConfigsResource<'_>, only_validates: bool) -> ErrorCode {
        let Some(topic) = self.topics.get_mut(asked.resource_name) else { return ErrorCode::UnknownTopicOrPartition };
        let mut configs = topic.configs.clone();
        for config in &asked.configs {
            match config.config_operation {
                SET if is_valid_config(config.name, config.value) => {
                    configs.insert(config.name.to_owned(), config.value.unwrap_or_default().to_owned());
                }
                DELETE => drop(configs.remove(config.name)),
                // A number can be set, but nothing can be appended to it.
                _ => return ErrorCode::InvalidConfig,
            }
        }
        if !only_validates {
            topic.configs = configs;
        }
        ErrorCode::None
    }

    pub(super) fn configs_replaced<'a>(
        &'a mut self,
        _: i16,
        request: &AlterConfigsRequest<'a>,
        told: &mut AlterConfigsResponse<'a>,
    ) -> AlterConfigsResponse<'a> {
        told.responses.iter_mut().for_each(|told| told.error_message = None);
        let responses = request.resources.iter().map(|asked| {
            let error = match self.topics.get_mut(asked.resource_name) {
                None => ErrorCode::UnknownTopicOrPartition,
                Some(_) if !asked.configs.iter().all(|config| is_valid_config(config.name, config.value)) => {
                    ErrorCode::InvalidConfig
                }
                Some(topic) => {
                    let set = |name: &str, value: Option<&str>| (name.to_owned(), value.unwrap_or_default().to_owned());
                    if !request.validate_only {
                        topic.configs = asked.configs.iter().map(|config| set(config.name, config.value)).collect();
                    }
                    ErrorCode::None
                }
            };
            alter_configs::AlterConfigsResourceResponse {
                error_code: error.code(),
                error_message: None,
                resource_type: asked.resource_type,
                resource_name: asked.resource_name,
            }
        });
        AlterConfigsResponse { responses: responses.collect(), ..Default::default() }
    }

    /// What was set is found as it was set; where another value comes from is not said here.
    pub(super) fn configs_described<'a>(
        &'a mut self,
        _: i16,
        request: &DescribeConfigsRequest<'a>,
        told: &mut DescribeConfigsResponse<'a>,
    ) -> DescribeConfigsResponse<'a> {
        told.results.iter_mut().for_each(|told| told.error_message = None);
        let results = beside(&request.resources, &told.results).map(|(asked, told)| {
            let is_topic = asked.resource_type == TOPIC_RESOURCE;
            let result = DescribeConfigsResult {
                error_message: None,
                resource_type: asked.resource_type,
                resource_name: asked.resource_name,
                ..Default::default()
            };
            let Some(topic) = self.topics.get(asked.resource_name).filter(|_| is_topic) else {
                return DescribeConfigsResult { error_code: ErrorCode::UnknownTopicOrPartition.code(), ..result };
            };
            let mut configs = told.configs.clone();
            for config in &mut configs {
                let set = topic.configs.get(config.name);
                if let Some(value) = set {
                    (config.value, config.config_source) = (Some(value.as_str()), TOPIC_SOURCE);
                } else if config.config_source == TOPIC_SOURCE {
                    // Nobody has set it.
                    config.value = None;
                }
            }
            let wanted = asked.configuration_keys.as_ref();
            configs.retain(|config| wanted.is_none_or(|wanted| wanted.contains(&config.name)));
            DescribeConfigsResult { configs, ..result }
        });
        DescribeConfigsResponse { results: results.collect(), ..Default::default() }
    }

    /// One broker leads everything, in the first epoch.
    /// Topics by name, by id, or all; of those of others it takes over what is told.
    pub(super) fn metadata_told<'a>(
        &'a mut self,
        version: i16,
        request: &MetadataRequest<'a>,
        told: &mut MetadataResponse<'a>,
    ) -> MetadataResponse<'a> {
        let asked = request.topics.as_deref().filter(|topics| version > 0 || !topics.is_empty());
        let is_refused = |topic: &MetadataRequestTopic<'_>| match topic.name {
            Some(_) => version < METADATA_BY_ID_FROM && topic.topic_id != TopicId::ZERO,
            None => version < METADATA_BY_ID_FROM || topic.topic_id == TopicId::ZERO,
        };
        if let Some(asked) = asked.filter(|asked| asked.iter().any(is_refused)) {
            return metadata_refused(asked);
        }
        let node = told.brokers.first().cloned().unwrap_or_default();
        let node_id = self.node.learn_id(node.node_id);
        told.cluster_id.iter().for_each(|told| self.node.learn_cluster_id(told));
        for told in &told.topics {
            if let Some(topic) = told.name.and_then(|name| self.topics.get_mut(name)) {
                topic.learn_id(told.topic_id);
            }
        }
        let this: &'a ReferenceBroker = self;
        let topics = match asked {
            Some(asked) => asked.iter().map(|asked| this.described(asked, node_id)).collect(),
            None => this.all_described(&told.topics, node_id),
        };
        let (host, port) = this.node.address((node.host, node.port));
        MetadataResponse {
            topics,
            brokers: vec![MetadataResponseBroker { node_id, host, port, ..node }],
            cluster_id: Some(this.node.cluster_id()),
            controller_id: node_id,
            ..Default::default()
        }
    }

    fn described<'a>(&'a self, asked: &MetadataRequestTopic<'a>, node_id: i32) -> MetadataResponseTopic<'a> {
        let refused = |error: ErrorCode| MetadataResponseTopic {
            error_code: error.code(),
            name: asked.name,
            topic_id: asked.topic_id,
            ..Default::default()
        };
        let found = match asked.name {
            Some(name) => self.topics.get_key_value(name),
            None => self.topics.iter().find(|(_, topic)| topic.id == asked.topic_id),
        };
        match (found, asked.name) {
            (Some((name, topic)), _) => topic.described(name, node_id),
            (None, None) => refused(ErrorCode::UnknownTopicId),
            (None, Some(name)) if is_valid_name(name) => refused(ErrorCode::UnknownTopicOrPartition),
            (None, Some(_)) => refused(ErrorCode::InvalidTopicException),
        }
    }

    /// All topics in the order in which they are told, those of others among them.
    fn all_described<'a>(&'a self, told: &[MetadataResponseTopic<'a>], node_id: i32) -> Vec<MetadataResponseTopic<'a>> {
        let mut own: BTreeMap<&str, &Topic> = self.topics.iter().map(|(name, topic)| (name.as_str(), topic)).collect();
        let mut topics = Vec::new();
        for told in told {
            let name = told.name.unwrap_or_default();
            if let Some((name, topic)) = own.remove_entry(name) {
                topics.push(topic.described(name, node_id));
            } else if !name.starts_with(OWN_PREFIX) {
                topics.push(told.clone());
            }
        }
        topics.extend(own.into_iter().map(|(name, topic)| topic.described(name, node_id)));
        topics
    }
}

/// All of the request is refused, and nothing told.
fn metadata_refused<'a>(asked: &[MetadataRequestTopic<'a>]) -> MetadataResponse<'a> {
    let topics = asked.iter().map(|asked| MetadataResponseTopic {
        error_code: ErrorCode::InvalidRequest.code(),
        name: Some(asked.name.unwrap_or_default()),
        topic_id: asked.topic_id,
        ..Default::default()
    });
    MetadataResponse { topics: topics.collect(), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use klamm::protocol::ApiKey;

    use super::super::encoded;
    use super::*;

    const OWN: &str = "examined-1-1";
    const CLUSTER: &str = "AAAAAAAAAAAAAAAAAAAAAA";

    fn broker() -> ReferenceBroker {
        let mut broker = ReferenceBroker::default();
        broker.topics.insert(OWN.to_owned(), Topic { id: TopicId([1; 16]), ..Topic::default() });
        broker
    }

    fn judge(asked: Option<MetadataRequestTopic<'_>>, told: Vec<MetadataResponseTopic<'_>>) -> Result<(), String> {
        let asked = MetadataRequest { topics: asked.map(|topic| vec![topic]), ..Default::default() };
        let brokers = vec![MetadataResponseBroker { node_id: 0, host: "a", port: 1, rack: None }];
        let told = MetadataResponse {
            brokers,
            cluster_id: Some(CLUSTER),
            controller_id: 0,
            topics: told,
            ..Default::default()
        };
        broker().judge((ApiKey::Metadata, 12), &encoded(&asked, 12), &encoded(&told, 12))
    }

    fn topic(name: &str, id: u8) -> MetadataResponseTopic<'_> {
        MetadataResponseTopic { name: Some(name), topic_id: TopicId([id; 16]), ..Default::default() }
    }

    #[test]
    fn all_topics_are_told_whatever_others_there_are() {
        assert_eq!(judge(None, vec![topic("another", 2), topic(OWN, 1)]), Ok(()));
        assert!(judge(None, vec![topic("another", 2)]).is_err(), "it is left out");
        assert!(judge(None, vec![topic(OWN, 1), topic("examined-1-2", 2)]).is_err(), "there is no such topic");
    }

    #[test]
    fn a_topic_is_found_by_its_id() {
        let by_id = |id: u8| Some(MetadataRequestTopic { name: None, topic_id: TopicId([id; 16]) });
        assert_eq!(judge(by_id(1), vec![topic(OWN, 1)]), Ok(()));
        let error_code = ErrorCode::UnknownTopicId.code();
        let unknown = MetadataResponseTopic { name: None, error_code, ..topic("", 2) };
        assert_eq!(judge(by_id(2), vec![unknown.clone()]), Ok(()));
        assert!(judge(by_id(1), vec![unknown]).is_err());
    }

    #[test]
    fn the_address_is_the_one_that_was_reached() {
        let mut broker = broker();
        broker.node.reached_at(([10, 0, 0, 1], 9092).into());
        let asked = encoded(&MetadataRequest { topics: None, ..Default::default() }, 2);
        let mut told = |host: &str| {
            let brokers = vec![MetadataResponseBroker { node_id: 0, host, port: 9092, rack: None }];
            let topics = vec![topic(OWN, 1)];
            let told =
                MetadataResponse { brokers, topics, cluster_id: Some(CLUSTER), controller_id: 0, ..Default::default() };
            broker.judge((ApiKey::Metadata, 2), &asked, &encoded(&told, 2))
        };
        assert_eq!(told("10.0.0.1"), Ok(()));
        assert!(told("").is_err());
    }
}
