//! A client that asks, when everything has been read, which record is the first at or after a time, and which are the ends of the log.
//!
//! It must not know what was read: the history says what the answer must be.

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use klamm::protocol::{ApiKey, Decoder, Message};
use klamm::types::Instant;

use super::link::{Link, LinkNews, Next};
use super::versions::ANY;
use super::{Client, ClientContext, Habits};
use crate::checker::Violation;
use crate::keyed::Site;

/// How many times it asks about.
const QUESTIONS: u32 = 6;
/// A partition of which the disk has destroyed records may be offline for good.
const REFUSALS_MAX: u32 = 20;

/// The client.
pub(crate) struct Seeker {
    client: u32,
    topic: &'static str,
    link: Link,
    questions_left: u32,
    /// The time that is asked about, and the partitions.
    asked: Option<(i64, Vec<i32>)>,
    refusals: u32,
}

impl Seeker {
    pub(crate) fn new(client: u32, topic: &'static str) -> Seeker {
        let link = Link::new(client, Habits::none());
        Seeker { client, topic, link, questions_left: QUESTIONS, asked: None, refusals: 0 }
    }

    /// A time at which something was written, or just after it.
    fn next_question(&self, context: &mut ClientContext<'_>) -> Option<(i64, Vec<i32>)> {
        let draw = context.world.value(Site::ClientAction, u64::from(self.client));
        let (timestamps, partitions) = context.history.times();
        let count = u64::try_from(timestamps.len()).unwrap_or(0);
        let timestamp = timestamps.get(usize::try_from(draw.below(count.max(1))).unwrap_or(0))?;
        let after = i64::try_from(draw.part(0).below(2)).unwrap_or(0);
        Some((timestamp + after, partitions))
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) {
        let Some((timestamp, partitions)) = self.asked.clone() else { return };
        let Ok(response) = ListOffsetsResponse::decode(&mut Decoder::new(body), version) else {
            return context.history.violate(Violation::UnreadableAnswer { client: self.client });
        };
        let is_patient = self.refusals <= REFUSALS_MAX;
        let mut is_refused = false;
        for partition in partitions {
            let mut told = response.topics.iter().flat_map(|topic| &topic.partitions);
            let Some(found) = told.find(|found| found.partition_index == partition) else {
                return context.history.violate(Violation::Unmentioned { name: format!("{}-{partition}", self.topic) });
            };
            match ErrorCode::from_code(found.error_code) {
                ErrorCode::None => context.history.sought(partition, timestamp, (found.offset, found.timestamp)),
                error => {
                    is_refused = true;
                    if !is_patient && !context.history.destroyed().is_touched(partition) {
                        context.history.violate(Violation::NotSought { partition, error });
                    }
                }
            }
        }
        if !is_refused || !is_patient {
            (self.asked, self.refusals) = (None, 0);
            self.questions_left = self.questions_left.saturating_sub(1);
        } else {
            self.refusals += 1;
            self.link.retry(context);
        }
    }
}

impl Client for Seeker {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done() {
            self.link.close();
            return None;
        }
        if let Next::Rest(at) = self.link.begin(context, false).next {
            return Some(at);
        }
        loop {
            if self.asked.is_none() {
                self.asked = self.next_question(context);
            }
            let Some((timestamp, partitions)) = self.asked.clone().filter(|_| self.questions_left > 0) else {
                // Nothing was ever written, or all is asked.
                self.questions_left = 0;
                self.link.close();
                return None;
            };
            if let Some(mut connection) = self.link.take_idle(context) {
                let partition =
                    |partition_index| ListOffsetsPartition { partition_index, timestamp, ..Default::default() };
                let partitions = partitions.into_iter().map(partition).collect();
                let topics = vec![ListOffsetsTopic { name: self.topic, partitions }];
                let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::ListOffsets, &ANY), &request, true);
                self.link.give_back(connection);
            }
            match self.link.pump(context, false) {
                LinkNews::Answer(_, _, version, body) => self.take_answer(context, version, &body),
                LinkNews::Rest(at) => return at,
                LinkNews::Lost(at) => return Some(at),
            }
        }
    }

    fn is_done(&self) -> bool {
        self.questions_left == 0
    }

    fn waits_since(&self) -> Option<Instant> {
        self.link.waits_since()
    }

    fn waits_for(&self) -> String {
        format!("seeker {}: {} questions left", self.client, self.questions_left)
    }
}
