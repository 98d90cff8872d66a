//! The dispatcher: from an API key to the handler of that API, and what all handlers share.
//!
//! It must not know what any single API does.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::answer::{Answer, Completion, Outcome};
use super::api_request::ApiRequest;
use super::broker_configs::BrokerConfigs;
use super::controller::{Controller, Decided};
use super::deadlines::Deadlines;
use super::fetch_session::FetchSessionCache;
use super::found_partitions::{adopt_found_partitions, put_strays_aside, refuse_twins};
use super::group_coordinator_service::GroupCoordinatorService;
use super::group_shard::ShardSettings;
use super::handlers;
use super::log_directory::{LogDirectory, load_logs, open_metadata_log};
use super::open_transactions::abort_open_transactions;
use super::producer_ids::ProducerIds;
use super::replica_manager::ReplicaManager;
use super::request_local::RequestLocal;
use super::start_failure::StartFailure;
use super::sync_queue::{SyncQueue, SyncRound};
use crate::config::{ListenerSettings, Settings, StaticConfig};
use crate::coordinator::group::GroupSettings;
use crate::env::{Disk, DiskError, SyncJob, Wake};
use crate::error_code::ErrorCode;
use crate::limits::DECISION_TIMEOUT_MS;
use crate::log::{Durability, LogDirectoryInfo, LogError, LogManager, LogManagerSettings, UnifiedLog};
use crate::metadata::{
    BOOTSTRAP_FEATURES, BrokerEndpoint, BrokerRegistration, ControllerResult, MetadataImage, ProducerIdsBlock,
    bootstrap, elect_leaders, random_uuid, register_broker,
};
use crate::protocol::{ApiKey, DecodeError};
use crate::types::{BrokerId, ConnectionId, Instant, Now, Ticket, TopicId};
use crate::zoo::{self, Bug};

/// How to wake the roles that the handlers give work to.
pub struct ApiWakers {
    /// The role that syncs.
    pub flusher: Arc<dyn Wake>,
    /// The role that watches deadlines.
    pub expiry: Arc<dyn Wake>,
}

/// What waits for a decision of the controller to be durable.
pub(crate) enum Deferred {
    /// An answer that is already worded, and the one in its place if that is not in time.
    Answer { ticket: Ticket, answer: Answer, timed_out: Answer },
    /// A request that is handled once more, now that what it needed exists.
    Retry(Box<ApiRequest>),
    /// A block of producer ids.
    ProducerIds(ProducerIdsBlock),
}

/// Everything that handlers ask.
pub struct KafkaApis {
    configs: BrokerConfigs,
    /// As of the start: listeners do not change while the broker runs, whatever is set.
    listeners: Vec<ListenerSettings>,
    disk: Arc<dyn Disk>,
    logs: Arc<LogDirectory>,
    replica_manager: Arc<ReplicaManager>,
    groups: GroupCoordinatorService,
    controller: Controller<Deferred>,
    producer_ids: Mutex<ProducerIds<Box<ApiRequest>>>,
    deadlines: Arc<Deadlines>,
    /// The image whose logs exist.
    followed: Mutex<Arc<MetadataImage>>,
}

impl KafkaApis {
    /// Loads logs and metadata, and registers the broker. Waits for the disk.
    pub fn start(
        fixed: StaticConfig,
        now: Now,
        disk: Arc<dyn Disk>,
        seed: [u8; 32],
        wakers: ApiWakers,
    ) -> Result<KafkaApis, StartFailure> {
        let mut random = ChaCha12Rng::from_seed(seed);
        let configs = BrokerConfigs::new(fixed);
        let settings = configs.settings();
        let mut manager = open_directories(&settings, Arc::clone(&disk), &mut random)?;
        let cluster_id = manager.cluster_id().to_string();
        let metadata_log = open_metadata_log(&mut manager, now)?;
        let controller = Controller::load(disk.as_ref(), metadata_log, &cluster_id, drawn(&mut random))?;
        load_logs(&mut manager, now, &configs, &controller.image())?;
        let was_clean = manager.directories().iter().all(|directory| directory.was_clean);
        let logs = Arc::new(LogDirectory::new(manager, ChaCha12Rng::from_seed(drawn(&mut random))));
        introduce_broker(&controller, &settings, &logs, now, was_clean)?;
        controller.settle_start(disk.as_ref())?;
        put_strays_aside(&logs, &controller.image())?;
        let deadlines = Arc::new(Deadlines::new(wakers.expiry));
        let syncs = SyncQueue::new(wakers.flusher);
        let sessions = FetchSessionCache::new(settings.request.fetch_sessions_max);
        let replica_manager = Arc::new(ReplicaManager::new(
            Arc::clone(&logs),
            syncs,
            Arc::clone(&deadlines),
            sessions,
            ChaCha12Rng::from_seed(drawn(&mut random)),
        ));
        let groups = GroupCoordinatorService::new(
            group_settings(&settings),
            ShardSettings {
                durability: if settings.log.acks_all_fsync { Durability::Synced } else { Durability::Written },
                commit_timeout_ms: settings.offsets.commit_timeout_ms,
            },
            Arc::clone(&replica_manager),
            Arc::clone(&deadlines),
            ChaCha12Rng::from_seed(drawn(&mut random)),
        );
        let image = controller.image();
        let change = logs.follow(now, &configs, &MetadataImage::empty(""), &image, true);
        abort_open_transactions(now, &change.added);
        let answers = groups.follow(now, &image, &change);
        debug_assert!(answers.is_empty(), "nobody has asked anything before the start");
        Ok(KafkaApis {
            configs,
            listeners: settings.network.listeners.clone(),
            disk,
            logs,
            replica_manager,
            groups,
            controller,
            producer_ids: Mutex::new(ProducerIds::new()),
            deadlines,
            followed: Mutex::new(image),
        })
    }

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

    /// Has the controller decide. The answer to a decision without records is worded by `word` and given at once; else it is given when
    /// the records are durable. `refuse` words the answer if nothing could be decided, and if the records are not durable in time: then
    /// they take effect later.
    pub(crate) fn decide<T>(
        &self,
        now: Now,
        ticket: Ticket,
        timeout_ms: i32,
        decide: impl FnOnce(&MetadataImage, &mut dyn Rng) -> ControllerResult<T>,
        word: impl Fn(&T) -> Answer,
        refuse: impl Fn(ErrorCode) -> Answer,
    ) -> Answer {
        let deadline = decision_deadline(now, timeout_ms);
        let decided = self.controller.decide(now, Some(deadline), decide, |response| Deferred::Answer {
            ticket,
            answer: word(&response),
            timed_out: refuse(ErrorCode::RequestTimedOut),
        });
        match decided.inspect_err(|_| self.stop_if_undecidable()) {
            Ok(Decided::Nothing(response)) => word(&response),
            Ok(Decided::Appended) => {
                self.watch_deadline(deadline);
                if !zoo::is(Bug::DecisionBeforeFsync) {
                    self.replica_manager.want_sync([self.controller.log()]);
                }
                Answer::Later
            }
            Err(error) => refuse(error),
        }
    }

    /// Has the controller decide something that this request needs, and handles the request once more when it is durable. `None` if
    /// there was nothing to append, so that waiting would not help.
    pub(crate) fn decide_and_retry<T>(
        &self,
        now: Now,
        request: &ApiRequest,
        decide: impl FnOnce(&MetadataImage, &mut dyn Rng) -> ControllerResult<T>,
    ) -> Option<Answer> {
        let retry = Deferred::Retry(Box::new(request.again()));
        let deadline = decision_deadline(now, DECISION_TIMEOUT_MS);
        match self.controller.decide(now, Some(deadline), decide, |_| retry) {
            Ok(Decided::Appended) => {
                self.watch_deadline(deadline);
                self.replica_manager.want_sync([self.controller.log()]);
                Some(Answer::Retry)
            }
            Ok(Decided::Nothing(_)) => None,
            Err(_) => {
                self.stop_if_undecidable();
                None
            }
        }
    }

    /// Asks the controller for a block of producer ids.
    pub(crate) fn ask_producer_ids(&self, now: Now) -> Result<(), ErrorCode> {
        let allocate = |image: &MetadataImage, _: &mut dyn Rng| {
            crate::metadata::allocate_producer_ids(image, self.broker_id())
                .unwrap_or_else(|_| ControllerResult { records: Vec::new(), response: NO_PRODUCER_IDS })
        };
        // Those who wait for it have deadlines of their own.
        let decided = self.controller.decide(now, None, allocate, Deferred::ProducerIds);
        match decided.inspect_err(|_| self.stop_if_undecidable())? {
            Decided::Appended => {
                self.replica_manager.want_sync([self.controller.log()]);
                Ok(())
            }
            Decided::Nothing(_) => Err(ErrorCode::UnknownServerError),
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
        self.deadlines.add(deadline);
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

    /// What to sync now, if anything waits for it.
    pub fn begin_sync(&self, _now: Now) -> Option<(SyncRound, SyncJob)> {
        self.replica_manager.begin_sync()
    }

    /// Whether the broker cannot go on: a sync has failed, or the metadata log takes no more records. Its process must end, and the next
    /// start finds out what is on the disk.
    pub fn must_stop(&self) -> bool {
        self.replica_manager.must_stop()
    }

    fn stop_if_undecidable(&self) {
        if self.controller.log().log.is_offline() {
            tracing::error!("the metadata log is offline, so the broker must stop");
            self.replica_manager.stop();
        }
    }

    /// Takes the outcome of a sync: answers all that it made durable.
    pub fn end_sync(&self, now: Now, round: SyncRound, result: Result<(), DiskError>) -> Vec<Completion> {
        let keys = round.keys();
        let mut completions = self.replica_manager.end_sync(now, round, result);
        completions.extend(self.groups.settle(now, keys));
        if self.controller.log().log.is_offline() {
            self.replica_manager.stop();
        }
        for durable in self.controller.take_durable() {
            completions.extend(self.follow(now, Some(&durable.image)));
            self.controller.publish(durable.image);
            completions.extend(durable.deferred.into_iter().flat_map(|deferred| self.complete(now, deferred)));
        }
        completions
    }

    /// Looks whether the disks have room, asks for syncs that `flush.ms` makes due, and gives what the disk refused another try: logs of
    /// partitions, and groups that could not be read.
    pub fn watch_logs(&self, now: Now) -> Vec<Completion> {
        self.logs.manager().check_free_space();
        self.replica_manager.want_due_syncs(now);
        if zoo::is(Bug::DecisionBeforeFsync) {
            self.replica_manager.want_sync([self.controller.log()]);
        }
        let mut completions = self.groups.load_again(now);
        if self.logs.has_missing() {
            completions.extend(self.follow(now, None));
        }
        completions
    }

    /// Applies retention and regular upkeep. Returns the milliseconds until the next time.
    pub fn clean_up_logs(&self, now: Now) -> i64 {
        match self.logs.manager().clean_up(now) {
            Ok(0) => {}
            Ok(segments) => tracing::info!(segments, "old segments removed by retention"),
            Err(error) => tracing::error!(%error, "retention could not remove old segments"),
        }
        self.settings().log.retention_check_interval_ms
    }

    /// Writes down how far the logs are on the disk, and asks for a sync of what is not, so that the next checkpoint is nearer to the
    /// end and a recovery shorter. Returns the milliseconds until the next time.
    pub fn checkpoint_logs(&self) -> i64 {
        if let Err(error) = self.logs.manager().checkpoint() {
            tracing::error!(%error, "recovery points could not be written; a recovery will take longer");
            if matches!(error, LogError::Sync(_)) {
                self.replica_manager.stop();
            }
        }
        self.replica_manager.want_all_syncs();
        let settings = self.settings();
        settings.log.recovery_point_checkpoint_interval_ms.min(settings.log.start_offset_checkpoint_interval_ms)
    }

    /// Milliseconds after the start before the logs are tidied.
    pub fn log_upkeep_delay_ms(&self) -> i64 {
        self.settings().log.initial_task_delay_ms
    }

    /// Answers what waits for data: the broker is about to stop. What waits for the disk is answered by the sync.
    pub fn drain(&self, now: Now) -> Vec<Completion> {
        self.replica_manager.release_fetches(now)
    }

    /// Syncs everything and marks the logs as cleanly shut down. Waits for the disk; nothing is appended any more.
    pub fn shut_down(&self) -> Result<(), StartFailure> {
        let broker_epoch = self.controller.image().broker(self.broker_id()).map_or(-1, |broker| broker.broker_epoch);
        Ok(self.logs.manager().shutdown(broker_epoch)?)
    }

    /// Makes an image, or what is left of the last one, true: logs and coordinators for new partitions, none for removed ones. Ends
    /// what waited for the removed.
    fn follow(&self, now: Now, image: Option<&Arc<MetadataImage>>) -> Vec<Completion> {
        let (change, image) = {
            let mut followed = self.followed.lock().expect("nobody panics while following: panics abort the process");
            let image = Arc::clone(image.unwrap_or(&followed));
            let change = self.logs.follow(now, &self.configs, &followed, &image, false);
            *followed = Arc::clone(&image);
            (change, image)
        };
        let mut completions = self.groups.follow(now, &image, &change);
        for partition in &change.removed {
            completions.extend(self.replica_manager.removed(now, partition.key));
        }
        completions
    }

    fn complete(&self, now: Now, deferred: Deferred) -> Vec<Completion> {
        match deferred {
            Deferred::Answer { ticket, answer, .. } => vec![Completion { ticket, answer }],
            Deferred::Retry(request) => self.handle_again(now, *request),
            Deferred::ProducerIds(block) => {
                let waiting = self.producer_ids().refill(&block);
                waiting.into_iter().flat_map(|request| self.handle_again(now, *request)).collect()
            }
        }
    }

    fn handle_again(&self, now: Now, request: ApiRequest) -> Vec<Completion> {
        let ticket = request.ticket;
        let Outcome { answer, mut completions } = self.handle(now, &mut RequestLocal::new(), request);
        if !matches!(answer, Answer::Later | Answer::Retry) {
            completions.push(Completion { ticket, answer });
        }
        completions
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

/// Until when a request waits for a decision. One that gives no time to it gets what is usual.
fn decision_deadline(now: Now, timeout_ms: i32) -> Instant {
    now.instant.after_ms(i64::from(if timeout_ms > 0 { timeout_ms } else { DECISION_TIMEOUT_MS }))
}

/// Stands for a block that could not be had.
const NO_PRODUCER_IDS: ProducerIdsBlock = ProducerIdsBlock { first: crate::types::ProducerId(0), size: 0 };

fn group_settings(settings: &Settings) -> GroupSettings {
    let check_interval_ms = settings.offsets.retention_check_interval_ms;
    GroupSettings {
        session_timeout_ms_min: settings.group.session_timeout_ms_min,
        session_timeout_ms_max: settings.group.session_timeout_ms_max,
        initial_rebalance_delay_ms: settings.group.initial_rebalance_delay_ms,
        members_max: settings.group.members_max,
        offset_metadata_max: settings.offsets.metadata_bytes_max,
        offsets_retention_ms: settings.offsets.retention_ms,
        offsets_retention_check_interval_ms: check_interval_ms,
        ..GroupSettings::default()
    }
}

fn drawn(random: &mut ChaCha12Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    random.fill_bytes(&mut seed);
    seed
}

fn open_directories(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    random: &mut ChaCha12Rng,
) -> Result<LogManager, StartFailure> {
    let manager_settings = LogManagerSettings {
        directories: settings.log.dirs.iter().map(PathBuf::from).collect(),
        metadata_directory: PathBuf::from(&settings.log.metadata_dir),
        node_id: settings.node.broker_id,
        cluster_id: settings.node.cluster_id.clone(),
        free_bytes_min: settings.log.free_bytes_min,
        file_delete_delay_ms: settings.topic_defaults.file_delete_delay_ms,
    };
    let mut unique = || (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
    Ok(LogManager::open(disk, manager_settings, &mut unique)?)
}

/// Appends what this start says about the cluster: its features if it is new, this broker, and new leader epochs.
///
/// An unclean start raises the epochs: a consumer that had read records which a power cut took learns of it (KIP-320).
fn introduce_broker(
    controller: &Controller<Deferred>,
    settings: &Settings,
    logs: &LogDirectory,
    now: Now,
    was_clean: bool,
) -> Result<(), StartFailure> {
    let mut directories = logs.manager().directories();
    directories.retain(|directory| !directory.is_of_metadata_only);
    let log_dirs: Vec<TopicId> =
        directories.iter().filter_map(|directory| TopicId::from_base64(&directory.id)).collect();
    let broker_id = settings.node.broker_id;
    if controller.image().features().next().is_none() {
        refuse_twins(logs.manager())?;
    }
    // One transaction, so that a crash leaves either all of it or a cluster that is still new.
    controller.append_at_start(now, |image, random| {
        if image.features().next().is_some() {
            return Vec::new();
        }
        bootstrap(&BOOTSTRAP_FEATURES, adopt_found_partitions(settings, logs.manager(), random))
    })?;
    controller.append_at_start(now, |image, mut random| {
        let endpoints = settings.network.listeners.iter().map(|listener| {
            let endpoint = listener.advertised.as_ref().unwrap_or(&listener.endpoint);
            BrokerEndpoint {
                name: Arc::from(endpoint.name.as_str()),
                host: Arc::from(endpoint.host.as_str()),
                port: endpoint.port,
                security_protocol: 0,
            }
        });
        let registration = BrokerRegistration {
            broker_id,
            incarnation_id: random_uuid(&mut random),
            broker_epoch: 0,
            endpoints: endpoints.collect(),
            features: Vec::new(),
            rack: settings.node.rack.as_deref().map(Arc::from),
            fenced: false,
            in_controlled_shutdown: false,
            log_dirs,
            cordoned_log_dirs: Vec::new(),
        };
        register_broker(image, registration)
    })?;
    controller.append_at_start(now, |image, _| elect_leaders(image, broker_id, was_clean))
}
