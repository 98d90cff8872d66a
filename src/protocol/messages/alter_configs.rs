//! API 33, AlterConfigs: replaces the whole configuration of a resource.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks to replace configurations.
    pub struct AlterConfigsRequest<'a>: versions 0..=2, flexible 2.. {
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
        value: Option<&'a str> = Some("") => 0..;
    }

    /// What became of each resource.
    pub struct AlterConfigsResponse<'a>: versions 0..=2, flexible 2.. {
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
