//! Producer ids that this broker may give out, from blocks that the controller has made durable.
//!
//! It must not know who asks for one.

use crate::metadata::ProducerIdsBlock;
use crate::types::{Instant, ProducerId};
use crate::zoo::{self, Bug};

/// What is left of a block, and the requests that wait for the next.
#[derive(Debug)]
pub(crate) struct ProducerIds<R> {
    next: i64,
    end: i64,
    /// Each with the time until which it waits.
    waiting: Vec<(Instant, R)>,
    is_asked: bool,
}

impl<R> ProducerIds<R> {
    /// No block yet.
    pub(crate) fn new() -> ProducerIds<R> {
        ProducerIds { next: 0, end: 0, waiting: Vec::new(), is_asked: false }
    }

    /// The next id, if one is left.
    pub(crate) fn take(&mut self) -> Option<ProducerId> {
        let id = (self.next < self.end).then_some(ProducerId(self.next))?;
        self.next += 1;
        Some(id)
    }

    /// Lets a request wait for the next block until `deadline`. Says whether the block is still to be asked for.
    pub(crate) fn wait(&mut self, deadline: Instant, request: R) -> bool {
        self.waiting.push((deadline, request));
        !std::mem::replace(&mut self.is_asked, true)
    }

    /// Takes over a durable block and returns the requests that waited for it.
    pub(crate) fn refill(&mut self, block: &ProducerIdsBlock) -> Vec<R> {
        self.next = block.first.0;
        self.end = block.first.0 + block.size;
        if zoo::is(Bug::IdsForTheFirst) {
            self.waiting.truncate(1);
        }
        self.take_waiting()
    }

    /// The requests that wait in vain, since no block could be had.
    pub(crate) fn take_waiting(&mut self) -> Vec<R> {
        self.is_asked = false;
        std::mem::take(&mut self.waiting).into_iter().map(|(_, request)| request).collect()
    }

    /// The requests that have waited long enough. The block comes all the same.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<R> {
        self.waiting.extract_if(.., |(deadline, _)| *deadline <= now).map(|(_, request)| request).collect()
    }

    /// The next deadline of a request that waits.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let deadlines = self.waiting.iter().map(|(deadline, _)| *deadline);
        deadlines.filter(|_| !zoo::is(Bug::IdsAwaitedForever)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::ProducerIds;
    use crate::metadata::ProducerIdsBlock;
    use crate::types::{Instant, ProducerId};

    #[test]
    fn ids_come_from_the_block_and_the_next_block_is_asked_for_once() {
        let mut ids = ProducerIds::new();
        assert_eq!(ids.take(), None);
        assert!(ids.wait(Instant(1), 'a'));
        assert!(!ids.wait(Instant(2), 'b'));
        assert_eq!(ids.refill(&ProducerIdsBlock { first: ProducerId(5), size: 2 }), ['a', 'b']);
        assert_eq!([ids.take(), ids.take(), ids.take()], [Some(ProducerId(5)), Some(ProducerId(6)), None]);
        assert!(ids.wait(Instant(3), 'c'));
    }

    #[test]
    fn who_has_waited_long_enough_is_let_go_and_the_block_is_not_asked_for_again() {
        let mut ids = ProducerIds::new();
        assert!(ids.wait(Instant(1), 'a'));
        assert!(!ids.wait(Instant(2), 'b'));
        assert_eq!(ids.next_deadline(), Some(Instant(1)));
        assert_eq!(ids.expire(Instant(1)), ['a']);
        assert!(!ids.wait(Instant(3), 'c'));
        assert_eq!(ids.refill(&ProducerIdsBlock { first: ProducerId(5), size: 2 }), ['b', 'c']);
        assert_eq!(ids.next_deadline(), None);
    }
}
