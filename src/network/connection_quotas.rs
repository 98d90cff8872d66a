//! How many connections there may be, from which address, through which listener, and how fast new ones may come.
//!
//! Kafka's rules: an excess over a total or a rate holds the Acceptor of that listener back (the kernel's backlog fills), an excess over a
//! per-address count closes the new connection, one over a per-address rate closes it after a while. It must not know sockets.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::connection_rate::ConnectionRate;
use crate::env::Wake;
use crate::types::{Instant, Now};
use crate::zoo::{self, Bug};

/// Limits of one listener (`listener.name.<name>.max.connections` and `.max.connection.creation.rate`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenerLimits {
    /// Connections at once.
    pub connections_max: u32,
    /// New connections per second.
    pub creation_rate_max: u32,
}

/// Limits of the broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// `max.connections`.
    pub connections_max: u32,
    /// `max.connections.per.ip`.
    pub connections_per_ip_max: u32,
    /// `max.connections.per.ip.overrides`.
    pub per_ip_overrides: BTreeMap<IpAddr, u32>,
    /// `max.connection.creation.rate`.
    pub creation_rate_max: u32,
    /// `quota.window.num`.
    pub windows: usize,
    /// `quota.window.size.seconds`; also the longest that a connection is held back for its rate.
    pub window: Duration,
    /// Each listener, by number.
    pub listeners: Vec<ListenerLimits>,
    /// The inter-broker listener. With more than one listener, the broker-wide limits do not hold for it.
    pub inter_broker_listener: Option<usize>,
}

/// What becomes of a connection that asks to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is counted; `leave` must be called once when it ends.
    Admitted,
    /// No place is free; the Acceptor is woken when one may be.
    Full(ReachedLimit),
    /// Its address has as many as it may have; it is not counted.
    TooManyFromAddress(ReachedLimit),
}

/// A limit that leaves no room, for the operator to know which one to raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReachedLimit {
    /// The setting.
    pub(crate) key: &'static str,
    /// Its value.
    pub(crate) limit: u32,
}

impl ReachedLimit {
    /// The key, as an operator sets it, if it was this listener that reached the limit.
    pub(crate) fn key_at(&self, listener: &str) -> String {
        self.key.replace("<listener>", &listener.to_lowercase())
    }
}

/// Counts of all connections, shared by Acceptors and Processors.
pub struct ConnectionQuotas {
    /// `max.connections`, which Processors look at in each step.
    connections_max: AtomicU32,
    counts: Mutex<Counts>,
}

struct Counts {
    limits: ConnectionLimits,
    per_ip: BTreeMap<IpAddr, u32>,
    per_listener: Vec<ListenerCount>,
    total: u32,
    broker_rate: ConnectionRate,
}

struct ListenerCount {
    connections: u32,
    rate: ConnectionRate,
    waits: bool,
    waker: Arc<dyn Wake>,
}

impl ConnectionLimits {
    fn is_protected(&self, listener: usize) -> bool {
        self.listeners.len() > 1 && self.inter_broker_listener == Some(listener)
    }
}

impl Counts {
    /// How to wake the Acceptors that wait for a place; they wait no more.
    fn take_waiting(&mut self) -> Vec<Arc<dyn Wake>> {
        let waiting = self.per_listener.iter_mut().filter_map(|count| {
            let waits = std::mem::take(&mut count.waits);
            waits.then(|| Arc::clone(&count.waker))
        });
        waiting.collect()
    }
}

impl ConnectionQuotas {
    /// Nobody connected. `acceptors` are how to wake the Acceptor of each listener.
    pub fn new(limits: ConnectionLimits, acceptors: Vec<Arc<dyn Wake>>) -> ConnectionQuotas {
        let rate = || ConnectionRate::new(limits.windows, limits.window);
        let per_listener = acceptors
            .into_iter()
            .map(|waker| ListenerCount { connections: 0, rate: rate(), waits: false, waker })
            .collect();
        let connections_max = AtomicU32::new(limits.connections_max);
        let broker_rate = rate();
        let counts = Counts { limits, per_ip: BTreeMap::new(), per_listener, total: 0, broker_rate };
        ConnectionQuotas { connections_max, counts: Mutex::new(counts) }
    }

    /// From now on other numbers hold: for the broker, for any address, and for each listener, by number. Acceptors that wait for a place
    /// look again; what is too many is closed, one connection of a Processor after the other.
    pub fn set_limits(&self, broker: ListenerLimits, connections_per_ip_max: u32, listeners: Vec<ListenerLimits>) {
        let waiting = {
            let mut counts = self.counts();
            counts.limits.connections_max = broker.connections_max;
            counts.limits.creation_rate_max = broker.creation_rate_max;
            if !zoo::is(Bug::AddressLimitFixed) {
                counts.limits.connections_per_ip_max = connections_per_ip_max;
            }
            counts.limits.listeners = listeners;
            self.connections_max.store(broker.connections_max, Ordering::Relaxed);
            counts.take_waiting()
        };
        waiting.iter().for_each(|waker| waker.wake());
    }

    /// From now on these addresses have bounds of their own, and all others that of every address. Who is there may stay.
    pub fn set_overrides(&self, per_ip_overrides: BTreeMap<IpAddr, u32>) {
        if !zoo::is(Bug::OverridesFixed) {
            self.counts().limits.per_ip_overrides = per_ip_overrides;
        }
    }

    /// Records one new connection in the rates and says until when the Acceptor must hold it back, if at all, and for which of them.
    pub(crate) fn record_arrival(&self, listener: usize, now: Now) -> Option<(Instant, ReachedLimit)> {
        let mut counts = self.counts();
        let Counts { limits, broker_rate, per_listener, .. } = &mut *counts;
        let broker = if limits.is_protected(listener) {
            Duration::ZERO
        } else {
            broker_rate.record(now.instant);
            broker_rate.throttle(now.instant, limits.creation_rate_max)
        };
        let limit = limits.listeners.get(listener).map_or(u32::MAX, |limits| limits.creation_rate_max);
        let own = per_listener.get_mut(listener).map_or(Duration::ZERO, |count| {
            count.rate.record(now.instant);
            count.rate.throttle(now.instant, limit)
        });
        let throttle = broker.max(own).min(limits.window);
        let reached = if broker >= own {
            ReachedLimit { key: "max.connection.creation.rate", limit: limits.creation_rate_max }
        } else {
            ReachedLimit { key: "listener.name.<listener>.max.connection.creation.rate", limit }
        };
        (!throttle.is_zero() && !zoo::is(Bug::RateNotHeld)).then(|| (now.instant.after(throttle), reached))
    }

    /// Counts a connection if a place is free and its address may have one more.
    pub(crate) fn admit(&self, listener: usize, address: IpAddr) -> Admission {
        let mut counts = self.counts();
        let limits = &counts.limits;
        let total_is_full = !limits.is_protected(listener) && counts.total >= limits.connections_max;
        let of_broker = ReachedLimit { key: "max.connections", limit: limits.connections_max };
        let listener_max = limits.listeners.get(listener).map_or(u32::MAX, |limits| limits.connections_max);
        let of_listener = ReachedLimit { key: "listener.name.<listener>.max.connections", limit: listener_max };
        let of_address = match limits.per_ip_overrides.get(&address) {
            Some(&limit) => ReachedLimit { key: "max.connections.per.ip.overrides", limit },
            None => ReachedLimit { key: "max.connections.per.ip", limit: limits.connections_per_ip_max },
        };
        if let Some(count) = counts.per_listener.get_mut(listener)
            && (total_is_full || count.connections >= listener_max && !zoo::is(Bug::ListenerLimitIgnored))
        {
            count.waits = true;
            return Admission::Full(if total_is_full { of_broker } else { of_listener });
        }
        if counts.per_ip.get(&address).copied().unwrap_or(0) >= of_address.limit {
            return Admission::TooManyFromAddress(of_address);
        }
        *counts.per_ip.entry(address).or_insert(0) += 1;
        counts.total += 1;
        if let Some(count) = counts.per_listener.get_mut(listener) {
            count.connections += 1;
        }
        Admission::Admitted
    }

    /// Takes a connection out of the counts and wakes the Acceptors that wait for a place.
    pub(crate) fn leave(&self, listener: usize, address: IpAddr) {
        let waiting = {
            let mut counts = self.counts();
            match counts.per_ip.get_mut(&address) {
                Some(1) => {
                    counts.per_ip.remove(&address);
                }
                Some(count) => *count -= 1,
                None => debug_assert!(false, "a connection leaves once, after it was admitted"),
            }
            counts.total = counts.total.saturating_sub(1);
            if let Some(count) = counts.per_listener.get_mut(listener) {
                count.connections = count.connections.saturating_sub(1);
            }
            counts.take_waiting()
        };
        waiting.iter().for_each(|waker| waker.wake());
    }

    /// Which limit the broker has passed, if any, so that a Processor of this listener must close a connection.
    pub(crate) fn exceeded(&self, listener: usize) -> Option<ReachedLimit> {
        if self.connections_max.load(Ordering::Relaxed) == u32::MAX {
            return None;
        }
        let counts = self.counts();
        let limit = counts.limits.connections_max;
        let is_exceeded = counts.total > limit && !counts.limits.is_protected(listener);
        is_exceeded.then_some(ReachedLimit { key: "max.connections", limit })
    }

    /// Connections at this moment.
    pub fn total(&self) -> u32 {
        self.counts().total
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().expect("nobody panics while holding the counts: panics abort the process")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct CountingWake(AtomicU32);

    impl Wake for CountingWake {
        fn wake(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn quotas(change: impl FnOnce(&mut ConnectionLimits)) -> (ConnectionQuotas, Arc<CountingWake>) {
        let free = ListenerLimits { connections_max: u32::MAX, creation_rate_max: u32::MAX };
        let mut limits = ConnectionLimits {
            connections_max: u32::MAX,
            connections_per_ip_max: u32::MAX,
            per_ip_overrides: BTreeMap::new(),
            creation_rate_max: u32::MAX,
            windows: 11,
            window: Duration::from_secs(1),
            listeners: vec![free, free],
            inter_broker_listener: Some(0),
        };
        change(&mut limits);
        let waker = Arc::new(CountingWake(AtomicU32::new(0)));
        let wakers: Vec<Arc<dyn Wake>> = limits.listeners.iter().map(|_| Arc::clone(&waker) as Arc<dyn Wake>).collect();
        (ConnectionQuotas::new(limits, wakers), waker)
    }

    fn full(key: &'static str, limit: u32) -> Admission {
        Admission::Full(ReachedLimit { key, limit })
    }

    fn too_many(key: &'static str, limit: u32) -> Admission {
        Admission::TooManyFromAddress(ReachedLimit { key, limit })
    }

    #[test]
    fn the_limit_of_a_listener_has_the_key_that_an_operator_sets() {
        let reached = ReachedLimit { key: "listener.name.<listener>.max.connections", limit: 1 };
        assert_eq!(reached.key_at("PLAINTEXT"), "listener.name.plaintext.max.connections");
    }

    #[test]
    fn a_full_broker_holds_back_and_wakes_the_acceptor_when_one_leaves() {
        let (quotas, waker) = quotas(|limits| limits.connections_max = 1);
        assert_eq!(quotas.admit(1, HERE), Admission::Admitted);
        assert_eq!(quotas.admit(1, HERE), full("max.connections", 1));
        assert_eq!(quotas.admit(0, HERE), Admission::Admitted, "the inter-broker listener is protected");
        assert_eq!(quotas.exceeded(1), Some(ReachedLimit { key: "max.connections", limit: 1 }));
        assert_eq!(quotas.exceeded(0), None);
        quotas.leave(0, HERE);
        assert_eq!(waker.0.load(Ordering::SeqCst), 1);
        assert_eq!(quotas.admit(1, HERE), full("max.connections", 1));
        quotas.leave(1, HERE);
        assert_eq!(quotas.admit(1, HERE), Admission::Admitted);
        assert_eq!(quotas.total(), 1);
    }

    #[test]
    fn limits_that_change_hold_at_once_and_wake_the_acceptor_that_waits() {
        let (quotas, waker) = quotas(|limits| limits.connections_max = 1);
        assert_eq!(quotas.admit(1, HERE), Admission::Admitted);
        assert_eq!(quotas.admit(1, HERE), full("max.connections", 1));
        let free = ListenerLimits { connections_max: u32::MAX, creation_rate_max: u32::MAX };
        let two = ListenerLimits { connections_max: 2, ..free };
        quotas.set_limits(two, u32::MAX, vec![free, free]);
        assert_eq!(waker.0.load(Ordering::SeqCst), 1);
        assert_eq!(quotas.admit(1, HERE), Admission::Admitted);
        assert_eq!(quotas.exceeded(1), None);
        let one = ListenerLimits { connections_max: 1, ..free };
        quotas.set_limits(one, u32::MAX, vec![free, free]);
        assert!(quotas.exceeded(1).is_some());
        quotas.set_limits(free, 2, vec![free, ListenerLimits { creation_rate_max: 0, ..free }]);
        assert_eq!(quotas.admit(1, HERE), too_many("max.connections.per.ip", 2));
        assert!(quotas.record_arrival(1, Now::default()).is_some());
    }

    #[test]
    fn an_address_with_too_many_is_refused_without_being_counted() {
        let (quotas, _) = quotas(|limits| {
            limits.connections_per_ip_max = 0;
            limits.per_ip_overrides.insert(HERE, 1);
        });
        assert_eq!(quotas.admit(0, HERE), Admission::Admitted);
        assert_eq!(quotas.admit(0, HERE), too_many("max.connections.per.ip.overrides", 1));
        assert_eq!(quotas.admit(0, IpAddr::from([127, 0, 0, 2])), too_many("max.connections.per.ip", 0));
        assert_eq!(quotas.total(), 1);
    }

    #[test]
    fn arrivals_above_the_rate_are_held_back_for_at_most_one_window() {
        let (quotas, _) = quotas(|limits| limits.listeners[1].creation_rate_max = 10);
        let now = |ms: u64| Now { instant: Instant(ms * 1_000_000), ..Now::default() };
        let held = (0..200).filter_map(|_| quotas.record_arrival(1, now(5_000))).collect::<Vec<_>>();
        assert!(!held.is_empty());
        assert!(held.iter().all(|(until, _)| *until <= now(6_000).instant));
        let rate = "listener.name.<listener>.max.connection.creation.rate";
        assert!(held.iter().all(|(_, reached)| *reached == ReachedLimit { key: rate, limit: 10 }));
        assert_eq!(quotas.record_arrival(0, now(5_000)), None, "the other listener is free");
    }

    proptest! {
        #[test]
        fn whatever_comes_and_goes_the_counts_are_those_who_are_there_and_no_limit_is_passed(
            moves in proptest::collection::vec((any::<bool>(), 0..2_usize, 0..4_u8), 0..200),
            connections_max in 0..12_u32,
            listener_max in 0..12_u32,
            address_max in 0..5_u32,
        ) {
            let (quotas, waker) = quotas(|limits| {
                limits.inter_broker_listener = None;
                limits.connections_max = connections_max;
                limits.connections_per_ip_max = address_max;
                limits.listeners[1].connections_max = listener_max;
            });
            let mut there: Vec<(usize, IpAddr)> = Vec::new();
            let mut has_waiting = false;
            for (comes, listener, address) in moves {
                let address = IpAddr::from([10, 0, 0, address]);
                if comes {
                    let of_listener = there.iter().filter(|(other, _)| *other == listener).count();
                    let of_address = there.iter().filter(|(_, other)| *other == address).count();
                    let is_full = there.len() as u32 >= connections_max
                        || listener == 1 && of_listener as u32 >= listener_max;
                    let expected = match () {
                        () if there.len() as u32 >= connections_max => full("max.connections", connections_max),
                        () if is_full => full("listener.name.<listener>.max.connections", listener_max),
                        () if of_address as u32 >= address_max => too_many("max.connections.per.ip", address_max),
                        () => Admission::Admitted,
                    };
                    prop_assert_eq!(quotas.admit(listener, address), expected);
                    has_waiting |= is_full;
                    if expected == Admission::Admitted {
                        there.push((listener, address));
                    }
                } else if !there.is_empty() {
                    let (listener, address) = there.swap_remove(there.len() / 2);
                    let woken = waker.0.load(Ordering::SeqCst);
                    quotas.leave(listener, address);
                    prop_assert_eq!(waker.0.load(Ordering::SeqCst) > woken, has_waiting, "who waits is woken, once");
                    has_waiting = false;
                }
                prop_assert_eq!(quotas.total() as usize, there.len());
                prop_assert_eq!(quotas.exceeded(0), None);
            }
            there.into_iter().for_each(|(listener, address)| quotas.leave(listener, address));
            prop_assert_eq!(quotas.total(), 0);
            prop_assert!(quotas.counts().per_ip.is_empty(), "an address that is gone takes no memory");
        }
    }
}
