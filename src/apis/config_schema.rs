//! What the metadata room asks about configuration keys, answered from the table of knobs.
//!
//! It must not know who changes a config.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::{self, AlterConfigError, Layers};
use crate::error_code::ErrorCode;
use crate::metadata::{ApiError, ConfigResource, ConfigResourceType, ConfigSchema};

/// The table of knobs under the layers that hold now.
pub(crate) struct LayeredSchema<'a> {
    pub(crate) layers: Layers<'a>,
}

impl ConfigSchema for LayeredSchema<'_> {
    fn validate(&self, resource: &ConfigResource, configs: &BTreeMap<Arc<str>, Arc<str>>) -> Result<(), ApiError> {
        let pairs: Vec<(&str, Option<&str>)> = configs.iter().map(|(key, value)| (&**key, Some(&**value))).collect();
        match resource.resource_type {
            ConfigResourceType::Topic => {
                config::configs_of_new_topic(&pairs, self.layers).map(drop).map_err(|error| api_error(&error))
            }
            _ => Ok(()),
        }
    }

    fn is_list(&self, _resource_type: ConfigResourceType, _key: &str) -> bool {
        false
    }

    fn default_value(&self, _resource_type: ConfigResourceType, _key: &str) -> Option<String> {
        None
    }
}

fn api_error(error: &AlterConfigError) -> ApiError {
    let code = match error {
        AlterConfigError::InvalidRequest(_) => ErrorCode::InvalidRequest,
        AlterConfigError::InvalidConfig(_) => ErrorCode::InvalidConfig,
    };
    ApiError::new(code, error.to_string())
}
