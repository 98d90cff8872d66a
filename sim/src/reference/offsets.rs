//! Committed offsets of the reference broker.
//!
//! It must not know how a group comes to its members.

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
};
use klamm::protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use klamm::protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use klamm::types::TopicId;

use super::ReferenceBroker;

/// The first version that names topics by their ids.
const IDS_FROM: i16 = 10;
const METADATA_BYTES_MAX: usize = 4_096;

/// The offset, leader epoch and metadata where nothing was committed.
const NOTHING: (i64, i32, &str) = (-1, -1, "");

impl ReferenceBroker {
    pub(super) fn offsets_committed<'a>(
        &'a mut self,
        version: i16,
        request: &OffsetCommitRequest<'a>,
        _: &mut OffsetCommitResponse<'a>,
    ) -> OffsetCommitResponse<'a> {
        let may = self.may_commit(request);
        let uses_ids = version >= IDS_FROM;
        let topics = request.topics.iter().map(|topic| {
            let name = self.name_of(topic.name, topic.topic_id, uses_ids);
            let partitions = topic.partitions.iter().map(|asked| {
                let error = match &name {
                    None if uses_ids => ErrorCode::UnknownTopicId,
                    None => ErrorCode::UnknownTopicOrPartition,
                    Some(name) if self.log(name, asked.partition_index).is_none() => ErrorCode::UnknownTopicOrPartition,
                    Some(name) => match may {
                        Err(error) => error,
                        Ok(()) => self.commit(request.group_id, name, asked),
                    },
                };
                OffsetCommitResponsePartition { partition_index: asked.partition_index, error_code: error.code() }
            });
            let partitions = partitions.collect();
            OffsetCommitResponseTopic { name: topic.name, topic_id: topic.topic_id, partitions }
        });
        OffsetCommitResponse { topics: topics.collect(), ..Default::default() }
    }

    /// A member commits for its generation; whoever is none commits only where there are none.
    fn may_commit(&self, request: &OffsetCommitRequest<'_>) -> Result<(), ErrorCode> {
        let (generation, member_id) = (request.generation_id_or_member_epoch, request.member_id);
        if request.group_id.is_empty() {
            return Err(ErrorCode::InvalidGroupId);
        }
        let Some(group) = self.groups.get(request.group_id) else {
            return if generation < 0 { Ok(()) } else { Err(ErrorCode::IllegalGeneration) };
        };
        if generation < 0 && group.member.is_none() {
            return Ok(());
        }
        if generation < 0 && member_id.is_empty() {
            return Err(ErrorCode::UnknownMemberId);
        }
        group.check(member_id, generation)?;
        if group.is_completing() { Err(ErrorCode::RebalanceInProgress) } else { Ok(()) }
    }

    fn commit(&mut self, group_id: &str, topic: &str, asked: &OffsetCommitRequestPartition<'_>) -> ErrorCode {
        let metadata = asked.committed_metadata.unwrap_or_default();
        if metadata.len() > METADATA_BYTES_MAX {
            return ErrorCode::OffsetMetadataTooLarge;
        }
        let committed = (asked.committed_offset, asked.committed_leader_epoch, metadata.to_owned());
        let group = self.groups.entry(group_id.to_owned()).or_default();
        group.offsets.insert((topic.to_owned(), asked.partition_index), committed);
        ErrorCode::None
    }

    fn committed(&self, group_id: &str, topic: Option<&str>, partition: i32) -> (i64, i32, &str) {
        let key = topic.map(|topic| (topic.to_owned(), partition));
        let found = self.groups.get(group_id).zip(key).and_then(|(group, key)| group.offsets.get(&key));
        found.map_or(NOTHING, |(offset, epoch, metadata)| (*offset, *epoch, metadata.as_str()))
    }

    /// The topics and partitions that a group has committed offsets of.
    fn all_of(&self, group_id: &str) -> Vec<(&str, TopicId, Vec<i32>)> {
        let mut topics: Vec<(&str, TopicId, Vec<i32>)> = Vec::new();
        for (name, partition) in self.groups.get(group_id).iter().flat_map(|group| group.offsets.keys()) {
            match topics.last_mut().filter(|(last, _, _)| *last == name) {
                Some((_, _, partitions)) => partitions.push(*partition),
                None => {
                    let topic_id = self.topics.get(name).map_or(TopicId::ZERO, |topic| topic.id);
                    topics.push((name, topic_id, vec![*partition]));
                }
            }
        }
        topics
    }

    pub(super) fn offsets_fetched<'a>(
        &'a mut self,
        version: i16,
        request: &OffsetFetchRequest<'a>,
        _: &mut OffsetFetchResponse<'a>,
    ) -> OffsetFetchResponse<'a> {
        let broker: &'a ReferenceBroker = self;
        let asked = request.topics.as_ref().map(|topics| {
            topics.iter().map(|topic| (topic.name, TopicId::ZERO, topic.partition_indexes.clone())).collect()
        });
        let asked = asked.unwrap_or_else(|| broker.all_of(request.group_id));
        let of_one = asked.into_iter().map(|(name, _, partitions)| {
            let partitions = partitions.into_iter().map(|partition_index| {
                let (committed_offset, committed_leader_epoch, metadata) =
                    broker.committed(request.group_id, Some(name), partition_index);
                OffsetFetchResponsePartition {
                    partition_index,
                    committed_offset,
                    committed_leader_epoch,
                    metadata: Some(metadata),
                    error_code: 0,
                }
            });
            OffsetFetchResponseTopic { name, partitions: partitions.collect() }
        });
        let groups = request.groups.iter().map(|group| {
            let asked = group.topics.as_ref().map(|topics| {
                topics.iter().map(|topic| (topic.name, topic.topic_id, topic.partition_indexes.clone())).collect()
            });
            let asked: Vec<_> = asked.unwrap_or_else(|| broker.all_of(group.group_id));
            let topics = asked.into_iter().map(|asked| broker.fetched_of_many(version, group.group_id, asked));
            OffsetFetchResponseGroup { group_id: group.group_id, topics: topics.collect(), error_code: 0 }
        });
        let groups = groups.collect();
        OffsetFetchResponse { topics: of_one.collect(), groups, ..Default::default() }
    }

    fn fetched_of_many<'a>(
        &'a self,
        version: i16,
        group_id: &str,
        (name, topic_id, partitions): (&'a str, TopicId, Vec<i32>),
    ) -> OffsetFetchResponseTopics<'a> {
        let known = self.name_of(name, topic_id, version >= IDS_FROM);
        let is_unknown = version >= IDS_FROM && known.is_none();
        let error = if is_unknown { ErrorCode::UnknownTopicId } else { ErrorCode::None };
        let partitions = partitions.into_iter().map(|partition_index| {
            let (committed_offset, committed_leader_epoch, metadata) =
                self.committed(group_id, known.as_deref(), partition_index);
            OffsetFetchResponsePartitions {
                partition_index,
                committed_offset,
                committed_leader_epoch,
                metadata: Some(metadata),
                error_code: error.code(),
            }
        });
        OffsetFetchResponseTopics { name, topic_id, partitions: partitions.collect() }
    }

    pub(super) fn offsets_deleted<'a>(
        &'a mut self,
        _: i16,
        request: &OffsetDeleteRequest<'a>,
        _: &mut OffsetDeleteResponse<'a>,
    ) -> OffsetDeleteResponse<'a> {
        let refuse = |error: ErrorCode| OffsetDeleteResponse { error_code: error.code(), ..Default::default() };
        match self.groups.get(request.group_id) {
            None => return refuse(ErrorCode::GroupIdNotFound),
            // Only consumers tell to which topics they subscribe.
            Some(group) if group.member.is_some() => return refuse(ErrorCode::NonEmptyGroup),
            Some(_) => {}
        }
        let topics = request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|asked| {
                let is_known = self.log(topic.name, asked.partition_index).is_some();
                let key = (topic.name.to_owned(), asked.partition_index);
                if let Some(group) = self.groups.get_mut(request.group_id).filter(|_| is_known) {
                    group.offsets.remove(&key);
                }
                let error = if is_known { ErrorCode::None } else { ErrorCode::UnknownTopicOrPartition };
                OffsetDeleteResponsePartition { partition_index: asked.partition_index, error_code: error.code() }
            });
            OffsetDeleteResponseTopic { name: topic.name, partitions: partitions.collect() }
        });
        OffsetDeleteResponse { topics: topics.collect(), ..Default::default() }
    }
}

#[cfg(test)]
mod tests {
    use klamm::protocol::ApiKey;

    use super::super::{Group, encoded};
    use super::*;

    #[test]
    fn all_that_a_group_has_committed_is_told() {
        let mut broker = ReferenceBroker::default();
        let mut group = Group::default();
        group.offsets.insert(("a".to_owned(), 0), (7, -1, String::new()));
        group.offsets.insert(("a".to_owned(), 1), (8, -1, String::new()));
        broker.groups.insert("examined-1-0".to_owned(), group);
        let asked = OffsetFetchRequest { group_id: "examined-1-0", topics: None, ..Default::default() };
        let mut judge = |offsets: &[i64]| {
            let partition = |(partition_index, offset): (i32, &i64)| OffsetFetchResponsePartition {
                partition_index,
                committed_offset: *offset,
                committed_leader_epoch: -1,
                metadata: Some(""),
                error_code: 0,
            };
            let partitions = (0..).zip(offsets).map(partition).collect();
            let topics = vec![OffsetFetchResponseTopic { name: "a", partitions }];
            let told = OffsetFetchResponse { topics, ..Default::default() };
            broker.judge((ApiKey::OffsetFetch, 7), &encoded(&asked, 7), &encoded(&told, 7))
        };
        assert_eq!(judge(&[7, 8]), Ok(()));
        assert!(judge(&[7]).is_err(), "the second is left out");
        assert!(judge(&[7, 9]).is_err());
    }
}
