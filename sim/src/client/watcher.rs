//! A client that looks, when somebody has removed a log directory under the broker, whether its partitions are offline in time.
//!
//! It must not know how the broker notices.

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::{ApiKey, Decoder, Message};
use klamm::types::Instant;

use super::link::{Link, LinkNews, Next};
use super::versions::ANY;
use super::{Client, ClientContext, Habits};
use crate::checker::Violation;
use crate::disk_volumes::Filled;

/// A broker looks every second; a sleep may last a little longer.
const NOTICED_NS_MAX: u64 = 2_000_000_000;
const NANOS_PER_MS: u64 = 1_000_000;

/// The client.
pub(crate) struct Watcher {
    client: u32,
    topic: &'static str,
    link: Link,
    /// When it asked, and the start of the broker that it asked.
    asked: Option<(Instant, u32)>,
    is_done: bool,
}

impl Watcher {
    pub(crate) fn new(client: u32, topic: &'static str) -> Watcher {
        Watcher { client, topic, link: Link::new(client, Habits::none()), asked: None, is_done: false }
    }

    /// Since when the log directory of a partition is not to be seen, if that is so.
    fn unseen_since(&self, context: &ClientContext<'_>, partition: i32) -> Option<Instant> {
        let name = format!("{}-{partition}", self.topic);
        context.world.unseen_since(Filled { name: &name, kind: ".log" })
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) {
        let Some((asked_at, boot)) = self.asked.take() else { return };
        let Ok(response) = MetadataResponse::decode(&mut Decoder::new(body), version) else {
            return context.history.violate(Violation::UnreadableAnswer { client: self.client });
        };
        let mut is_due = false;
        for partition in response.topics.iter().flat_map(|topic| &topic.partitions) {
            let Some(since) = self.unseen_since(context, partition.partition_index) else { continue };
            let after_ns = asked_at.0.saturating_sub(since.0);
            is_due |= after_ns > NOTICED_NS_MAX;
            let is_led = partition.error_code == ErrorCode::None.code() && context.is_time_sound;
            if is_led && after_ns > NOTICED_NS_MAX && boot == context.boot {
                let (client, partition, after_ms) = (self.client, partition.partition_index, after_ns / NANOS_PER_MS);
                context.history.violate(Violation::RemovalUnseen { client, partition, after_ms });
            }
        }
        self.is_done = is_due;
        self.link.retry(context);
    }
}

impl Client for Watcher {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done {
            self.link.close();
            return None;
        }
        if let Next::Rest(at) = self.link.begin(context, false).next {
            return Some(at);
        }
        loop {
            if let Some(mut connection) = self.link.take_idle(context) {
                let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
                let request = MetadataRequest { topics, ..Default::default() };
                connection.send(context, connection.api(context, ApiKey::Metadata, &ANY), &request, true);
                self.asked = Some((context.now(), context.boot));
                self.link.give_back(connection);
            }
            match self.link.pump(context, false) {
                LinkNews::Answer(_, _, version, body) => self.take_answer(context, version, &body),
                LinkNews::Rest(at) => return at,
                LinkNews::Lost(at) => return Some(at),
            }
            if self.is_done {
                self.link.close();
                return None;
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
        format!("watcher {}: a log directory was removed", self.client)
    }
}
