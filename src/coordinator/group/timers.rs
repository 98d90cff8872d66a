//! The deadlines of one coordinator, each under a name of its own, so that scheduling again replaces.
//!
//! It must not know what happens when a timer is due.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::types::Instant;

/// The name of a deadline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The join phase of this group ends.
    Join(Arc<str>),
    /// Members of this group that have not synced are removed.
    Sync(Arc<str>),
    /// The session of a member of this group ends, or a pending member is forgotten.
    Session(Arc<str>, Arc<str>),
    /// Old offsets and groups are looked for.
    Retention,
}

/// Deadlines by name and by time.
#[derive(Debug, Default)]
pub(super) struct Timers {
    by_name: BTreeMap<Timer, Instant>,
    by_deadline: BTreeSet<(Instant, Timer)>,
}

impl Timers {
    /// Sets or moves the deadline of `timer`.
    pub(super) fn schedule(&mut self, timer: Timer, deadline: Instant) {
        self.cancel(&timer);
        self.by_deadline.insert((deadline, timer.clone()));
        self.by_name.insert(timer, deadline);
    }

    /// Forgets `timer`; nothing happens if it is not set.
    pub(super) fn cancel(&mut self, timer: &Timer) {
        if let Some((timer, deadline)) = self.by_name.remove_entry(timer) {
            self.by_deadline.remove(&(deadline, timer));
        }
    }

    /// When `timer` is due, if it is set.
    pub(super) fn deadline(&self, timer: &Timer) -> Option<Instant> {
        self.by_name.get(timer).copied()
    }

    /// Takes out the earliest timer that is due at `now`.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Timer> {
        let (deadline, _) = self.by_deadline.first()?;
        if *deadline > now {
            return None;
        }
        let (_, timer) = self.by_deadline.pop_first()?;
        self.by_name.remove(&timer);
        Some(timer)
    }

    /// The earliest deadline of all.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.by_deadline.first().map(|(deadline, _)| *deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::{Timer, Timers};
    use crate::types::Instant;

    #[test]
    fn a_timer_that_is_scheduled_again_has_only_its_new_deadline() {
        let mut timers = Timers::default();
        timers.schedule(Timer::Join("g".into()), Instant(5));
        timers.schedule(Timer::Sync("g".into()), Instant(7));
        timers.schedule(Timer::Join("g".into()), Instant(9));
        assert_eq!(timers.next_deadline(), Some(Instant(7)));
        assert_eq!(timers.pop_due(Instant(8)), Some(Timer::Sync("g".into())));
        assert_eq!(timers.pop_due(Instant(8)), None);
        timers.cancel(&Timer::Join("g".into()));
        assert_eq!(timers.next_deadline(), None);
    }
}
