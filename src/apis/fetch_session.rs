//! Fetch sessions (KIP-227): what a client fetches again and again, remembered, so that requests and answers carry only what changed.
//!
//! A value without locks or time of its own. It must not know how partitions are read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::error_code::ErrorCode;
use crate::limits::FETCH_SESSION_PARTITIONS_MAX;
use crate::marks::Mark;
use crate::types::{Instant, Offset, PartitionIndex, TopicId};
use crate::zoo::{self, Bug};

/// The epoch of a request that opens a session.
const INITIAL_EPOCH: i32 = 0;
/// The epoch of a request that closes a session, or wants none.
const FINAL_EPOCH: i32 = -1;
/// A session that was not used for so long may be put out for a new one, and one that has lived for so long for a larger one.
const EVICTION_AFTER: Duration = Duration::from_secs(120);

/// A topic as the client named it: by id, or in older versions by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionTopic {
    pub(crate) topic_id: TopicId,
    pub(crate) name: Arc<str>,
}

/// One partition as the client wants it fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionPartition {
    pub(crate) topic: SessionTopic,
    /// The name of a topic that was named by id, if there ever was such a topic since it is wanted.
    pub(crate) known_as: Option<Arc<str>>,
    pub(crate) index: PartitionIndex,
    pub(crate) offset: Offset,
    pub(crate) bytes_max: i32,
    pub(crate) current_leader_epoch: i32,
    pub(crate) last_fetched_epoch: i32,
}

type PartitionName = (SessionTopic, PartitionIndex);

impl SessionPartition {
    fn name(&self) -> PartitionName {
        (self.topic.clone(), self.index)
    }
}

/// What the client was last told of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) high_watermark: Offset,
    pub(crate) log_start_offset: Offset,
}

/// Nothing that a partition could have: the client is told at the next chance.
const NEVER_TOLD: Told = Told { high_watermark: Offset(i64::MIN), log_start_offset: Offset(i64::MIN) };

#[derive(Clone, Debug)]
struct Cached {
    wanted: SessionPartition,
    told: Told,
}

#[derive(Debug)]
struct FetchSession {
    uses_topic_ids: bool,
    next_epoch: i32,
    created: Instant,
    last_used: Instant,
    /// In the order in which they are read: who had data goes to the end.
    order: BTreeMap<u64, Cached>,
    places: BTreeMap<PartitionName, u64>,
    next_place: u64,
}

/// How an answer uses a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionUse {
    /// None: everything is told.
    None,
    /// One is to be opened with everything that is told.
    Open {
        /// Whether the client names topics by id.
        uses_topic_ids: bool,
    },
    /// This one: only what changed is told.
    Incremental(i32),
}

/// The sessions of a broker.
#[derive(Debug)]
pub(crate) struct FetchSessionCache {
    slots: usize,
    sessions: BTreeMap<i32, FetchSession>,
    /// Partitions of all sessions.
    partitions: usize,
}

impl FetchSession {
    fn new(uses_topic_ids: bool, now: Instant) -> FetchSession {
        FetchSession {
            uses_topic_ids,
            next_epoch: 1,
            created: now,
            last_used: now,
            order: BTreeMap::new(),
            places: BTreeMap::new(),
            next_place: 0,
        }
    }

    /// Adds a partition, or changes how it is wanted.
    fn want(&mut self, wanted: SessionPartition) {
        match self.places.get(&wanted.name()).and_then(|place| self.order.get_mut(place)) {
            Some(cached) => {
                let known_as = cached.wanted.known_as.take().filter(|_| !zoo::is(Bug::SessionForgetsName));
                cached.wanted = SessionPartition { known_as, ..wanted };
            }
            None => self.append(Cached { wanted, told: NEVER_TOLD }),
        }
    }

    fn append(&mut self, cached: Cached) {
        if let Some(before) = self.places.insert(cached.wanted.name(), self.next_place) {
            self.order.remove(&before);
        }
        self.order.insert(self.next_place, cached);
        self.next_place += 1;
    }

    fn forget(&mut self, name: &PartitionName) {
        if let Some(place) = self.places.remove(name) {
            self.order.remove(&place);
        }
    }

    /// Whether the client is to be told of a partition; remembers what it is told.
    fn tell(&mut self, name: &PartitionName, told: Told, has_records: bool, has_error: bool) -> bool {
        let Some(place) = self.places.get(name).copied() else { return true };
        let Some(cached) = self.order.get_mut(&place) else { return true };
        let has_records_to_tell = has_records && !zoo::is(Bug::SessionForgetsRecords);
        let is_news = has_records_to_tell || has_error || cached.told != told;
        // An error is told again until it is gone.
        cached.told = if has_error { NEVER_TOLD } else { told };
        if !is_news {
            Mark::SessionSaysNothing.reached();
        }
        if has_records && let Some(cached) = self.order.remove(&place) {
            self.append(cached);
        }
        is_news
    }
}

impl FetchSessionCache {
    /// Room for `slots` sessions (`max.incremental.fetch.session.cache.slots`).
    pub(crate) fn new(slots: usize) -> FetchSessionCache {
        FetchSessionCache { slots, sessions: BTreeMap::new(), partitions: 0 }
    }

    /// What a request means: what is to be read, and how the answer uses a session. `name_of` knows the topics of today. Errors are of
    /// the whole request.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        (session_id, epoch): (i32, i32),
        uses_topic_ids: bool,
        mut wanted: Vec<SessionPartition>,
        forgotten: &[PartitionName],
        name_of: impl Fn(TopicId) -> Option<Arc<str>>,
    ) -> Result<(SessionUse, Vec<SessionPartition>), ErrorCode> {
        let resolve = |wanted: &mut SessionPartition| {
            if uses_topic_ids && wanted.known_as.is_none() {
                wanted.known_as = name_of(wanted.topic.topic_id);
            }
        };
        if epoch == FINAL_EPOCH || epoch == INITIAL_EPOCH {
            self.remove(session_id);
            wanted.iter_mut().for_each(resolve);
            let session = if epoch == INITIAL_EPOCH { SessionUse::Open { uses_topic_ids } } else { SessionUse::None };
            return Ok((session, wanted));
        }
        let session = self.sessions.get_mut(&session_id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.next_epoch != epoch && !zoo::is(Bug::SessionEpochUnchecked) {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.uses_topic_ids != uses_topic_ids {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        let before = session.order.len();
        // In this order, as in Kafka: what is in both lists is forgotten.
        wanted.into_iter().for_each(|wanted| session.want(wanted));
        if !zoo::is(Bug::ForgottenStays) {
            forgotten.iter().for_each(|name| session.forget(name));
        }
        session.next_epoch = epoch.checked_add(1).unwrap_or(1);
        session.last_used = now;
        self.partitions = self.partitions - before + session.order.len();
        let is_empty = session.order.is_empty();
        if is_empty || self.partitions > FETCH_SESSION_PARTITIONS_MAX {
            self.remove(session_id);
            // A session that has grown too large is gone: its client asks for everything again, and gets it without a session.
            return if is_empty { Ok((SessionUse::None, Vec::new())) } else { Err(ErrorCode::FetchSessionIdNotFound) };
        }
        let read = session.order.values_mut().map(|cached| {
            resolve(&mut cached.wanted);
            cached.wanted.clone()
        });
        Ok((SessionUse::Incremental(session_id), read.collect()))
    }

    /// Whether the answer must tell of a partition.
    pub(crate) fn tells(
        &mut self,
        session: SessionUse,
        partition: &SessionPartition,
        told: Told,
        has_records: bool,
        has_error: bool,
    ) -> bool {
        match session {
            SessionUse::None | SessionUse::Open { .. } => true,
            SessionUse::Incremental(session_id) => match self.sessions.get_mut(&session_id) {
                Some(session) => session.tell(&partition.name(), told, has_records, has_error),
                None => true,
            },
        }
    }

    /// Opens a session with everything that an answer tells, under a number that `draw` gives. 0 if there is no room.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        uses_topic_ids: bool,
        told: impl IntoIterator<Item = (SessionPartition, Option<Told>)>,
        mut draw: impl FnMut() -> u32,
    ) -> i32 {
        let mut session = FetchSession::new(uses_topic_ids, now);
        for (wanted, told) in told.into_iter().take(FETCH_SESSION_PARTITIONS_MAX + 1) {
            session.append(Cached { wanted, told: told.unwrap_or(NEVER_TOLD) });
        }
        let partitions = session.order.len();
        if partitions == 0 || !self.make_room(now, partitions) {
            return 0;
        }
        loop {
            let session_id = i32::try_from(draw() >> 1).unwrap_or(0);
            if session_id != 0 && !self.sessions.contains_key(&session_id) {
                self.partitions += partitions;
                self.sessions.insert(session_id, session);
                return session_id;
            }
        }
    }

    /// Whether there is a free slot for a session of so many partitions. Puts out the sessions unused the longest, if that was long ago;
    /// else, for a slot, the smallest of those that have lived for long if it is smaller than the new one.
    fn make_room(&mut self, now: Instant, partitions: usize) -> bool {
        if partitions > FETCH_SESSION_PARTITIONS_MAX {
            // However many others it put out, there would be no room.
            return false;
        }
        while self.partitions + partitions > FETCH_SESSION_PARTITIONS_MAX {
            let Some(stale) = self.stalest(now) else { return false };
            self.remove(stale);
        }
        if self.sessions.len() < self.slots {
            return true;
        }
        let lived = |session: &FetchSession| session.created.after(EVICTION_AFTER) <= session.last_used;
        let smallest = self.sessions.iter().filter(|(_, session)| lived(session));
        let smallest = smallest.min_by_key(|(_, session)| session.order.len());
        let smaller = smallest.filter(|(_, session)| session.order.len() < partitions);
        match self.stalest(now).or(smaller.map(|(session_id, _)| *session_id)) {
            Some(session_id) => {
                Mark::SessionPutOut.reached();
                self.remove(session_id);
                true
            }
            None => false,
        }
    }

    /// The session unused the longest, if that was long ago.
    fn stalest(&self, now: Instant) -> Option<i32> {
        let (session_id, oldest) = self.sessions.iter().min_by_key(|(_, session)| session.last_used)?;
        let is_old = oldest.last_used.after(EVICTION_AFTER) <= now && !zoo::is(Bug::OldSessionKept);
        is_old.then_some(*session_id)
    }

    fn remove(&mut self, session_id: i32) {
        let removed = self.sessions.remove(&session_id);
        self.partitions -= removed.map_or(0, |session| session.order.len());
    }

    /// Sessions at this moment.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.sessions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(index: i32, offset: i64) -> SessionPartition {
        SessionPartition {
            topic: SessionTopic { topic_id: TopicId([1; 16]), name: Arc::default() },
            known_as: None,
            index: PartitionIndex(index),
            offset: Offset(offset),
            bytes_max: 1,
            current_leader_epoch: -1,
            last_fetched_epoch: -1,
        }
    }

    fn begin(
        cache: &mut FetchSessionCache,
        now: Instant,
        session: (i32, i32),
        wanted: Vec<SessionPartition>,
        forgotten: &[PartitionName],
    ) -> Result<(SessionUse, Vec<SessionPartition>), ErrorCode> {
        cache.begin(now, session, true, wanted, forgotten, |_| None)
    }

    fn told(high_watermark: i64) -> Told {
        Told { high_watermark: Offset(high_watermark), log_start_offset: Offset(0) }
    }

    fn opened(cache: &mut FetchSessionCache) -> i32 {
        let all = [0, 1].map(|index| (partition(index, 0), Some(told(5))));
        cache.open(Instant(0), true, all, || 14)
    }

    #[test]
    fn an_incremental_answer_tells_only_what_changed() {
        let mut cache = FetchSessionCache::new(1);
        let id = opened(&mut cache);
        assert_eq!(id, 7);
        let (session, read) = begin(&mut cache, Instant(1), (id, 1), vec![partition(0, 5)], &[]).unwrap();
        assert_eq!(read, [partition(0, 5), partition(1, 0)]);
        assert!(!cache.tells(session, &partition(0, 5), told(5), false, false));
        assert!(cache.tells(session, &partition(1, 0), told(6), false, false), "the high watermark moved");
        assert!(!cache.tells(session, &partition(1, 0), told(6), false, false));
        assert!(cache.tells(session, &partition(1, 0), told(6), false, true), "errors are told");
        assert!(cache.tells(session, &partition(1, 0), told(6), false, false), "and that they are gone, too");
    }

    #[test]
    fn who_had_data_is_read_last_the_next_time() {
        let mut cache = FetchSessionCache::new(1);
        let id = opened(&mut cache);
        let (session, _) = begin(&mut cache, Instant(1), (id, 1), vec![], &[]).unwrap();
        assert!(cache.tells(session, &partition(0, 0), told(5), true, false));
        let (_, read) = begin(&mut cache, Instant(2), (id, 2), vec![], &[]).unwrap();
        assert_eq!(read, [partition(1, 0), partition(0, 0)]);
    }

    #[test]
    fn a_wrong_epoch_an_unknown_session_and_mixed_names_are_refused() {
        let mut cache = FetchSessionCache::new(1);
        let id = opened(&mut cache);
        let mut begin =
            |id, epoch, by_id| cache.begin(Instant(1), (id, epoch), by_id, vec![], &[], |_| None).map(|_| ());
        assert_eq!(begin(id, 2, true), Err(ErrorCode::InvalidFetchSessionEpoch));
        assert_eq!(begin(id + 1, 1, true), Err(ErrorCode::FetchSessionIdNotFound));
        assert_eq!(begin(id, 1, false), Err(ErrorCode::FetchSessionTopicIdError));
        assert_eq!(begin(id, 1, true), Ok(()));
        assert_eq!(begin(id, FINAL_EPOCH, true), Ok(()));
        assert_eq!(begin(id, 2, true), Err(ErrorCode::FetchSessionIdNotFound));
    }

    #[test]
    fn forgotten_partitions_are_read_no_more_and_an_empty_session_ends() {
        let mut cache = FetchSessionCache::new(1);
        let id = opened(&mut cache);
        let (_, read) = begin(&mut cache, Instant(1), (id, 1), vec![], &[partition(0, 0).name()]).unwrap();
        assert_eq!(read, [partition(1, 0)]);
        let (session, read) = begin(&mut cache, Instant(1), (id, 2), vec![], &[partition(1, 0).name()]).unwrap();
        assert_eq!((session, read.len(), cache.len()), (SessionUse::None, 0, 0));
    }

    #[test]
    fn what_is_wanted_and_forgotten_at_once_is_forgotten() {
        let mut cache = FetchSessionCache::new(1);
        let id = opened(&mut cache);
        let wanted = vec![partition(0, 3), partition(2, 0)];
        let (_, read) = begin(&mut cache, Instant(1), (id, 1), wanted, &[partition(0, 0).name()]).unwrap();
        assert_eq!(read, [partition(1, 0), partition(2, 0)]);
    }

    #[test]
    fn a_full_cache_gives_no_session_until_one_is_unused_for_long() {
        let mut cache = FetchSessionCache::new(1);
        let first = opened(&mut cache);
        assert_ne!(first, 0);
        assert_eq!(cache.open(Instant(1), true, [(partition(0, 0), None)], || 20), 0);
        let later = Instant(0).after(EVICTION_AFTER);
        assert_eq!(cache.open(later, true, [(partition(0, 0), None)], || 20), 10);
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn a_session_that_has_lived_for_long_gives_way_to_a_larger_one() {
        let mut cache = FetchSessionCache::new(1);
        let id = opened(&mut cache);
        let (soon, later) = (Instant(1), Instant(0).after(EVICTION_AFTER));
        let of = |partitions: i32| (0..partitions).map(|index| (partition(index, 0), None)).collect::<Vec<_>>();
        assert_eq!(cache.open(soon, true, of(3), || 20), 0, "it is young");
        begin(&mut cache, later, (id, 1), vec![], &[]).unwrap();
        assert_eq!(cache.open(later, true, of(2), || 20), 0, "the new one is not larger");
        assert_eq!(cache.open(later, true, of(3), || 20), 10);
        assert_eq!((cache.len(), cache.partitions), (1, 3));
    }

    #[test]
    fn sessions_remember_a_bounded_number_of_partitions_together() {
        let mut cache = FetchSessionCache::new(9);
        let most = i32::try_from(FETCH_SESSION_PARTITIONS_MAX).unwrap() - 1;
        let all = (0..most).map(|index| (partition(index, 0), None));
        let large = cache.open(Instant(0), true, all, || 20);
        assert_ne!(large, 0);
        let both = [0, 1].map(|index| (partition(index, 0), None));
        assert_eq!(cache.open(Instant(0), true, both, || 40), 0);
        assert_ne!(cache.open(Instant(0), true, [(partition(0, 0), None)], || 40), 0);
        let grown = begin(&mut cache, Instant(1), (large, 1), vec![partition(most, 0)], &[]);
        assert_eq!(grown.map(|_| ()), Err(ErrorCode::FetchSessionIdNotFound));
        assert_eq!((cache.len(), cache.partitions), (1, 1));
    }

    #[test]
    fn sessions_that_are_unused_for_long_give_way_to_one_that_needs_their_partitions() {
        let mut cache = FetchSessionCache::new(9);
        let most = i32::try_from(FETCH_SESSION_PARTITIONS_MAX).unwrap();
        let of = |partitions: i32| (0..partitions).map(|index| (partition(index, 0), None));
        assert_ne!(cache.open(Instant(0), true, of(most), || 20), 0);
        assert_eq!(cache.open(Instant(1), true, of(2), || 40), 0);
        assert_eq!(cache.open(Instant(0).after(EVICTION_AFTER), true, of(2), || 40), 20);
        assert_eq!((cache.len(), cache.partitions), (1, 2));
    }

    #[test]
    fn a_topic_that_is_named_by_id_keeps_the_name_that_it_once_had() {
        let mut cache = FetchSessionCache::new(1);
        let id = opened(&mut cache);
        let name: Arc<str> = Arc::from("t");
        let mut known_as = |epoch, wanted: Vec<SessionPartition>, today: Option<&Arc<str>>| {
            let (_, read) = cache.begin(Instant(1), (id, epoch), true, wanted, &[], |_| today.cloned()).unwrap();
            read[0].known_as.clone()
        };
        assert_eq!(known_as(1, vec![], None), None);
        assert_eq!(known_as(2, vec![], Some(&name)), Some(name.clone()));
        assert_eq!(known_as(3, vec![partition(0, 7)], None), Some(name.clone()));
    }

    #[test]
    fn a_request_for_more_partitions_than_all_sessions_may_have_puts_no_other_out() {
        let mut cache = FetchSessionCache::new(10);
        let one = || (partition(0, 0), None);
        assert_ne!(cache.open(Instant(0), true, [one()], || 8), 0);
        let long_after = Instant(0).after(EVICTION_AFTER).after(EVICTION_AFTER);
        let count = i32::try_from(FETCH_SESSION_PARTITIONS_MAX).unwrap() + 1;
        assert_eq!(cache.open(long_after, true, (0..count).map(|index| (partition(index, 0), None)), || 10), 0);
        assert_eq!(cache.len(), 1);
    }
}
