//! The dispatcher: from an API key to the handler of that API, and what all handlers share.
//!
//! It must not know what any single API does.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use super::answer::{Answer, Completion, Outcome};
use super::api_request::ApiRequest;
use super::broker_configs::BrokerConfigs;
use super::controller::Controller;
use super::deadlines::Deadlines;
use super::deferred::Deferred;
use super::group_coordinator_service::GroupCoordinatorService;
use super::handlers;
use super::log_directory::LogDirectory;
use super::open_transactions::OpenTransactions;
use super::partition::Partition;
use super::producer_ids::ProducerIds;
use super::replica_manager::ReplicaManager;
use super::request_local::RequestLocal;
use crate::config::{ListenerSettings, Settings};
use crate::env::{Disk, Wake};
use crate::log::{LogDirectoryInfo, UnifiedLog};
use crate::metadata::MetadataImage;
use crate::metrics::RareLines;
use crate::protocol::{ApiKey, DecodeError};
use crate::types::{BrokerId, ConnectionId, Instant, Now};
use crate::zoo::{self, Bug};

/// How to wake the roles that the handlers give work to.
pub struct ApiWakers {
    /// The role that syncs.
    pub flusher: Arc<dyn Wake>,
    /// The role that watches deadlines.
    pub expiry: Arc<dyn Wake>,
}

/// Everything that handlers ask.
pub struct KafkaApis {
    pub(super) configs: BrokerConfigs,
    /// As of the start: listeners do not change while the broker runs, whatever is set.
    pub(super) listeners: Vec<ListenerSettings>,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) logs: Arc<LogDirectory>,
    pub(super) replica_manager: Arc<ReplicaManager>,
    /// What lies open in logs, and is to be ended.
    pub(super) open_transactions: OpenTransactions,
    pub(super) groups: GroupCoordinatorService,
    pub(super) controller: Controller<Deferred>,
    pub(super) producer_ids: Mutex<ProducerIds<Box<ApiRequest>>>,
    pub(super) deadlines: Arc<Deadlines>,
    /// Which refusals, of batches and of SASL, were told to the operator.
    pub(super) refusals: RareLines,
    /// The image whose logs exist.
    pub(super) followed: Mutex<Arc<MetadataImage>>,
}

impl KafkaApis {
    /// Handles one request.
    pub fn handle(&self, now: Now, local: &mut RequestLocal, request: ApiRequest) -> Outcome {
        let handled = match ApiKey::from_code(request.ticket.api_key) {
            Some(api_key) => self.dispatch(api_key, now, local, &request),
            None => Ok(Answer::Close("an API that is not served").into()),
        };
        handled.unwrap_or_else(|error| Answer::Malformed(error).into())
    }

    fn dispatch(
        &self,
        api_key: ApiKey,
        now: Now,
        local: &mut RequestLocal,
        request: &ApiRequest,
    ) -> Result<Outcome, DecodeError> {
        match api_key {
            ApiKey::Produce => handlers::produce::handle(self, now, local, request),
            ApiKey::Fetch => handlers::fetch::handle(self, now, request),
            ApiKey::ListOffsets => handlers::list_offsets::handle(self, request),
            ApiKey::Metadata => handlers::metadata::handle(self, now, request),
            ApiKey::SaslHandshake => handlers::sasl_handshake::handle(self, now, request),
            ApiKey::ApiVersions => handlers::api_versions::handle(self, request),
            ApiKey::InitProducerId => handlers::init_producer_id::handle(self, now, request),
            ApiKey::FindCoordinator => handlers::find_coordinator::handle(self, now, request),
            ApiKey::JoinGroup => handlers::join_group::handle(self, now, request),
            ApiKey::SyncGroup => handlers::sync_group::handle(self, now, request),
            ApiKey::Heartbeat => handlers::heartbeat::handle(self, now, request),
            ApiKey::LeaveGroup => handlers::leave_group::handle(self, now, request),
            ApiKey::OffsetCommit => handlers::offset_commit::handle(self, now, request),
            ApiKey::OffsetFetch => handlers::offset_fetch::handle(self, request),
            ApiKey::OffsetDelete => handlers::offset_delete::handle(self, now, request),
            ApiKey::ListGroups => handlers::list_groups::handle(self, request),
            ApiKey::DescribeGroups => handlers::describe_groups::handle(self, request),
            ApiKey::DeleteGroups => handlers::delete_groups::handle(self, now, request),
            ApiKey::CreateTopics => handlers::create_topics::handle(self, now, request),
            ApiKey::DeleteTopics => handlers::delete_topics::handle(self, now, request),
            ApiKey::SaslAuthenticate => handlers::sasl_authenticate::handle(self, now, request),
            ApiKey::CreatePartitions => handlers::create_partitions::handle(self, now, request),
            ApiKey::DeleteRecords => handlers::delete_records::handle(self, now, request),
            ApiKey::OffsetForLeaderEpoch => handlers::offset_for_leader_epoch::handle(self, request),
            ApiKey::DescribeConfigs => handlers::describe_configs::handle(self, request),
            ApiKey::AlterConfigs => handlers::alter_configs::handle(self, now, request),
            ApiKey::IncrementalAlterConfigs => handlers::incremental_alter_configs::handle(self, now, request),
            ApiKey::DescribeCluster => handlers::describe_cluster::handle(self, request),
            ApiKey::DescribeLogDirs => handlers::describe_log_dirs::handle(self, request),
            ApiKey::DescribeTopicPartitions => handlers::describe_topic_partitions::handle(self, request),
        }
    }

    /// Answers the fetch that a connection waits for with what there is: its peer sends nothing more and has perhaps gone. Kafka lets it
    /// wait to its end.
    pub fn peer_finished(&self, now: Now, connection: ConnectionId) -> Vec<Completion> {
        self.replica_manager.peer_finished(now, connection)
    }

    /// Forgets what a connection waited for.
    pub fn connection_closed(&self, now: Now, connection: ConnectionId) -> Vec<Completion> {
        self.replica_manager.connection_closed(connection);
        self.groups.connection_closed(now, connection);
        Vec::new()
    }

    /// Ends what has waited long enough.
    pub fn expire(&self, now: Now) -> Vec<Completion> {
        let mut completions = self.replica_manager.expire(now);
        completions.extend(self.groups.expire(now));
        for deferred in self.controller.expire(now.instant) {
            completions.extend(match deferred {
                Deferred::Answer { ticket, timed_out, .. } => vec![Completion { ticket, answer: timed_out }],
                other => self.complete(now, other),
            });
        }
        let unserved = self.producer_ids().expire(now.instant);
        completions.extend(unserved.into_iter().flat_map(|request| self.handle_again(now, *request)));
        completions
    }

    /// Has the expiry role look when this deadline has come, for something that waits by now.
    pub(crate) fn watch_deadline(&self, deadline: Instant) {
        if !zoo::is(Bug::DecisionUnwatched) {
            self.deadlines.add(deadline);
        }
    }

    /// When something must be ended next. To be asked right before the expiry role sleeps.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.disarm();
        let all = [
            self.replica_manager.next_deadline(),
            self.groups.next_deadline(),
            self.controller.next_deadline(),
            self.producer_ids().next_deadline(),
        ];
        let next = all.into_iter().flatten().min();
        self.deadlines.arm(next);
        next
    }

    pub(crate) fn producer_ids(&self) -> MutexGuard<'_, ProducerIds<Box<ApiRequest>>> {
        self.producer_ids.lock().expect("nobody panics while holding the ids: panics abort the process")
    }

    pub(crate) fn configs(&self) -> &BrokerConfigs {
        &self.configs
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.configs.settings()
    }

    pub(crate) fn replica_manager(&self) -> &Arc<ReplicaManager> {
        &self.replica_manager
    }

    pub(crate) fn groups(&self) -> &GroupCoordinatorService {
        &self.groups
    }

    /// Writes a warning about a batch that makes no sense, unless there was one of its kind just now.
    pub(crate) fn tell_of_refusal(&self, now: Instant, client_id: &str, partition: &Partition, cause: &'static str) {
        if let Some(untold) = self.refusals.due(now, cause) {
            let (partition, others_before) = (partition.log.topic_partition(), (untold > 0).then_some(untold));
            tracing::warn!(%partition, client_id, others_before, "a batch was refused: {cause}");
        }
    }

    /// Writes a warning about a client that speaks SASL to a listener without it, unless there was one just now.
    pub(crate) fn tell_of_sasl(&self, now: Instant, request: &ApiRequest) {
        const CAUSE: &str =
            "a client speaks SASL to a PLAINTEXT listener: set security.protocol=PLAINTEXT in the client";
        if let Some(untold) = self.refusals.due(now, CAUSE) {
            let listener = self.listeners.get(request.listener).map(|listener| listener.endpoint.name.as_str());
            let (client_id, others_before) = (&*request.client_id(), (untold > 0).then_some(untold));
            tracing::warn!(peer = %request.peer, listener, client_id, others_before, "authentication refused: {CAUSE}");
        }
    }

    /// Every log, the one of the metadata too.
    pub(crate) fn logs(&self) -> Vec<Arc<UnifiedLog>> {
        self.logs.manager().logs()
    }

    /// The log directories of topics.
    pub(crate) fn log_directories(&self) -> Vec<LogDirectoryInfo> {
        let mut directories = self.logs.manager().directories();
        directories.retain(|directory| !directory.is_of_metadata_only);
        directories
    }

    /// The newest durable image.
    pub(crate) fn image(&self) -> Arc<MetadataImage> {
        self.controller.image()
    }

    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub(crate) fn broker_id(&self) -> BrokerId {
        self.settings().node.broker_id
    }

    /// The address that a client of this request's listener is told: the advertised one, else the one that it reached.
    pub(crate) fn advertised(&self, request: &ApiRequest) -> (String, i32) {
        let advertised = self.listeners.get(request.listener).and_then(|listener| listener.advertised.as_ref());
        let reached = request.local.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
        match advertised {
            Some(endpoint) if !endpoint.host.is_empty() => (endpoint.host.clone(), i32::from(endpoint.port)),
            Some(endpoint) => (reached.ip().to_string(), i32::from(endpoint.port)),
            None => (reached.ip().to_string(), i32::from(reached.port())),
        }
    }
}
