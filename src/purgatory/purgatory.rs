//! The purgatory: delayed operations under the keys they watch, in order of arrival, each with a deadline and an asker.
//!
//! It must not know what an operation means or when it is complete; that is for the caller to decide, who also gets the operation back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

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
    operation: Arc<O>,
    keys: Vec<K>,
    deadline: Instant,
}

/// Operations that wait for any of their keys to be touched, or for their deadline.
///
/// To lose no wake-up: try the operation, [`watch`](Purgatory::watch) it, and [try it once more](Purgatory::complete_one); whoever changes
/// a key's state does so first and calls [`complete_where`](Purgatory::complete_where) afterwards. An operation is tried without a lock
/// and stays here meanwhile; it is handed out to exactly one caller, so that it is completed once however many try at the same time.
/// Every call costs O(log n) per operation and key concerned.
#[derive(Debug)]
pub struct Purgatory<K: Ord + Clone, O> {
    state: Mutex<State<K, O>>,
}

#[derive(Debug)]
struct State<K, O> {
    operations: BTreeMap<OperationId, Delayed<K, O>>,
    by_key: BTreeSet<(K, OperationId)>,
    by_deadline: BTreeSet<(Instant, OperationId)>,
    by_connection: BTreeSet<(ConnectionId, OperationId)>,
    next: u64,
}

impl<K: Ord + Clone, O> Default for Purgatory<K, O> {
    fn default() -> Self {
        let state = State {
            operations: BTreeMap::new(),
            by_key: BTreeSet::new(),
            by_deadline: BTreeSet::new(),
            by_connection: BTreeSet::new(),
            next: 0,
        };
        Purgatory { state: Mutex::new(state) }
    }
}

impl<K: Ord + Clone, O> Purgatory<K, O> {
    /// An empty purgatory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps `operation` until it is completed, or expires at `deadline`. A key named twice counts once; without keys only the deadline
    /// ends it.
    pub fn watch(
        &self,
        ticket: Ticket,
        operation: O,
        keys: impl IntoIterator<Item = K>,
        deadline: Instant,
    ) -> OperationId {
        let keys: Vec<K> = keys.into_iter().collect();
        let mut state = self.state();
        let id = OperationId(state.next);
        state.next += 1;
        for key in &keys {
            state.by_key.insert((key.clone(), id));
        }
        state.by_deadline.insert((deadline, id));
        state.by_connection.insert((ticket.connection, id));
        state.operations.insert(id, Delayed { ticket, operation: Arc::new(operation), keys, deadline });
        id
    }

    /// Shows each operation that watches `key` to `is_complete`, oldest first, and takes out those for which it says yes.
    pub fn complete_where(&self, key: &K, is_complete: impl Fn(&O) -> bool) -> Vec<(Ticket, Arc<O>)> {
        let watching = self.state().watching(key);
        let complete = watching.into_iter().filter(|(_, operation)| is_complete(operation));
        complete.filter_map(|(id, _)| self.state().remove(id)).collect()
    }

    /// Shows one operation to `is_complete`, if it still waits, and takes it out for a yes.
    pub fn complete_one(&self, id: OperationId, is_complete: impl Fn(&O) -> bool) -> Option<(Ticket, Arc<O>)> {
        let operation = Arc::clone(&self.state().operations.get(&id)?.operation);
        if is_complete(&operation) { self.state().remove(id) } else { None }
    }

    /// Takes out every operation whose deadline is `now` or earlier, earliest deadline first and oldest first within one.
    pub fn expire(&self, now: Instant) -> Vec<(Ticket, Arc<O>)> {
        let mut state = self.state();
        let due: Vec<OperationId> = state.by_deadline.range(..=(now, OperationId::LAST)).map(|(_, id)| *id).collect();
        due.into_iter().filter_map(|id| state.remove(id)).collect()
    }

    /// Takes out every operation that `connection` asked for, oldest first: nobody waits for their answers any more.
    pub fn remove_connection(&self, connection: ConnectionId) -> Vec<(Ticket, Arc<O>)> {
        let mut state = self.state();
        let asked: Vec<OperationId> = state
            .by_connection
            .range((connection, OperationId::FIRST)..=(connection, OperationId::LAST))
            .map(|(_, id)| *id)
            .collect();
        asked.into_iter().filter_map(|id| state.remove(id)).collect()
    }

    /// When [`expire`](Purgatory::expire) will next have something to return.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.state().by_deadline.first().map(|(deadline, _)| *deadline)
    }

    fn state(&self) -> MutexGuard<'_, State<K, O>> {
        self.state.lock().expect("nobody panics while holding the purgatory: panics abort the process")
    }
}

impl<K: Ord + Clone, O> State<K, O> {
    /// The operations that watch `key`, oldest first.
    fn watching(&self, key: &K) -> Vec<(OperationId, Arc<O>)> {
        let watching = self.by_key.range((key.clone(), OperationId::FIRST)..=(key.clone(), OperationId::LAST));
        watching.filter_map(|(_, id)| Some((*id, Arc::clone(&self.operations.get(id)?.operation)))).collect()
    }

    /// Takes the operation out, if it still waits: of several callers exactly one gets it.
    fn remove(&mut self, id: OperationId) -> Option<(Ticket, Arc<O>)> {
        let delayed = self.operations.remove(&id)?;
        for key in delayed.keys {
            self.by_key.remove(&(key, id));
        }
        self.by_deadline.remove(&(delayed.deadline, id));
        self.by_connection.remove(&(delayed.ticket.connection, id));
        Some((delayed.ticket, delayed.operation))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::Purgatory;
    use crate::types::{ConnectionId, Instant, ProcessorId, Ticket};

    fn ticket(connection: u64) -> Ticket {
        let connection = ConnectionId { processor: ProcessorId(0), number: connection };
        Ticket { connection, ordinal: 0, correlation_id: 7, api_key: 1, api_version: 4 }
    }

    fn names(completed: impl IntoIterator<Item = (Ticket, Arc<&'static str>)>) -> Vec<&'static str> {
        completed.into_iter().map(|(_, name)| *name).collect()
    }

    fn is_clean<O>(purgatory: &Purgatory<u8, O>) -> bool {
        let state = purgatory.state();
        state.operations.is_empty()
            && state.by_key.is_empty()
            && state.by_deadline.is_empty()
            && state.by_connection.is_empty()
    }

    #[test]
    fn a_touched_key_completes_only_what_is_ready_and_oldest_first() {
        let purgatory = Purgatory::new();
        for name in ["first", "second", "third"] {
            purgatory.watch(ticket(1), name, [1u8], Instant(10));
        }
        purgatory.watch(ticket(1), "elsewhere", [2u8], Instant(10));
        assert_eq!(names(purgatory.complete_where(&1, |name| *name != "second")), ["first", "third"]);
        assert_eq!(names(purgatory.complete_where(&1, |_| true)), ["second"]);
        assert_eq!(purgatory.state().operations.len(), 1);
    }

    #[test]
    fn an_operation_under_several_keys_completes_once_and_leaves_no_trace() {
        let purgatory = Purgatory::new();
        let id = purgatory.watch(ticket(1), "both", [1u8, 2, 2], Instant(10));
        assert_eq!(purgatory.state().by_key.len(), 2);
        assert_eq!(names(purgatory.complete_where(&1, |_| true)), ["both"]);
        assert!(purgatory.complete_where(&2, |_| true).is_empty());
        assert!(purgatory.complete_one(id, |_| true).is_none());
        assert!(is_clean(&purgatory));
    }

    #[test]
    fn expiry_takes_the_earliest_deadline_first_and_includes_the_present_moment() {
        let purgatory = Purgatory::new();
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
        let purgatory = Purgatory::new();
        purgatory.watch(ticket(1), "gone", [1u8], Instant(10));
        purgatory.watch(ticket(2), "stays", [1u8], Instant(10));
        purgatory.watch(ticket(1), "gone too", [2u8], Instant(10));
        assert_eq!(names(purgatory.remove_connection(ticket(1).connection)), ["gone", "gone too"]);
        assert_eq!(names(purgatory.complete_where(&1, |_| true)), ["stays"]);
        assert!(is_clean(&purgatory));
    }

    #[test]
    fn one_operation_is_tried_alone() {
        let purgatory = Purgatory::new();
        purgatory.watch(ticket(1), "other", [1u8], Instant(10));
        let id = purgatory.watch(ticket(1), "own", [1u8, 2], Instant(10));
        assert!(purgatory.complete_one(id, |name| *name != "own").is_none());
        assert_eq!(names(purgatory.complete_one(id, |_| true)), ["own"]);
        assert_eq!(names(purgatory.expire(Instant(10))), ["other"]);
        assert!(is_clean(&purgatory));
    }

    #[test]
    fn whoever_tries_an_operation_holds_nobody_up_and_only_one_gets_it() {
        let purgatory = Purgatory::new();
        purgatory.watch(ticket(1), "once", [1u8], Instant(10));
        let while_tried = |_: &&'static str| {
            assert_eq!(names(purgatory.expire(Instant(10))), ["once"]);
            true
        };
        assert!(purgatory.complete_where(&1, while_tried).is_empty());
        assert!(is_clean(&purgatory));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_operation_ends_exactly_once(steps in proptest::collection::vec((0u8..5, 0u8..4, 0u64..40), 1..200)) {
            let purgatory: Purgatory<u8, u64> = Purgatory::new();
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
                ended.extend(out.into_iter().map(|(_, operation)| *operation));
                prop_assert_eq!(purgatory.state().operations.len() as u64 + ended.len() as u64, made);
            }
            ended.extend(purgatory.expire(Instant(u64::MAX)).into_iter().map(|(_, operation)| *operation));
            ended.sort_unstable();
            prop_assert_eq!(ended, (0..made).collect::<Vec<_>>());
            prop_assert!(is_clean(&purgatory));
        }
    }
}
