//! Decides AlterConfigs and IncrementalAlterConfigs: which overridden configurations a resource has afterwards.
//!
//! It must not know a single configuration key: which exist, which values they take and which are lists is asked of a schema.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error_code::ErrorCode;
use crate::types::BrokerId;
use crate::zoo::{self, Bug};

use super::api_error::{ApiError, ControllerResult, ItemResults};
use super::config_resource::{ConfigResource, ConfigResourceType};
use super::config_schema::ConfigSchema;
use super::image::{Configs, MetadataImage};
use super::occurrences::{Occurrence, occurrences};
use super::record::MetadataRecord;
use super::topic_name::validate_topic_name;

/// What to do with a key (KIP-339).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlterConfigOpType {
    /// Override it.
    Set,
    /// Override it no more.
    Delete,
    /// Add to a list what it does not hold yet.
    Append,
    /// Take out of a list.
    Subtract,
}

impl AlterConfigOpType {
    /// The operation with this number, if there is one.
    pub const fn from_id(id: i8) -> Option<AlterConfigOpType> {
        match id {
            0 => Some(AlterConfigOpType::Set),
            1 => Some(AlterConfigOpType::Delete),
            2 => Some(AlterConfigOpType::Append),
            3 => Some(AlterConfigOpType::Subtract),
            _ => None,
        }
    }
}

/// One key and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterConfigOp {
    /// The key.
    pub name: Arc<str>,
    /// The operation's number, which may be one that does not exist.
    pub operation: i8,
    /// The value; `Delete` ignores it.
    pub value: Option<Arc<str>>,
}

/// Changes of one resource's configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncrementalAlterConfigsResource {
    /// The number of the resource's kind, which may be one that does not exist.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: Arc<str>,
    /// What to do.
    pub configs: Vec<AlterConfigOp>,
}

/// All configurations that one resource shall override from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterConfigsResource {
    /// The number of the resource's kind, which may be one that does not exist.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: Arc<str>,
    /// Keys and values; null values are refused.
    pub configs: Vec<(Arc<str>, Option<Arc<str>>)>,
}

/// A resource as the request named it: the number of its kind, and its name.
type ResourceKey = (i8, Arc<str>);
type AlterConfigsResult = ControllerResult<ItemResults<ResourceKey, ()>>;

/// Decides IncrementalAlterConfigs. Of one resource all changes happen or none; resources do not hinder each other.
pub fn incremental_alter_configs(
    image: &MetadataImage,
    schema: &dyn ConfigSchema,
    broker_id: BrokerId,
    resources: &[IncrementalAlterConfigsResource],
    validate_only: bool,
) -> AlterConfigsResult {
    let context = AlterConfigs { image, schema, broker_id };
    let key = |asked: &IncrementalAlterConfigsResource| (asked.resource_type, Arc::clone(&asked.resource_name));
    let decide = |asked: &IncrementalAlterConfigsResource| {
        let needs_value = |config: &&AlterConfigOp| {
            AlterConfigOpType::from_id(config.operation) != Some(AlterConfigOpType::Delete) && config.value.is_none()
        };
        let nulls = asked.configs.iter().filter(needs_value).map(|config| &*config.name);
        check_keys(asked.configs.iter().map(|config| &*config.name), nulls)?;
        let resource = context.resource(asked.resource_type, &asked.resource_name)?;
        let mut changes = Vec::with_capacity(asked.configs.len());
        for config in &asked.configs {
            changes.push((Arc::clone(&config.name), context.new_value(&resource, config)?));
        }
        context.change(resource, changes)
    };
    decide_each(resources, key, decide, validate_only)
}

/// Decides AlterConfigs, which the incremental form supersedes (KIP-339): keys that are not named are overridden no more.
pub fn alter_configs(
    image: &MetadataImage,
    schema: &dyn ConfigSchema,
    broker_id: BrokerId,
    resources: &[AlterConfigsResource],
    validate_only: bool,
) -> AlterConfigsResult {
    let context = AlterConfigs { image, schema, broker_id };
    let key = |asked: &AlterConfigsResource| (asked.resource_type, Arc::clone(&asked.resource_name));
    let decide = |asked: &AlterConfigsResource| {
        let nulls = asked.configs.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| &**name);
        check_keys(asked.configs.iter().map(|(name, _)| &**name), nulls)?;
        let resource = context.resource(asked.resource_type, &asked.resource_name)?;
        let mut changes = asked.configs.clone();
        let named: BTreeSet<&str> = asked.configs.iter().map(|(name, _)| &**name).collect();
        let unnamed = image.configs(&resource).keys().filter(|name| !named.contains(&***name));
        let unnamed = unnamed.filter(|_| !zoo::is(Bug::ReplacementKeeps));
        changes.extend(unnamed.map(|name| (Arc::clone(name), None)));
        context.change(resource, changes)
    };
    decide_each(resources, key, decide, validate_only)
}

fn decide_each<R>(
    resources: &[R],
    key: impl Fn(&R) -> ResourceKey,
    decide: impl Fn(&R) -> Result<Vec<MetadataRecord>, ApiError>,
    validate_only: bool,
) -> AlterConfigsResult {
    let mut records = Vec::new();
    let mut response = Vec::with_capacity(resources.len());
    for (resource, occurrence) in resources.iter().zip(occurrences(resources.iter().map(&key))) {
        let result = match occurrence {
            Occurrence::Only => decide(resource).map(|changes| records.extend(changes)),
            _ => Err(ApiError::new(ErrorCode::InvalidRequest, "Each resource must appear at most once.")),
        };
        response.push((key(resource), result));
    }
    ControllerResult::bounded(records, response).without_effect_if(validate_only)
}

/// No key may be named twice, none be set to null.
fn check_keys<'a>(names: impl Iterator<Item = &'a str>, nulls: impl Iterator<Item = &'a str>) -> Result<(), ApiError> {
    let mut seen = BTreeSet::new();
    if !names.into_iter().all(|name| seen.insert(name)) {
        return Err(ApiError::new(ErrorCode::InvalidRequest, "Error due to duplicate config keys"));
    }
    let nulls: Vec<&str> = nulls.collect();
    if !nulls.is_empty() {
        let message = format!("Null value not supported for : {}", nulls.join(", "));
        return Err(ApiError::new(ErrorCode::InvalidRequest, message));
    }
    Ok(())
}

fn unknown_resource_type(id: i8) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, format!("Unknown resource type {id}"))
}

struct AlterConfigs<'a> {
    image: &'a MetadataImage,
    schema: &'a dyn ConfigSchema,
    broker_id: BrokerId,
}

impl AlterConfigs<'_> {
    /// The resource that is meant. The levels of loggers are no metadata.
    fn resource(&self, resource_type: i8, name: &Arc<str>) -> Result<ConfigResource, ApiError> {
        let refuse = |message: String| Err(ApiError::new(ErrorCode::InvalidRequest, message));
        let kind = ConfigResourceType::from_id(resource_type).ok_or_else(|| unknown_resource_type(resource_type))?;
        match kind {
            ConfigResourceType::BrokerLogger => return Err(unknown_resource_type(resource_type)),
            ConfigResourceType::Broker if !name.is_empty() => match name.parse::<i32>() {
                Err(_) => return refuse(format!("Node id must be an integer, but it is: {name}")),
                Ok(id) if BrokerId(id) != self.broker_id => {
                    return refuse(format!("Unexpected broker id, expected {}, but received {name}", self.broker_id));
                }
                Ok(_) => {}
            },
            _ => {}
        }
        Ok(ConfigResource { resource_type: kind, name: Arc::clone(name) })
    }

    fn new_value(&self, resource: &ConfigResource, config: &AlterConfigOp) -> Result<Option<Arc<str>>, ApiError> {
        let is_broker = resource.resource_type == ConfigResourceType::Broker;
        let operation = match AlterConfigOpType::from_id(config.operation) {
            Some(AlterConfigOpType::Set) => return Ok(config.value.clone()),
            Some(AlterConfigOpType::Delete) => return Ok(None),
            Some(operation) => operation,
            None if is_broker => {
                let message = format!("Unknown operations type {}", config.operation);
                return Err(ApiError::new(ErrorCode::InvalidRequest, message));
            }
            None => return Err(ApiError::without_message(ErrorCode::UnknownServerError)),
        };
        let Some(default) = self.schema.list_default(resource.resource_type, &config.name) else {
            let verb = if operation == AlterConfigOpType::Append { "append" } else { "subtract" };
            let message = match is_broker {
                true => format!("Config value {verb} is not allowed for config key: {}", config.name),
                false => {
                    format!("Can't {} to key {} because its type is not LIST.", verb.to_ascii_uppercase(), config.name)
                }
            };
            return Err(ApiError::new(ErrorCode::InvalidConfig, message));
        };
        let current = self.image.configs(resource).get(&config.name).map_or(default, |value| value);
        let change = config.value.as_deref().unwrap_or_default();
        Ok(Some(combine(current, operation, change).into()))
    }

    /// The records of a resource's changes, if it may have the configurations that they lead to.
    fn change(
        &self,
        resource: ConfigResource,
        changes: Vec<(Arc<str>, Option<Arc<str>>)>,
    ) -> Result<Vec<MetadataRecord>, ApiError> {
        check_resource_name(&resource)?;
        let current = self.image.configs(&resource);
        let mut configs: Configs = current.clone();
        for (name, value) in &changes {
            match value {
                Some(value) => configs.insert(Arc::clone(name), Arc::clone(value)),
                None => configs.remove(name),
            };
        }
        self.schema.validate(&resource, &configs)?;
        if resource.resource_type == ConfigResourceType::Topic && self.image.topic(&resource.name).is_none() {
            let message = format!("The topic '{}' does not exist.", resource.name);
            return Err(ApiError::new(ErrorCode::UnknownTopicOrPartition, message));
        }
        // A broker reloads what a value points at (a keystore) when it is set again, so the same value is written too.
        let is_broker = resource.resource_type == ConfigResourceType::Broker;
        let is_change = |(name, value): &(Arc<str>, Option<Arc<str>>)| is_broker || current.get(name) != value.as_ref();
        let record = |(name, value)| MetadataRecord::Config { resource: resource.clone(), name, value };
        Ok(changes.into_iter().filter(is_change).map(record).collect())
    }
}

fn check_resource_name(resource: &ConfigResource) -> Result<(), ApiError> {
    let refuse = |message: &str| Err(ApiError::new(ErrorCode::InvalidRequest, message));
    match resource.resource_type {
        ConfigResourceType::Topic if resource.name.is_empty() => refuse("Default topic resources are not allowed."),
        ConfigResourceType::Topic => validate_topic_name(&resource.name)
            .map_err(|error| ApiError::new(ErrorCode::InvalidTopicException, error.to_string())),
        ConfigResourceType::Group if resource.name.is_empty() => refuse("Default group resources are not allowed."),
        ConfigResourceType::ClientMetrics if resource.name.is_empty() => refuse("Subscription name can't be empty"),
        _ => Ok(()),
    }
}

/// Adds to a list or takes out of it; both are values separated by commas.
fn combine(current: &str, operation: AlterConfigOpType, change: &str) -> String {
    let mut values: Vec<&str> = current.split(',').filter(|value| !value.is_empty()).collect();
    for value in change.split(',').filter(|value| !value.is_empty()) {
        let position = values.iter().position(|existing| *existing == value);
        match (operation, position) {
            (AlterConfigOpType::Append, None) => values.push(value),
            (AlterConfigOpType::Subtract, Some(position)) => {
                values.remove(position);
            }
            _ => {}
        }
    }
    values.join(",")
}
