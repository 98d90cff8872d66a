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
    MetadataRequest, MetadataResponse, MetadataResponsePartition, MetadataResponseTopic,
};
use klamm::types::TopicId;

use super::{Log, ReferenceBroker};

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
        let results = asked.into_iter().zip(&told.responses).map(|((name, id), told)| {
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
        let results = request.resources.iter().zip(&told.results).map(|(asked, told)| {
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
    pub(super) fn metadata_told<'a>(
        &'a mut self,
        _: i16,
        request: &MetadataRequest<'a>,
        told: &mut MetadataResponse<'a>,
    ) -> MetadataResponse<'a> {
        let node = told.brokers.first().map_or(-1, |broker| broker.node_id);
        let topics = request.topics.iter().flatten().zip(&told.topics).map(|(asked, told)| {
            let name = asked.name.unwrap_or_default();
            let result = MetadataResponseTopic { name: asked.name, ..Default::default() };
            if !is_valid_name(name) {
                return MetadataResponseTopic { error_code: ErrorCode::InvalidTopicException.code(), ..result };
            }
            let Some(topic) = self.topics.get_mut(name) else {
                return MetadataResponseTopic { error_code: ErrorCode::UnknownTopicOrPartition.code(), ..result };
            };
            let partitions = (0..).zip(&topic.partitions).map(|(partition_index, _)| MetadataResponsePartition {
                partition_index,
                leader_id: node,
                leader_epoch: 0,
                replica_nodes: vec![node],
                isr_nodes: vec![node],
                ..Default::default()
            });
            let partitions = partitions.collect();
            MetadataResponseTopic { topic_id: topic.learn_id(told.topic_id), partitions, ..result }
        });
        MetadataResponse {
            topics: topics.collect(),
            brokers: told.brokers.iter().take(1).cloned().collect(),
            cluster_id: told.cluster_id,
            controller_id: node,
            ..Default::default()
        }
    }
}
