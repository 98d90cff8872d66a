//! Makes everything and joins it, in order: logs and metadata first, sockets last, so that an open port means a broker that is ready.
//!
//! It says which part gets which part; it must not know who steps the roles.

use std::sync::Arc;
use std::time::Duration;

use super::connection_limits::{LimitsInForce, OverrideHosts, connection_limits};
use super::delivery::Delivery;
use super::expiry::Expiry;
use super::flusher::Flusher;
use super::log_keeper::LogKeeper;
use super::request_handler::RequestHandler;
use super::request_times::log_request_times;
use super::start_error::StartError;
use crate::apis::{ApiWakers, KafkaApis, StartFailure};
use crate::config::{NetworkSettings, StaticConfig};
use crate::env::{Clock, Disk, Network, Role, Selector, SocketOptions, Wake};
use crate::metrics::RequestMetrics;
use crate::network::{
    Acceptor, ConnectionQueue, ConnectionQuotas, ListenerContext, MemoryPool, Processor, ProcessorSettings,
    ProcessorShared, RequestChannel,
};
use crate::types::{Now, ProcessorId};

/// How to wake each role that waits without a selector; the driver makes them.
pub struct RoleWakers {
    /// The handlers of the pool; their number is `num.io.threads`.
    pub handlers: Vec<Arc<dyn Wake>>,
    /// The role that syncs.
    pub flusher: Arc<dyn Wake>,
    /// The role that watches deadlines.
    pub expiry: Arc<dyn Wake>,
}

/// The world that a broker lives in.
pub struct BrokerEnvironment<'a, N: Network> {
    /// Makes selectors and listeners.
    pub network: &'a N,
    /// The file system.
    pub disk: Arc<dyn Disk>,
    /// The stopwatch of the request times. Steps get the time from their driver.
    pub clock: Arc<dyn Clock>,
    /// What all randomness of this broker grows from.
    pub seed: [u8; 32],
    /// How to wake the roles.
    pub wakers: RoleWakers,
    /// Units of work that a Processor does in one step.
    pub quantum: usize,
    /// Requests that may wait before a handler of the pool is woken: 1 if each Processor's driver steps the handler beside it.
    pub backlog_tolerated: usize,
}

/// A broker that is ready, taken apart into the roles that its driver steps.
pub struct Broker<S: Selector> {
    /// One for each listener.
    pub acceptors: Vec<Acceptor<S>>,
    /// Each Processor and the handler beside it.
    pub processors: Vec<(Processor<S>, RequestHandler)>,
    /// The pool.
    pub handlers: Vec<RequestHandler>,
    /// Flusher, expiry and log keeper, in that order.
    pub roles: Vec<Box<dyn Role>>,
    /// How to wake every Acceptor and Processor.
    pub selector_wakers: Vec<Arc<dyn Wake>>,
    metrics: Arc<RequestMetrics>,
    apis: Arc<KafkaApis>,
    requests: Arc<RequestChannel>,
    quotas: Arc<ConnectionQuotas>,
    pool: Arc<MemoryPool>,
    clock: Arc<dyn Clock>,
}

/// A listener on its way: sockets are bound, nobody accepts.
struct Opening<S: Selector> {
    context: Arc<ListenerContext>,
    selector: S,
    socket: S::Listener,
    processors: Vec<S>,
}

/// What is left of a broker for its orderly end, when the roles have gone to their drivers.
pub struct Ending {
    apis: Arc<KafkaApis>,
    delivery: Delivery,
    metrics: Arc<RequestMetrics>,
    quotas: Arc<ConnectionQuotas>,
    pool: Arc<MemoryPool>,
}

/// What a broker holds for its clients: nothing, when there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// Connections that count against the limits.
    pub connections: u32,
    /// Bytes of requests, if they are limited.
    pub request_bytes: u64,
    /// Whether a produce or a fetch waits.
    pub has_parked: bool,
}

impl Ending {
    /// What the broker holds for its clients.
    pub fn holdings(&self) -> Holdings {
        Holdings {
            connections: self.quotas.total(),
            request_bytes: self.pool.taken_bytes(),
            has_parked: self.apis.has_parked(),
        }
    }

    /// Answers what waits for data, so that no client waits for a broker that stops.
    pub fn drain(&self, now: Now) {
        self.delivery.complete(self.apis.drain(now));
    }

    /// Whether a sync has failed, so that no end can be in order.
    pub fn must_stop(&self) -> bool {
        self.apis.must_stop()
    }

    /// Says in the log where requests have spent their time so far.
    pub fn log_request_times(&self) {
        log_request_times(&self.metrics);
    }

    /// Says where requests spent their time, syncs everything and marks the logs as cleanly shut down. To be called when every role has ended; waits for the disk.
    pub fn shut_down(&self) -> Result<(), StartFailure> {
        self.log_request_times();
        self.apis.shut_down()
    }
}

impl<S: Selector> Broker<S> {
    /// What the driver needs for the orderly end.
    pub fn ending(&self) -> Ending {
        let delivery = Delivery::new(Arc::clone(&self.requests), Arc::clone(&self.clock), None);
        Ending {
            apis: Arc::clone(&self.apis),
            delivery,
            metrics: Arc::clone(&self.metrics),
            quotas: Arc::clone(&self.quotas),
            pool: Arc::clone(&self.pool),
        }
    }

    /// Loads logs and metadata, binds the listeners and makes the roles. If it cannot listen, what it has loaded is closed in order.
    pub fn start<N: Network<Selector = S>>(
        fixed: StaticConfig,
        now: Now,
        environment: BrokerEnvironment<'_, N>,
    ) -> Result<Broker<S>, StartError> {
        let api_wakers = ApiWakers {
            flusher: Arc::clone(&environment.wakers.flusher),
            expiry: Arc::clone(&environment.wakers.expiry),
        };
        let hosts = OverrideHosts::look_up(&fixed, |host| environment.network.resolve(host))?;
        let disk = Arc::clone(&environment.disk);
        let apis = Arc::new(KafkaApis::start(fixed, now, disk, environment.seed, api_wakers)?);
        Broker::around(Arc::clone(&apis), hosts, environment).inspect_err(|_| {
            // Nobody was served: the next start, with the port free or the name mended, need not check every log.
            if let Err(error) = apis.shut_down() {
                tracing::error!(%error, "the logs could not be closed in order; they are checked at the next start");
            }
        })
    }

    /// Binds the listeners and makes the roles.
    fn around<N: Network<Selector = S>>(
        apis: Arc<KafkaApis>,
        hosts: OverrideHosts,
        environment: BrokerEnvironment<'_, N>,
    ) -> Result<Broker<S>, StartError> {
        let BrokerEnvironment { network, clock, wakers, quantum, backlog_tolerated, .. } = environment;
        let settings = apis.settings();
        let opening = open_listeners(&settings.network, network)?;
        let metrics = Arc::new(RequestMetrics::new());
        let selectors = |listener: &Opening<S>| listener.processors.iter().map(Selector::waker).collect::<Vec<_>>();
        let processor_wakers: Vec<Arc<dyn Wake>> = opening.iter().flat_map(selectors).collect();
        let acceptor_wakers: Vec<Arc<dyn Wake>> = opening.iter().map(|listener| listener.selector.waker()).collect();
        let requests = Arc::new(RequestChannel::new(
            settings.network.queued_requests_max,
            processor_wakers.clone(),
            wakers.handlers.clone(),
            backlog_tolerated,
        ));
        let limits = connection_limits(&settings.network, &hosts);
        let quotas = Arc::new(ConnectionQuotas::new(limits, acceptor_wakers.clone()));
        let pool_bytes = settings.network.queued_request_bytes_max.and_then(|bytes| i64::try_from(bytes).ok());
        let joint = Joint {
            requests: Arc::clone(&requests),
            quotas: Arc::clone(&quotas),
            pool: Arc::new(MemoryPool::new(pool_bytes, processor_wakers.clone())),
            metrics: Arc::clone(&metrics),
            clock: Arc::clone(&clock),
            apis: Arc::clone(&apis),
            processor_settings: ProcessorSettings {
                frame_bytes_max: settings.network.request_bytes_max,
                idle_max: settings
                    .network
                    .connection_idle_ms_max
                    .and_then(|ms| u64::try_from(ms).ok())
                    .map(Duration::from_millis),
                quantum,
            },
            options: SocketOptions {
                send_buffer_bytes: settings.network.send_buffer_bytes.and_then(|bytes| u32::try_from(bytes).ok()),
            },
        };
        let processors = processor_wakers.clone();
        let mut broker = Broker {
            acceptors: Vec::new(),
            processors: Vec::new(),
            handlers: Vec::new(),
            roles: Vec::new(),
            metrics,
            selector_wakers: acceptor_wakers.into_iter().chain(processor_wakers).collect(),
            apis: Arc::clone(&apis),
            requests: Arc::clone(&requests),
            quotas: Arc::clone(&quotas),
            pool: Arc::clone(&joint.pool),
            clock: Arc::clone(&clock),
        };
        for listener in opening {
            broker.join_listener(listener, &joint)?;
        }
        broker.handlers = (0..wakers.handlers.len())
            .map(|number| RequestHandler::of_pool(number, Arc::clone(&requests), Arc::clone(&apis), Arc::clone(&clock)))
            .collect();
        let limits = LimitsInForce::new(quotas, hosts, processors, settings);
        broker.roles = vec![
            Box::new(Flusher::new(Arc::clone(&apis), Arc::clone(&requests), Arc::clone(&clock), limits)),
            Box::new(Expiry::new(Arc::clone(&apis), Arc::clone(&requests), Arc::clone(&clock))),
            Box::new(LogKeeper::new(apis, requests, clock)),
        ];
        Ok(broker)
    }

    /// Makes the Processors of a listener and its Acceptors, which share them.
    fn join_listener(&mut self, listener: Opening<S>, joint: &Joint) -> Result<(), StartError> {
        let acceptor = listener.selector.waker();
        let mut queues = Vec::new();
        for selector in listener.processors {
            let id = ProcessorId(u32::try_from(self.processors.len()).unwrap_or(u32::MAX));
            let queue = Arc::new(ConnectionQueue::new(Arc::clone(&acceptor), selector.waker()));
            let shared = joint.for_processor(Arc::clone(&queue));
            let processor =
                Processor::new(id, Arc::clone(&listener.context), joint.processor_settings, shared, selector);
            let handler = RequestHandler::beside(
                id,
                Arc::clone(&joint.requests),
                Arc::clone(&joint.apis),
                Arc::clone(&joint.clock),
            );
            self.processors.push((processor, handler));
            queues.push(queue);
        }
        let quotas = Arc::clone(&joint.quotas);
        let acceptor =
            Acceptor::new(listener.context, listener.selector, listener.socket, queues, quotas, joint.options);
        self.acceptors.push(acceptor.map_err(|source| StartError::Selector { source })?);
        Ok(())
    }
}

/// What all listeners share.
struct Joint {
    requests: Arc<RequestChannel>,
    quotas: Arc<ConnectionQuotas>,
    pool: Arc<MemoryPool>,
    metrics: Arc<RequestMetrics>,
    clock: Arc<dyn Clock>,
    apis: Arc<KafkaApis>,
    processor_settings: ProcessorSettings,
    options: SocketOptions,
}

impl Joint {
    fn for_processor<C>(&self, new_connections: Arc<ConnectionQueue<C>>) -> ProcessorShared<C> {
        ProcessorShared {
            new_connections,
            requests: Arc::clone(&self.requests),
            quotas: Arc::clone(&self.quotas),
            pool: Arc::clone(&self.pool),
            metrics: Arc::clone(&self.metrics),
            stopwatch: Arc::clone(&self.clock),
        }
    }
}

fn open_listeners<N: Network>(
    settings: &NetworkSettings,
    network: &N,
) -> Result<Vec<Opening<N::Selector>>, StartError> {
    let selector = || network.selector().map_err(|source| StartError::Selector { source });
    let mut opening = Vec::new();
    for (index, listener) in settings.listeners.iter().enumerate() {
        let endpoint = &listener.endpoint;
        let backlog = u32::try_from(settings.listen_backlog).unwrap_or(1);
        let receive_buffer_bytes = settings.receive_buffer_bytes.and_then(|bytes| u32::try_from(bytes).ok());
        let socket =
            network.listen(&endpoint.host, endpoint.port, backlog, receive_buffer_bytes).map_err(|source| {
                StartError::Listen {
                    listener: endpoint.name.clone(),
                    address: format!("{}:{}", endpoint.host, endpoint.port),
                    source,
                }
            })?;
        let processors = (0..listener.network_threads.max(1)).map(|_| selector()).collect::<Result<Vec<_>, _>>()?;
        let context = Arc::new(ListenerContext::new(index, endpoint.name.clone()));
        opening.push(Opening { context, selector: selector()?, socket, processors });
    }
    Ok(opening)
}
