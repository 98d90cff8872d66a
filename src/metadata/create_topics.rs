//! Decides CreateTopics: which of the asked-for topics come to be, with which partitions and configurations.
//!
//! It must not know the wire request, who asks or whether they may, nor any configuration key.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error_code::ErrorCode;
use crate::marks::Mark;
use crate::types::{BrokerId, PartitionIndex, TopicId};

use super::api_error::{ApiError, ControllerResult, ItemResults};
use super::config_resource::ConfigResource;
use super::config_schema::ConfigSchema;
use super::image::{Configs, MetadataImage};
use super::occurrences::{Occurrence, occurrences};
use super::partition_registration::PartitionRegistration;
use super::record::MetadataRecord;
use super::replica_assignment::{check_manual, register, spread};
use super::topic_name::{CLUSTER_METADATA_TOPIC_NAME, validate_topic_name};

/// Most partitions that one request may create (Kafka: 10 000).
pub(super) const PARTITIONS_PER_REQUEST_MAX: i64 = 10_000;

/// What stands for -1 in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicDefaults {
    /// `num.partitions`.
    pub partitions: i32,
    /// `default.replication.factor`.
    pub replication_factor: i16,
}

/// A topic that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatableTopic {
    /// Its name.
    pub name: Arc<str>,
    /// How many partitions; -1 for the default, and with assignments.
    pub num_partitions: i32,
    /// How many replicas of each; -1 for the default, and with assignments.
    pub replication_factor: i16,
    /// Partitions and their brokers, assigned by hand; mostly empty.
    pub assignments: Vec<(PartitionIndex, Vec<BrokerId>)>,
    /// Configurations; null values are refused.
    pub configs: Vec<(Arc<str>, Option<Arc<str>>)>,
}

/// A topic as it was, or with `validate_only` would be, created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its id.
    pub topic_id: TopicId,
    /// How many partitions it has.
    pub num_partitions: i32,
    /// How many replicas each has.
    pub replication_factor: i16,
}

/// Decides about each topic by itself: one that is refused does not hinder the others. A name that is asked for twice is answered once.
/// `draw_topic_id` gives the ids of those that succeed, in their order.
pub fn create_topics(
    image: &MetadataImage,
    schema: &dyn ConfigSchema,
    defaults: TopicDefaults,
    draw_topic_id: &mut dyn FnMut() -> TopicId,
    topics: &[CreatableTopic],
    validate_only: bool,
) -> ControllerResult<ItemResults<Arc<str>, CreatedTopic>> {
    let mut decision = CreateTopics { image, schema, defaults, draw_topic_id, records: Vec::new() };
    let too_many = decision.total_partitions(topics) > PARTITIONS_PER_REQUEST_MAX;
    let mut response = Vec::with_capacity(topics.len());
    for (topic, occurrence) in topics.iter().zip(occurrences(topics.iter().map(|topic| &topic.name))) {
        let result = match occurrence {
            Occurrence::Again => continue,
            Occurrence::FirstOfSeveral => Err(ApiError::new(ErrorCode::InvalidRequest, "Duplicate topic name.")),
            Occurrence::Only if &*topic.name == CLUSTER_METADATA_TOPIC_NAME => Err(ApiError::new(
                ErrorCode::InvalidRequest,
                format!("Creation of internal topic {CLUSTER_METADATA_TOPIC_NAME} is prohibited."),
            )),
            Occurrence::Only if too_many => {
                let message = "Excessively large number of partitions per request.";
                Err(ApiError::new(ErrorCode::PolicyViolation, message))
            }
            Occurrence::Only => decision.create(topic),
        };
        response.push((Arc::clone(&topic.name), result));
    }
    ControllerResult::bounded(decision.records, response).without_effect_if(validate_only)
}

struct CreateTopics<'a> {
    image: &'a MetadataImage,
    schema: &'a dyn ConfigSchema,
    defaults: TopicDefaults,
    draw_topic_id: &'a mut dyn FnMut() -> TopicId,
    records: Vec<MetadataRecord>,
}

impl CreateTopics<'_> {
    fn total_partitions(&self, topics: &[CreatableTopic]) -> i64 {
        let partitions = |topic: &CreatableTopic| match topic.num_partitions {
            _ if !topic.assignments.is_empty() => i64::try_from(topic.assignments.len()).unwrap_or(i64::MAX),
            -1 => i64::from(self.defaults.partitions),
            count => i64::from(count.max(0)),
        };
        topics.iter().map(partitions).fold(0, i64::saturating_add)
    }

    fn create(&mut self, topic: &CreatableTopic) -> Result<CreatedTopic, ApiError> {
        self.check_name(&topic.name)?;
        let configs = self.check_configs(topic)?;
        let partitions = match topic.assignments.as_slice() {
            [] => self.spread_partitions(topic)?,
            assignments => self.assigned_partitions(topic, assignments)?,
        };
        let topic_id = (self.draw_topic_id)();
        let created = CreatedTopic {
            topic_id,
            num_partitions: i32::try_from(partitions.len()).unwrap_or(i32::MAX),
            replication_factor: partitions
                .first()
                .and_then(|partition| i16::try_from(partition.replicas.len()).ok())
                .unwrap_or(0),
        };
        self.records.push(MetadataRecord::Topic { name: Arc::clone(&topic.name), topic_id });
        let resource = ConfigResource::topic(Arc::clone(&topic.name));
        self.records.extend(configs.into_iter().map(|(name, value)| MetadataRecord::Config {
            resource: resource.clone(),
            name,
            value: Some(value),
        }));
        self.records.extend(
            (0..).map(PartitionIndex).zip(partitions).map(|(partition, registration)| MetadataRecord::Partition {
                topic_id,
                partition,
                registration,
            }),
        );
        Ok(created)
    }

    fn check_name(&self, name: &str) -> Result<(), ApiError> {
        if self.image.topic(name).is_some() {
            Mark::TopicExists.reached();
            return Err(ApiError::new(ErrorCode::TopicAlreadyExists, format!("Topic '{name}' already exists.")));
        }
        validate_topic_name(name)
            .map_err(|error| ApiError::new(ErrorCode::InvalidTopicException, error.to_string()))?;
        match self.image.colliding_topic(name) {
            Some(existing) => Err(ApiError::new(
                ErrorCode::InvalidTopicException,
                format!("Topic '{name}' collides with existing topic: {existing}"),
            )),
            None => Ok(()),
        }
    }

    /// Of a key that is given twice, the last value counts.
    fn check_configs(&self, topic: &CreatableTopic) -> Result<Configs, ApiError> {
        let nulls: Vec<&str> =
            topic.configs.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| &**name).collect();
        if !nulls.is_empty() {
            let message = format!("Null value not supported for topic configs: {}", nulls.join(","));
            return Err(ApiError::new(ErrorCode::InvalidConfig, message));
        }
        let configs: Configs = topic
            .configs
            .iter()
            .filter_map(|(name, value)| Some((Arc::clone(name), Arc::clone(value.as_ref()?))))
            .collect();
        if !configs.is_empty() {
            self.schema.validate(&ConfigResource::topic(Arc::clone(&topic.name)), &configs)?;
        }
        Ok(configs)
    }

    fn spread_partitions(&self, topic: &CreatableTopic) -> Result<Vec<PartitionRegistration>, ApiError> {
        if topic.replication_factor < -1 || topic.replication_factor == 0 {
            return Err(ApiError::new(
                ErrorCode::InvalidReplicationFactor,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            ));
        }
        if topic.num_partitions < -1 || topic.num_partitions == 0 {
            return Err(ApiError::new(
                ErrorCode::InvalidPartitions,
                "Number of partitions was set to an invalid non-positive value.",
            ));
        }
        let or_default = |value, default| if value == -1 { default } else { value };
        let partition_count = or_default(topic.num_partitions, self.defaults.partitions);
        let replication_factor = match topic.replication_factor {
            -1 => self.defaults.replication_factor,
            factor => factor,
        };
        let refuse = |why: String| {
            let message = format!("Unable to replicate the partition {replication_factor} time(s): {why}");
            ApiError::new(ErrorCode::InvalidReplicationFactor, message)
        };
        let assignments = spread(self.image, 0, partition_count, replication_factor).map_err(refuse)?;
        let inactive = || refuse("All brokers are currently fenced or in controlled shutdown.".into());
        assignments.into_iter().map(|replicas| register(self.image, replicas).ok_or_else(inactive)).collect()
    }

    fn assigned_partitions(
        &self,
        topic: &CreatableTopic,
        assignments: &[(PartitionIndex, Vec<BrokerId>)],
    ) -> Result<Vec<PartitionRegistration>, ApiError> {
        if topic.replication_factor != -1 {
            return Err(ApiError::new(
                ErrorCode::InvalidRequest,
                "A manual partition assignment was specified, but replication factor was not set to -1.",
            ));
        }
        if topic.num_partitions != -1 {
            return Err(ApiError::new(
                ErrorCode::InvalidRequest,
                "A manual partition assignment was specified, but numPartitions was not set to -1.",
            ));
        }
        let refuse = |message: String| ApiError::new(ErrorCode::InvalidReplicaAssignment, message);
        let mut partitions = BTreeMap::new();
        let mut replication_factor = None;
        for (partition, replicas) in assignments {
            if partitions.contains_key(partition) {
                return Err(refuse(format!("Found multiple manual partition assignments for partition {partition}")));
            }
            check_manual(self.image, replicas, replication_factor)?;
            replication_factor = Some(replicas.len());
            let registration = register(self.image, replicas.clone()).ok_or_else(|| {
                refuse(format!(
                    "All brokers specified in the manual partition assignment for partition {partition} are fenced or \
                     in controlled shutdown."
                ))
            })?;
            partitions.insert(*partition, registration);
        }
        if !partitions.keys().copied().eq((0..).map(PartitionIndex).take(partitions.len())) {
            return Err(refuse("partitions should be a consecutive 0-based integer sequence".into()));
        }
        Ok(partitions.into_values().collect())
    }
}
