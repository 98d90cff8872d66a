//! The start of a broker: logs and metadata are loaded, the broker registers, and what lies on disk is held against the metadata.
//!
//! It waits for the disk, since nobody asks anything yet. It must not know what requests mean.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::broker_configs::BrokerConfigs;
use super::controller::Controller;
use super::deadlines::Deadlines;
use super::deferred::Deferred;
use super::fetch_session::FetchSessionCache;
use super::found_partitions::{adopt_found_partitions, put_strays_aside, refuse_twins};
use super::group_coordinator_service::GroupCoordinatorService;
use super::group_shard::ShardSettings;
use super::kafka_apis::{ApiWakers, KafkaApis};
use super::log_directory::{LogDirectory, load_logs, open_metadata_log};
use super::open_transactions::OpenTransactions;
use super::producer_ids::ProducerIds;
use super::replica_manager::ReplicaManager;
use super::start_failure::StartFailure;
use super::sync_queue::SyncQueue;
use crate::config::{Settings, StaticConfig};
use crate::coordinator::group::GroupSettings;
use crate::env::Disk;
use crate::log::{Durability, LogManager, LogManagerSettings, check_metadata_log};
use crate::metadata::{
    BOOTSTRAP_FEATURES, BrokerEndpoint, BrokerRegistration, CLUSTER_METADATA_TOPIC_NAME, MetadataImage, TopicImage,
    bootstrap, elect_leaders, random_uuid, register_broker,
};
use crate::metrics::RareLines;
use crate::types::{Now, PartitionIndex, TopicId, TopicPartition};
use crate::zoo::{self, Bug};

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
        let loaded = load(&mut manager, disk.as_ref(), now, &configs, drawn(&mut random));
        // Nothing was appended by now: what was whole is whole, and the start after the one that is refused need not check it.
        let controller = loaded.inspect_err(|_| manager.give_marks_back())?;
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
        let change = logs.follow(now, &configs, &MetadataImage::empty(""), &image);
        let open_transactions = OpenTransactions::default();
        open_transactions.abort(now, &change.added);
        let answers = groups.follow(now, &image, &change);
        debug_assert!(answers.is_empty(), "nobody has asked anything before the start");
        Ok(KafkaApis {
            configs,
            listeners: settings.network.listeners.clone(),
            disk,
            logs,
            replica_manager,
            groups,
            open_transactions,
            controller,
            producer_ids: Mutex::new(ProducerIds::new()),
            deadlines,
            refusals: RareLines::default(),
            followed: Mutex::new(image),
        })
    }
}

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
    let partition = PartitionIndex(0);
    let metadata_log = TopicPartition { topic: Arc::from(CLUSTER_METADATA_TOPIC_NAME), partition };
    check_metadata_log(&*disk, &manager_settings, &metadata_log)?;
    let mut unique = || (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
    Ok(LogManager::open(disk, manager_settings, &mut unique)?)
}

/// Loads the metadata, then all other logs, and looks whether they belong together.
fn load(
    manager: &mut LogManager,
    disk: &dyn Disk,
    now: Now,
    configs: &BrokerConfigs,
    seed: [u8; 32],
) -> Result<Controller<Deferred>, StartFailure> {
    let metadata_log = open_metadata_log(manager, now)?;
    let controller = Controller::load(disk, metadata_log, manager.cluster_id(), seed)?;
    load_logs(manager, now, configs, &controller.image())?;
    if controller.image().features().next().is_none() {
        refuse_twins(manager)?;
        manager.check_complete()?;
    }
    Ok(controller)
}

fn is_given_up(settings: &Settings, id: TopicId) -> bool {
    settings.log.given_up_dirs.contains(&id.to_string())
}

/// The ids of directories that the cluster knows and this start does not find, unless they were given up: one is not mounted, was left out of the
/// settings, or is new where another was. What lies there is not served, and nothing begins anew in its place. One is not missed, and is forgotten,
/// if every partition has its log: then nothing can lie there. An empty log that knows no topic does not count.
fn missing_directories(
    image: &MetadataImage,
    known: &[TopicId],
    settings: &Settings,
    manager: &LogManager,
    present: &[TopicId],
) -> Vec<TopicId> {
    let is_missing = |id: &&TopicId| !present.contains(id) && !is_given_up(settings, **id);
    let missing: Vec<TopicId> = known.iter().filter(is_missing).copied().collect();
    let has_log = |topic: &TopicImage, partition: PartitionIndex| {
        let log = manager.get(&TopicPartition { topic: Arc::clone(&topic.name), partition });
        log.is_some_and(|log| log.is_claimed() || zoo::is(Bug::LeftOverFolderTaken))
    };
    if image.topics().all(|topic| topic.partitions.keys().all(|partition| has_log(topic, *partition))) {
        return Vec::new();
    }
    for id in &missing {
        tracing::error!(
            directory_id = %id,
            log_dirs = settings.log.dirs.join(","),
            "a log directory is missing, and the partitions in it are not served: bring it back to log.dirs, or, if it is lost for good, \
             take it out of log.dirs and say so with klamm.log.dirs.given.up={id}: they begin anew, empty"
        );
        manager.note_missing_directory();
    }
    missing
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
    let present: Vec<TopicId> =
        directories.iter().filter_map(|directory| TopicId::from_base64(&directory.id)).collect();
    directories.retain(|directory| !directory.is_of_metadata_only);
    let mut log_dirs: Vec<TopicId> =
        directories.iter().filter_map(|directory| TopicId::from_base64(&directory.id)).collect();
    let broker_id = settings.node.broker_id;
    let image = controller.image();
    let known = image.broker(broker_id).map_or(&[][..], |broker| &broker.log_dirs);
    // What begins anew is another log under the same offsets, however clean the end was.
    let was_clean = was_clean && !known.iter().any(|id| is_given_up(settings, *id));
    log_dirs.extend(missing_directories(&image, known, settings, logs.manager(), &present));
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
    let keeps_epochs = was_clean || zoo::is(Bug::EpochNotRaised);
    controller.append_at_start(now, |image, _| elect_leaders(image, broker_id, keeps_epochs))
}
