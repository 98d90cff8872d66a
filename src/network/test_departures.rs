//! When handlers hear of a peer that leaves: never before they have parked its request, else it would be parked for nobody.

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
const QUIET: Event =
    Event { token: TOKEN, readable: false, writable: false, read_closed: false, write_closed: false, error: false };

struct Nobody;

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

impl Listener for Nobody {
    type Connection = ScriptedConnection;

    fn accept(&mut self) -> io::Result<(ScriptedConnection, SocketAddr)> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Shows the events of its list, one poll after the other.
struct ListedEvents(Vec<Event>);

impl Selector for ListedEvents {
    type Listener = Nobody;
    type Connection = ScriptedConnection;

    fn poll(&mut self, events: &mut Vec<Event>, _timeout: Option<Duration>) -> io::Result<()> {
        if !self.0.is_empty() {
            events.push(self.0.remove(0));
        }
        Ok(())
    }

    fn register_listener(&mut self, _listener: &mut Nobody, _token: Token) -> io::Result<()> {
        Ok(())
    }

    fn rearm_listener(&mut self, _listener: &mut Nobody, _token: Token) -> io::Result<()> {
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

/// A Processor with one connection, which has sent as many requests, all under one correlation id, and the events that are to come.
struct Reactor {
    processor: Processor<ListedEvents>,
    requests: Arc<RequestChannel>,
    pool: Arc<MemoryPool>,
}

impl Reactor {
    fn new(requests_sent: usize, events: &[Event]) -> Reactor {
        let wakers = || vec![Arc::new(Nobody) as Arc<dyn Wake>];
        let requests = Arc::new(RequestChannel::new(10, wakers(), Vec::new(), 0));
        // Any byte in use is the last.
        let pool = Arc::new(MemoryPool::new(Some(1), wakers()));
        let free = ListenerLimits { connections_max: u32::MAX, creation_rate_max: u32::MAX };
        let limits = ConnectionLimits {
            connections_max: u32::MAX,
            connections_per_ip_max: u32::MAX,
            per_ip_overrides: BTreeMap::new(),
            creation_rate_max: u32::MAX,
            windows: 11,
            window: Duration::from_secs(1),
            listeners: vec![free],
            inter_broker_listener: None,
        };
        let quotas = Arc::new(ConnectionQuotas::new(limits, wakers()));
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        assert_eq!(quotas.admit(0, peer.ip()), super::connection_quotas::Admission::Admitted);
        let new_connections = Arc::new(ConnectionQueue::new(Arc::new(Nobody), Arc::new(Nobody)));
        // ApiVersions, version 0, correlation id 7, no client id; then the socket blocks.
        let frame = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff];
        let connection = ScriptedConnection::new(&frame.repeat(requests_sent), &[frame.len() * requests_sent, 0, 0, 0]);
        assert!(new_connections.offer(connection, peer).is_ok());
        let shared = ProcessorShared {
            new_connections,
            requests: Arc::clone(&requests),
            quotas,
            pool: Arc::clone(&pool),
            metrics: Arc::new(RequestMetrics::new()),
            stopwatch: Arc::new(Nobody),
        };
        let settings = ProcessorSettings { frame_bytes_max: 100, idle_max: None, quantum: usize::MAX };
        let listener = Arc::new(ListenerContext::new(0, "PLAINTEXT".to_owned()));
        let selector = ListedEvents(events.to_vec());
        Reactor { processor: Processor::new(ProcessorId(0), listener, settings, shared, selector), requests, pool }
    }

    fn turn(&mut self) {
        self.processor.poll(None).unwrap();
        self.processor.step(Now::default());
    }

    fn take(&self) -> Request {
        self.requests.take().expect("a request came")
    }

    fn respond(&self, request: &Request, kind: ResponseKind) {
        let times = RequestTimes::default();
        self.requests.respond(Response { ticket: request.ticket, kind, throttle: Duration::ZERO, times }, None);
    }
}

#[test]
fn a_peer_that_resets_while_its_request_is_handled_departs_when_the_request_is_parked() {
    let mut reactor = Reactor::new(1, &[QUIET, Event { error: true, ..QUIET }]);
    reactor.turn();
    let request = reactor.take();
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), None, "the handler has not parked it yet");
    reactor.respond(&request, ResponseKind::Parked { keeps_frame: false });
    reactor.turn();
    let closed = Departure::Closed(request.ticket.connection);
    assert_eq!(reactor.requests.take_departure(), Some(closed));
}

#[test]
fn a_peer_that_resets_while_its_request_is_handled_never_departs_if_the_request_is_answered() {
    let mut reactor = Reactor::new(1, &[QUIET, Event { error: true, ..QUIET }]);
    reactor.turn();
    let request = reactor.take();
    reactor.turn();
    reactor.respond(&request, ResponseKind::NoOp);
    reactor.respond(&request, ResponseKind::Parked { keeps_frame: false });
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), None);
}

#[test]
fn a_peer_that_sends_nothing_more_is_told_of_when_its_request_is_parked() {
    let mut reactor = Reactor::new(1, &[QUIET, Event { read_closed: true, ..QUIET }]);
    reactor.turn();
    let request = reactor.take();
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), None);
    reactor.respond(&request, ResponseKind::Parked { keeps_frame: false });
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), Some(Departure::Finished(request.ticket.connection)));
}

#[test]
fn a_note_that_comes_after_its_answer_says_nothing_of_the_next_request_though_its_correlation_id_is_the_same() {
    let mut reactor = Reactor::new(2, &[QUIET, QUIET, QUIET, Event { error: true, ..QUIET }]);
    reactor.turn();
    let first = reactor.take();
    reactor.respond(&first, ResponseKind::NoOp);
    reactor.turn();
    let second = reactor.take();
    assert_eq!(first.ticket.correlation_id, second.ticket.correlation_id);
    reactor.respond(&first, ResponseKind::Parked { keeps_frame: false });
    reactor.turn();
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), None, "the second is not parked");
    reactor.respond(&second, ResponseKind::Parked { keeps_frame: false });
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), Some(Departure::Closed(second.ticket.connection)));
}

#[test]
fn a_parked_request_gives_its_memory_back_unless_its_frame_is_kept() {
    for keeps_frame in [false, true] {
        let mut reactor = Reactor::new(1, &[]);
        reactor.turn();
        let request = reactor.take();
        assert!(!reactor.pool.try_take(1), "it holds the memory");
        reactor.respond(&request, ResponseKind::Parked { keeps_frame });
        reactor.turn();
        assert_eq!(reactor.pool.try_take(0), !keeps_frame);
        reactor.respond(&request, ResponseKind::NoOp);
        reactor.turn();
        assert!(reactor.pool.try_take(0));
    }
}
