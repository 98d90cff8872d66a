//! Questions about what there is: versions, the cluster, groups, where partitions lie, and whether anybody wants to know who asks.
//!
//! It must not know what lies in partitions, nor the members of a group.

use klamm::protocol::ApiKey;
use klamm::protocol::messages::alter_configs::{AlterConfigsRequest, AlterConfigsResource, AlterableConfig};
use klamm::protocol::messages::api_versions::ApiVersionsRequest;
use klamm::protocol::messages::describe_cluster::DescribeClusterRequest;
use klamm::protocol::messages::describe_log_dirs::{DescribableLogDirTopic, DescribeLogDirsRequest};
use klamm::protocol::messages::describe_topic_partitions::{DescribeTopicPartitionsRequest, TopicRequest};
use klamm::protocol::messages::list_groups::ListGroupsRequest;
use klamm::protocol::messages::sasl_authenticate::SaslAuthenticateRequest;
use klamm::protocol::messages::sasl_handshake::SaslHandshakeRequest;

use super::{ANY, Question, partition, topic, version};
use crate::keyed::Draw;
use crate::reference::ReferenceBroker;

const TOPIC_RESOURCE: i8 = 2;

pub(super) fn versions(draw: Draw, question: &mut Question<'_, '_>) {
    let (client_software_name, client_software_version) =
        if draw.part(10).below(6) == 0 { ("", "1") } else { ("sim", "1") };
    let means_another = draw.part(11).below(6) == 0;
    let request = ApiVersionsRequest {
        client_software_name,
        client_software_version,
        cluster_id: means_another.then_some("another"),
        node_id: if means_another { 9 } else { -1 },
    };
    question.send((ApiKey::ApiVersions, version(draw, ApiKey::ApiVersions, ANY)), &request);
}

pub(super) fn cluster(draw: Draw, question: &mut Question<'_, '_>) {
    let include_cluster_authorized_operations = draw.part(10).below(2) == 0;
    let request = DescribeClusterRequest { include_cluster_authorized_operations, ..Default::default() };
    question.send((ApiKey::DescribeCluster, version(draw, ApiKey::DescribeCluster, ANY)), &request);
}

pub(super) fn groups(draw: Draw, question: &mut Question<'_, '_>) {
    let states_filter = match draw.part(10).below(4) {
        0 => vec!["Stable"],
        1 => vec!["Empty", "CompletingRebalance"],
        _ => Vec::new(),
    };
    let types_filter = match draw.part(11).below(4) {
        0 => vec!["classic"],
        1 => vec!["consumer"],
        _ => Vec::new(),
    };
    let version = version(draw, ApiKey::ListGroups, ANY);
    let request = ListGroupsRequest {
        states_filter: if version >= 4 { states_filter } else { Vec::new() },
        types_filter: if version >= 5 { types_filter } else { Vec::new() },
    };
    question.send((ApiKey::ListGroups, version), &request);
}

pub(super) fn log_dirs(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, _, _) = topic(draw, known, 0);
    let topics = vec![DescribableLogDirTopic { topic: &name, partitions: vec![partition(draw, known, &name)] }];
    let request = DescribeLogDirsRequest { topics: Some(topics) };
    question.send((ApiKey::DescribeLogDirs, version(draw, ApiKey::DescribeLogDirs, ANY)), &request);
}

pub(super) fn topic_partitions(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, _, _) = topic(draw, known, 0);
    let request = DescribeTopicPartitionsRequest { topics: vec![TopicRequest { name: &name }], ..Default::default() };
    question.send((ApiKey::DescribeTopicPartitions, version(draw, ApiKey::DescribeTopicPartitions, ANY)), &request);
}

/// Puts all that a topic is configured with in place of what it was: that nothing is deleted by time stays.
pub(super) fn replace_configs(draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
    let (name, _, _) = topic(draw, known, 0);
    let mut configs = vec![AlterableConfig { name: "retention.ms", value: Some("-1") }];
    match draw.part(10).below(6) {
        0 => configs.push(AlterableConfig { name: "max.message.bytes", value: Some("many") }),
        1 => configs.push(AlterableConfig { name: "no.such.key", value: Some("1") }),
        2..4 => configs.push(AlterableConfig { name: "max.message.bytes", value: Some("300") }),
        _ => {}
    }
    if !known.topics.contains_key(&name) {
        // One thing is wrong at a time.
        configs.truncate(1);
    }
    let resource = AlterConfigsResource { resource_type: TOPIC_RESOURCE, resource_name: &name, configs };
    let request = AlterConfigsRequest { resources: vec![resource], validate_only: draw.part(11).below(8) == 0 };
    question.send((ApiKey::AlterConfigs, version(draw, ApiKey::AlterConfigs, ANY)), &request);
}

pub(super) fn handshake(draw: Draw, question: &mut Question<'_, '_>) {
    let request = SaslHandshakeRequest { mechanism: "PLAIN" };
    question.send((ApiKey::SaslHandshake, version(draw, ApiKey::SaslHandshake, ANY)), &request);
}

pub(super) fn authentication(draw: Draw, question: &mut Question<'_, '_>) {
    let request = SaslAuthenticateRequest { auth_bytes: b"\0name\0secret" };
    question.send((ApiKey::SaslAuthenticate, version(draw, ApiKey::SaslAuthenticate, ANY)), &request);
}
