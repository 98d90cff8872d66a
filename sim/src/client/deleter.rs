//! A client that has records deleted from the start of partitions, and looks whether they are gone: where the log begins, and what a fetch before that
//! brings.
//!
//! It must not know who wrote the records. What it asks for beyond the end of a log must be refused.

use std::collections::BTreeMap;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopic,
};
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};

use super::dialogue::Dialogue;
use super::link::Link;
use super::versions::ANY;
use super::{ClientConnection, ClientContext, Habits};
use crate::checker::Violation;
use crate::keyed::Site;

/// What stands for the start and for the end of a log in ListOffsets.
const EARLIEST: i64 = -2;
const LATEST: i64 = -1;
/// The versions of Fetch that name topics by their names.
const BY_NAME: std::ops::RangeInclusive<i16> = 0..=12;
/// Farther than any log of a run goes.
const BEYOND: i64 = 1_000_000;
const PACE_NS_MAX: u64 = 40_000_000;
const TIMEOUT_MS: i32 = 300_000;

/// What one deleter is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeleterProfile {
    pub(crate) client: u32,
    /// Deletions.
    pub(crate) rounds: u32,
    pub(crate) habits: Habits,
}

/// What it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Metadata,
    /// Where the partitions begin.
    Starts,
    /// Where they end.
    Ends,
    Delete {
        partition: i32,
        offset: i64,
    },
    /// What is before the start of a partition.
    LookBefore {
        partition: i32,
        start: i64,
    },
}

/// The client.
pub(crate) struct Deleter {
    profile: DeleterProfile,
    topic: &'static str,
    link: Link,
    task: Task,
    partitions: Vec<i32>,
    starts: BTreeMap<i32, i64>,
    ends: BTreeMap<i32, i64>,
    /// The start of the broker that the open request was sent to, and where partitions began then for certain.
    asked_in: u32,
    known_starts: BTreeMap<i32, i64>,
    rounds_left: u32,
}

impl Deleter {
    pub(crate) fn new(profile: DeleterProfile, topic: &'static str) -> Deleter {
        Deleter {
            profile,
            topic,
            link: Link::new(profile.client, profile.habits),
            task: Task::Metadata,
            partitions: Vec::new(),
            starts: BTreeMap::new(),
            ends: BTreeMap::new(),
            asked_in: 0,
            known_starts: BTreeMap::new(),
            rounds_left: profile.rounds,
        }
    }

    fn ask_offsets(&self, context: &ClientContext<'_>, connection: &mut ClientConnection, timestamp: i64) {
        let partition = |index: &i32| ListOffsetsPartition { partition_index: *index, timestamp, ..Default::default() };
        let topics =
            vec![ListOffsetsTopic { name: self.topic, partitions: self.partitions.iter().map(partition).collect() }];
        let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::ListOffsets, &ANY), &request, true);
    }

    /// A log begins where it was said to begin, or later.
    fn check_start(&self, context: &mut ClientContext<'_>, partition: i32, found: i64) {
        if let Some(told) = self.known_starts.get(&partition).filter(|told| found < **told) {
            context.history.violate(Violation::DeletedBack { partition, told: *told, found });
        }
    }

    fn take_deleted(
        &mut self,
        context: &mut ClientContext<'_>,
        (partition, offset): (i32, i64),
        error: ErrorCode,
        start: i64,
    ) {
        self.task = Task::Starts;
        if error != ErrorCode::None {
            return;
        }
        // Nobody is that far, unless the disk has destroyed where a batch says that it begins.
        let is_beyond = offset >= BEYOND && !context.history.destroyed().is_touched(partition);
        if is_beyond || start < offset {
            return context.history.violate(Violation::DeletedOtherwise { partition, offset, start });
        }
        context.history.deleted().asked(partition, offset);
        // What an earlier start of the broker has said holds no more, unless it was stopped in order.
        if self.asked_in == context.boot {
            context.history.deleted().told(partition, start);
            if start > 0 {
                self.task = Task::LookBefore { partition, start };
            }
        }
    }

    /// Which records go next: some at the start of a partition; now and then more than there are.
    fn choose(&mut self, context: &ClientContext<'_>) {
        self.task = Task::Metadata;
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.link.pause(context, draw.part(0).between(1, PACE_NS_MAX));
        if self.rounds_left == 0 {
            self.link.leave();
            return;
        }
        let count = u64::try_from(self.partitions.len()).unwrap_or(0);
        let Some(partition) = self.partitions.get(usize::try_from(draw.part(1).below(count)).unwrap_or(0)) else {
            return;
        };
        let Some((start, end)) = self.starts.get(partition).zip(self.ends.get(partition)) else { return };
        self.rounds_left -= 1;
        let some = i64::try_from(draw.part(2).below(u64::try_from(end - start).unwrap_or(0) + 1)).unwrap_or(0);
        let offset = if draw.part(3).below(6) == 0 { BEYOND } else { start + some };
        self.task = Task::Delete { partition: *partition, offset };
    }
}

/// What ListOffsets says of each partition that it could look at.
fn offsets_in(response: &ListOffsetsResponse<'_>) -> BTreeMap<i32, i64> {
    let listed = response.topics.iter().flat_map(|topic| &topic.partitions);
    let known = listed.filter(|listed| listed.error_code == ErrorCode::None.code());
    known.map(|listed| (listed.partition_index, listed.offset)).collect()
}

impl Dialogue for Deleter {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    fn stays_when_calm(&self) -> bool {
        false
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        self.asked_in = context.boot;
        self.known_starts = context.history.deleted().starts();
        match self.task {
            Task::Metadata => {
                let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
                let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Metadata, &ANY), &request, true);
            }
            Task::Starts => self.ask_offsets(context, connection, EARLIEST),
            Task::Ends => self.ask_offsets(context, connection, LATEST),
            Task::Delete { partition, offset } => {
                if offset < BEYOND {
                    context.history.deleted().asked(partition, offset);
                }
                let partitions = vec![DeleteRecordsPartition { partition_index: partition, offset }];
                let topics = vec![DeleteRecordsTopic { name: self.topic, partitions }];
                let request = DeleteRecordsRequest { topics, timeout_ms: TIMEOUT_MS };
                connection.send(context, connection.api(context, ApiKey::DeleteRecords, &ANY), &request, true);
            }
            Task::LookBefore { partition, start } => {
                let asked = FetchPartition {
                    partition,
                    fetch_offset: start - 1,
                    partition_max_bytes: 1_000,
                    ..Default::default()
                };
                let topic = FetchTopic { topic: self.topic, partitions: vec![asked], ..Default::default() };
                let request =
                    FetchRequest { max_bytes: 1_000, session_epoch: -1, topics: vec![topic], ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Fetch, &BY_NAME), &request, true);
            }
        }
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        match self.task {
            Task::Metadata => {
                let response = MetadataResponse::decode(decoder, version)?;
                let topic = response.topics.iter().find(|topic| topic.error_code == ErrorCode::None.code());
                let partitions = topic.into_iter().flat_map(|topic| &topic.partitions);
                self.partitions = partitions.map(|partition| partition.partition_index).collect();
                self.task = if self.partitions.is_empty() { Task::Metadata } else { Task::Starts };
                self.link.retry(context);
            }
            Task::Starts => {
                self.starts = offsets_in(&ListOffsetsResponse::decode(decoder, version)?);
                for (partition, start) in self.starts.clone() {
                    self.check_start(context, partition, start);
                }
                self.task = Task::Ends;
            }
            Task::Ends => {
                self.ends = offsets_in(&ListOffsetsResponse::decode(decoder, version)?);
                self.choose(context);
            }
            Task::Delete { partition, offset } => {
                let response = DeleteRecordsResponse::decode(decoder, version)?;
                let result = response.topics.first().and_then(|topic| topic.partitions.first());
                let error =
                    result.map_or(ErrorCode::UnknownServerError, |result| ErrorCode::from_code(result.error_code));
                let start = result.map_or(-1, |result| result.low_watermark);
                self.take_deleted(context, (partition, offset), error, start);
            }
            Task::LookBefore { partition, start } => {
                let response = FetchResponse::decode(decoder, version)?;
                let data = response.responses.first().and_then(|topic| topic.partitions.first());
                let is_served = data.is_some_and(|data| data.error_code == ErrorCode::None.code());
                let is_gone = self.known_starts.get(&partition).is_some_and(|known| start <= *known);
                if is_served && is_gone {
                    let (client, offset) = (self.profile.client, start - 1);
                    context.history.violate(Violation::DeletedServed { client, partition, offset, start });
                }
                self.task = Task::Starts;
            }
        }
        Ok(())
    }

    fn connection_lost(&mut self, _: &mut ClientContext<'_>) {
        self.task = Task::Metadata;
    }

    fn is_at(&self) -> String {
        format!("deleter {} is at {:?}", self.profile.client, self.task)
    }
}
