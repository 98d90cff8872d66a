//! API 32, DescribeConfigs: reads the configuration of topics and brokers.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks for configurations; null keys means all of them.
    pub struct DescribeConfigsRequest<'a>: versions 1..=4, flexible 4.. {
        resources: Vec<DescribeConfigsResource<'a>> => 1..;
        include_synonyms: bool => 1..;
        include_documentation: bool => 3..;
    }

    /// One resource asked about; null keys means all.
    pub struct DescribeConfigsResource<'a> {
        resource_type: i8 => 1..;
        resource_name: &'a str => 1..;
        configuration_keys: Option<Vec<&'a str>> = Some(Vec::new()) => 1..;
    }

    /// The configurations with their sources, and with synonyms if asked for.
    pub struct DescribeConfigsResponse<'a>: versions 1..=4, flexible 4.. {
        throttle_time_ms: i32 => 1..;
        results: Vec<DescribeConfigsResult<'a>> => 1..;
    }

    /// The configuration of one resource.
    pub struct DescribeConfigsResult<'a> {
        error_code: i16 => 1..;
        error_message: Option<&'a str> = Some("") => 1..;
        resource_type: i8 => 1..;
        resource_name: &'a str => 1..;
        configs: Vec<DescribeConfigsResourceResult<'a>> => 1..;
    }

    /// One configuration key and its value.
    pub struct DescribeConfigsResourceResult<'a> {
        name: &'a str => 1..;
        value: Option<&'a str> = Some("") => 1..;
        read_only: bool => 1..;
        config_source: i8 = -1 => 1..;
        is_sensitive: bool => 1..;
        synonyms: Vec<DescribeConfigsSynonym<'a>> => 1..;
        config_type: i8 => 3..;
        documentation: Option<&'a str> = Some("") => 3..;
    }

    /// Another place where the value could come from.
    pub struct DescribeConfigsSynonym<'a> {
        name: &'a str => 1..;
        value: Option<&'a str> = Some("") => 1..;
        source: i8 => 1..;
    }
}
