//! How many connections there may be, and how fast they may come, from the moment at which an operator was told so.
//!
//! It must not know who connects. What was there when a limit was set may stay, unless the limit is one of all; whoever comes later finds the limit, but for
//! one that the Acceptor has accepted and holds.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use klamm::types::Instant;

use super::Violation;
use crate::world::Accepted;

/// Whoever has more than it may closes one after the other: at the next step of each Processor, all of which look about several times a second.
const SETTLED_NS: u64 = 400_000_000;
/// Nobody is held back for longer.
const WINDOW_NS: u64 = 1_000_000_000;
/// A limit of a rate counts what came in so many seconds, and so many times the limit in that time are more than any wait of one window makes good.
const RATE_WINDOWS: u64 = 11;
const MUCH_TOO_MANY: u64 = RATE_WINDOWS + 1;

/// The address that overrides are about. Many connections come from it.
const OVERRIDDEN: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 211));

/// What a limit is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Limited {
    /// All connections; those of a protected listener are counted, but never closed.
    All,
    /// Those of the listener that everybody uses.
    Listener,
    /// Those from one address.
    Address,
    /// Those from the one address that has a limit of its own.
    Overridden,
    /// How many come in a second.
    Rate,
}

/// A limit that the operator was told of.
#[derive(Clone, Debug)]
struct Told {
    limit: u64,
    since: Instant,
    /// In which start of the broker.
    boot: u32,
    /// What had come in the last windows.
    came: u64,
}

/// The limits in force.
#[derive(Debug, Default)]
pub(crate) struct ConnectionLimits {
    told: BTreeMap<&'static str, (Limited, Told)>,
    /// The limit of every address may not be that of the overridden one.
    may_be_overridden: bool,
}

impl ConnectionLimits {
    /// The operator was told that the limit behind this key holds.
    pub(crate) fn told(
        &mut self,
        (now, boot): (Instant, u32),
        (key, limited, limit): (&'static str, Limited, u64),
        accepted: &[Accepted],
    ) {
        let came_since = now.0.saturating_sub((RATE_WINDOWS - 2) * WINDOW_NS);
        let is_counted = |connection: &&Accepted| connection.is_public() && connection.at.0 >= came_since;
        let came = count(accepted.iter().filter(is_counted));
        self.told.insert(key, (limited, Told { limit, since: now, boot, came }));
    }

    /// When all that was told has taken effect.
    pub(crate) fn settled_at(&self) -> Option<Instant> {
        let of_all = self.told.values().filter(|(limited, _)| *limited == Limited::All);
        of_all.map(|(_, told)| Instant(told.since.0.saturating_add(SETTLED_NS))).max()
    }

    /// Nobody knows what holds of this key, which limits that.
    pub(crate) fn forget(&mut self, key: &str, limited: Option<Limited>) {
        self.may_be_overridden |= limited == Some(Limited::Overridden);
        self.told.remove(key);
    }

    /// Whether what there is now may be. What was told is durable: it holds from the beginning of another start on.
    pub(crate) fn check(&mut self, (now, boot): (Instant, u32), accepted: &[Accepted]) -> Option<Violation> {
        for (_, told) in self.told.values_mut().filter(|(_, told)| told.boot != boot) {
            (told.since, told.boot, told.came) = (now, boot, 0);
        }
        let of_overridden = |connection: &&Accepted| connection.is_open && connection.address == OVERRIDDEN;
        let of_others = |connection: &&Accepted| !self.may_be_overridden || connection.address != OVERRIDDEN;
        self.told.iter().find_map(|(key, (limited, told))| {
            let (limit, found) = match limited {
                Limited::All => told.check_all(now, accepted),
                Limited::Listener => told.check_listener(accepted),
                Limited::Address => told.check_addresses(accepted.iter().filter(of_others)),
                Limited::Overridden => told.check_newcomers(&accepted.iter().filter(of_overridden).collect::<Vec<_>>()),
                Limited::Rate => told.check_rate(now, accepted),
            }?;
            Some(Violation::LimitPassed { key, limit, found })
        })
    }
}

impl Told {
    fn check_all(&self, now: Instant, accepted: &[Accepted]) -> Option<(u64, u64)> {
        let is_settled = now.0.saturating_sub(self.since.0) >= SETTLED_NS;
        let open = count(accepted.iter().filter(|connection| connection.is_public() && connection.is_open));
        (is_settled && open > self.limit + 1).then_some((self.limit, open))
    }

    fn check_listener(&self, accepted: &[Accepted]) -> Option<(u64, u64)> {
        let open = accepted.iter().filter(|connection| connection.is_public() && connection.is_open);
        self.check_newcomers(&open.collect::<Vec<_>>())
    }

    fn check_addresses<'a>(&self, accepted: impl Iterator<Item = &'a Accepted>) -> Option<(u64, u64)> {
        let mut by_address: BTreeMap<IpAddr, Vec<&Accepted>> = BTreeMap::new();
        for connection in accepted.filter(|connection| connection.is_open) {
            by_address.entry(connection.address).or_default().push(connection);
        }
        by_address.values().find_map(|open| self.check_newcomers(open))
    }

    /// When the last one was taken that came later, there were no more than may be, and since then some may have gone.
    fn check_newcomers(&self, open: &[&Accepted]) -> Option<(u64, u64)> {
        let newcomers = open.iter().filter(|connection| connection.at > self.since).count();
        let found = u64::try_from(open.len()).unwrap_or(u64::MAX);
        (newcomers > 1 && found > self.limit + 1).then_some((self.limit, found))
    }

    /// Where so many have come already that each next one has to wait for a whole window.
    fn check_rate(&self, now: Instant, accepted: &[Accepted]) -> Option<(u64, u64)> {
        let after_ns = now.0.saturating_sub(self.since.0);
        if self.came < self.limit.saturating_mul(MUCH_TOO_MANY) || after_ns > WINDOW_NS {
            return None;
        }
        let came = accepted.iter().filter(|connection| connection.is_public() && connection.at > self.since);
        // One was on its way into the room, one is held, and one came when a window was over.
        let (most, came) = (2 + after_ns.div_ceil(WINDOW_NS), count(came));
        (came > most).then_some((most, came))
    }
}

fn count<'a>(connections: impl Iterator<Item = &'a Accepted>) -> u64 {
    u64::try_from(connections.count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::INNER_PORT;

    const MS: u64 = 1_000_000;

    fn connections(open: usize, port: u16) -> Vec<Accepted> {
        let one = Accepted { address: OVERRIDDEN, port, at: Instant(0), is_open: true };
        vec![one; open]
    }

    #[test]
    fn more_than_a_limit_of_all_are_excused_until_it_has_settled_and_those_of_the_inner_listener_always() {
        let mut limits = ConnectionLimits::default();
        limits.told((Instant(0), 1), ("max.connections", Limited::All, 3), &connections(9, 9_092));
        let mut check = |at, connections: &[Accepted]| limits.check((Instant(at), 1), connections);
        assert_eq!(check(100 * MS, &connections(9, 9_092)), None);
        assert_eq!(check(800 * MS, &connections(4, 9_092)), None, "one is held by the Acceptor");
        assert!(check(800 * MS, &connections(5, 9_092)).is_some());
        assert_eq!(check(800 * MS, &connections(9, INNER_PORT)), None);
        let mut after_start = |at| limits.check((Instant(at), 2), &connections(9, 9_092));
        assert_eq!(after_start(800 * MS), None, "another start settles anew");
        assert!(after_start(1_300 * MS).is_some());
    }

    #[test]
    fn who_was_there_when_a_listener_or_an_address_was_limited_may_stay_and_one_who_comes_is_held() {
        for limited in [Limited::Listener, Limited::Address, Limited::Overridden] {
            let mut limits = ConnectionLimits::default();
            let before = connections(4, 9_092);
            limits.told((Instant(0), 1), ("a", limited, 1), &before);
            let later = |count: usize| {
                let new = Accepted { at: Instant(MS), ..before[0] };
                [before.clone(), vec![new; count]].concat()
            };
            assert_eq!(limits.check((Instant(MS), 1), &later(1)), None);
            assert!(limits.check((Instant(MS), 1), &later(2)).is_some());
            limits.forget("a", Some(limited));
            assert_eq!(limits.check((Instant(MS), 1), &later(2)), None);
        }
    }

    #[test]
    fn an_address_that_may_have_a_limit_of_its_own_is_not_held_to_that_of_every_address() {
        for may_be_overridden in [false, true] {
            let mut limits = ConnectionLimits { may_be_overridden, ..ConnectionLimits::default() };
            limits.told((Instant(0), 1), ("max.connections.per.ip", Limited::Address, 1), &[]);
            let new = Accepted { at: Instant(MS), ..connections(1, 9_092)[0] };
            assert_eq!(limits.check((Instant(MS), 1), &[new; 3]).is_none(), may_be_overridden);
        }
    }

    #[test]
    fn after_far_too_many_have_come_the_next_ones_come_one_in_a_window() {
        let before = connections(12, 9_092);
        let mut limits = ConnectionLimits::default();
        limits.told((Instant(MS), 1), ("rate", Limited::Rate, 1), &before);
        let later = |count: usize| {
            let new = Accepted { at: Instant(2 * MS), ..before[0] };
            [before.clone(), vec![new; count]].concat()
        };
        assert_eq!(limits.check((Instant(3 * MS), 1), &later(3)), None);
        assert!(limits.check((Instant(3 * MS), 1), &later(4)).is_some());
    }
}
