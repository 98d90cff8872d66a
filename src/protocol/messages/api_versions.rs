//! API 18, ApiVersions: tells which APIs a broker serves in which versions (KIP-35, KIP-511).
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks for the APIs, and says who asks.
    pub struct ApiVersionsRequest<'a>: versions 0..=5, flexible 3.. {
        client_software_name: &'a str => 3..;
        client_software_version: &'a str => 3..;
        cluster_id: Option<&'a str> => 5..;
        node_id: i32 = -1 => 5..;
    }

    /// The APIs with their version ranges, and the features of the cluster. Its header never has tagged fields.
    pub struct ApiVersionsResponse<'a>: versions 0..=5, flexible 3.. {
        error_code: i16 => 0..;
        api_keys: Vec<ApiVersion> => 0..;
        throttle_time_ms: i32 => 1..;
        supported_features: Vec<SupportedFeatureKey<'a>> => 3.., tag 0;
        finalized_features_epoch: i64 = -1 => 3.., tag 1;
        finalized_features: Vec<FinalizedFeatureKey<'a>> => 3.., tag 2;
        zk_migration_ready: bool => 3.., tag 3;
    }

    /// One API and its version range.
    pub struct ApiVersion {
        api_key: i16 => 0..;
        min_version: i16 => 0..;
        max_version: i16 => 0..;
    }

    /// A feature and the levels that this broker supports.
    pub struct SupportedFeatureKey<'a> {
        name: &'a str => 3..;
        min_version: i16 => 3..;
        max_version: i16 => 3..;
    }

    /// A feature and the level that the cluster has settled on.
    pub struct FinalizedFeatureKey<'a> {
        name: &'a str => 3..;
        max_version_level: i16 => 3..;
        min_version_level: i16 => 3..;
    }
}
