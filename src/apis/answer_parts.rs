//! Parts of answers that are known before the coordinators have said theirs: partitions that do not exist, other coordinators' groups.
//!
//! It must not know how an answer is worded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::coordinator::group::{CommittedTopic, DeleteGroupsAnswer, GroupAnswer};
use crate::error_code::ErrorCode;
use crate::types::{ConnectionId, Ticket};

/// What is kept for one ticket.
#[derive(Debug)]
pub(crate) enum AnswerPart {
    /// Topics that go in front of those of the coordinator.
    Topics(Vec<CommittedTopic>),
    /// Groups that are settled, and how many coordinators have not answered yet.
    Groups { settled: Vec<(Arc<str>, ErrorCode)>, left: usize },
}

/// What is kept for all tickets. Most answers have no such part.
#[derive(Default)]
pub(crate) struct AnswerParts {
    by_ticket: Mutex<BTreeMap<Ticket, AnswerPart>>,
}

impl AnswerParts {
    /// Keeps a part until the rest of the answer comes.
    pub(crate) fn keep(&self, ticket: Ticket, part: AnswerPart) {
        self.by_ticket().insert(ticket, part);
    }

    /// Takes a part back, since no coordinator will be asked.
    pub(crate) fn take(&self, ticket: Ticket) -> Option<AnswerPart> {
        self.by_ticket().remove(&ticket)
    }

    /// The whole answer, now that a coordinator has said its own; `None` if others are still to be heard.
    pub(crate) fn whole(&self, ticket: Ticket, answer: GroupAnswer) -> Option<GroupAnswer> {
        match answer {
            GroupAnswer::Commit(mut answer) => {
                answer.topics = self.with_topics(ticket, answer.topics);
                Some(GroupAnswer::Commit(answer))
            }
            GroupAnswer::DeleteOffsets(mut answer) => {
                let topics = self.with_topics(ticket, answer.topics);
                answer.topics = if answer.error.is_none() { topics } else { Vec::new() };
                Some(GroupAnswer::DeleteOffsets(answer))
            }
            GroupAnswer::DeleteGroups(answer) => {
                let groups = self.with_groups(ticket, answer.groups)?;
                Some(GroupAnswer::DeleteGroups(DeleteGroupsAnswer { groups }))
            }
            answer => Some(answer),
        }
    }

    /// Forgets what was kept for a connection that is gone.
    pub(crate) fn connection_closed(&self, connection: ConnectionId) {
        self.by_ticket().retain(|ticket, _| ticket.connection != connection);
    }

    fn with_topics(&self, ticket: Ticket, topics: Vec<CommittedTopic>) -> Vec<CommittedTopic> {
        let Some(AnswerPart::Topics(mut all)) = self.take(ticket) else { return topics };
        let names = all.iter().enumerate().rev();
        let places: BTreeMap<_, _> = names.map(|(at, topic)| ((Arc::clone(&topic.name), topic.topic_id), at)).collect();
        for topic in topics {
            let known = places.get(&(Arc::clone(&topic.name), topic.topic_id)).and_then(|at| all.get_mut(*at));
            match known {
                Some(known) => known.partitions.extend(topic.partitions),
                None => all.push(topic),
            }
        }
        all
    }

    /// Nothing is kept any more once the connection is gone; then nobody hears the answer either.
    fn with_groups(&self, ticket: Ticket, groups: Vec<(Arc<str>, ErrorCode)>) -> Option<Vec<(Arc<str>, ErrorCode)>> {
        let mut by_ticket = self.by_ticket();
        let Some(AnswerPart::Groups { settled, left }) = by_ticket.get_mut(&ticket) else { return None };
        settled.extend(groups);
        *left = left.saturating_sub(1);
        if *left > 0 {
            return None;
        }
        match by_ticket.remove(&ticket) {
            Some(AnswerPart::Groups { settled, .. }) => Some(settled),
            _ => None,
        }
    }

    fn by_ticket(&self) -> MutexGuard<'_, BTreeMap<Ticket, AnswerPart>> {
        self.by_ticket.lock().expect("nobody panics while holding the parts: panics abort the process")
    }
}
