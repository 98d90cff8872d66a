//! What exists in this cluster: topics, partitions, configs, features, brokers and producer ids, as a log of records and a picture of it.
//!
//! Reading order: [`MetadataRecord`] (what is written), [`MetadataImage`] (what it adds up to), [`MetadataLoader`] (the only writer of an
//! image), the decisions (`create_topics` and its siblings, which read an image and return records), [`Placement`] (who serves what).
//! This room must not know the network or the log: it returns records, and the broker appends them and replays them.

mod adopt_topics;
mod alter_configs;
mod api_error;
mod bootstrap;
mod broker_codec;
mod broker_registration;
mod config_resource;
mod config_schema;
mod create_partitions;
mod create_topics;
mod delete_topics;
mod elections;
mod image;
mod loader;
mod occurrences;
mod partition_codec;
mod partition_registration;
mod placement;
mod producer_ids;
mod random_uuid;
mod record;
mod record_codec;
mod replay;
mod replica_assignment;
mod topic_name;

#[cfg(test)]
mod tests;

pub use adopt_topics::{AdoptedTopic, FoundPartition, adopt_topics};
pub use alter_configs::{
    AlterConfigOp, AlterConfigOpType, AlterConfigsResource, IncrementalAlterConfigsResource, alter_configs,
    incremental_alter_configs,
};
pub use api_error::{ApiError, ControllerResult, ItemResults};
pub use bootstrap::{BOOTSTRAP_FEATURES, METADATA_VERSION, METADATA_VERSION_FEATURE, bootstrap, register_broker};
pub use broker_registration::{BrokerEndpoint, BrokerFeature, BrokerRegistration};
pub use config_resource::{ConfigResource, ConfigResourceType};
pub use config_schema::ConfigSchema;
pub use create_partitions::{CreatePartitionsTopic, create_partitions};
pub use create_topics::{CreatableTopic, CreatedTopic, TopicDefaults, create_topics};
pub use delete_topics::{DeletableTopicResult, DeleteTopic, delete_topics};
pub use elections::elect_leaders;
pub use image::{MetadataImage, TopicImage};
pub use loader::{LoadError, MetadataLoader, encode_batch, encode_batches};
pub use partition_registration::{DIRECTORY_UNASSIGNED, PartitionChange, PartitionRegistration};
pub use placement::{Location, Placement};
pub use producer_ids::{PRODUCER_ID_BLOCK_SIZE, ProducerIdsBlock, allocate_producer_ids};
pub use random_uuid::random_uuid;
pub use record::{BrokerRegistrationChange, MetadataRecord};
pub use record_codec::RecordCodecError;
pub use replay::ReplayError;
pub use topic_name::{
    CLUSTER_METADATA_TOPIC_NAME, GROUP_METADATA_TOPIC_NAME, SHARE_GROUP_STATE_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME,
    TopicNameError, is_internal_topic, validate_topic_name,
};
