//! A client that looks, when somebody has removed a log directory under the broker, whether its partitions are offline in time. It wants new partitions
//! first, some of which would lie in that directory: if they brought it back, nobody would notice.
//!
//! It must not know how the broker notices.

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};
use klamm::types::Instant;

use super::dialogue::Dialogue;
use super::link::Link;
use super::versions::ANY;
use super::{ClientConnection, ClientContext, Habits};
use crate::checker::Violation;
use crate::disk_volumes::Filled;

/// A broker looks every second; a sleep may last a little longer.
const NOTICED_NS_MAX: u64 = 2_000_000_000;
const NANOS_PER_MS: u64 = 1_000_000;
/// So many that each log directory would be given some.
const NEW_TOPIC: &str = "watched";
const NEW_PARTITIONS: i32 = 12;
const TIMEOUT_MS: i32 = 300;

/// The client.
pub(crate) struct Watcher {
    client: u32,
    topic: &'static str,
    link: Link,
    /// It has asked for new partitions.
    has_made: bool,
    /// When it asked for those that are there, and the start of the broker that it asked.
    asked: Option<(Instant, u32)>,
}

impl Watcher {
    pub(crate) fn new(client: u32, topic: &'static str) -> Watcher {
        Watcher { client, topic, link: Link::new(client, Habits::none()), has_made: false, asked: None }
    }

    /// Since when the log directory of a partition is not to be seen, if that is so.
    fn unseen_since(&self, context: &ClientContext<'_>, partition: i32) -> Option<Instant> {
        let name = format!("{}-{partition}", self.topic);
        context.world.unseen_since(Filled { name: &name, kind: ".log" })
    }
}

fn ask_to_make(context: &ClientContext<'_>, connection: &mut ClientConnection) {
    let topic =
        CreatableTopic { name: NEW_TOPIC, num_partitions: NEW_PARTITIONS, replication_factor: 1, ..Default::default() };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, ..Default::default() };
    connection.send(context, connection.api(context, ApiKey::CreateTopics, &ANY), &request, true);
}

impl Dialogue for Watcher {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        if !self.has_made {
            self.has_made = true;
            ask_to_make(context, connection);
            return;
        }
        let topics = Some(vec![MetadataRequestTopic { name: Some(self.topic), ..Default::default() }]);
        let request = MetadataRequest { topics, ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::Metadata, &ANY), &request, true);
        self.asked = Some((context.now(), context.boot));
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError> {
        // What became of the new partitions is not its matter.
        let Some((asked_at, boot)) = self.asked.take() else {
            self.link.retry(context);
            return Ok(());
        };
        let response = MetadataResponse::decode(&mut Decoder::new(body), version)?;
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
        if is_due {
            self.link.leave();
        }
        self.link.retry(context);
        Ok(())
    }

    fn connection_lost(&mut self, _: &mut ClientContext<'_>) {}

    fn is_at(&self) -> String {
        format!("watcher {}: a log directory was removed", self.client)
    }
}
