//! Decides DeleteTopics, by name or by id.
//!
//! It must not know who asks, nor what deleting a topic does to its data.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error_code::ErrorCode;
use crate::types::TopicId;

use super::api_error::{ApiError, ControllerResult, RECORDS_PER_OPERATION_MAX};
use super::image::{MetadataImage, TopicImage};
use super::record::MetadataRecord;

/// A topic to delete: exactly one of name and id is to be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteTopic {
    /// Its name.
    pub name: Option<Arc<str>>,
    /// Its id; all zeroes is none.
    pub topic_id: TopicId,
}

/// What became of one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletableTopicResult {
    /// The topic's name, if it was given or found.
    pub name: Option<Arc<str>>,
    /// Its id, if it was given or found.
    pub topic_id: TopicId,
    /// Whether it is deleted.
    pub result: Result<(), ApiError>,
}

/// Decides about each topic by itself. A name or id that is given twice is answered once, and refused.
pub fn delete_topics(image: &MetadataImage, topics: &[DeleteTopic]) -> ControllerResult<Vec<DeletableTopicResult>> {
    let mut decision = DeleteTopics { image, names: BTreeMap::new(), ids: BTreeMap::new(), records: Vec::new() };
    for (index, topic) in topics.iter().enumerate() {
        match (topic.name.as_deref(), topic.topic_id) {
            (Some(name), TopicId::ZERO) => decision.names.entry(name).or_insert((index, 0)).1 += 1,
            (None, topic_id) => decision.ids.entry(topic_id).or_insert((index, 0)).1 += 1,
            (Some(_), _) => {}
        }
    }
    let mut response = Vec::with_capacity(topics.len());
    for (index, topic) in topics.iter().enumerate() {
        response.extend(match (&topic.name, topic.topic_id) {
            (None, TopicId::ZERO) => Some(refused(None, TopicId::ZERO, "Neither topic name nor id were specified.")),
            (Some(name), TopicId::ZERO) => decision.by_name(index, name),
            (None, topic_id) => decision.by_id(index, topic_id),
            (Some(name), topic_id) => {
                Some(refused(Some(name), topic_id, "You may not specify both topic name and topic id."))
            }
        });
    }
    let mut records = decision.records;
    if records.len() > RECORDS_PER_OPERATION_MAX {
        records.clear();
        response.iter_mut().for_each(|topic| topic.result = Err(ApiError::too_many_records()));
    }
    ControllerResult { records, response }
}

fn refused(name: Option<&Arc<str>>, topic_id: TopicId, message: &str) -> DeletableTopicResult {
    let error = ApiError::new(ErrorCode::InvalidRequest, message);
    DeletableTopicResult { name: name.cloned(), topic_id, result: Err(error) }
}

/// Where in the request a name or id stands first, and how often.
type Occurrences<K> = BTreeMap<K, (usize, usize)>;

struct DeleteTopics<'a> {
    image: &'a MetadataImage,
    names: Occurrences<&'a str>,
    ids: Occurrences<TopicId>,
    records: Vec<MetadataRecord>,
}

impl DeleteTopics<'_> {
    /// `None` if another place of the request gets the answer.
    fn by_name(&mut self, index: usize, name: &Arc<str>) -> Option<DeletableTopicResult> {
        if let Some((first, 2..)) = self.names.get(&**name) {
            return (*first == index).then(|| refused(Some(name), TopicId::ZERO, "Duplicate topic name."));
        }
        let Some(topic) = self.image.topic(name) else {
            let error =
                ApiError::new(ErrorCode::UnknownTopicOrPartition, "This server does not host this topic-partition.");
            let name = Some(Arc::clone(name));
            return Some(DeletableTopicResult { name, topic_id: TopicId::ZERO, result: Err(error) });
        };
        if self.ids.contains_key(&topic.topic_id) {
            let message = "The provided topic name maps to an ID that was already supplied.";
            return Some(refused(Some(name), topic.topic_id, message));
        }
        Some(self.delete(topic))
    }

    /// `None` if another place of the request gets the answer.
    fn by_id(&mut self, index: usize, topic_id: TopicId) -> Option<DeletableTopicResult> {
        if let Some((first, 2..)) = self.ids.get(&topic_id) {
            return (*first == index).then(|| refused(None, topic_id, "Duplicate topic id."));
        }
        let Some(topic) = self.image.topic_by_id(topic_id) else {
            let error = ApiError::new(ErrorCode::UnknownTopicId, "This server does not host this topic ID.");
            return Some(DeletableTopicResult { name: None, topic_id, result: Err(error) });
        };
        // Given by name as well: refused, and answered, there.
        if let Some((_, 1)) = self.names.get(&*topic.name) {
            return None;
        }
        Some(self.delete(topic))
    }

    fn delete(&mut self, topic: &TopicImage) -> DeletableTopicResult {
        self.records.push(MetadataRecord::RemoveTopic { topic_id: topic.topic_id });
        DeletableTopicResult { name: Some(Arc::clone(&topic.name)), topic_id: topic.topic_id, result: Ok(()) }
    }
}
