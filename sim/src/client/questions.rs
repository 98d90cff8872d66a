//! What an examiner asks: which API, in which version, about what, and how oddly. What is asked next hangs on what the reference broker holds, so
//! that most questions make sense.
//!
//! It must not know answers.

mod about_all;
mod about_groups;
mod about_partitions;
mod about_topics;

use std::ops::RangeInclusive;

use klamm::protocol::ApiKey;
use klamm::record::Compressor;
use klamm::types::TopicId;

use super::examiner::Question;
use super::versions::{ANY, by_name_unless, one_of};
use crate::keyed::Draw;
use crate::reference::{Log, ReferenceBroker};

/// Longer than any run waits.
const TIMEOUT_MS: i32 = 300_000;
/// Asked for where there is no topic of the drawn name.
const NO_ID: TopicId = TopicId([9; 16]);

/// Who draws questions.
pub(super) struct Asker {
    client: u32,
    topics_made: u32,
    /// Producer ids and epochs.
    producers: Vec<i64>,
    /// Idempotent batches that were sent, with topic and partition: some are sent again.
    sent: Vec<(String, i32, Vec<u8>)>,
    compressor: Compressor,
}

impl Asker {
    pub(super) fn new(client: u32) -> Asker {
        Asker { client, topics_made: 0, producers: Vec::new(), sent: Vec::new(), compressor: Compressor::new() }
    }

    /// Draws a question and sends it.
    pub(super) fn ask(&mut self, draw: Draw, known: &ReferenceBroker, question: &mut Question<'_, '_>) {
        if known.topics.is_empty() {
            return self.ask_create_topics(draw, known, question);
        }
        self.producers = known.producer_ids().collect();
        let choice = draw.part(0).below(52);
        let is_of_groups = matches!(choice, 26..40 | 42 | 49..);
        if is_of_groups && !known.has_coordinator {
            return about_groups::find(draw, self.client, question);
        }
        match choice {
            0..2 => self.ask_create_topics(draw, known, question),
            2..4 => about_topics::metadata(draw, known, question),
            4 => about_topics::delete(draw, known, question),
            5 => about_topics::widen(draw, known, question),
            6 => about_topics::alter(draw, known, question),
            7 => about_topics::describe(draw, known, question),
            8..10 => about_partitions::new_producer(draw, question),
            10..18 => self.ask_produce(draw, known, question),
            18..22 => about_partitions::fetch(draw, known, question),
            22..24 => about_partitions::list_offsets(draw, known, question),
            24 => about_partitions::epoch_end(draw, known, question),
            25 => about_partitions::delete_records(draw, known, question),
            26 => about_groups::find(draw, self.client, question),
            27..29 => about_groups::join(draw, self.client, known, question),
            29..31 => about_groups::sync(draw, self.client, known, question),
            31 => about_groups::heartbeat(draw, self.client, known, question),
            32 => about_groups::leave(draw, self.client, known, question),
            33..35 => about_groups::commit(draw, self.client, known, question),
            35..37 => about_groups::fetch_offsets(draw, self.client, known, question),
            37 => about_groups::describe(draw, self.client, question),
            38 => about_groups::delete(draw, self.client, question),
            39 => about_groups::delete_offsets(draw, self.client, known, question),
            40 => about_all::versions(draw, question),
            41 => about_all::cluster(draw, question),
            42 => about_all::groups(draw, question),
            43 => about_all::log_dirs(draw, known, question),
            44 => about_all::topic_partitions(draw, known, question),
            45 => about_all::replace_configs(draw, known, question),
            46 => about_all::handshake(draw, question),
            47 => about_all::authentication(draw, question),
            48 => about_topics::widen(draw, known, question),
            _ => about_groups::delete_offsets(draw, self.client, known, question),
        }
    }
}

/// A version of the API, any of those that there are and will do.
fn version(draw: Draw, api_key: ApiKey, will_do: RangeInclusive<i16>) -> i16 {
    one_of(draw.part(1), api_key, &will_do)
}

/// The first of so many more often than any other, so that questions meet.
fn focus(draw: Draw, count: u64) -> usize {
    let choice = if draw.part(0).below(3) > 0 { 0 } else { draw.below(count.max(1)) };
    usize::try_from(choice).unwrap_or(0)
}

/// A topic, most often one that is there, and its id. What has no id that anybody knows is named in a version before `ids_from`.
fn topic(draw: Draw, known: &ReferenceBroker, ids_from: i16) -> (String, TopicId, RangeInclusive<i16>) {
    let place = focus(draw.part(2), known.topics.len() as u64);
    match known.topics.iter().nth(place).filter(|_| draw.part(3).below(12) > 0) {
        Some((name, topic)) => (name.clone(), topic.id, by_name_unless(topic.id != TopicId::ZERO, ids_from)),
        None => ("nothing".to_string(), NO_ID, ANY),
    }
}

/// A partition, most often one that the topic has.
fn partition(draw: Draw, known: &ReferenceBroker, topic: &str) -> i32 {
    let count = known.topics.get(topic).map_or(1, |topic| topic.partitions.len() as u64);
    if draw.part(4).below(12) == 0 { i32::try_from(count).unwrap_or(0) } else { focus(draw.part(5), count) as i32 }
}

fn log<'a>(known: &'a ReferenceBroker, topic: &str, partition: i32) -> Option<&'a Log> {
    known.topics.get(topic)?.partitions.get(usize::try_from(partition).ok()?)
}

/// Where the log of a partition begins and ends.
fn bounds(known: &ReferenceBroker, topic: &str, partition: i32) -> (i64, i64) {
    log(known, topic, partition).map_or((0, 0), |log| (log.start, log.end))
}
