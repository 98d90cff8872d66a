//! A client that tells in a fetch which epoch it has read last (KIP-595), and hears where its history leaves the log's: a past epoch has its end for ever.
//!
//! It must not know records. Where they are deleted meanwhile it compares nothing.

use std::ops::RangeInclusive;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};

use super::dialogue::Dialogue;
use super::link::Link;
use super::versions::ANY;
use super::{ClientConnection, ClientContext, Habits};
use crate::checker::Violation;
use crate::keyed::Site;

/// The version of Fetch that tells the epoch that was read last and names topics by their names.
const WITH_EPOCH: RangeInclusive<i16> = 12..=12;
/// The versions of Metadata that tell the leader epoch.
const TELLS_EPOCH: RangeInclusive<i16> = 7..=i16::MAX;
const BYTES_MAX: i32 = 5_000;
const PACE_NS_MAX: u64 = 20_000_000;

/// What one teller is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpochTellerProfile {
    pub(crate) client: u32,
    /// Epochs.
    pub(crate) rounds: u32,
    pub(crate) habits: Habits,
}

/// An epoch that is over, and where it ends: in which epoch, and at which offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PastEpoch {
    partition: i32,
    epoch: i32,
    end: (i32, i64),
}

/// What it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Metadata,
    /// Where an epoch ends.
    End {
        partition: i32,
        epoch: i32,
    },
    /// What comes behind it for one who has read in it up to this offset.
    Fetch {
        past: PastEpoch,
        offset: i64,
    },
}

/// The client.
pub(crate) struct EpochTeller {
    profile: EpochTellerProfile,
    topic: &'static str,
    link: Link,
    task: Task,
    asked_in: u32,
    rounds_left: u32,
}

impl EpochTeller {
    pub(crate) fn new(profile: EpochTellerProfile, topic: &'static str) -> EpochTeller {
        let link = Link::new(profile.client, profile.habits);
        EpochTeller { profile, topic, link, task: Task::Metadata, asked_in: 0, rounds_left: profile.rounds }
    }

    /// Chooses an epoch of a partition that is over.
    fn take_metadata(&mut self, context: &ClientContext<'_>, response: &MetadataResponse<'_>) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.link.pause(context, draw.part(0).between(1, PACE_NS_MAX));
        if self.rounds_left == 0 {
            return self.link.leave();
        }
        let topic = response.topics.iter().find(|topic| topic.error_code == ErrorCode::None.code());
        let partitions = topic.into_iter().flat_map(|topic| &topic.partitions);
        let old: Vec<_> = partitions.filter(|partition| partition.leader_epoch > 0).collect();
        let place = draw.part(1).below(u64::try_from(old.len()).unwrap_or(0).max(1));
        let Some(chosen) = old.get(usize::try_from(place).unwrap_or(0)) else { return };
        self.rounds_left -= 1;
        let epoch = draw.part(2).below(u64::try_from(chosen.leader_epoch).unwrap_or(1));
        let (partition, epoch) = (chosen.partition_index, i32::try_from(epoch).unwrap_or(0));
        self.task = Task::End { partition, epoch };
    }

    fn take_end(
        &mut self,
        context: &ClientContext<'_>,
        (partition, epoch): (i32, i32),
        response: &OffsetForLeaderEpochResponse<'_>,
    ) {
        self.task = Task::Metadata;
        let told = response.topics.first().and_then(|topic| topic.partitions.first());
        let told = told.filter(|told| told.error_code == ErrorCode::None.code() && told.leader_epoch >= 0);
        let Some(told) = told.filter(|_| self.asked_in == context.boot) else { return };
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        let about = i64::try_from(draw.below(3)).unwrap_or(0) - 1;
        let past = PastEpoch { partition, epoch, end: (told.leader_epoch, told.end_offset) };
        self.task = Task::Fetch { past, offset: (told.end_offset + about).max(0) };
    }

    /// Who has read on in an epoch beyond its end is told so, and nobody else is.
    fn take_fetched(
        &mut self,
        context: &mut ClientContext<'_>,
        (past, offset): (PastEpoch, i64),
        response: &FetchResponse<'_>,
    ) {
        self.task = Task::Metadata;
        let data = response.responses.first().and_then(|topic| topic.partitions.first());
        let data = data.filter(|data| data.error_code == ErrorCode::None.code());
        let Some(data) = data.filter(|_| self.asked_in == context.boot) else { return };
        let (epoch, end) = past.end;
        let expected = (epoch < past.epoch || end < offset).then_some(past.end);
        let found = (data.diverging_epoch.epoch, data.diverging_epoch.end_offset);
        let found = Some(found).filter(|found| *found != (-1, -1));
        if found != expected {
            let (client, partition) = (self.profile.client, past.partition);
            context.history.violate(Violation::DivergenceOtherwise { client, partition, expected, found });
        }
    }
}

impl Dialogue for EpochTeller {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    fn stays_when_calm(&self) -> bool {
        false
    }

    fn look_about(&mut self, context: &mut ClientContext<'_>) {
        // What it was told holds in this start of the broker only.
        if self.asked_in != context.boot && self.link.outstanding() == 0 {
            self.task = Task::Metadata;
        }
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        self.asked_in = context.boot;
        match self.task {
            Task::Metadata => {
                let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
                let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Metadata, &TELLS_EPOCH), &request, true);
            }
            Task::End { partition, epoch } => {
                let asked = OffsetForLeaderPartition { partition, leader_epoch: epoch, ..Default::default() };
                let topics = vec![OffsetForLeaderTopic { topic: self.topic, partitions: vec![asked] }];
                let request = OffsetForLeaderEpochRequest { replica_id: -1, topics };
                connection.send(context, connection.api(context, ApiKey::OffsetForLeaderEpoch, &ANY), &request, true);
            }
            Task::Fetch { past, offset } => {
                let asked = FetchPartition {
                    partition: past.partition,
                    fetch_offset: offset,
                    last_fetched_epoch: past.epoch,
                    partition_max_bytes: BYTES_MAX,
                    ..Default::default()
                };
                let topics = vec![FetchTopic { topic: self.topic, partitions: vec![asked], ..Default::default() }];
                let request = FetchRequest { max_bytes: BYTES_MAX, session_epoch: -1, topics, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Fetch, &WITH_EPOCH), &request, true);
            }
        }
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        match self.task {
            Task::Metadata => self.take_metadata(context, &MetadataResponse::decode(decoder, version)?),
            Task::End { partition, epoch } => {
                let response = OffsetForLeaderEpochResponse::decode(decoder, version)?;
                self.take_end(context, (partition, epoch), &response);
            }
            Task::Fetch { past, offset } => {
                self.take_fetched(context, (past, offset), &FetchResponse::decode(decoder, version)?);
            }
        }
        Ok(())
    }

    fn connection_lost(&mut self, _: &mut ClientContext<'_>) {
        self.task = Task::Metadata;
    }

    fn is_at(&self) -> String {
        format!("epoch teller {} is at {:?}", self.profile.client, self.task)
    }
}
