//! What this room asks about configuration keys. The `config` room's table of keys answers.
//!
//! It must not know a single key.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::api_error::ApiError;
use super::config_resource::{ConfigResource, ConfigResourceType};

/// What this room asks about configuration keys; the `config` room's table answers.
pub trait ConfigSchema {
    /// Whether a resource may override these keys with these values. `configs` is all that it would override, old and new.
    /// Errors: `InvalidConfig` for topics and groups, `InvalidRequest` for brokers and client metrics, with Kafka's texts.
    fn validate(&self, resource: &ConfigResource, configs: &BTreeMap<Arc<str>, Arc<str>>) -> Result<(), ApiError>;

    /// Whether the key's value is a list, to which something can be appended.
    fn is_list(&self, resource_type: ConfigResourceType, key: &str) -> bool;

    /// The value that the key has where the resource does not override it: what appending begins with.
    fn default_value(&self, resource_type: ConfigResourceType, key: &str) -> Option<String>;
}
