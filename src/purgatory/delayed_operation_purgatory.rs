//! The purgatory: delayed operations under the keys they watch, in order of arrival, each with a deadline and an asker.
//!
//! It must not know what an operation means or when it is complete; that is for the caller to decide, who also gets the operation back.

use std::collections::{BTreeMap, BTreeSet};

use crate::types::{ConnectionId, Instant, Ticket};

/// Names one delayed operation of one purgatory; never given out again. Later operations have larger ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(u64);

impl OperationId {
    const FIRST: OperationId = OperationId(0);
    const LAST: OperationId = OperationId(u64::MAX);
}

/// One operation and all that the indexes hold about it.
#[derive(Debug)]
struct Delayed<K, O> {
    ticket: Ticket,
    operation: O,
    keys: Vec<K>,
    deadline: Instant,
}

/// Operations that wait for any of their keys to be touched, or for their deadline.
///
/// To lose no wake-up: try the operation, [`watch`](Purgatory::watch) it, and try it once more; whoever changes a key's state does so first
/// and touches the key afterwards. An operation stays here while somebody tries it, and [`remove`](Purgatory::remove) hands it to exactly
/// one caller, so that it is completed once however many try at the same time. Every call costs O(log n) per operation and key concerned.
#[derive(Debug)]
pub struct Purgatory<K: Ord + Clone, O> {
    operations: BTreeMap<OperationId, Delayed<K, O>>,
    by_key: BTreeSet<(K, OperationId)>,
    by_deadline: BTreeSet<(Instant, OperationId)>,
    by_connection: BTreeSet<(ConnectionId, OperationId)>,
    next: u64,
}

impl<K: Ord + Clone, O> Default for Purgatory<K, O> {
    fn default() -> Self {
        Purgatory {
            operations: BTreeMap::new(),
            by_key: BTreeSet::new(),
            by_deadline: BTreeSet::new(),
            by_connection: BTreeSet::new(),
            next: 0,
        }
    }
}

impl<K: Ord + Clone, O> Purgatory<K, O> {
    /// An empty purgatory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps `operation` until it is removed, or expires at `deadline`. A key named twice counts once; without keys only the deadline ends it.
    pub fn watch(
        &mut self,
        ticket: Ticket,
        operation: O,
        keys: impl IntoIterator<Item = K>,
        deadline: Instant,
    ) -> OperationId {
        let id = OperationId(self.next);
        self.next += 1;
        let keys: Vec<K> = keys.into_iter().collect();
        for key in &keys {
            self.by_key.insert((key.clone(), id));
        }
        self.by_deadline.insert((deadline, id));
        self.by_connection.insert((ticket.connection, id));
        self.operations.insert(id, Delayed { ticket, operation, keys, deadline });
        id
    }

    /// The operations that watch `key`, oldest first. They stay; the caller tries each and removes those that are complete.
    pub fn touch(&self, key: &K) -> Vec<OperationId> {
        self.by_key
            .range((key.clone(), OperationId::FIRST)..=(key.clone(), OperationId::LAST))
            .map(|(_, id)| *id)
            .collect()
    }

    /// Shows each operation that watches `key` to `is_complete`, oldest first, and takes out those for which it says yes.
    pub fn complete_where(&mut self, key: &K, mut is_complete: impl FnMut(&mut O) -> bool) -> Vec<(Ticket, O)> {
        let touched = self.touch(key);
        let mut completed = Vec::new();
        for id in touched {
            let complete = self.operations.get_mut(&id).is_some_and(|delayed| is_complete(&mut delayed.operation));
            if complete {
                completed.extend(self.remove(id));
            }
        }
        completed
    }

    /// The operation with this id, if it still waits.
    pub fn get_mut(&mut self, id: OperationId) -> Option<&mut O> {
        self.operations.get_mut(&id).map(|delayed| &mut delayed.operation)
    }

    /// Takes the operation out, if it still waits: of several callers exactly one gets it.
    pub fn remove(&mut self, id: OperationId) -> Option<(Ticket, O)> {
        let delayed = self.operations.remove(&id)?;
        for key in delayed.keys {
            self.by_key.remove(&(key, id));
        }
        self.by_deadline.remove(&(delayed.deadline, id));
        self.by_connection.remove(&(delayed.ticket.connection, id));
        Some((delayed.ticket, delayed.operation))
    }

    /// Takes out every operation whose deadline is `now` or earlier, earliest deadline first and oldest first within one.
    pub fn expire(&mut self, now: Instant) -> Vec<(Ticket, O)> {
        let due: Vec<OperationId> = self.by_deadline.range(..=(now, OperationId::LAST)).map(|(_, id)| *id).collect();
        due.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Takes out every operation that `connection` asked for, oldest first: nobody waits for their answers any more.
    pub fn remove_connection(&mut self, connection: ConnectionId) -> Vec<(Ticket, O)> {
        let asked: Vec<OperationId> = self
            .by_connection
            .range((connection, OperationId::FIRST)..=(connection, OperationId::LAST))
            .map(|(_, id)| *id)
            .collect();
        asked.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// When [`expire`](Purgatory::expire) will next have something to return.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.by_deadline.first().map(|(deadline, _)| *deadline)
    }

    /// How many operations wait.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// How many pairs of key and operation are watched.
    pub fn watched(&self) -> usize {
        self.by_key.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{OperationId, Purgatory};
    use crate::types::{ConnectionId, Instant, ProcessorId, Ticket};

    fn ticket(connection: u64) -> Ticket {
        let connection = ConnectionId { processor: ProcessorId(0), number: connection };
        Ticket { connection, ordinal: 0, correlation_id: 7, api_key: 1, api_version: 4 }
    }

    fn names(completed: Vec<(Ticket, &'static str)>) -> Vec<&'static str> {
        completed.into_iter().map(|(_, name)| name).collect()
    }

    fn is_clean(purgatory: &Purgatory<u8, &'static str>) -> bool {
        purgatory.is_empty()
            && purgatory.by_key.is_empty()
            && purgatory.by_deadline.is_empty()
            && purgatory.by_connection.is_empty()
    }

    #[test]
    fn a_touched_key_completes_only_what_is_ready_and_oldest_first() {
        let mut purgatory = Purgatory::new();
        for name in ["first", "second", "third"] {
            purgatory.watch(ticket(1), name, [1u8], Instant(10));
        }
        purgatory.watch(ticket(1), "elsewhere", [2u8], Instant(10));
        assert_eq!(names(purgatory.complete_where(&1, |name| *name != "second")), ["first", "third"]);
        assert_eq!(names(purgatory.complete_where(&1, |_| true)), ["second"]);
        assert_eq!(purgatory.len(), 1);
    }

    #[test]
    fn an_operation_under_several_keys_completes_once_and_leaves_no_trace() {
        let mut purgatory = Purgatory::new();
        let id = purgatory.watch(ticket(1), "both", [1u8, 2, 2], Instant(10));
        assert_eq!(purgatory.watched(), 2);
        assert_eq!(purgatory.touch(&2), [id]);
        assert_eq!(names(purgatory.complete_where(&1, |_| true)), ["both"]);
        assert!(purgatory.complete_where(&2, |_| true).is_empty());
        assert!(purgatory.remove(id).is_none());
        assert!(is_clean(&purgatory));
    }

    #[test]
    fn expiry_takes_the_earliest_deadline_first_and_includes_the_present_moment() {
        let mut purgatory = Purgatory::new();
        purgatory.watch(ticket(1), "late", [1u8], Instant(30));
        purgatory.watch(ticket(1), "soon", [1u8], Instant(10));
        purgatory.watch(ticket(1), "later", [], Instant(20));
        assert_eq!(purgatory.next_deadline(), Some(Instant(10)));
        assert!(purgatory.expire(Instant(9)).is_empty());
        assert_eq!(names(purgatory.expire(Instant(20))), ["soon", "later"]);
        assert_eq!(purgatory.next_deadline(), Some(Instant(30)));
    }

    #[test]
    fn a_closed_connection_takes_only_its_own_operations_along() {
        let mut purgatory = Purgatory::new();
        purgatory.watch(ticket(1), "gone", [1u8], Instant(10));
        purgatory.watch(ticket(2), "stays", [1u8], Instant(10));
        purgatory.watch(ticket(1), "gone too", [2u8], Instant(10));
        assert_eq!(names(purgatory.remove_connection(ticket(1).connection)), ["gone", "gone too"]);
        assert_eq!(names(purgatory.complete_where(&1, |_| true)), ["stays"]);
        assert!(is_clean(&purgatory));
    }

    #[test]
    fn what_a_completion_changes_in_an_operation_stays() {
        let mut purgatory = Purgatory::new();
        let id = purgatory.watch(ticket(1), "before", [1u8], Instant(10));
        purgatory.complete_where(&1, |name| {
            *name = "after";
            false
        });
        assert_eq!(purgatory.get_mut(id), Some(&mut "after"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_operation_ends_exactly_once(steps in proptest::collection::vec((0u8..5, 0u8..4, 0u64..40), 1..200)) {
            let mut purgatory: Purgatory<u8, u64> = Purgatory::new();
            let mut ended: Vec<u64> = Vec::new();
            let mut made = 0u64;
            for (kind, key, number) in steps {
                let out = match kind {
                    0 | 1 => {
                        purgatory.watch(ticket(number % 3), made, [key, (key + kind) % 4], Instant(number));
                        made += 1;
                        Vec::new()
                    }
                    2 => purgatory.complete_where(&key, |operation| (*operation + number) % 2 == 0),
                    3 => purgatory.expire(Instant(number / 4)),
                    _ => purgatory.remove_connection(ticket(number % 3).connection),
                };
                ended.extend(out.into_iter().map(|(_, operation)| operation));
                prop_assert_eq!(purgatory.len() as u64 + ended.len() as u64, made);
            }
            ended.extend(purgatory.expire(Instant(u64::MAX)).into_iter().map(|(_, operation)| operation));
            ended.sort_unstable();
            prop_assert_eq!(ended, (0..made).collect::<Vec<_>>());
            prop_assert!(purgatory.by_key.is_empty() && purgatory.by_connection.is_empty());
            prop_assert!(purgatory.remove(OperationId::FIRST).is_none());
        }
    }
}
