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

    /// The default of a key whose value is a list: what appending begins with where the resource does not override it. `None` if the
    /// value is no list, so that nothing can be appended.
    fn list_default(&self, resource_type: ConfigResourceType, key: &str) -> Option<&str>;
}
