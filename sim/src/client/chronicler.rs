//! A client that asks, when everything has been read, where each leader epoch of each partition ends, from the first on, whatever has come over the log since.
//!
//! It must not know what was read: the history says what the answer must be.

use std::ops::RangeInclusive;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};

use super::dialogue::Dialogue;
use super::link::Link;
use super::{ClientConnection, ClientContext, Habits};

/// The versions of Metadata that tell the leader epoch.
const TELLS_EPOCH: RangeInclusive<i16> = 7..=i16::MAX;
/// The versions of OffsetForLeaderEpoch that tell which epoch ends there.
const TELLS_HOLDER: RangeInclusive<i16> = 1..=i16::MAX;

/// The client.
pub(crate) struct Chronicler {
    topic: &'static str,
    link: Link,
    /// The partitions whose epochs are to be asked for, and the present epoch of each; those that nobody leads say nothing.
    latest: Vec<(i32, i32)>,
}

/// No broker starts so often in a run. Of a later epoch, which something else has made, not all before it can be asked for.
const EPOCHS_MAX: i32 = 1_000;

impl Chronicler {
    pub(crate) fn new(client: u32, topic: &'static str) -> Chronicler {
        Chronicler { topic, link: Link::new(client, Habits::none()), latest: Vec::new() }
    }

    fn take_metadata(&mut self, response: &MetadataResponse<'_>) {
        let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
        let led = partitions.filter(|partition| partition.error_code == ErrorCode::None.code());
        let told = led.map(|partition| (partition.partition_index, partition.leader_epoch));
        self.latest = told.filter(|(_, latest)| *latest <= EPOCHS_MAX).collect();
        if self.latest.is_empty() {
            self.link.leave();
        }
    }

    fn take_ends(&mut self, context: &mut ClientContext<'_>, response: &OffsetForLeaderEpochResponse<'_>) {
        let told = response.topics.iter().flat_map(|topic| &topic.partitions);
        let told = told.filter(|told| told.error_code == ErrorCode::None.code());
        let told: Vec<_> = told.map(|told| (told.partition, (told.leader_epoch, told.end_offset))).collect();
        for (partition, latest) in &self.latest {
            let its: Vec<_> = told.iter().filter(|(of, _)| of == partition).map(|(_, end)| *end).collect();
            context.history.epochs_told(*partition, *latest, &its);
        }
        self.link.leave();
    }
}

impl Dialogue for Chronicler {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        if self.latest.is_empty() {
            let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
            let request = MetadataRequest { topics, ..Default::default() };
            connection.send(context, connection.api(context, ApiKey::Metadata, &TELLS_EPOCH), &request, true);
            return;
        }
        let asked = |(partition, latest): &(i32, i32)| {
            let partition = *partition;
            // The present one first, which ends with the log, and one that is still to come.
            let epochs = std::iter::once(*latest).chain(0..*latest).chain(std::iter::once(latest + 1));
            epochs.map(move |leader_epoch| OffsetForLeaderPartition { partition, leader_epoch, ..Default::default() })
        };
        let partitions = self.latest.iter().flat_map(asked).collect();
        let topics = vec![OffsetForLeaderTopic { topic: self.topic, partitions }];
        let request = OffsetForLeaderEpochRequest { replica_id: -1, topics };
        let api = connection.api(context, ApiKey::OffsetForLeaderEpoch, &TELLS_HOLDER);
        connection.send(context, api, &request, true);
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        let decoder = &mut Decoder::new(body);
        if self.latest.is_empty() {
            self.take_metadata(&MetadataResponse::decode(decoder, version)?);
        } else {
            self.take_ends(context, &OffsetForLeaderEpochResponse::decode(decoder, version)?);
        }
        Ok(())
    }

    fn connection_lost(&mut self, _: &mut ClientContext<'_>) {
        self.latest.clear();
    }

    fn is_at(&self) -> String {
        format!("chronicler {} asks about {:?}", self.link.client(), self.latest)
    }
}
