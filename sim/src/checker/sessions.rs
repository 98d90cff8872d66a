//! When each member of a group was last heard, on the clock that only goes forward: nobody may be expelled before its session is over, whatever
//! the wall clock did meanwhile.
//!
//! It must not know why a member is silent.

use std::collections::BTreeMap;

use klamm::types::Instant;

use super::{Excuse, Oracle, Violation};

const NANOS_PER_MS: u64 = 1_000_000;

/// The members that were told that they are alive.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// By member: the start of the broker that said so, and when the request was sent that it answered.
    heard: BTreeMap<String, (u32, Instant)>,
    oracle: Oracle,
}

impl Sessions {
    pub(super) fn judged_by(oracle: Oracle) -> Sessions {
        Sessions { oracle, ..Sessions::default() }
    }

    /// The broker of this start answered a heartbeat or a sync that was sent at this time.
    pub(crate) fn heard(&mut self, member_id: &str, boot: u32, sent: Instant) {
        self.heard.insert(member_id.to_owned(), (boot, sent));
    }

    /// The broker of this start says now that it does not know the member.
    pub(crate) fn unknown(&mut self, member_id: &str, boot: u32, now: Instant, session_ms: u64) -> Option<Violation> {
        let (heard_in, sent) = self.heard.remove(member_id)?;
        let silent_ms = now.0.saturating_sub(sent.0) / NANOS_PER_MS;
        let is_over = heard_in != boot || silent_ms >= session_ms;
        (!self.oracle.grants(Excuse::SessionOver, is_over))
            .then(|| Violation::Expelled { member: member_id.to_owned(), silent_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_may_be_unknown_only_when_its_session_is_over_or_the_broker_has_started_again() {
        let at = |milliseconds: u64| Instant(milliseconds * NANOS_PER_MS);
        let mut sessions = Sessions::default();
        sessions.heard("a", 1, at(100));
        assert!(sessions.unknown("a", 1, at(1_099), 1_000).is_some());
        sessions.heard("a", 1, at(100));
        assert_eq!(sessions.unknown("a", 1, at(1_100), 1_000), None);
        sessions.heard("a", 1, at(100));
        assert_eq!(sessions.unknown("a", 2, at(101), 1_000), None);
        assert_eq!(sessions.unknown("b", 1, at(101), 1_000), None);
    }
}
