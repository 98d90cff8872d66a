//! When each member of a group was last heard, on the clock that only goes forward: nobody may be expelled before its session is over, whatever
//! the wall clock did meanwhile.
//!
//! It must not know why a member is silent.

use std::collections::{BTreeMap, BTreeSet};

use klamm::types::Instant;

use super::{Excuse, Oracle, Violation};

const NANOS_PER_MS: u64 = 1_000_000;

/// The members that were told that they are alive.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// By member: the start of the broker that said so, and when the request was sent that it answered.
    heard: BTreeMap<String, (u32, Instant)>,
    /// By member: a time before which it owed its group no SyncGroup. Whoever owes one is out when the others have waited long enough, however
    /// often it is heard.
    settled: BTreeMap<String, Instant>,
    /// Those that asked to join a group that may be full, and were refused or never heard what came of it. While a group rebalances, strangers may
    /// take the places of its members, and who comes last is out, as in Kafka. Their ids are never in use again.
    may_be_out: BTreeSet<String>,
    oracle: Oracle,
}

/// How long a group waits for its members, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// For anything at all.
    pub(crate) session_ms: u64,
    /// For those that are to join, and then for their SyncGroup.
    pub(crate) rebalance_ms: u64,
}

impl Sessions {
    pub(super) fn judged_by(oracle: Oracle) -> Sessions {
        Sessions { oracle, ..Sessions::default() }
    }

    /// The broker of this start answered a heartbeat or a sync that was sent at this time.
    pub(crate) fn heard(&mut self, member_id: &str, boot: u32, sent: Instant) {
        self.heard.insert(member_id.to_owned(), (boot, sent));
    }

    /// A member was given its id by a request that was sent at this time, or told that it is alive where it owes nothing.
    pub(crate) fn owes_nothing(&mut self, member_id: &str, sent: Instant) {
        self.settled.insert(member_id.to_owned(), sent);
    }

    /// A member was refused by a group that is full, or may have been.
    pub(crate) fn may_be_out(&mut self, member_id: &str) {
        self.may_be_out.insert(member_id.to_owned());
    }

    /// The broker of this start says now that it does not know the member.
    pub(crate) fn unknown(
        &mut self,
        member_id: &str,
        boot: u32,
        now: Instant,
        patience: Patience,
    ) -> Option<Violation> {
        let (heard_in, sent) = self.heard.remove(member_id)?;
        let since_ms = |then: Instant| now.0.saturating_sub(then.0) / NANOS_PER_MS;
        let silent_ms = since_ms(sent);
        let is_over = heard_in != boot || silent_ms >= patience.session_ms;
        let settled = self.settled.get(member_id);
        let may_owe = settled.is_none_or(|settled| since_ms(*settled) >= patience.rebalance_ms);
        let is_out = self.oracle.grants(Excuse::PutOut, may_owe || self.may_be_out.contains(member_id));
        (!self.oracle.grants(Excuse::SessionOver, is_over) && !is_out)
            .then(|| Violation::Expelled { member: member_id.to_owned(), silent_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { session_ms: 1_000, rebalance_ms: 2_000 };

    fn at(milliseconds: u64) -> Instant {
        Instant(milliseconds * NANOS_PER_MS)
    }

    /// Somebody whose id was given to it at 100 ms, and who was heard then.
    fn of_one_member() -> Sessions {
        let mut sessions = Sessions::default();
        sessions.owes_nothing("a", at(100));
        sessions.heard("a", 1, at(100));
        sessions
    }

    #[test]
    fn a_member_may_be_unknown_only_when_its_session_is_over_or_the_broker_has_started_again() {
        assert!(of_one_member().unknown("a", 1, at(1_099), PATIENCE).is_some());
        assert_eq!(of_one_member().unknown("a", 1, at(1_100), PATIENCE), None);
        assert_eq!(of_one_member().unknown("a", 2, at(101), PATIENCE), None);
        assert_eq!(of_one_member().unknown("b", 1, at(101), PATIENCE), None);
    }

    #[test]
    fn a_member_that_has_owed_a_sync_for_long_may_be_unknown_soon_after_it_was_heard() {
        for (settled, is_violation) in [(101, true), (100, false)] {
            let mut sessions = Sessions::default();
            sessions.owes_nothing("a", at(settled));
            sessions.heard("a", 1, at(2_000));
            assert_eq!(sessions.unknown("a", 1, at(2_100), PATIENCE).is_some(), is_violation);
        }
    }

    #[test]
    fn a_member_that_a_full_group_has_refused_may_be_unknown() {
        let mut sessions = of_one_member();
        sessions.may_be_out("a");
        assert_eq!(sessions.unknown("a", 1, at(101), PATIENCE), None);
    }
}
