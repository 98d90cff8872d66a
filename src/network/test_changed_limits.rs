//! Limits of connections that change at run time: the Acceptor obeys them from its next connection on.

use std::sync::Arc;

use super::test_reactor::{FREE, ListedEvents, NO_DESCRIPTOR, Nobody, WaitingPeers, no_limits};
use super::testing::ScriptedConnection;
use super::*;
use crate::env::{SocketOptions, Step};
use crate::types::{Instant, Now};

/// An Acceptor at whose listener many peers wait.
struct Door {
    acceptor: Acceptor<ListedEvents>,
    quotas: Arc<ConnectionQuotas>,
    queue: Arc<ConnectionQueue<ScriptedConnection>>,
    context: Arc<ListenerContext>,
}

impl Door {
    fn new() -> Door {
        Door::with(WaitingPeers(100))
    }

    fn with(peers: WaitingPeers) -> Door {
        let quotas = Arc::new(ConnectionQuotas::new(no_limits(), vec![Arc::new(Nobody)]));
        let queue = Arc::new(ConnectionQueue::new(Arc::new(Nobody), Arc::new(Nobody)));
        let (queues, options) = (vec![Arc::clone(&queue)], SocketOptions { send_buffer_bytes: None });
        let selector = ListedEvents(Vec::new());
        let context = Arc::new(ListenerContext::new(0, "PLAINTEXT".to_owned()));
        let (acceptor_context, acceptor_quotas) = (Arc::clone(&context), Arc::clone(&quotas));
        let acceptor = Acceptor::new(acceptor_context, selector, peers, queues, acceptor_quotas, options).unwrap();
        Door { acceptor, quotas, queue, context }
    }

    /// Whether a connection comes through in the next step, and what the step says.
    fn step(&mut self) -> (bool, Step) {
        let step = self.acceptor.step(Now { instant: Instant(1_000_000_000), ..Now::default() });
        (self.queue.take().is_some(), step)
    }

    fn is_open(&mut self) -> bool {
        self.step().0
    }
}

#[test]
fn a_changed_number_of_connections_holds_for_the_next_one_and_for_the_one_that_waits() {
    let mut door = Door::new();
    assert!(door.is_open());
    for listener in [false, true] {
        let limit = |connections_max| ListenerLimits { connections_max, ..FREE };
        let limits = |max| if listener { (FREE, limit(max)) } else { (limit(max), FREE) };
        let there = door.quotas.total();
        let (broker, own) = limits(there);
        door.quotas.set_limits(broker, u32::MAX, vec![own]);
        assert!(matches!(door.step(), (false, Step::Idle { until: None })));
        let (broker, own) = limits(there + 1);
        door.quotas.set_limits(broker, u32::MAX, vec![own]);
        assert!(door.is_open());
        assert!(!door.is_open());
        door.quotas.set_limits(FREE, u32::MAX, vec![FREE]);
        assert!(door.is_open());
    }
}

#[test]
fn a_changed_number_for_each_address_closes_the_next_one_of_an_address_with_too_many() {
    let mut door = Door::new();
    assert!(door.is_open());
    door.quotas.set_limits(FREE, 1, vec![FREE]);
    assert!(matches!(door.step(), (false, Step::Worked)), "it is closed, not held");
    assert_eq!(door.quotas.total(), 1);
    door.quotas.set_limits(FREE, 2, vec![FREE]);
    assert!(door.is_open());
}

#[test]
fn a_changed_rate_holds_the_next_one_back() {
    let slow = ListenerLimits { creation_rate_max: 0, ..FREE };
    for (broker, own) in [(slow, FREE), (FREE, slow)] {
        let mut door = Door::new();
        assert!(door.is_open());
        door.quotas.set_limits(broker, u32::MAX, vec![own]);
        assert!(matches!(door.step(), (false, Step::Idle { until: Some(_) })));
    }
}

#[test]
fn each_limit_that_is_reached_is_told_to_the_operator_by_its_key() {
    let one = ListenerLimits { connections_max: 1, ..FREE };
    let slow = ListenerLimits { creation_rate_max: 0, ..FREE };
    let cases = [
        ("max.connections", one, u32::MAX, FREE),
        ("listener.name.<listener>.max.connections", FREE, u32::MAX, one),
        ("max.connections.per.ip", FREE, 1, FREE),
        ("max.connection.creation.rate", slow, u32::MAX, FREE),
        ("listener.name.<listener>.max.connection.creation.rate", FREE, u32::MAX, slow),
    ];
    for (key, broker, per_address, own) in cases {
        let mut door = Door::new();
        assert!(door.is_open());
        assert_eq!(door.context.reached_limits.kinds(), Vec::<&str>::new());
        door.quotas.set_limits(broker, per_address, vec![own]);
        assert!(!door.is_open(), "{key}");
        assert_eq!(door.context.reached_limits.kinds(), [key]);
    }
}

#[test]
fn connections_without_a_descriptor_are_told_of_like_a_limit_not_at_each_try() {
    let mut door = Door::with(WaitingPeers(NO_DESCRIPTOR));
    let at = |tenths: u64| Now { instant: Instant(tenths * 100_000_000), ..Now::default() };
    for tenths in 0..100 {
        assert!(matches!(door.acceptor.step(at(tenths)), Step::Idle { until: Some(_) }));
    }
    assert_eq!(door.context.reached_limits.due(at(100).instant, "accept"), Some(99));
}
