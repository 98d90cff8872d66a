//! A Processor with one connection for tests: what it has sent is a list of bytes, and what the selector shows a list of events.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::testing::ScriptedConnection;
use super::*;
use crate::env::{Clock, Event, Interest, Listener, Selector, Token, Wake};
use crate::metrics::RequestMetrics;
use crate::types::{Instant, Now, ProcessorId};

const TOKEN: Token = Token { index: 0, generation: 1 };
pub(super) const QUIET: Event =
    Event { token: TOKEN, readable: false, writable: false, read_closed: false, write_closed: false, error: false };

pub(super) struct Nobody;

impl Wake for Nobody {
    fn wake(&self) {}
}

impl Clock for Nobody {
    fn now(&self) -> Now {
        Now::default()
    }

    fn stopwatch(&self) -> Instant {
        Instant(1)
    }
}

/// So many peers wait, all at one address. [`NO_DESCRIPTOR`] of them wait in vain.
pub(super) struct WaitingPeers(pub(super) usize);

/// A number of peers for which the process has no file descriptor.
pub(super) const NO_DESCRIPTOR: usize = usize::MAX;

impl Listener for WaitingPeers {
    type Connection = ScriptedConnection;

    fn accept(&mut self) -> io::Result<(ScriptedConnection, SocketAddr)> {
        if self.0 == NO_DESCRIPTOR {
            return Err(io::Error::other("made to fail"));
        }
        self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::WouldBlock)?;
        Ok((ScriptedConnection::default(), PEER))
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Shows the events of its list, one poll after the other.
pub(super) struct ListedEvents(pub(super) Vec<Event>);

impl Selector for ListedEvents {
    type Listener = WaitingPeers;
    type Connection = ScriptedConnection;

    fn poll(&mut self, events: &mut Vec<Event>, _timeout: Option<Duration>) -> io::Result<()> {
        if !self.0.is_empty() {
            events.push(self.0.remove(0));
        }
        Ok(())
    }

    fn register_listener(&mut self, _listener: &mut WaitingPeers, _token: Token) -> io::Result<()> {
        Ok(())
    }

    fn rearm_listener(&mut self, _listener: &mut WaitingPeers, _token: Token) -> io::Result<()> {
        Ok(())
    }

    fn register(&mut self, _: &mut ScriptedConnection, _: Token, _: Interest) -> io::Result<()> {
        Ok(())
    }

    fn reregister(&mut self, _: &mut ScriptedConnection, _: Token, _: Interest) -> io::Result<()> {
        Ok(())
    }

    fn deregister(&mut self, _connection: &mut ScriptedConnection) -> io::Result<()> {
        Ok(())
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::new(Nobody)
    }
}

const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

pub(super) fn no_limits() -> ConnectionLimits {
    ConnectionLimits {
        connections_max: u32::MAX,
        connections_per_ip_max: u32::MAX,
        per_ip_overrides: BTreeMap::new(),
        creation_rate_max: u32::MAX,
        windows: 11,
        window: Duration::from_secs(1),
        listeners: vec![FREE],
        inter_broker_listener: None,
    }
}

/// A Processor with one connection, which has sent as many requests, all under one correlation id, and the events that are to come.
pub(super) struct Reactor {
    processor: Processor<ListedEvents>,
    pub(super) requests: Arc<RequestChannel>,
    pub(super) pool: Arc<MemoryPool>,
    pub(super) quotas: Arc<ConnectionQuotas>,
    pub(super) listener: Arc<ListenerContext>,
    pub(super) metrics: Arc<RequestMetrics>,
}

pub(super) const FREE: ListenerLimits = ListenerLimits { connections_max: u32::MAX, creation_rate_max: u32::MAX };

/// ApiVersions, version 0, correlation id 7, no client id.
pub(super) const FRAME: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff];

impl Reactor {
    /// The connection has brought so many requests; then the socket blocks.
    pub(super) fn new(requests_sent: usize, events: &[Event]) -> Reactor {
        let bytes = FRAME.repeat(requests_sent);
        let connection = ScriptedConnection::new(&bytes, &[bytes.len(), 0, 0, 0]);
        Reactor::with_connection(connection, None, events)
    }

    pub(super) fn with_connection(
        connection: ScriptedConnection,
        idle_max: Option<Duration>,
        events: &[Event],
    ) -> Reactor {
        let wakers = || vec![Arc::new(Nobody) as Arc<dyn Wake>];
        let requests = Arc::new(RequestChannel::new(10, wakers(), Vec::new(), 0));
        // Any byte in use is the last.
        let pool = Arc::new(MemoryPool::new(Some(1), wakers()));
        let quotas = Arc::new(ConnectionQuotas::new(no_limits(), wakers()));
        assert_eq!(quotas.admit(0, PEER.ip()), super::connection_quotas::Admission::Admitted);
        let new_connections = Arc::new(ConnectionQueue::new(Arc::new(Nobody), Arc::new(Nobody)));
        assert!(new_connections.offer(connection, PEER).is_ok());
        let metrics = Arc::new(RequestMetrics::new());
        let shared = ProcessorShared {
            new_connections,
            requests: Arc::clone(&requests),
            quotas: Arc::clone(&quotas),
            pool: Arc::clone(&pool),
            metrics: Arc::clone(&metrics),
            stopwatch: Arc::new(Nobody),
        };
        let settings = ProcessorSettings { frame_bytes_max: 100, idle_max, quantum: usize::MAX };
        let listener = Arc::new(ListenerContext::new(0, "PLAINTEXT".to_owned()));
        let selector = ListedEvents(events.to_vec());
        let processor = Processor::new(ProcessorId(0), Arc::clone(&listener), settings, shared, selector);
        Reactor { processor, requests, pool, quotas, listener, metrics }
    }

    pub(super) fn turn(&mut self) {
        self.turn_at(Instant(0));
    }

    pub(super) fn turn_at(&mut self, instant: Instant) {
        self.processor.poll(None).unwrap();
        self.processor.step(Now { instant, ..Now::default() });
    }

    /// Has the connection closed from our side, as one too many.
    pub(super) fn close(&mut self) {
        self.quotas.set_limits(ListenerLimits { connections_max: 0, ..FREE }, u32::MAX, vec![FREE]);
        self.turn();
        assert_eq!(self.quotas.total(), 0);
    }

    pub(super) fn take(&self) -> Request {
        self.requests.take().expect("a request came")
    }

    pub(super) fn respond(&self, request: &Request, kind: ResponseKind) {
        let times = RequestTimes::default();
        self.requests.respond(Response { ticket: request.ticket, kind, throttle: Duration::ZERO, times }, None);
    }
}
