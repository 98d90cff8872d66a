//! The dispatcher: from an API key to the handler of that API, and what all handlers share.
//!
//! It must not know what any single API does.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::answer::{Answer, Completion, Outcome};
use super::api_request::ApiRequest;
use super::deadlines::Deadlines;
use super::handlers;
use super::log_directory::LogDirectory;
use super::replica_manager::{LogKey, ReplicaManager};
use super::request_local::RequestLocal;
use super::sync_queue::{SyncQueue, SyncRound};
use crate::config::Settings;
use crate::env::{Disk, DiskError, SyncJob, Wake};
use crate::log::{LogError, LogManager, LogSettings};
use crate::protocol::{ApiKey, DecodeError};
use crate::types::{BrokerId, ConnectionId, Instant, Now, PartitionIndex, TopicId};

/// How to wake the roles that the handlers give work to.
pub struct ApiWakers {
    /// The role that syncs.
    pub flusher: Arc<dyn Wake>,
    /// The role that watches deadlines.
    pub expiry: Arc<dyn Wake>,
}

/// Everything that handlers ask.
pub struct KafkaApis {
    settings: Arc<Settings>,
    logs: Arc<LogDirectory>,
    replica_manager: ReplicaManager,
    deadlines: Arc<Deadlines>,
    random: Mutex<ChaCha12Rng>,
}

impl KafkaApis {
    /// Loads logs and metadata.
    pub fn start(
        settings: Arc<Settings>,
        now: Now,
        disk: Arc<dyn Disk>,
        seed: [u8; 32],
        wakers: ApiWakers,
    ) -> Result<KafkaApis, LogError> {
        let roots: Vec<PathBuf> = settings.log.dirs.iter().map(PathBuf::from).collect();
        let manager = LogManager::open(disk, roots.clone(), &Arc::new(LogSettings::default()), now)?;
        let logs = Arc::new(LogDirectory::new(Arc::new(manager), roots));
        let deadlines = Arc::new(Deadlines::new(wakers.expiry));
        let syncs = SyncQueue::new(wakers.flusher);
        let replica_manager = ReplicaManager::new(Arc::clone(&logs), syncs, Arc::clone(&deadlines));
        let random = Mutex::new(ChaCha12Rng::from_seed(seed));
        Ok(KafkaApis { settings, logs, replica_manager, deadlines, random })
    }

    /// Handles one request.
    pub fn handle(&self, now: Now, local: &mut RequestLocal, request: ApiRequest) -> Outcome {
        let handled = match ApiKey::from_code(request.ticket.api_key) {
            Some(api_key) => self.dispatch(api_key, now, local, &request),
            None => Ok(Answer::Close("an API that is not served").into()),
        };
        handled.unwrap_or_else(|error| {
            tracing::debug!(peer = %request.peer, api_key = request.ticket.api_key, %error, "malformed request");
            Answer::Close("a request whose body cannot be read").into()
        })
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
            _ => Ok(Answer::Close("an API that is not served").into()),
        }
    }

    /// Forgets what a connection waited for.
    pub fn connection_closed(&self, _now: Now, connection: ConnectionId) -> Vec<Completion> {
        self.replica_manager.connection_closed(connection);
        Vec::new()
    }

    /// Ends what has waited long enough.
    pub fn expire(&self, now: Now) -> Vec<Completion> {
        self.replica_manager.expire(now)
    }

    /// When something must be ended next. To be asked right before the expiry role sleeps.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.disarm();
        let next = self.replica_manager.next_deadline();
        self.deadlines.arm(next);
        next
    }

    /// What to sync now, if anything waits for it.
    pub fn begin_sync(&self, _now: Now) -> Option<(SyncRound, SyncJob)> {
        self.replica_manager.begin_sync()
    }

    /// Takes the outcome of a sync.
    pub fn end_sync(&self, now: Now, round: SyncRound, result: Result<(), DiskError>) -> Vec<Completion> {
        self.replica_manager.end_sync(now, round, result)
    }

    /// Does what is due for the logs.
    pub fn keep_logs(&self, _now: Now) {}

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn replica_manager(&self) -> &ReplicaManager {
        &self.replica_manager
    }

    pub(crate) fn broker_id(&self) -> BrokerId {
        self.settings.node.broker_id
    }

    pub(crate) fn cluster_id(&self) -> &str {
        "tmp"
    }

    pub(crate) fn create_topic_tmp(&self, now: Now, name: &str) {
        let mut id = [0; 16];
        self.random.lock().expect("x").fill_bytes(&mut id);
        let key = LogKey { topic_id: TopicId(id), partition: PartitionIndex(0) };
        self.logs.open(now, &Arc::from(name), key, Arc::new(LogSettings::default()), Default::default()).expect("tmp");
    }

    /// The address that a client of this request's listener is told.
    pub(crate) fn advertised(&self, request: &ApiRequest) -> (String, i32) {
        let listener = self.settings.network.listeners.get(request.listener);
        let advertised = listener.and_then(|listener| listener.advertised.as_ref());
        let reached = request.local.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
        match advertised {
            Some(endpoint) if !endpoint.host.is_empty() => (endpoint.host.clone(), i32::from(endpoint.port)),
            Some(endpoint) => (reached.ip().to_string(), i32::from(endpoint.port)),
            None => (reached.ip().to_string(), i32::from(reached.port())),
        }
    }
}
