//! The messages of the APIs, one file per API, each with its request and its response.
//!
//! It must not know what an API means.

pub mod alter_configs;
pub mod api_versions;
pub mod create_partitions;
pub mod create_topics;
pub mod delete_groups;
pub mod delete_records;
pub mod delete_topics;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_groups;
pub mod describe_log_dirs;
pub mod describe_topic_partitions;
pub mod fetch;
pub mod find_coordinator;
pub mod heartbeat;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod join_group;
pub mod leave_group;
pub mod list_groups;
pub mod list_offsets;
pub mod metadata;
pub mod offset_commit;
pub mod offset_delete;
pub mod offset_fetch;
pub mod offset_for_leader_epoch;
pub mod produce;
pub mod sasl_authenticate;
pub mod sasl_handshake;
pub mod sync_group;

/// Calls a macro with the list of all APIs, as `Name: module::{Request, Response};`, so that a test can go through every message.
#[doc(hidden)]
#[macro_export]
macro_rules! for_every_api {
    ($macro:ident) => {
        $macro! {
            Produce: produce::{ProduceRequest, ProduceResponse};
            Fetch: fetch::{FetchRequest, FetchResponse};
            ListOffsets: list_offsets::{ListOffsetsRequest, ListOffsetsResponse};
            Metadata: metadata::{MetadataRequest, MetadataResponse};
            OffsetCommit: offset_commit::{OffsetCommitRequest, OffsetCommitResponse};
            OffsetFetch: offset_fetch::{OffsetFetchRequest, OffsetFetchResponse};
            FindCoordinator: find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
            JoinGroup: join_group::{JoinGroupRequest, JoinGroupResponse};
            Heartbeat: heartbeat::{HeartbeatRequest, HeartbeatResponse};
            LeaveGroup: leave_group::{LeaveGroupRequest, LeaveGroupResponse};
            SyncGroup: sync_group::{SyncGroupRequest, SyncGroupResponse};
            DescribeGroups: describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse};
            ListGroups: list_groups::{ListGroupsRequest, ListGroupsResponse};
            SaslHandshake: sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
            ApiVersions: api_versions::{ApiVersionsRequest, ApiVersionsResponse};
            CreateTopics: create_topics::{CreateTopicsRequest, CreateTopicsResponse};
            DeleteTopics: delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse};
            DeleteRecords: delete_records::{DeleteRecordsRequest, DeleteRecordsResponse};
            InitProducerId: init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
            OffsetForLeaderEpoch: offset_for_leader_epoch::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};
            DescribeConfigs: describe_configs::{DescribeConfigsRequest, DescribeConfigsResponse};
            AlterConfigs: alter_configs::{AlterConfigsRequest, AlterConfigsResponse};
            DescribeLogDirs: describe_log_dirs::{DescribeLogDirsRequest, DescribeLogDirsResponse};
            SaslAuthenticate: sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
            CreatePartitions: create_partitions::{CreatePartitionsRequest, CreatePartitionsResponse};
            DeleteGroups: delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse};
            IncrementalAlterConfigs: incremental_alter_configs::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};
            OffsetDelete: offset_delete::{OffsetDeleteRequest, OffsetDeleteResponse};
            DescribeCluster: describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};
            DescribeTopicPartitions: describe_topic_partitions::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse};
        }
    };
}
