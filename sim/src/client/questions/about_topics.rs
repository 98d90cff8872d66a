//! Questions about topics and their configurations.
//!
//! It must not know partitions' contents.

use klamm::protocol::ApiKey;
use klamm::protocol::messages::create_partitions::{CreatePartitionsRequest, CreatePartitionsTopic};
use klamm::protocol::messages::create_topics::{CreatableTopic, CreatableTopicConfig, CreateTopicsRequest};
use klamm::protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use klamm::protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use klamm::protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use klamm::types::TopicId;

use super::{ANY, Asker, Question, TIMEOUT_MS, topic, version};
use crate::keyed::Draw;
use crate::reference::ReferenceBroker;

const TOPIC_RESOURCE: i8 = 2;
const PARTITIONS_MAX: usize = 3;
const METADATA_IDS_FROM: i16 = 10;
/// Before that, asking for a topic creates it.
const METADATA_CREATES_NOT_FROM: i16 = 4;
const DELETE_IDS_FROM: i16 = 6;

impl Asker {
    /// Nothing of its topics is deleted by time, whatever time it is.
    pub(super) fn ask_create_topics(&mut self, draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
        self.topics_made += 1;
        let mut name = format!("examined-{}-{}", self.client, self.topics_made);
        let (mut num_partitions, mut replication_factor) = (1 + draw.part(10).below(2) as i32, 1);
        let mut configs = vec![CreatableTopicConfig { name: "retention.ms", value: Some("-1") }];
        match draw.part(11).below(16) {
            0 => name = "not a name".to_string(),
            1 => name = "..".to_string(),
            2 => name = known.topics.keys().next().cloned().unwrap_or_default(),
            3 => num_partitions = 0,
            4 => replication_factor = 2,
            5 => configs.push(CreatableTopicConfig { name: "max.message.bytes", value: Some("many") }),
            6 => configs.push(CreatableTopicConfig { name: "no.such.key", value: Some("1") }),
            7..9 => configs.push(CreatableTopicConfig { name: "max.message.bytes", value: Some("300") }),
            _ => {}
        }
        let topic = CreatableTopic { name: &name, num_partitions, replication_factor, configs, ..Default::default() };
        let validate_only = draw.part(12).below(10) == 0;
        let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, validate_only };
        question.send((ApiKey::CreateTopics, version(draw, ApiKey::CreateTopics, ANY)), &request);
    }
}

pub(super) fn metadata(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, topic_id, _) = topic(draw, known, METADATA_IDS_FROM);
    let name = if draw.part(10).below(12) == 0 { "not a name".to_string() } else { name };
    let by_id = METADATA_IDS_FROM..=i16::MAX;
    let (topics, allowed) = match draw.part(11).below(8) {
        0 => (None, ANY),
        1 if topic_id != TopicId::ZERO => (Some(MetadataRequestTopic { name: None, topic_id }), by_id),
        // Neither by name nor by id.
        2 => (Some(MetadataRequestTopic { name: None, topic_id: TopicId::ZERO }), by_id),
        _ => {
            let allowed = if known.topics.contains_key(&name) { ANY } else { METADATA_CREATES_NOT_FROM..=i16::MAX };
            (Some(MetadataRequestTopic { name: Some(&name), topic_id: TopicId::ZERO }), allowed)
        }
    };
    let version = version(draw, ApiKey::Metadata, allowed);
    // An empty list is what means all in version 0.
    let topics = if version == 0 { Some(topics.into_iter().collect()) } else { topics.map(|topic| vec![topic]) };
    let request = MetadataRequest { topics, allow_auto_topic_creation: false, ..Default::default() };
    question.send((ApiKey::Metadata, version), &request);
}

pub(super) fn delete(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, topic_id, _) = topic(draw, known, DELETE_IDS_FROM);
    let version = version(draw, ApiKey::DeleteTopics, ANY);
    let by_id = draw.part(10).below(2) == 0 && topic_id != TopicId::ZERO;
    let asked = match by_id {
        true => DeleteTopicState { name: None, topic_id },
        false => DeleteTopicState { name: Some(&name), topic_id: TopicId::ZERO },
    };
    let is_list = version >= DELETE_IDS_FROM;
    let request = DeleteTopicsRequest {
        topics: Some(asked).into_iter().filter(|_| is_list).collect(),
        topic_names: Some(name.as_str()).into_iter().filter(|_| !is_list).collect(),
        timeout_ms: TIMEOUT_MS,
    };
    question.send((ApiKey::DeleteTopics, version), &request);
}

pub(super) fn widen(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, _, _) = topic(draw, known, 0);
    let present = known.topics.get(&name).map_or(1, |topic| topic.partitions.len());
    let count = (present + draw.part(10).below(2) as usize).min(PARTITIONS_MAX) as i32;
    let topics = vec![CreatePartitionsTopic { name: &name, count, assignments: None }];
    let validate_only = draw.part(11).below(2) == 0;
    let request = CreatePartitionsRequest { topics, timeout_ms: TIMEOUT_MS, validate_only };
    question.send((ApiKey::CreatePartitions, version(draw, ApiKey::CreatePartitions, ANY)), &request);
}

pub(super) fn alter(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, _, _) = topic(draw, known, 0);
    let config = |config_operation, value| AlterableConfig { name: "max.message.bytes", config_operation, value };
    // One thing is wrong at a time.
    let kind = if known.topics.contains_key(&name) { draw.part(10).below(8) } else { 7 };
    let config = match kind {
        0 => config(0, Some("many")),
        1 => config(2, Some("7")),
        2..4 => config(1, None),
        4..6 => config(0, Some("300")),
        _ => config(0, Some("1000000")),
    };
    let resource = AlterConfigsResource { resource_type: TOPIC_RESOURCE, resource_name: &name, configs: vec![config] };
    let request =
        IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: draw.part(11).below(8) == 0 };
    question.send((ApiKey::IncrementalAlterConfigs, version(draw, ApiKey::IncrementalAlterConfigs, ANY)), &request);
}

pub(super) fn describe(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, _, _) = topic(draw, known, 0);
    let keys = ["retention.ms", "max.message.bytes", "segment.bytes"];
    let configuration_keys = (draw.part(10).below(8) > 0).then(|| keys.to_vec());
    let resource = DescribeConfigsResource { resource_type: TOPIC_RESOURCE, resource_name: &name, configuration_keys };
    let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
    question.send((ApiKey::DescribeConfigs, version(draw, ApiKey::DescribeConfigs, ANY)), &request);
}
