//! What the reference broker says that there is: versions, the cluster, groups, partitions and where they lie, and that nobody has to say who they are.
//!
//! It must not know how any of it came about. Of what others have made it says nothing: it takes that over as told.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use klamm::protocol::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};
use klamm::protocol::messages::describe_log_dirs::{
    DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse, DescribeLogDirsResult,
    DescribeLogDirsTopic,
};
use klamm::protocol::messages::describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
};
use klamm::protocol::messages::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};
use klamm::protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use klamm::protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};

use super::{OWN_PREFIX, ReferenceBroker, beside};

/// The first versions that say who asks, and that can mean another broker.
const NAMES_CLIENT_FROM: i16 = 3;
const NAMES_BROKER_FROM: i16 = 5;

impl ReferenceBroker {
    pub(super) fn versions_told<'a>(
        &'a mut self,
        version: i16,
        request: &ApiVersionsRequest<'a>,
        _: &mut ApiVersionsResponse<'a>,
    ) -> ApiVersionsResponse<'a> {
        let is_nameless = version >= NAMES_CLIENT_FROM && request.client_software_name.is_empty();
        let means_another = version >= NAMES_BROKER_FROM && request.node_id != -1;
        let error = match (is_nameless, means_another) {
            (true, _) => ErrorCode::InvalidRequest,
            (false, true) => ErrorCode::RebootstrapRequired,
            (false, false) => ErrorCode::None,
        };
        let range = |api: &ApiKey| {
            let versions = api.advertised_versions();
            ApiVersion { api_key: api.code(), min_version: *versions.start(), max_version: *versions.end() }
        };
        let api_keys = if error == ErrorCode::None { ApiKey::ALL.iter().map(range).collect() } else { Vec::new() };
        ApiVersionsResponse { error_code: error.code(), api_keys, ..Default::default() }
    }

    /// One broker, which is the controller too.
    pub(super) fn cluster_described<'a>(
        &'a mut self,
        _: i16,
        request: &DescribeClusterRequest,
        told: &mut DescribeClusterResponse<'a>,
    ) -> DescribeClusterResponse<'a> {
        let default = DescribeClusterResponse::default();
        let told_broker = told.brokers.first().cloned().unwrap_or_default();
        let broker_id = self.node.learn_id(told_broker.broker_id);
        self.node.learn_cluster_id(told.cluster_id);
        let (host, port) = self.node.address((told_broker.host, told_broker.port));
        DescribeClusterResponse {
            cluster_id: self.node.cluster_id(),
            controller_id: broker_id,
            brokers: vec![DescribeClusterBroker { broker_id, host, port, is_fenced: false, ..told_broker }],
            cluster_authorized_operations: match request.include_cluster_authorized_operations {
                true => told.cluster_authorized_operations,
                false => default.cluster_authorized_operations,
            },
            ..default
        }
    }

    pub(super) fn groups_listed<'a>(
        &'a mut self,
        _: i16,
        request: &ListGroupsRequest<'a>,
        told: &mut ListGroupsResponse<'a>,
    ) -> ListGroupsResponse<'a> {
        let is_among = |filter: &[&str], it: &str| filter.is_empty() || filter.contains(&it);
        let mut own: Vec<ListedGroup<'a>> = self
            .groups
            .iter()
            .map(|(group_id, group)| ListedGroup {
                group_id,
                protocol_type: group.protocol_type(),
                group_state: group.state(),
                group_type: "classic",
            })
            .filter(|group| is_among(&request.states_filter, group.group_state))
            .filter(|group| is_among(&request.types_filter, group.group_type))
            .collect();
        // In the order in which they are told, those of others among them.
        let mut groups = Vec::new();
        for listed in &told.groups {
            if let Some(place) = own.iter().position(|group| group.group_id == listed.group_id) {
                groups.push(own.remove(place));
            } else if !listed.group_id.starts_with(OWN_PREFIX) {
                groups.push(listed.clone());
            }
        }
        groups.extend(own);
        ListGroupsResponse { groups, ..Default::default() }
    }

    /// Each partition lies in one directory.
    pub(super) fn log_dirs_described<'a>(
        &'a mut self,
        _: i16,
        request: &DescribeLogDirsRequest<'a>,
        told: &mut DescribeLogDirsResponse<'a>,
    ) -> DescribeLogDirsResponse<'a> {
        let asked = request.topics.iter().flatten();
        let asked = asked.flat_map(|topic| topic.partitions.iter().map(|partition| (topic.topic, *partition)));
        let is_there = |(topic, partition): &(&str, i32)| {
            let count = self.topics.get(*topic).map_or(0, |topic| topic.partitions.len());
            usize::try_from(*partition).is_ok_and(|partition| partition < count)
        };
        let mut owed: Vec<(&str, i32)> = asked.filter(is_there).collect();
        let mut results: Vec<DescribeLogDirsResult<'a>> = Vec::new();
        for directory in &told.results {
            let mut topics = Vec::new();
            for topic in &directory.topics {
                let its = topic.partitions.iter().filter_map(|told| {
                    let place = owed.iter().position(|owed| *owed == (topic.name, told.partition_index))?;
                    let (_, partition_index) = owed.remove(place);
                    Some(DescribeLogDirsPartition {
                        partition_index,
                        offset_lag: 0,
                        is_future_key: false,
                        ..told.clone()
                    })
                });
                topics.push(DescribeLogDirsTopic { name: topic.name, partitions: its.collect() });
            }
            results.push(DescribeLogDirsResult { error_code: 0, topics, is_cordoned: false, ..directory.clone() });
        }
        let missing = owed.into_iter().map(|(name, partition_index)| DescribeLogDirsTopic {
            name,
            partitions: vec![DescribeLogDirsPartition { partition_index, ..Default::default() }],
        });
        let mut missing: Vec<DescribeLogDirsTopic<'a>> = missing.collect();
        match results.first_mut() {
            Some(first) => first.topics.append(&mut missing),
            None => results.push(DescribeLogDirsResult { topics: missing, ..Default::default() }),
        }
        DescribeLogDirsResponse { results, ..Default::default() }
    }

    pub(super) fn topic_partitions_described<'a>(
        &'a mut self,
        _: i16,
        request: &DescribeTopicPartitionsRequest<'a>,
        told: &mut DescribeTopicPartitionsResponse<'a>,
    ) -> DescribeTopicPartitionsResponse<'a> {
        let topics = beside(&request.topics, &told.topics).map(|(asked, told)| {
            let result = DescribeTopicPartitionsResponseTopic {
                name: Some(asked.name),
                topic_authorized_operations: told.topic_authorized_operations,
                ..Default::default()
            };
            let Some(topic) = self.topics.get_mut(asked.name) else {
                let error_code = ErrorCode::UnknownTopicOrPartition.code();
                return DescribeTopicPartitionsResponseTopic { error_code, ..result };
            };
            let node = told.partitions.first().map_or(-1, |partition| partition.leader_id);
            let partitions =
                (0..).zip(&topic.partitions).map(|(partition_index, _)| DescribeTopicPartitionsResponsePartition {
                    partition_index,
                    leader_id: node,
                    leader_epoch: 0,
                    replica_nodes: vec![node],
                    isr_nodes: vec![node],
                    eligible_leader_replicas: Some(Vec::new()),
                    last_known_elr: Some(Vec::new()),
                    ..Default::default()
                });
            let partitions = partitions.collect();
            DescribeTopicPartitionsResponseTopic { topic_id: topic.learn_id(told.topic_id), partitions, ..result }
        });
        DescribeTopicPartitionsResponse { topics: topics.collect(), ..Default::default() }
    }

    pub(super) fn handshake_refused<'a>(
        &'a mut self,
        _: i16,
        _: &SaslHandshakeRequest<'a>,
        _: &mut SaslHandshakeResponse<'a>,
    ) -> SaslHandshakeResponse<'a> {
        SaslHandshakeResponse { error_code: ErrorCode::IllegalSaslState.code(), mechanisms: Vec::new() }
    }

    pub(super) fn authentication_refused<'a>(
        &'a mut self,
        _: i16,
        _: &SaslAuthenticateRequest<'a>,
        told: &mut SaslAuthenticateResponse<'a>,
    ) -> SaslAuthenticateResponse<'a> {
        let error_code = ErrorCode::IllegalSaslState.code();
        SaslAuthenticateResponse { error_code, error_message: told.error_message, ..Default::default() }
    }
}

#[cfg(test)]
mod tests {
    use klamm::protocol::messages::describe_log_dirs::DescribableLogDirTopic;

    use super::super::{Log, Topic, encoded};
    use super::*;

    fn judge<'a, Q: klamm::protocol::Message<'a>, A: klamm::protocol::Message<'a>>(
        broker: &mut ReferenceBroker,
        (api_key, version): (ApiKey, i16),
        asked: &Q,
        told: &A,
    ) -> Result<(), String> {
        broker.judge((api_key, version), &encoded(asked, version), &encoded(told, version))
    }

    #[test]
    fn own_groups_are_listed_whatever_others_there_are() {
        let mut broker = ReferenceBroker::default();
        broker.groups.insert("examined-1-0".to_owned(), Default::default());
        let own =
            ListedGroup { group_id: "examined-1-0", protocol_type: "", group_state: "Empty", group_type: "classic" };
        let other = ListedGroup { group_id: "another", ..own.clone() };
        let gone = ListedGroup { group_id: "examined-1-1", ..own.clone() };
        let mut told = |groups: &[&ListedGroup<'_>]| {
            let groups = groups.iter().map(|group| (*group).clone()).collect();
            let told = ListGroupsResponse { groups, ..Default::default() };
            judge(&mut broker, (ApiKey::ListGroups, 5), &ListGroupsRequest::default(), &told)
        };
        assert_eq!(told(&[&other, &own]), Ok(()));
        assert!(told(&[&other]).is_err(), "it is left out");
        assert!(told(&[&own, &gone]).is_err(), "there is no such group");
    }

    #[test]
    fn a_partition_lies_in_one_directory() {
        let mut broker = ReferenceBroker::default();
        broker.topics.insert("a".to_owned(), Topic { partitions: vec![Log::default()], ..Topic::default() });
        let topics = Some(vec![DescribableLogDirTopic { topic: "a", partitions: vec![0, 1] }]);
        let asked = DescribeLogDirsRequest { topics };
        let mut told = |directories: &[usize]| {
            let partitions = vec![DescribeLogDirsPartition::default()];
            let topic = DescribeLogDirsTopic { name: "a", partitions };
            let result =
                |count: &usize| DescribeLogDirsResult { topics: vec![topic.clone(); *count], ..Default::default() };
            let told =
                DescribeLogDirsResponse { results: directories.iter().map(result).collect(), ..Default::default() };
            judge(&mut broker, (ApiKey::DescribeLogDirs, 4), &asked, &told)
        };
        assert_eq!(told(&[0, 1]), Ok(()));
        assert!(told(&[0, 0]).is_err() && told(&[1, 1]).is_err());
    }

    #[test]
    fn every_api_is_told_with_its_versions() {
        let asked =
            ApiVersionsRequest { client_software_name: "sim", client_software_version: "1", ..Default::default() };
        let told = ApiVersionsResponse::default();
        assert!(judge(&mut ReferenceBroker::default(), (ApiKey::ApiVersions, 4), &asked, &told).is_err());
    }
}
