//! What the metadata room asks about configuration keys, answered from the table of knobs.
//!
//! It must not know who changes a config.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::broker_configs::owned;
use crate::config::{self, AlterConfigError, BrokerScope, Layers};
use crate::error_code::ErrorCode;
use crate::metadata::{ApiError, ConfigResource, ConfigResourceType, ConfigSchema};

/// The table of knobs under the layers that hold now.
pub(crate) struct LayeredSchema<'a> {
    pub(crate) layers: Layers<'a>,
}

impl ConfigSchema for LayeredSchema<'_> {
    fn validate(&self, resource: &ConfigResource, configs: &BTreeMap<Arc<str>, Arc<str>>) -> Result<(), ApiError> {
        let configs = owned(configs);
        let scope = if resource.name.is_empty() { BrokerScope::Cluster } else { BrokerScope::Broker };
        let result = match resource.resource_type {
            ConfigResourceType::Topic => config::validate_topic(&configs, self.layers),
            ConfigResourceType::Broker => config::validate_broker(scope, &configs, self.layers),
            ConfigResourceType::Group => config::validate_group(&configs, self.layers),
            ConfigResourceType::BrokerLogger | ConfigResourceType::ClientMetrics => {
                let message = "Only topics, brokers and groups have configurations here.".to_owned();
                Err(AlterConfigError::InvalidRequest(message))
            }
        };
        result.map_err(|error| api_error(&error))
    }

    fn list_default(&self, resource_type: ConfigResourceType, key: &str) -> Option<&str> {
        match resource_type {
            ConfigResourceType::Topic => config::list_default_of_topic(key),
            ConfigResourceType::Broker => config::list_default_of_broker(key),
            ConfigResourceType::Group => config::list_default_of_group(key),
            ConfigResourceType::BrokerLogger | ConfigResourceType::ClientMetrics => None,
        }
    }
}

fn api_error(error: &AlterConfigError) -> ApiError {
    let code = match error {
        AlterConfigError::InvalidRequest(_) => ErrorCode::InvalidRequest,
        AlterConfigError::InvalidConfig(_) => ErrorCode::InvalidConfig,
    };
    ApiError::new(code, error.to_string())
}
