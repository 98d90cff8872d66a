//! A consumer: reads every partition of a topic from its start and notes every record that it sees.
//!
//! It must not know who wrote what; the history compares. When a partition has a new leader epoch it reads from the start again: what it
//! had read may be gone (KIP-320).

use std::collections::BTreeMap;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData};
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use klamm::protocol::{ApiKey, Decoder, Message, RecordsField};
use klamm::record::{BatchIterator, Decompressor, RecordBatch};
use klamm::types::{Instant, TopicId};

use super::link::{Link, LinkNews, Next};
use super::versions::{ANY, by_name_unless};
use super::{Client, ClientConnection, ClientContext, Habits, Value};
use crate::checker::{Era, Seen, Violation};
use crate::keyed::Site;
use crate::stream::Turnaround;

/// The first version that names topics by their ids.
const IDS_FROM: i16 = 13;
/// The first version that serves Zstandard.
const ZSTD_FROM: i16 = 10;
/// The first version that tells where a log starts.
const LOG_START_FROM: i16 = 5;
/// What stands for the start of a log in ListOffsets.
const EARLIEST: i64 = -2;
/// What stands for the leader epoch in versions of Metadata that do not tell it.
const NO_EPOCH: i32 = -1;
/// A partition of which the disk has destroyed records is offline if it is refused so often.
const REFUSALS_MAX: u32 = 600;
/// After so many refusals of one offset in a partition of which the disk has destroyed records it is not a passing trouble.
const REFUSALS_HERE_MAX: u32 = 3;

/// How often a partition was refused in the calm phase.
#[derive(Debug, Default)]
struct Refusals {
    all: u32,
    /// In a row, at this offset.
    here: u32,
    offset: i64,
}
/// More than any batch of this run holds.
const BODY_BYTES_MAX: usize = 1 << 20;
const NANOS_PER_MS: u64 = 1_000_000;

/// What one consumer is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConsumerProfile {
    pub(crate) client: u32,
    /// Some batches are compressed with Zstandard.
    pub(crate) reads_zstd: bool,
    pub(crate) wait_ms_max: i32,
    pub(crate) bytes_min: i32,
    /// It fetches in a session.
    pub(crate) has_session: bool,
    /// It has room for a byte: every batch comes whole all the same, alone (KIP-74).
    pub(crate) takes_little: bool,
    /// It sees only what no open transaction could still take back.
    pub(crate) reads_committed: bool,
    /// After a change of the leader epoch it asks where it may read on; else it reads from the start again.
    pub(crate) asks_epoch_ends: bool,
    pub(crate) habits: Habits,
}

/// Where a consumer stands in a partition.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    offset: i64,
    leader_epoch: i32,
    /// The epoch of the last batch that it has read, and how many losses there had been.
    read_in_epoch: i32,
    losses: u32,
    /// Where the log begins is to be asked for before it reads on.
    needs_start: bool,
    /// An epoch whose end is to be asked for before it reads on.
    unsure_of: Option<i32>,
    /// It has read up to the high watermark, as of its last fetch since the run is calm.
    at_end: bool,
    high_watermark: i64,
    log_start: i64,
}

impl Position {
    /// Goes on behind the mark of an ended transaction, if it is the next batch.
    fn pass_marker(&mut self, context: &mut ClientContext<'_>, partition: i32, losses: u32, batch: &RecordBatch<'_>) {
        let base = batch.base_offset().0;
        if base == self.offset || context.history.excuses_gap(partition, self.offset..base) {
            let epoch = batch.partition_leader_epoch().0;
            context.history.marked(partition, epoch, base, batch.max_timestamp());
            self.offset = batch.next_offset().0;
            (self.read_in_epoch, self.losses) = (batch.partition_leader_epoch().0, losses);
        }
    }
}

/// A consumer.
pub(crate) struct Consumer {
    profile: ConsumerProfile,
    topic: &'static str,
    topic_id: TopicId,
    link: Link,
    /// Whether this connection has asked for the metadata and got them.
    is_prepared: bool,
    positions: BTreeMap<i32, Position>,
    /// What a loss of unsynced records may take back is forgotten when there was one.
    losses: u32,
    era_when_asked: Era,
    /// Up to where records of each partition had been acknowledged as durable.
    durable_when_asked: BTreeMap<i32, i64>,
    /// Before which offset of each partition nothing may come, as of then.
    starts_when_asked: BTreeMap<i32, i64>,
    /// The start of the broker that it knows.
    boot: u32,
    session: Session,
    /// The start of the broker that the open fetch was sent to, and until when it waits there.
    waits_until: (u32, Instant),
    /// How often each partition was refused since the run is calm.
    refusals: BTreeMap<i32, Refusals>,
    decompressor: Decompressor,
    is_done: bool,
}

/// A fetch session (KIP-227), as the client sees it.
#[derive(Debug, Default)]
struct Session {
    id: i32,
    /// Of the next request; 0 opens a session.
    epoch: i32,
    /// From where on the broker believes that each partition is wanted.
    wanted: BTreeMap<i32, i64>,
    /// It was opened when the run was calm.
    is_calm: bool,
}

impl Session {
    /// Goes on after an answer in the session that it names, if it names one.
    fn answered(&mut self, id: i32) {
        self.epoch = if id == 0 { 0 } else { self.epoch + 1 };
        self.id = id;
        if id == 0 {
            self.wanted.clear();
        }
    }
}

impl Consumer {
    pub(crate) fn new(profile: ConsumerProfile, topic: &'static str) -> Consumer {
        Consumer {
            profile,
            topic,
            topic_id: TopicId::default(),
            link: Link::new(profile.client, profile.habits),
            is_prepared: false,
            positions: BTreeMap::new(),
            losses: 0,
            era_when_asked: Era::default(),
            durable_when_asked: BTreeMap::new(),
            starts_when_asked: BTreeMap::new(),
            boot: 0,
            session: Session::default(),
            waits_until: (0, Instant(0)),
            refusals: BTreeMap::new(),
            decompressor: Decompressor::new(),
            is_done: false,
        }
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        if !self.is_prepared {
            let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
            let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
            connection.send(context, connection.api(context, ApiKey::Metadata, &ANY), &request, true);
            return;
        }
        if self.positions.values().any(|position| position.unsure_of.is_some()) {
            return self.ask_epoch_ends(context, connection);
        }
        self.starts_when_asked = context.history.deleted().starts();
        if self.positions.values().any(|position| position.needs_start) {
            return self.ask_starts(context, connection);
        }
        if context.is_calm && !self.session.is_calm {
            // From here on it counts what is known of every partition: everything is asked for once more.
            self.session = Session { is_calm: true, ..Session::default() };
        }
        self.era_when_asked = context.history.era();
        self.durable_when_asked.clone_from(context.history.durable_ends());
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        let partition_bytes_max = if self.profile.takes_little { 1 } else { draw.part(0).between(1, 4_000) };
        let partition_bytes_max = i32::try_from(partition_bytes_max).unwrap_or(1);
        let wait_ns = u64::try_from(self.profile.wait_ms_max).unwrap_or(0) * NANOS_PER_MS;
        self.waits_until = (context.boot, Instant(context.now().0 + wait_ns));
        let session = &mut self.session;
        let is_news = |(partition, position): &(&i32, &Position)| {
            session.epoch <= 0 || session.wanted.get(partition) != Some(&position.offset)
        };
        let news: Vec<(i32, i64)> =
            self.positions.iter().filter(is_news).map(|(partition, position)| (*partition, position.offset)).collect();
        session.wanted.extend(news.iter().copied());
        let partitions = news.into_iter().map(|(partition, fetch_offset)| FetchPartition {
            partition,
            fetch_offset,
            partition_max_bytes: partition_bytes_max,
            ..Default::default()
        });
        let partitions: Vec<FetchPartition> = partitions.collect();
        let topic = FetchTopic { topic: self.topic, topic_id: self.topic_id, partitions };
        let request = FetchRequest {
            max_wait_ms: self.profile.wait_ms_max,
            min_bytes: self.profile.bytes_min,
            isolation_level: i8::from(self.profile.reads_committed),
            max_bytes: 1 << 20,
            session_id: session.id,
            session_epoch: if self.profile.has_session { session.epoch } else { -1 },
            topics: Some(topic).into_iter().filter(|topic| !topic.partitions.is_empty()).collect(),
            ..Default::default()
        };
        let named = by_name_unless(self.topic_id != TopicId::ZERO, IDS_FROM);
        let will_do = if self.profile.reads_zstd { ZSTD_FROM..=*named.end() } else { named };
        connection.send(context, connection.api(context, ApiKey::Fetch, &will_do), &request, true);
    }

    /// Asks where the epochs ended in which it has read (KIP-320).
    fn ask_epoch_ends(&self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let unsure = self.positions.iter().filter_map(|(partition, position)| Some((*partition, position.unsure_of?)));
        let partitions = unsure
            .map(|(partition, leader_epoch)| OffsetForLeaderPartition { partition, leader_epoch, ..Default::default() })
            .collect();
        let topics = vec![OffsetForLeaderTopic { topic: self.topic, partitions }];
        let request = OffsetForLeaderEpochRequest { replica_id: -1, topics };
        connection.send(context, connection.api(context, ApiKey::OffsetForLeaderEpoch, &ANY), &request, true);
    }

    /// Asks where the logs begin in which its offset is none any more.
    fn ask_starts(&self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let lost = self.positions.iter().filter(|(_, position)| position.needs_start);
        let partitions = lost.map(|(partition, _)| ListOffsetsPartition {
            partition_index: *partition,
            timestamp: EARLIEST,
            ..Default::default()
        });
        let topics = vec![ListOffsetsTopic { name: self.topic, partitions: partitions.collect() }];
        let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::ListOffsets, &ANY), &request, true);
    }

    fn take_starts(&mut self, context: &mut ClientContext<'_>, response: &ListOffsetsResponse<'_>) {
        for listed in response.topics.iter().flat_map(|topic| &topic.partitions) {
            let partition = listed.partition_index;
            let Some(position) = self.positions.get_mut(&partition) else { continue };
            if listed.error_code != ErrorCode::None.code() {
                self.skip_destroyed(context, partition);
                self.is_prepared = false;
                continue;
            }
            (position.offset, position.needs_start) = (listed.offset, false);
            if let Some(told) = self.starts_when_asked.get(&partition).filter(|told| listed.offset < **told) {
                let (told, found) = (*told, listed.offset);
                context.history.violate(Violation::DeletedBack { partition, told, found });
            }
        }
    }

    /// Goes back to where the epoch ended in which it has read. Without a loss that is not before what it has read.
    fn take_epoch_ends(&mut self, context: &mut ClientContext<'_>, response: &OffsetForLeaderEpochResponse<'_>) {
        for ended in response.topics.iter().flat_map(|topic| &topic.partitions) {
            let Some(position) = self.positions.get_mut(&ended.partition) else { continue };
            if ended.error_code != ErrorCode::None.code() {
                self.is_prepared = false;
                continue;
            }
            position.unsure_of = None;
            if ended.end_offset < position.offset {
                let is_touched = context.history.destroyed().is_touched(ended.partition);
                if position.losses == context.history.losses() && !is_touched {
                    let (client, partition) = (self.profile.client, ended.partition);
                    let (read, end) = (position.offset, ended.end_offset);
                    context.history.violate(Violation::EpochEndsEarly { client, partition, read, end });
                }
                position.offset = ended.end_offset.max(0);
            }
        }
    }

    /// Takes an answer; `false` if it makes no sense.
    fn take_answer(&mut self, context: &mut ClientContext<'_>, api_key: ApiKey, version: i16, body: &[u8]) -> bool {
        let mut decoder = Decoder::new(body);
        if api_key == ApiKey::Metadata {
            let Ok(response) = MetadataResponse::decode(&mut decoder, version) else { return false };
            self.take_metadata(&response);
            return true;
        }
        if api_key == ApiKey::OffsetForLeaderEpoch {
            let Ok(response) = OffsetForLeaderEpochResponse::decode(&mut decoder, version) else { return false };
            self.take_epoch_ends(context, &response);
            return true;
        }
        if api_key == ApiKey::ListOffsets {
            let Ok(response) = ListOffsetsResponse::decode(&mut decoder, version) else { return false };
            self.take_starts(context, &response);
            return true;
        }
        let Ok(response) = FetchResponse::decode(&mut decoder, version) else { return false };
        if response.error_code != ErrorCode::None.code() {
            self.is_prepared = false;
            return true;
        }
        self.session.answered(response.session_id);
        self.check_wait(context, &response);
        self.check_wake(context);
        self.note_readable(context, &response);
        let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
        let mut is_right = true;
        for partition in partitions {
            is_right &= self.take_partition(context, version, partition);
        }
        self.note_silence(context, &response);
        is_right
    }

    /// A log may end behind its last record: who has read that, and is told of no record of any partition, has read all. Beside records of others there may just have
    /// been no room.
    fn note_silence(&mut self, context: &mut ClientContext<'_>, response: &FetchResponse<'_>) {
        if !context.is_calm || response.responses.iter().flat_map(|topic| &topic.partitions).any(tells) {
            return;
        }
        for (partition, position) in &mut self.positions {
            let offsets = position.offset..position.high_watermark;
            position.at_end |= !offsets.is_empty() && context.history.excuses_gap(*partition, offsets);
        }
    }

    /// Whoever has not enough to tell waits until there is, or the time is up; unless the client or the broker is about to go.
    fn check_wait(&self, context: &mut ClientContext<'_>, response: &FetchResponse<'_>) {
        let (client, (boot, until)) = (self.profile.client, self.waits_until);
        let early_ns = until.0.saturating_sub(context.now().0);
        let is_about_to_go = boot != context.boot || context.is_draining || self.link.is_half_closed();
        let has_enough = || {
            let partitions = || response.responses.iter().flat_map(|topic| &topic.partitions);
            let bytes_of = |data: &PartitionData<'_>| match data.records {
                RecordsField::Bytes(records) => Some(records.len()).filter(|_| data.error_code == 0),
                _ => None,
            };
            // An error that ends the wait may be gone when the answer is read.
            let bytes_min =
                if context.is_disk_sound { usize::try_from(self.profile.bytes_min).unwrap_or(1) } else { 1 };
            partitions().map(bytes_of).sum::<Option<usize>>().is_none_or(|bytes| bytes >= bytes_min)
        };
        if early_ns > 0 && !is_about_to_go && !has_enough() {
            context.history.violate(Violation::AnsweredEarly { client, early_ns });
        }
    }

    /// Whoever waits for any byte is woken when one is there: when all have come to rest next, its answer is on its way.
    fn check_wake(&self, context: &mut ClientContext<'_>) {
        let Some(Turnaround { read_at, rested_at: Some(rested_at) }) = self.link.turnaround() else { return };
        if self.profile.bytes_min > 1 {
            return;
        }
        for (partition, position) in &self.positions {
            // Another broker may have left an open transaction there.
            let may_be_undecided = self.profile.reads_committed && *partition == 0;
            let Some(since) = context.history.readable_since(*partition, position.offset) else { continue };
            let late_ns = rested_at.0.saturating_sub(since.max(read_at).0);
            if late_ns > 0 && !may_be_undecided && !context.history.destroyed().is_touched(*partition) {
                let (client, partition) = (self.profile.client, *partition);
                context.history.violate(Violation::WokenLate { client, partition, late_ns });
            }
        }
    }

    fn take_metadata(&mut self, response: &MetadataResponse<'_>) {
        let topic = response.topics.iter().find(|topic| topic.name == Some(self.topic) && topic.error_code == 0);
        let Some(topic) = topic else { return };
        let ids = [self.topic_id, topic.topic_id];
        let is_same_topic = ids[0] == ids[1] || ids.contains(&TopicId::ZERO);
        self.topic_id = topic.topic_id;
        self.session = Session { is_calm: self.session.is_calm, ..Session::default() };
        for partition in &topic.partitions {
            let fresh = Position { leader_epoch: partition.leader_epoch, ..Position::default() };
            let position = self.positions.entry(partition.partition_index).or_insert(fresh);
            // An old version does not tell the epoch: whoever speaks it reads on, and hears of what was cut when its offset is out of range.
            if position.leader_epoch != partition.leader_epoch && partition.leader_epoch != NO_EPOCH {
                let goes_on = self.profile.asks_epoch_ends && is_same_topic && position.offset > 0;
                let unsure_of = position.unsure_of.or(Some(position.read_in_epoch)).filter(|_| goes_on);
                let kept = Position {
                    offset: position.offset,
                    read_in_epoch: position.read_in_epoch,
                    losses: position.losses,
                    unsure_of,
                    ..fresh
                };
                *position = if goes_on { kept } else { fresh };
            }
        }
        self.is_prepared = !self.positions.is_empty();
    }

    fn take_partition(&mut self, context: &mut ClientContext<'_>, version: i16, data: &PartitionData<'_>) -> bool {
        let RecordsField::Bytes(records) = data.records else { return false };
        let Some(position) = self.positions.get_mut(&data.partition_index) else { return false };
        let durable = self.durable_when_asked.get(&data.partition_index).copied().unwrap_or(0);
        match ErrorCode::from_code(data.error_code) {
            ErrorCode::None => {}
            ErrorCode::OffsetOutOfRange => {
                // What was read before a power cut may be gone: start again.
                let is_lost = position.offset > durable && position.losses != context.history.losses()
                    || context.history.destroyed().is_touched(data.partition_index)
                    || context.history.deleted().excuses(data.partition_index, position.offset);
                if position.offset > 0 && !is_lost {
                    let (client, partition, offset) = (self.profile.client, data.partition_index, position.offset);
                    context.history.violate(Violation::OutOfRange { client, partition, offset });
                }
                let leader_epoch = position.leader_epoch;
                *position = Position { leader_epoch, needs_start: true, ..Position::default() };
                return true;
            }
            error => {
                if matches!(error, ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId) {
                    let (client, partition) = (self.profile.client, data.partition_index);
                    context.history.violate(Violation::Denied { client, partition });
                }
                position.at_end = false;
                self.skip_destroyed(context, data.partition_index);
                self.is_prepared = false;
                self.link.retry(context);
                return true;
            }
        }
        check_end(context, self.profile.client, data, durable);
        // An answer that was on its way while something was lost says nothing about the time after.
        let is_of_now = self.era_when_asked.losses == context.history.losses()
            && (self.waits_until.0 == context.boot || !context.history.deleted().is_any());
        let marks = [
            ("high watermark", position.high_watermark, data.high_watermark),
            ("log start", position.log_start, data.log_start_offset),
        ];
        for (what, before, after) in marks {
            let is_touched = context.history.destroyed().is_touched(data.partition_index);
            if after < before && is_of_now && !is_touched && (what != "log start" || version >= LOG_START_FROM) {
                let (client, partition) = (self.profile.client, data.partition_index);
                context.history.violate(Violation::WentBack { client, partition, what, before, after });
            }
        }
        if !self.profile.reads_committed
            && data.aborted_transactions.as_ref().is_some_and(|aborted| !aborted.is_empty())
        {
            let (client, partition) = (self.profile.client, data.partition_index);
            context.history.violate(Violation::AbortedTold { client, partition });
        }
        if is_of_now {
            (position.high_watermark, position.log_start) = (data.high_watermark, data.log_start_offset);
        }
        self.take_records(context, data.partition_index, data.high_watermark, records)
    }

    /// Whoever waits before a high watermark that somebody was told of must be woken by now.
    fn note_readable(&self, context: &mut ClientContext<'_>, response: &FetchResponse<'_>) {
        let (boot, now) = (self.waits_until.0, context.now());
        let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
        for data in partitions.filter(|data| data.error_code == 0 && boot == context.boot) {
            context.history.readable().told(data.partition_index, data.high_watermark, now);
        }
    }

    /// Goes on behind a batch that the disk has destroyed, once nothing else can be the reason that it is refused; in the end the partition is
    /// offline.
    fn skip_destroyed(&mut self, context: &mut ClientContext<'_>, partition: i32) {
        let Some(position) = self.positions.get_mut(&partition).filter(|_| context.is_calm) else { return };
        if !context.history.destroyed().is_touched(partition) {
            return;
        }
        let refusals = self.refusals.entry(partition).or_default();
        refusals.all += 1;
        refusals.here = if refusals.offset == position.offset { refusals.here + 1 } else { 1 };
        refusals.offset = position.offset;
        if let Some(next) = context.history.destroyed().next_after(partition, position.offset) {
            position.offset = next;
        } else if refusals.here > REFUSALS_HERE_MAX {
            // A whole batch behind a destroyed one may be out of reach: nobody can tell where it begins.
            position.offset += 1;
        }
        position.at_end = refusals.all > REFUSALS_MAX;
    }

    fn take_records(
        &mut self,
        context: &mut ClientContext<'_>,
        partition: i32,
        high_watermark: i64,
        records: &[u8],
    ) -> bool {
        let Some(position) = self.positions.get_mut(&partition) else { return false };
        let start = self.starts_when_asked.get(&partition).copied().unwrap_or(0);
        if BatchIterator::new(records).next().is_some_and(|first| first.is_err()) {
            // The last batch may be cut, but not the first, or nobody could go on.
            return false;
        }
        for batch in BatchIterator::new(records) {
            // Nothing else may be wrong with what is served.
            let Ok(batch) = batch else { break };
            if !batch.crc_is_valid() {
                context.history.violate(Violation::DamagedBatch { partition, offset: batch.base_offset().0 });
                return true;
            }
            if batch.is_control_batch() {
                let losses = self.era_when_asked.losses;
                position.pass_marker(context, partition, losses, &batch);
                continue;
            }
            let Ok(body) = batch.decompressed_body(&mut self.decompressor, BODY_BYTES_MAX) else { return false };
            for record in batch.records_in(&body) {
                let Ok(record) = record else { return false };
                let offset = record.offset.0;
                if offset < position.offset {
                    continue;
                }
                let epoch = batch.partition_leader_epoch().0;
                let value = record.value.and_then(Value::from_bytes);
                context.history.seen(
                    Seen {
                        client: self.profile.client,
                        partition,
                        epoch,
                        offset,
                        high_watermark,
                        era: self.era_when_asked,
                        start,
                        timestamp: record.timestamp,
                    },
                    position.offset,
                    value,
                );
                position.offset = offset + 1;
                (position.read_in_epoch, position.losses) = (epoch, self.era_when_asked.losses);
            }
        }
        position.at_end = context.is_calm && position.offset >= high_watermark;
        true
    }

    fn has_read_all(&self) -> bool {
        self.is_prepared && self.positions.values().all(|position| position.at_end)
    }

    fn forget_what_may_be_lost(&mut self, context: &mut ClientContext<'_>) {
        if self.boot != context.boot && context.history.deleted().is_any() {
            // The broker may have forgotten where a log begins.
            self.positions.values_mut().for_each(|position| position.log_start = 0);
        }
        self.boot = context.boot;
        if self.losses != context.history.losses() {
            self.losses = context.history.losses();
            for position in self.positions.values_mut() {
                (position.high_watermark, position.log_start) = (0, 0);
            }
        }
    }
}

impl Client for Consumer {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done {
            return None;
        }
        self.forget_what_may_be_lost(context);
        match self.link.begin(context, false).next {
            Next::Rest(at) => return Some(at),
            Next::WorkAnew => self.is_prepared = false,
            Next::Work => {}
        }
        loop {
            if let Some(mut connection) = self.link.take_idle(context) {
                self.ask(context, &mut connection);
                self.link.give_back(connection);
            }
            match self.link.pump(context, false) {
                LinkNews::Answer(_, api_key, version, body) => {
                    if !self.take_answer(context, api_key, version, &body) {
                        context.history.violate(Violation::UnreadableAnswer { client: self.profile.client });
                    }
                    if context.is_calm && self.has_read_all() {
                        self.is_done = true;
                        self.link.close();
                        return None;
                    }
                    if !self.is_prepared {
                        self.link.retry(context);
                    }
                }
                LinkNews::Rest(at) => return at,
                LinkNews::Lost(at) => return Some(at),
            }
        }
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn waits_since(&self) -> Option<Instant> {
        self.link.waits_since()
    }

    fn waits_for(&self) -> String {
        let positions = self.positions.iter().map(|(partition, position)| format!("{partition}@{}", position.offset));
        let positions = positions.collect::<Vec<_>>().join(" ");
        format!("consumer {}: at {positions}", self.profile.client)
    }
}

/// Whether an answer has records of a partition, or an error.
fn tells(data: &PartitionData<'_>) -> bool {
    data.error_code != 0 || !matches!(data.records, RecordsField::Bytes(records) if records.is_empty())
}

/// No reader is told of an end below what was acknowledged as durable before it asked, unless the disk has destroyed some of it.
fn check_end(context: &mut ClientContext<'_>, client: u32, data: &PartitionData<'_>, durable: i64) {
    if data.high_watermark < durable && !context.history.destroyed().is_touched(data.partition_index) {
        let (partition, end) = (data.partition_index, data.high_watermark);
        context.history.violate(Violation::ServedShort { client, partition, end, acknowledged: durable });
    }
}
