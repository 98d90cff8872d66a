//! Fetch sessions (KIP-227): what a client fetches again and again, remembered, so that requests and answers carry only what changed.
//!
//! A value without locks or time of its own. It must not know how partitions are read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::error_code::ErrorCode;
use crate::types::{Instant, Offset, PartitionIndex, TopicId};
use crate::zoo::{self, Bug};

/// The epoch of a request that opens a session.
const INITIAL_EPOCH: i32 = 0;
/// The epoch of a request that closes a session, or wants none.
const FINAL_EPOCH: i32 = -1;
/// A session that was not used for so long may be put out for a new one.
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
}

impl FetchSession {
    fn new(uses_topic_ids: bool, now: Instant) -> FetchSession {
        FetchSession {
            uses_topic_ids,
            next_epoch: 1,
            last_used: now,
            order: BTreeMap::new(),
            places: BTreeMap::new(),
            next_place: 0,
        }
    }

    /// Adds a partition, or changes how it is wanted.
    fn want(&mut self, wanted: SessionPartition) {
        match self.places.get(&wanted.name()).and_then(|place| self.order.get_mut(place)) {
            Some(cached) => cached.wanted = wanted,
            None => self.append(Cached { wanted, told: NEVER_TOLD }),
        }
    }

    fn append(&mut self, cached: Cached) {
        self.places.insert(cached.wanted.name(), self.next_place);
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
        if has_records && let Some(cached) = self.order.remove(&place) {
            self.append(cached);
        }
        is_news
    }
}

impl FetchSessionCache {
    /// Room for `slots` sessions (`max.incremental.fetch.session.cache.slots`).
    pub(crate) fn new(slots: usize) -> FetchSessionCache {
        FetchSessionCache { slots, sessions: BTreeMap::new() }
    }

    /// What a request means: what is to be read, and how the answer uses a session. Errors are of the whole request.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        (session_id, epoch): (i32, i32),
        uses_topic_ids: bool,
        wanted: Vec<SessionPartition>,
        forgotten: &[PartitionName],
    ) -> Result<(SessionUse, Vec<SessionPartition>), ErrorCode> {
        if epoch == FINAL_EPOCH || epoch == INITIAL_EPOCH {
            self.sessions.remove(&session_id);
            let session = if epoch == INITIAL_EPOCH { SessionUse::Open { uses_topic_ids } } else { SessionUse::None };
            return Ok((session, wanted));
        }
        let session = self.sessions.get_mut(&session_id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.next_epoch != epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.uses_topic_ids != uses_topic_ids {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        forgotten.iter().for_each(|name| session.forget(name));
        wanted.into_iter().for_each(|wanted| session.want(wanted));
        session.next_epoch = epoch.checked_add(1).unwrap_or(1);
        session.last_used = now;
        if session.order.is_empty() {
            self.sessions.remove(&session_id);
            return Ok((SessionUse::None, Vec::new()));
        }
        let partitions = session.order.values().map(|cached| cached.wanted.clone()).collect();
        Ok((SessionUse::Incremental(session_id), partitions))
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
        if !self.make_room(now) {
            return 0;
        }
        let mut session = FetchSession::new(uses_topic_ids, now);
        for (wanted, told) in told {
            session.append(Cached { wanted, told: told.unwrap_or(NEVER_TOLD) });
        }
        if session.order.is_empty() {
            return 0;
        }
        loop {
            let session_id = i32::try_from(draw() >> 1).unwrap_or(0);
            if session_id != 0 && !self.sessions.contains_key(&session_id) {
                self.sessions.insert(session_id, session);
                return session_id;
            }
        }
    }

    /// Whether there is a free slot; puts out the session unused the longest if that was long ago.
    fn make_room(&mut self, now: Instant) -> bool {
        if self.sessions.len() < self.slots {
            return true;
        }
        let oldest = self.sessions.iter().min_by_key(|(_, session)| session.last_used);
        let oldest = oldest.filter(|(_, session)| session.last_used.after(EVICTION_AFTER) <= now);
        match oldest.map(|(session_id, _)| *session_id) {
            Some(session_id) => self.sessions.remove(&session_id).is_some(),
            None => false,
        }
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
            topic: SessionTopic { topic_id: TopicId([1; 16]), name: Arc::from("") },
            index: PartitionIndex(index),
            offset: Offset(offset),
            bytes_max: 1,
            current_leader_epoch: -1,
            last_fetched_epoch: -1,
        }
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
        let (session, read) = cache.begin(Instant(1), (id, 1), true, vec![partition(0, 5)], &[]).unwrap();
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
        let (session, _) = cache.begin(Instant(1), (id, 1), true, vec![], &[]).unwrap();
        assert!(cache.tells(session, &partition(0, 0), told(5), true, false));
        let (_, read) = cache.begin(Instant(2), (id, 2), true, vec![], &[]).unwrap();
        assert_eq!(read, [partition(1, 0), partition(0, 0)]);
    }

    #[test]
    fn a_wrong_epoch_an_unknown_session_and_mixed_names_are_refused() {
        let mut cache = FetchSessionCache::new(1);
        let id = opened(&mut cache);
        let mut begin = |id, epoch, by_id| cache.begin(Instant(1), (id, epoch), by_id, vec![], &[]).map(|_| ());
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
        let (_, read) = cache.begin(Instant(1), (id, 1), true, vec![], &[partition(0, 0).name()]).unwrap();
        assert_eq!(read, [partition(1, 0)]);
        let (session, read) = cache.begin(Instant(1), (id, 2), true, vec![], &[partition(1, 0).name()]).unwrap();
        assert_eq!((session, read.len(), cache.len()), (SessionUse::None, 0, 0));
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
}
