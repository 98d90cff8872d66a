//! What a member commits for its partitions, and what it finds committed.
//!
//! It must not know who else is in the group.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use klamm::protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use klamm::protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics, OffsetFetchResponse,
};
use klamm::types::TopicId;

use super::{GROUP, GroupMember, Task};
use crate::checker::Violation;
use crate::client::versions::{ANY, by_name_unless};
use crate::client::{ClientConnection, ClientContext};

/// The first version of OffsetCommit and OffsetFetch that names topics by their ids.
const IDS_FROM: i16 = 10;
/// From this version on a commit has a leader epoch.
const COMMIT_EPOCH_FROM: i16 = 6;
/// From this version on it is told with the committed offset.
const FETCHED_EPOCH_FROM: i16 = 5;
const COMMIT_STATIC_FROM: i16 = 7;

/// One of its partitions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owned {
    pub(super) partition: i32,
    /// What a consumer may have read up to.
    end: i64,
    /// The commit that was fetched last, if it was acknowledged.
    committed: Option<i64>,
}

impl Owned {
    pub(super) fn new(partition: i32) -> Owned {
        Owned { partition, end: 0, committed: None }
    }
}

impl GroupMember {
    pub(super) fn ask_committed(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        self.fetch_began = context.history.groups().tick();
        // In a calm run it asks for what others own too, so that every commit is looked for in the end.
        let partition_indexes: Vec<i32> = match context.is_calm {
            true => (0..self.partition_count).collect(),
            false => self.owned.iter().map(|owned| owned.partition).collect(),
        };
        self.fetches_all = context.is_calm;
        // One group, as old versions name it and as new ones do: which is written, the version decides.
        let of_one = vec![OffsetFetchRequestTopic { name: self.topic, partition_indexes: partition_indexes.clone() }];
        let topics = vec![OffsetFetchRequestTopics { name: self.topic, topic_id: self.topic_id, partition_indexes }];
        let group = OffsetFetchRequestGroup { group_id: GROUP, topics: Some(topics), ..Default::default() };
        let groups = vec![group];
        let request = OffsetFetchRequest { group_id: GROUP, topics: Some(of_one), groups, require_stable: false };
        let named = by_name_unless(self.topic_id != TopicId::ZERO, IDS_FROM);
        connection.send(context, connection.api(context, ApiKey::OffsetFetch, &named), &request, true);
    }

    pub(super) fn ask_ends(&self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let partitions = self.owned.iter().map(|owned| ListOffsetsPartition {
            partition_index: owned.partition,
            timestamp: -1,
            ..Default::default()
        });
        let topics = vec![ListOffsetsTopic { name: self.topic, partitions: partitions.collect() }];
        let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
        connection.send(context, connection.api(context, ApiKey::ListOffsets, &ANY), &request, true);
    }

    pub(super) fn commit(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        let generation = self.spoken_for();
        let named = by_name_unless(self.topic_id != TopicId::ZERO, IDS_FROM);
        let first = *self.speaking_from(COMMIT_STATIC_FROM).start();
        let api = connection.api(context, ApiKey::OffsetCommit, &(first..=*named.end()));
        // Any number serves to see whether it comes back.
        let leader_epoch = if api.1 >= COMMIT_EPOCH_FROM { generation } else { -1 };
        let groups = context.history.groups();
        self.commits = self
            .owned
            .iter()
            .map(|owned| {
                let offset = (owned.end, leader_epoch);
                (owned.partition, groups.committing(owned.partition, offset, (context.boot, generation)))
            })
            .collect();
        let names: Vec<String> = self.commits.iter().map(|(_, id)| id.to_string()).collect();
        let partitions = self.owned.iter().zip(&names).map(|(owned, name)| OffsetCommitRequestPartition {
            partition_index: owned.partition,
            committed_offset: owned.end,
            committed_metadata: Some(name),
            committed_leader_epoch: leader_epoch,
        });
        let topic =
            OffsetCommitRequestTopic { name: self.topic, topic_id: self.topic_id, partitions: partitions.collect() };
        let request = OffsetCommitRequest {
            group_id: GROUP,
            generation_id_or_member_epoch: generation,
            member_id: &self.member_id,
            group_instance_id: self.instance_id.as_deref(),
            topics: vec![topic],
            ..Default::default()
        };
        connection.send(context, api, &request, true);
    }

    pub(super) fn take_committed(
        &mut self,
        context: &mut ClientContext<'_>,
        version: i16,
        response: &OffsetFetchResponse<'_>,
    ) {
        let error = response.groups.first().map_or(response.error_code, |group| group.error_code);
        if error != 0 {
            self.task = self.after(context, error);
            return;
        }
        let of_one = response.topics.iter().flat_map(|topic| &topic.partitions);
        let found = |offset, leader_epoch| (offset, (version >= FETCHED_EPOCH_FROM).then_some(leader_epoch));
        let of_one = of_one.map(|one| {
            let found = found(one.committed_offset, one.committed_leader_epoch);
            (one.error_code, one.partition_index, found, one.metadata)
        });
        let grouped = response.groups.iter().flat_map(|group| &group.topics).flat_map(|topic| &topic.partitions);
        let grouped = grouped.map(|one| {
            let found = found(one.committed_offset, one.committed_leader_epoch);
            (one.error_code, one.partition_index, found, one.metadata)
        });
        let mut judged = 0;
        for (_, partition, found, name) in of_one.chain(grouped).filter(|(error, ..)| *error == 0) {
            let offset = found.0;
            let name = name.unwrap_or_default();
            judged += 1;
            match context.history.groups().fetched(self.fetch_began, partition, found, name) {
                Ok(is_acknowledged) => {
                    if let Some(owned) = self.owned.iter_mut().find(|owned| owned.partition == partition) {
                        owned.committed = is_acknowledged.then_some(offset);
                    }
                }
                Err(violation) => context.history.violate(violation),
            }
        }
        // With every fault over, every partition has an answer in the end.
        let is_whole = !self.fetches_all || judged == self.partition_count;
        self.task = if is_whole { Task::Ends { commits: false } } else { self.again(context, Task::Committed) };
    }

    pub(super) fn take_ends(
        &mut self,
        context: &mut ClientContext<'_>,
        commits: bool,
        response: &ListOffsetsResponse<'_>,
    ) {
        let mut has_error = false;
        for listed in response.topics.iter().flat_map(|topic| &topic.partitions) {
            let (partition, end) = (listed.partition_index, listed.offset);
            let owned = self.owned.iter_mut().find(|owned| owned.partition == partition);
            let Some(owned) = owned.filter(|_| listed.error_code == 0) else {
                has_error = true;
                continue;
            };
            owned.end = end;
            let is_cut = context.history.destroyed().is_touched(partition);
            if let Some(committed) = owned.committed.take().filter(|committed| *committed > end && !is_cut) {
                context.history.violate(Violation::CommitAhead { partition, committed, end });
            }
        }
        self.task = if commits && !has_error { Task::Commit } else { self.after(context, 0) };
    }

    pub(super) fn take_commit(&mut self, context: &mut ClientContext<'_>, response: &OffsetCommitResponse<'_>) {
        let outcomes = response.topics.iter().flat_map(|topic| &topic.partitions);
        let outcomes: Vec<(i32, i16)> = outcomes.map(|outcome| (outcome.partition_index, outcome.error_code)).collect();
        for (partition, id) in std::mem::take(&mut self.commits) {
            let outcome = outcomes.iter().find(|(of, _)| *of == partition);
            let Some((_, error)) = outcome else {
                context.history.violate(Violation::UnreadableAnswer { client: self.profile.client });
                continue;
            };
            match ErrorCode::from_code(*error) {
                ErrorCode::None => {
                    let violation = context.history.groups().committed(id);
                    violation.into_iter().for_each(|violation| context.history.violate(violation));
                }
                ErrorCode::IllegalGeneration
                | ErrorCode::UnknownMemberId
                | ErrorCode::FencedInstanceId
                | ErrorCode::RebalanceInProgress => {
                    context.history.groups().refused(id);
                }
                // It may be on the disk all the same.
                _ => {}
            }
        }
        self.task = self.after(context, outcomes.first().map_or(0, |(_, error)| *error));
    }
}
