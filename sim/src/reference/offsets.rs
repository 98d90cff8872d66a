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

    pub(super) fn offsets_fetched<'a>(
        &'a mut self,
        version: i16,
        request: &OffsetFetchRequest<'a>,
        _: &mut OffsetFetchResponse<'a>,
    ) -> OffsetFetchResponse<'a> {
        let broker = &*self;
        let of_one = request.topics.iter().flatten().map(|topic| {
            let partitions = topic.partition_indexes.iter().map(|index| {
                let (committed_offset, committed_leader_epoch, metadata) =
                    broker.committed(request.group_id, Some(topic.name), *index);
                OffsetFetchResponsePartition {
                    partition_index: *index,
                    committed_offset,
                    committed_leader_epoch,
                    metadata: Some(metadata),
                    error_code: 0,
                }
            });
            OffsetFetchResponseTopic { name: topic.name, partitions: partitions.collect() }
        });
        let groups = request.groups.iter().map(|group| {
            let topics = group.topics.iter().flatten().map(|topic| {
                let name = broker.name_of(topic.name, topic.topic_id, version >= IDS_FROM);
                let is_unknown = version >= IDS_FROM && name.is_none();
                let error = if is_unknown { ErrorCode::UnknownTopicId } else { ErrorCode::None };
                let partitions = topic.partition_indexes.iter().map(|index| {
                    let (committed_offset, committed_leader_epoch, metadata) =
                        broker.committed(group.group_id, name.as_deref(), *index);
                    OffsetFetchResponsePartitions {
                        partition_index: *index,
                        committed_offset,
                        committed_leader_epoch,
                        metadata: Some(metadata),
                        error_code: error.code(),
                    }
                });
                let partitions = partitions.collect();
                OffsetFetchResponseTopics { name: topic.name, topic_id: topic.topic_id, partitions }
            });
            OffsetFetchResponseGroup { group_id: group.group_id, topics: topics.collect(), error_code: 0 }
        });
        let groups = groups.collect();
        OffsetFetchResponse { topics: of_one.collect(), groups, ..Default::default() }
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
