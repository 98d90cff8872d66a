//! API 44, IncrementalAlterConfigs: changes single keys of a configuration (KIP-339).
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks to set, delete, append to or subtract from single configuration keys.
    pub struct IncrementalAlterConfigsRequest<'a>: versions 0..=1, flexible 1.. {
        resources: Vec<AlterConfigsResource<'a>> => 0..;
        validate_only: bool => 0..;
    }

    /// One resource to change.
    pub struct AlterConfigsResource<'a> {
        resource_type: i8 => 0..;
        resource_name: &'a str => 0..;
        configs: Vec<AlterableConfig<'a>> => 0..;
    }

    /// One configuration key to change.
    pub struct AlterableConfig<'a> {
        name: &'a str => 0..;
        config_operation: i8 => 0..;
        value: Option<&'a str> = Some("") => 0..;
    }

    /// What became of each resource.
    pub struct IncrementalAlterConfigsResponse<'a>: versions 0..=1, flexible 1.. {
        throttle_time_ms: i32 => 0..;
        responses: Vec<AlterConfigsResourceResponse<'a>> => 0..;
    }

    /// The outcome for one resource.
    pub struct AlterConfigsResourceResponse<'a> {
        error_code: i16 => 0..;
        error_message: Option<&'a str> = Some("") => 0..;
        resource_type: i8 => 0..;
        resource_name: &'a str => 0..;
    }
}
