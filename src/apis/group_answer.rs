//! From a coordinator's answer to the handler that words it, and from a coordinator's completions to the outcome of a request.
//!
//! It must not know the fields of any answer.

use super::answer::{Answer, Completion, Outcome};
use super::handlers::{delete_groups, heartbeat, join_group, leave_group, offset_commit, offset_delete, sync_group};
use crate::coordinator::group::GroupAnswer;
use crate::error_code::ErrorCode;
use crate::types::Ticket;

/// The answer in the version of its ticket.
pub(crate) fn word(ticket: Ticket, answer: &GroupAnswer) -> Answer {
    match answer {
        GroupAnswer::Join(answer) => join_group::respond_joined(ticket, answer),
        GroupAnswer::Sync(answer) => sync_group::respond_synced(ticket, answer),
        GroupAnswer::Heartbeat(error) => heartbeat::respond_heartbeat(ticket, *error),
        GroupAnswer::Leave(answer) => leave_group::respond_left(ticket, answer),
        GroupAnswer::Commit(answer) => offset_commit::respond_committed(ticket, answer),
        GroupAnswer::DeleteGroups(answer) => delete_groups::respond_deleted(ticket, answer),
        GroupAnswer::DeleteOffsets(answer) => offset_delete::respond_offsets_deleted(ticket, answer),
    }
}

/// What becomes of the request that led to `asked`, worded by `refuse` if no coordinator could be asked.
pub(crate) fn outcome(
    ticket: Ticket,
    asked: Result<Vec<Completion>, ErrorCode>,
    refuse: impl FnOnce(ErrorCode) -> Answer,
) -> Outcome {
    asked.map_or_else(|error| refuse(error).into(), |completions| outcome_of(ticket, completions))
}

/// A request's own answer if it is among the completions, else it waits.
pub(crate) fn outcome_of(ticket: Ticket, mut completions: Vec<Completion>) -> Outcome {
    match completions.iter().position(|completion| completion.ticket == ticket) {
        Some(own) => Outcome { answer: completions.remove(own).answer, completions },
        None => Outcome { answer: Answer::Later, completions },
    }
}
