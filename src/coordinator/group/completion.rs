//! What a decision leads to: answers that may go out at once, and an append with what follows once it is durable.
//!
//! It must not know the log, nor the state of any group.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::group::answers::{GroupAnswer, JoinAnswer, SyncAnswer};
use crate::coordinator::group::member::Member;
use crate::coordinator::group::records::GroupRecord;
use crate::error_code::ErrorCode;
use crate::types::Ticket;

/// The outcome of a request or of time passing.
#[must_use]
#[derive(Debug, Default)]
pub struct CoordinatorResult {
    /// These may go out now: they show nothing that a crash could take back.
    pub answers: Vec<(Ticket, GroupAnswer)>,
    /// Records to append. Hand it back to [`appended`](super::GroupCoordinator::appended) when they are durable, or to
    /// [`append_failed`](super::GroupCoordinator::append_failed), in the order in which they were returned. If neither is known in time,
    /// say so by [`append_late`](super::GroupCoordinator::append_late), and by one of the others later all the same.
    pub append: Option<Append>,
}

/// Records that belong together, and what waits for them.
#[must_use]
#[derive(Debug)]
pub struct Append {
    /// In the order in which they must be in the log.
    pub records: Vec<GroupRecord>,
    /// All or nothing, so one batch. Otherwise they may be split over several batches if they are many.
    pub atomic: bool,
    pub(super) completions: Vec<Completion>,
}

/// What follows an append.
#[derive(Debug)]
pub(super) enum Completion {
    /// This answer goes out.
    Answer(Ticket, GroupAnswer),
    /// The group's first record, for the join that `ticket` is to answer.
    GroupCreated { group_id: Arc<str>, ticket: Ticket },
    /// The leader's assignment takes effect, if its generation still lasts.
    Assigned { group_id: Arc<str>, generation: i32, assignments: BTreeMap<Arc<str>, Bytes> },
    /// A static member that came back has its new member id.
    StaticMemberReplaced(Box<StaticMemberReplaced>),
}

/// A static member came back in a stable group and took the place of its former self.
#[derive(Debug)]
pub(super) struct StaticMemberReplaced {
    pub(super) group_id: Arc<str>,
    pub(super) member_id: Arc<str>,
    pub(super) supports_skipping_assignment: bool,
    pub(super) leader_before: Arc<str>,
    pub(super) before: Member,
}

impl Append {
    /// Whether somebody waits for the records to be durable.
    pub fn is_awaited(&self) -> bool {
        !self.completions.is_empty()
    }
}

impl CoordinatorResult {
    /// Only an answer.
    pub(super) fn answered(ticket: Ticket, answer: GroupAnswer) -> CoordinatorResult {
        CoordinatorResult { answers: vec![(ticket, answer)], append: None }
    }

    pub(super) fn answer(&mut self, ticket: Ticket, answer: GroupAnswer) {
        self.answers.push((ticket, answer));
    }

    /// Adds records to the append.
    pub(super) fn append(&mut self, records: impl IntoIterator<Item = GroupRecord>) {
        self.append
            .get_or_insert_with(|| Append { records: Vec::new(), atomic: true, completions: Vec::new() })
            .records
            .extend(records);
    }

    /// Lets `completion` follow the append.
    pub(super) fn after_append(&mut self, completion: Completion) {
        self.append
            .get_or_insert_with(|| Append { records: Vec::new(), atomic: true, completions: Vec::new() })
            .completions
            .push(completion);
    }

    /// Answers after the append, if there is one, else now.
    pub(super) fn answer_after_append(&mut self, ticket: Ticket, answer: GroupAnswer) {
        match &mut self.append {
            Some(append) => append.completions.push(Completion::Answer(ticket, answer)),
            None => self.answer(ticket, answer),
        }
    }
}

/// What a client is told when an append ended with `error`: the log's errors mean nothing to it.
pub fn response_error(error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::UnknownTopicOrPartition
        | ErrorCode::NotEnoughReplicas
        | ErrorCode::NotEnoughReplicasAfterAppend
        | ErrorCode::RequestTimedOut => ErrorCode::CoordinatorNotAvailable,
        ErrorCode::NotLeaderOrFollower | ErrorCode::KafkaStorageError => ErrorCode::NotCoordinator,
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge | ErrorCode::InvalidFetchSize => {
            ErrorCode::UnknownServerError
        }
        other => other,
    }
}

impl GroupAnswer {
    /// The same answer, had everything in it failed with `error`.
    pub(super) fn failed(self, error: ErrorCode) -> GroupAnswer {
        match self {
            GroupAnswer::Join(answer) => GroupAnswer::Join(JoinAnswer::refusal(&answer.member_id, error)),
            GroupAnswer::Sync(_) => GroupAnswer::Sync(SyncAnswer::refusal(error)),
            GroupAnswer::Heartbeat(_) => GroupAnswer::Heartbeat(error),
            GroupAnswer::Leave(mut answer) => {
                answer.error = error;
                answer.members.clear();
                GroupAnswer::Leave(answer)
            }
            GroupAnswer::Commit(mut answer) => {
                for partition in answer.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
                    partition.error = error;
                }
                GroupAnswer::Commit(answer)
            }
            GroupAnswer::DeleteGroups(mut answer) => {
                for (_, group_error) in &mut answer.groups {
                    *group_error = error;
                }
                GroupAnswer::DeleteGroups(answer)
            }
            GroupAnswer::DeleteOffsets(mut answer) => {
                answer.error = error;
                answer.topics.clear();
                GroupAnswer::DeleteOffsets(answer)
            }
        }
    }
}
