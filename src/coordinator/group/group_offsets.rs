//! OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete, and the offsets of deleted topics.
//!
//! It must not know whether a topic exists: the caller has looked that up.

use std::sync::Arc;

use crate::coordinator::group::GroupAnswer;
use crate::coordinator::group::answers::{
    CommitAnswer, CommittedPartition, CommittedTopic, DeleteOffsetsAnswer, FetchedGroup, FetchedPartition, FetchedTopic,
};
use crate::coordinator::group::classic_group::{ClassicGroup, GroupState};
use crate::coordinator::group::completion::CoordinatorResult;
use crate::coordinator::group::group_coordinator::GroupCoordinator;
use crate::coordinator::group::offsets::CommittedOffset;
use crate::coordinator::group::records::GroupRecord;
use crate::coordinator::group::requests::{
    CommitPartition, CommitRequest, CommitTopic, DeleteOffsetsRequest, FetchRequest, TransactionalCommitRequest,
};
use crate::error_code::ErrorCode;
use crate::marks::Mark;
use crate::types::{Now, Offset, PartitionIndex, Ticket, TopicId, WallTime};
use crate::zoo::{self, Bug};

/// Who commits.
struct Committer<'a> {
    generation: i32,
    member_id: &'a str,
    group_instance_id: Option<&'a str>,
    is_transactional: bool,
}

/// Whether the group lets this member, or client without membership, commit.
fn validate_commit(group: &ClassicGroup, committer: &Committer<'_>) -> Result<(), ErrorCode> {
    if committer.generation < 0 && group.is_in(GroupState::Empty) {
        return Ok(());
    }
    if committer.generation >= 0 || !committer.member_id.is_empty() || committer.group_instance_id.is_some() {
        group.validate_member(committer.member_id, committer.group_instance_id)?;
        if committer.generation != group.generation && !zoo::is(Bug::GenerationNotChecked) {
            Mark::CommitStale.reached();
            return Err(ErrorCode::IllegalGeneration);
        }
    } else if !committer.is_transactional && !group.is_in(GroupState::Empty) {
        return Err(ErrorCode::UnknownMemberId);
    }
    if !committer.is_transactional && group.is_in(GroupState::CompletingRebalance) {
        return Err(ErrorCode::RebalanceInProgress);
    }
    Ok(())
}

/// An answer with the same error at each partition.
fn commit_answer(topics: &[CommitTopic<'_>], error_of: impl Fn(&CommitPartition<'_>) -> ErrorCode) -> GroupAnswer {
    let topics = topics
        .iter()
        .map(|topic| CommittedTopic {
            name: Arc::from(topic.name),
            topic_id: topic.topic_id,
            partitions: topic
                .partitions
                .iter()
                .map(|partition| CommittedPartition { partition: partition.partition, error: error_of(partition) })
                .collect(),
        })
        .collect();
    GroupAnswer::Commit(CommitAnswer { topics })
}

impl GroupCoordinator {
    /// OffsetCommit. Answered when the offsets are durable.
    pub fn handle_commit(&mut self, now: Now, ticket: Ticket, request: &CommitRequest<'_>) -> CoordinatorResult {
        let committer = Committer {
            generation: request.generation,
            member_id: request.member_id,
            group_instance_id: request.group_instance_id,
            is_transactional: false,
        };
        let unknown_group = if request.understands_group_id_not_found {
            ErrorCode::GroupIdNotFound
        } else {
            ErrorCode::IllegalGeneration
        };
        if let Err(error) = self.validate_committer(request.group_id, &committer, unknown_group) {
            return CoordinatorResult::answered(ticket, commit_answer(&request.topics, |_| error));
        }
        let mut result = CoordinatorResult::default();
        self.with_group(now, request.group_id, &mut result, |turn, group| {
            if matches!(group.state(), GroupState::Stable | GroupState::PreparingRebalance) {
                turn.schedule_session(group, request.member_id);
            }
        });
        let expire_timestamp =
            request.retention_ms.map(|retention_ms| WallTime(now.wall.0.saturating_add(retention_ms)));
        self.commit(now, ticket, request.group_id, &request.topics, expire_timestamp, &mut result);
        result
    }

    /// TxnOffsetCommit. The records belong into a batch of the producer's transaction.
    pub fn handle_transactional_commit(
        &mut self,
        now: Now,
        ticket: Ticket,
        request: &TransactionalCommitRequest<'_>,
    ) -> CoordinatorResult {
        let committer = Committer {
            generation: request.generation,
            member_id: request.member_id,
            group_instance_id: request.group_instance_id,
            is_transactional: true,
        };
        let is_valid = if request.group_id.is_empty() {
            Err(ErrorCode::InvalidGroupId)
        } else {
            self.validate_committer(request.group_id, &committer, ErrorCode::IllegalGeneration)
        };
        if let Err(error) = is_valid {
            return CoordinatorResult::answered(ticket, commit_answer(&request.topics, |_| error));
        }
        let mut result = CoordinatorResult::default();
        self.commit(now, ticket, request.group_id, &request.topics, None, &mut result);
        result
    }

    /// A group that does not exist accepts commits of clients without membership: the first one makes it.
    fn validate_committer(
        &self,
        group_id: &str,
        committer: &Committer<'_>,
        unknown_group: ErrorCode,
    ) -> Result<(), ErrorCode> {
        match self.groups.get(group_id) {
            Some(group) => validate_commit(group, committer),
            None if committer.generation < 0 => Ok(()),
            None => Err(unknown_group),
        }
    }

    fn commit(
        &mut self,
        now: Now,
        ticket: Ticket,
        group_id: &str,
        topics: &[CommitTopic<'_>],
        expire_timestamp: Option<WallTime>,
        result: &mut CoordinatorResult,
    ) {
        let metadata_max = self.settings.offset_metadata_max - usize::from(zoo::is(Bug::WordsCutShort));
        let error_of = |partition: &CommitPartition<'_>| {
            let is_too_large =
                partition.metadata.is_some_and(|metadata| metadata.encode_utf16().count() > metadata_max);
            if is_too_large { ErrorCode::OffsetMetadataTooLarge } else { ErrorCode::None }
        };
        let group_id: Arc<str> =
            self.groups.get(group_id).map_or_else(|| Arc::from(group_id), |group| group.group_id.clone());
        for topic in topics {
            let name: Arc<str> = Arc::from(topic.name);
            let accepted = topic.partitions.iter().filter(|partition| error_of(partition) == ErrorCode::None);
            let records: Vec<GroupRecord> = accepted
                .map(|partition| GroupRecord::OffsetCommit {
                    group_id: group_id.clone(),
                    topic: name.clone(),
                    partition: partition.partition,
                    value: Some(CommittedOffset {
                        offset: partition.offset,
                        leader_epoch: partition.leader_epoch,
                        metadata: Arc::from(partition.metadata.unwrap_or_default()),
                        commit_timestamp: now.wall,
                        expire_timestamp,
                        topic_id: topic.topic_id,
                    }),
                })
                .collect();
            if !records.is_empty() {
                result.append(records);
            }
        }
        if let Some(append) = &result.append {
            self.in_flight.begin(&append.records);
        }
        result.answer_after_append(ticket, commit_answer(topics, error_of));
    }

    /// OffsetFetch, of one group. Shows only what is durable, so it needs no waiting.
    pub fn fetch_offsets(&self, request: &FetchRequest<'_>) -> FetchedGroup {
        let group_id = request.group_id;
        let fetch = |topic: &str, topic_id: TopicId, partition: PartitionIndex| {
            let committed = self
                .durable
                .offsets()
                .get(group_id, topic, partition)
                .filter(|committed| !committed.is_for_another(topic_id));
            let is_unstable = request.require_stable && self.durable.offsets().is_pending(group_id, topic, partition);
            match committed.filter(|_| !is_unstable) {
                Some(committed) => FetchedPartition {
                    partition,
                    offset: committed.offset,
                    leader_epoch: committed.leader_epoch.filter(|_| !zoo::is(Bug::CommitEpochLost)),
                    metadata: committed.metadata.clone(),
                    error: ErrorCode::None,
                },
                None => FetchedPartition {
                    partition,
                    offset: Offset(-1),
                    leader_epoch: None,
                    metadata: Arc::from(""),
                    error: if is_unstable { ErrorCode::UnstableOffsetCommit } else { never_committed() },
                },
            }
        };
        let topics = match &request.topics {
            Some(topics) => topics
                .iter()
                .map(|topic| FetchedTopic {
                    name: Arc::from(topic.name),
                    topic_id: topic.topic_id,
                    partitions: topic
                        .partitions
                        .iter()
                        .map(|partition| fetch(topic.name, topic.topic_id, *partition))
                        .collect(),
                })
                .collect(),
            None => {
                let mut topics: Vec<FetchedTopic> = Vec::new();
                for (name, partition, committed) in self.durable.offsets().of_group(group_id) {
                    let fetched = fetch(name, committed.topic_id, partition);
                    match topics.last_mut().filter(|topic| topic.name == *name) {
                        Some(topic) => topic.partitions.push(fetched),
                        None => topics.push(FetchedTopic {
                            name: name.clone(),
                            topic_id: committed.topic_id,
                            partitions: vec![fetched],
                        }),
                    }
                }
                topics
            }
        };
        FetchedGroup { group_id: Arc::from(group_id), topics }
    }

    /// OffsetDelete. Offsets of topics that a member reads stay.
    pub fn handle_delete_offsets(&mut self, ticket: Ticket, request: &DeleteOffsetsRequest<'_>) -> CoordinatorResult {
        let refuse = |error| {
            let answer = GroupAnswer::DeleteOffsets(DeleteOffsetsAnswer { error, topics: Vec::new() });
            CoordinatorResult::answered(ticket, answer)
        };
        if request.group_id.is_empty() {
            return refuse(ErrorCode::InvalidGroupId);
        }
        let Some(group) = self.groups.get(request.group_id) else { return refuse(ErrorCode::GroupIdNotFound) };
        if !group.is_in(GroupState::Empty) && !group.uses_consumer_protocol() {
            return refuse(ErrorCode::NonEmptyGroup);
        }
        let mut result = CoordinatorResult::default();
        let mut topics = Vec::with_capacity(request.topics.len());
        for (name, partitions) in &request.topics {
            let name: Arc<str> = Arc::from(*name);
            let is_read = group.is_subscribed_to(&name) && !zoo::is(Bug::ReadOffsetDeleted);
            let error = if is_read { ErrorCode::GroupSubscribedToTopic } else { ErrorCode::None };
            for partition in partitions.iter().filter(|_| error == ErrorCode::None) {
                let offsets = self.durable.offsets();
                let exists = offsets.get(&group.group_id, &name, *partition).is_some()
                    || offsets.is_pending(&group.group_id, &name, *partition)
                    || self.in_flight.contains(&group.group_id, &name, *partition);
                if exists && !zoo::is(Bug::DeletedOffsetStays) {
                    result.append([tombstone(&group.group_id, &name, *partition)]);
                }
            }
            let partitions =
                partitions.iter().map(|partition| CommittedPartition { partition: *partition, error }).collect();
            topics.push(CommittedTopic { name, topic_id: TopicId::ZERO, partitions });
        }
        let answer = GroupAnswer::DeleteOffsets(DeleteOffsetsAnswer { error: ErrorCode::None, topics });
        result.answer_after_append(ticket, answer);
        result
    }

    /// A topic is gone: so are the offsets that groups have committed for it. Those for a topic that has taken its name stay.
    pub fn topic_deleted(&mut self, topic: &str, topic_id: TopicId) -> CoordinatorResult {
        let mut result = CoordinatorResult::default();
        let mut its = self.durable.offsets().of_topic(topic, topic_id);
        for (group_id, partition, committed_for) in self.in_flight.of_topic(topic) {
            let is_for_another =
                topic_id != TopicId::ZERO && committed_for != TopicId::ZERO && committed_for != topic_id;
            if is_for_another {
                its.remove(&(group_id.clone(), partition));
            } else {
                its.insert((group_id.clone(), partition));
            }
        }
        for (group_id, partition) in its {
            result.append([tombstone(&group_id, &Arc::from(topic), partition)]);
        }
        if let Some(append) = &mut result.append {
            append.atomic = false;
        }
        result
    }
}

/// What stands beside an offset that was never committed: that is no error.
fn never_committed() -> ErrorCode {
    if zoo::is(Bug::NoOffsetIsError) { ErrorCode::UnknownTopicOrPartition } else { ErrorCode::None }
}

/// The record that deletes an offset.
pub(super) fn tombstone(group_id: &Arc<str>, topic: &Arc<str>, partition: PartitionIndex) -> GroupRecord {
    GroupRecord::OffsetCommit { group_id: group_id.clone(), topic: topic.clone(), partition, value: None }
}
