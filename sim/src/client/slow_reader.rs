//! A client that asks for much at once and reads the answers a few bytes at a time, or not at all for long: the broker may hold one answer for it and
//! no more, and nobody else may notice.
//!
//! It must not know what an answer says. Where idle connections are closed it stops reading for good in the end, without a word.

use klamm::protocol::ApiKey;
use klamm::protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use klamm::types::Instant;

use super::connection::later;
use super::{Client, ClientConnection, ClientContext, ConnectionNews};
use crate::checker::{ReadAhead, Violation};
use crate::keyed::Site;

const MILLISECOND: u64 = 1_000_000;
/// The versions of Metadata that can ask for a topic without creating it.
const LOOKS_ONLY: std::ops::RangeInclusive<i16> = 4..=i16::MAX;
/// The versions of Fetch that name topics by their names.
const BY_NAME: std::ops::RangeInclusive<i16> = 0..=12;
/// Topics in a question, none of which is there: the answer is as long as the question.
const TOPICS_MAX: u64 = 800;

/// Where a few bytes fit into the buffers on the way, nobody waits for the last of many answers.
const LAST_READS_MAX: u32 = 20_000;

/// What one slow reader is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowReaderProfile {
    pub(crate) client: u32,
    /// Connections that it makes.
    pub(crate) rounds: u32,
    /// Requests that it sends at once on each.
    pub(crate) pipeline_max: u64,
    /// It stops reading for good when faults are over.
    pub(crate) stops_reading: bool,
}

/// The client.
pub(crate) struct SlowReader {
    profile: SlowReaderProfile,
    topic: &'static str,
    connection: Option<ClientConnection>,
    read_ahead: ReadAhead,
    attempt: u32,
    rounds_left: u32,
    sleeps_until: Instant,
    /// How far the broker had come with this connection when it last came farther, and when that was.
    heard: Option<(u64, u64)>,
    heard_at: Instant,
    /// How often the broker has come farther since faults are over.
    last_reads: u32,
    is_done: bool,
}

impl SlowReader {
    pub(crate) fn new(profile: SlowReaderProfile, topic: &'static str) -> SlowReader {
        SlowReader {
            profile,
            topic,
            connection: None,
            read_ahead: ReadAhead::default(),
            attempt: 0,
            rounds_left: profile.rounds,
            sleeps_until: Instant(0),
            heard: None,
            heard_at: Instant(0),
            last_reads: 0,
            is_done: false,
        }
    }

    fn begin(&mut self, context: &ClientContext<'_>) {
        self.attempt += 1;
        self.rounds_left -= 1;
        self.read_ahead = ReadAhead::default();
        let mut connection = ClientConnection::open(self.profile.client, self.attempt, context);
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        for number in 0..draw.between(1, self.profile.pipeline_max) {
            let its = draw.part(number);
            match its.below(4) {
                0 => self.ask_for_records(context, &mut connection),
                _ => ask_for_topics(context, &mut connection, its.part(0).between(1, TOPICS_MAX)),
            }
            self.read_ahead.asked(connection.queued_bytes());
        }
        self.connection = Some(connection);
    }

    fn ask_for_records(&self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let asked = FetchPartition { partition_max_bytes: 1 << 20, ..Default::default() };
        let topic = FetchTopic { topic: self.topic, partitions: vec![asked], ..Default::default() };
        let request = FetchRequest {
            min_bytes: 0,
            max_bytes: 1 << 20,
            topics: vec![topic],
            session_epoch: -1,
            ..Default::default()
        };
        connection.send(context, connection.api(context, ApiKey::Fetch, &BY_NAME), &request, true);
    }

    /// Reads at most so many bytes. Says whether the connection goes on.
    fn read(&mut self, context: &mut ClientContext<'_>, mut bytes_left: usize) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        let (read, sent) = connection.progress();
        self.read_ahead.looked(read, sent);
        loop {
            match connection.sip(context, &mut bytes_left) {
                ConnectionNews::Answer(..) => {
                    if let Some(bytes) = self.read_ahead.answered(connection.taken_bytes()) {
                        let connection = connection.identity();
                        context.history.violate(Violation::ReadAhead { connection, bytes });
                    }
                    if connection.outstanding() == 0 {
                        return false;
                    }
                }
                ConnectionNews::Nothing => return true,
                ConnectionNews::Over => return false,
            }
        }
    }

    /// How long it does not read: mostly a moment, now and then longer than anybody likes.
    fn pause(&self, context: &ClientContext<'_>) -> Instant {
        let draw = context.world.value(Site::ClientHabit, u64::from(self.profile.client));
        let mean = if draw.below(12) == 0 { 600 * MILLISECOND } else { 5 * MILLISECOND };
        later(context, draw.part(0).exponential(mean))
    }
}

fn ask_for_topics(context: &ClientContext<'_>, connection: &mut ClientConnection, count: u64) {
    let names: Vec<String> = (0..count).map(|number| format!("n{number}")).collect();
    let topic = |name| MetadataRequestTopic { name: Some(name), ..Default::default() };
    let topics = Some(names.iter().map(|name| topic(name.as_str())).collect());
    let request = MetadataRequest { topics, allow_auto_topic_creation: false, ..Default::default() };
    connection.send(context, connection.api(context, ApiKey::Metadata, &LOOKS_ONLY), &request, true);
}

impl Client for SlowReader {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if context.is_calm {
            return self.finish(context);
        }
        if self.sleeps_until > context.now() {
            return Some(self.sleeps_until);
        }
        if self.connection.is_none() {
            if self.rounds_left == 0 {
                self.is_done = true;
                return None;
            }
            self.begin(context);
        }
        let draw = context.world.value(Site::ClientHabit, u64::from(self.profile.client));
        let bytes = usize::try_from(draw.part(1).between(1, 1 << draw.below(13))).unwrap_or(1);
        if !self.read(context, bytes) {
            self.connection = None;
        }
        self.sleeps_until = self.pause(context);
        Some(self.sleeps_until)
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn takes_answers(&self) -> bool {
        self.connection.is_none()
    }

    fn waits_since(&self) -> Option<Instant> {
        // Where the buffers on the way are small, many answers take long, and the broker is not to blame.
        let oldest = self.connection.as_ref().filter(|_| !self.is_done).and_then(ClientConnection::waits_since);
        oldest.map(|since| since.max(self.heard_at))
    }

    fn waits_for(&self) -> String {
        let open = self.connection.as_ref().map_or(0, ClientConnection::outstanding);
        format!("slow reader {}: {open} answers to read", self.profile.client)
    }
}

impl SlowReader {
    /// Faults are over: it reads what it is owed, or never again; then it asks for more, if it may, and goes on writing.
    fn finish(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.connection.as_ref().is_some_and(|connection| connection.is_of_the_past(context)) {
            self.connection = None;
        }
        if self.profile.stops_reading && self.connection.is_none() && self.rounds_left > 0 {
            self.begin(context);
        }
        let bytes_max = if self.profile.stops_reading { 0 } else { usize::MAX };
        let sent = self.connection.as_ref().map(ClientConnection::progress);
        if sent != self.heard {
            (self.heard, self.heard_at) = (sent, context.now());
            self.last_reads = self.last_reads.saturating_add(1);
        }
        // Who does not read hears of the end by no read: where an address may have few connections, the broker closes this one unread.
        let has_ended = self.connection.as_ref().is_some_and(ClientConnection::has_ended) && self.profile.stops_reading;
        let goes_on = self.read(context, bytes_max) && self.last_reads <= LAST_READS_MAX && !has_ended;
        if !goes_on {
            self.connection = None;
            self.is_done = true;
        }
        let was_heard = self.connection.as_ref().is_some_and(|connection| connection.progress().0 > 0);
        self.is_done |= self.profile.stops_reading && was_heard;
        (!self.is_done).then(|| later(context, MILLISECOND))
    }
}
