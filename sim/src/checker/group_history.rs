//! What members of a group were told: who owns which partition in which generation, and what became of each commit.
//!
//! It must not know when a member asks. Times are ticks of its own: one for each thing that happens.

use std::collections::{BTreeMap, BTreeSet};

use super::{Excuse, Oracle, Violation};

/// How the instance ids of static members begin; a member id is one with a UUID behind it.
pub(crate) const INSTANCE_PREFIX: &str = "instance-";
const UUID_LENGTH: usize = 36;

/// Names a commit of one partition; its text form is what the member commits as metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CommitId(u64);

impl std::fmt::Display for CommitId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "commit {}", self.0)
    }
}

#[derive(Debug)]
struct Commit {
    partition: i32,
    offset: i64,
    leader_epoch: i32,
    sent: u64,
    /// The start of the broker that it was sent to.
    boot: u32,
    /// Somebody had been told of a later generation when it was sent.
    is_stale: bool,
    outcome: CommitOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommitOutcome {
    /// Nobody knows, or it is on its way.
    Unknown,
    /// Acknowledged at this tick.
    Acknowledged(u64),
    Refused,
}

impl Commit {
    fn acknowledged(&self) -> Option<u64> {
        match self.outcome {
            CommitOutcome::Acknowledged(at) => Some(at),
            CommitOutcome::Unknown | CommitOutcome::Refused => None,
        }
    }
}

/// The history of the only group.
#[derive(Debug, Default)]
pub(crate) struct GroupHistory {
    ticks: u64,
    owners: BTreeMap<(i32, i32), String>,
    /// The last generation that somebody was told of, and the start of the broker that told it: a power cut may take one back.
    generation: (u32, i32),
    /// What leaders gave to each member in each generation.
    assignments: BTreeMap<(i32, String), Vec<Vec<u8>>>,
    commits: BTreeMap<CommitId, Commit>,
    /// By partition: the tick at which the last fetch began that found what was committed.
    judged: BTreeMap<i32, u64>,
    /// The clients that have asked to join.
    clients: BTreeSet<u32>,
    oracle: Oracle,
}

/// Who a member is: a static one stays who it is under every id that it is given.
fn person(member_id: &str) -> &str {
    let without_uuid = member_id.len().checked_sub(UUID_LENGTH).and_then(|end| member_id.get(..end));
    without_uuid.filter(|name| name.starts_with(INSTANCE_PREFIX)).unwrap_or(member_id)
}

impl GroupHistory {
    pub(super) fn judged_by(oracle: Oracle) -> GroupHistory {
        GroupHistory { oracle, ..GroupHistory::default() }
    }

    /// The next tick.
    pub(crate) fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }

    /// A member was given a partition.
    pub(crate) fn owns(&mut self, generation: i32, partition: i32, member_id: &str) -> Option<Violation> {
        let owner = self.owners.entry((generation, partition)).or_insert_with(|| member_id.to_owned());
        (person(owner) != person(member_id)).then(|| Violation::TwoOwners {
            generation,
            partition,
            first: owner.clone(),
            second: member_id.to_owned(),
        })
    }

    /// A client asks to join.
    pub(crate) fn joining(&mut self, client: u32) {
        self.clients.insert(client);
    }

    /// Whether no other client has ever asked to join.
    pub(crate) fn is_alone(&self, client: u32) -> bool {
        self.clients.iter().all(|other| *other == client)
    }

    /// A member was told that it is in this generation, by the broker of this start.
    pub(crate) fn joined(&mut self, boot: u32, generation: i32) {
        self.generation = self.generation.max((boot, generation));
    }

    /// The leader of this generation gives this to a member.
    pub(crate) fn assigned(&mut self, generation: i32, member_id: &str, assignment: &[u8]) {
        self.assignments.entry((generation, person(member_id).to_owned())).or_default().push(assignment.to_vec());
    }

    /// A member was told what it was given, which must be what a leader gave to it.
    pub(crate) fn given(&self, generation: i32, member_id: &str, assignment: &[u8]) -> Option<Violation> {
        let given = self.assignments.get(&(generation, person(member_id).to_owned()));
        let is_right = given.is_some_and(|given| given.iter().any(|given| given == assignment));
        (!is_right).then(|| Violation::AssignmentLost { generation, member: member_id.to_owned() })
    }

    /// Whether somebody has been told of a later generation by the broker of this start.
    pub(crate) fn is_stale(&self, boot: u32, generation: i32) -> bool {
        !self.oracle.grants(Excuse::OtherStart, boot != self.generation.0) && generation < self.generation.1
    }

    /// A commit of an offset with its leader epoch is sent.
    pub(crate) fn committing(
        &mut self,
        partition: i32,
        (offset, leader_epoch): (i64, i32),
        (boot, generation): (u32, i32),
    ) -> CommitId {
        let sent = self.tick();
        let is_stale = self.is_stale(boot, generation);
        let outcome = CommitOutcome::Unknown;
        let commit = Commit { partition, offset, leader_epoch, sent, boot, is_stale, outcome };
        self.commits.insert(CommitId(sent), commit);
        CommitId(sent)
    }

    /// A commit was acknowledged.
    pub(crate) fn committed(&mut self, id: CommitId) -> Option<Violation> {
        let tick = self.tick();
        self.settle(id, CommitOutcome::Acknowledged(tick));
        let stale = self.commits.get(&id).filter(|commit| commit.is_stale)?;
        Some(Violation::StaleCommit { partition: stale.partition, offset: stale.offset })
    }

    /// A commit was refused for good.
    pub(crate) fn refused(&mut self, id: CommitId) {
        self.settle(id, CommitOutcome::Refused);
    }

    fn settle(&mut self, id: CommitId, outcome: CommitOutcome) {
        if let Some(commit) = self.commits.get_mut(&id) {
            commit.outcome = outcome;
        }
    }

    /// A fetch that was sent at tick `began` found this; old ones are not told the leader epoch. Says whether it is a commit that was acknowledged.
    pub(crate) fn fetched(
        &mut self,
        began: u64,
        partition: i32,
        (offset, leader_epoch): (i64, Option<i32>),
        name: &str,
    ) -> Result<bool, Violation> {
        self.judged.insert(partition, began);
        let found = self.commits.iter().find(|(id, _)| id.to_string() == name).map(|(_, commit)| commit);
        let is_other_epoch = |epoch: i32| leader_epoch.is_some_and(|told| told != epoch);
        let is_foreign = match found {
            Some(found) => (found.partition, found.offset) != (partition, offset) || is_other_epoch(found.leader_epoch),
            None => offset != -1 || is_other_epoch(-1),
        };
        if is_foreign || found.is_some_and(|found| found.outcome == CommitOutcome::Refused) {
            return Err(Violation::ForeignCommit { partition, offset });
        }
        // One that was answered is over, and gives way to all that were sent later. One without an answer may take effect as long as the broker is up
        // that it was sent to, and gives way to those of later starts.
        let gives_way_to = |commit: &Commit| match found {
            Some(found) => found.acknowledged().map_or_else(
                || !self.oracle.grants(Excuse::LateCommit, commit.boot <= found.boot),
                |at| commit.sent > at,
            ),
            None => true,
        };
        let newer = self.commits.values().find(|commit| {
            let is_settled = commit.acknowledged().is_some_and(|at| at < began);
            commit.partition == partition && is_settled && gives_way_to(commit)
        });
        match newer {
            Some(newer) => {
                Err(Violation::CommitLost { partition, acknowledged: newer.offset, sent: newer.sent, found: offset })
            }
            None => Ok(found.is_some_and(|found| found.acknowledged().is_some())),
        }
    }

    /// The acknowledged commits whose partition nobody looked at afterwards: what is not looked at is not known to be there.
    pub(crate) fn verdict(&self) -> Vec<Violation> {
        let is_open = |commit: &&Commit| {
            let judged = self.judged.get(&commit.partition).copied().unwrap_or(0);
            commit.acknowledged().is_some_and(|at| at >= judged)
        };
        let open = self.commits.values().filter(is_open);
        let unseen = |commit: &Commit| Violation::CommitUnseen {
            partition: commit.partition,
            acknowledged: commit.offset,
            sent: commit.sent,
        };
        open.map(unseen).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::GroupHistory;

    #[test]
    fn an_acknowledged_commit_must_be_found_until_a_later_one_takes_its_place() {
        let mut history = GroupHistory::default();
        let first = history.committing(0, (5, 3), (1, 1));
        assert_eq!(history.committed(first), None);
        let began = history.tick();
        assert!(history.fetched(began, 0, (-1, Some(-1)), "").is_err());
        assert_eq!(history.fetched(began, 0, (5, Some(3)), &first.to_string()), Ok(true));
        let second = history.committing(0, (6, 3), (1, 1));
        let began = history.tick();
        assert_eq!(history.fetched(began, 0, (5, Some(3)), &first.to_string()), Ok(true));
        assert_eq!(history.fetched(began, 0, (6, Some(3)), &second.to_string()), Ok(false));
        assert_eq!(history.committed(second), None);
        let began = history.tick();
        assert!(history.fetched(began, 0, (5, Some(3)), &first.to_string()).is_err());
    }

    #[test]
    fn a_commit_without_an_answer_gives_way_to_one_of_a_later_start() {
        let mut history = GroupHistory::default();
        let unanswered = history.committing(0, (5, 3), (1, 1));
        let same_start = history.committing(0, (6, 3), (1, 1));
        assert_eq!(history.committed(same_start), None);
        let began = history.tick();
        assert_eq!(history.fetched(began, 0, (5, Some(3)), &unanswered.to_string()), Ok(false), "it came late");
        let later_start = history.committing(0, (7, 3), (2, 1));
        assert_eq!(history.committed(later_start), None);
        let began = history.tick();
        assert!(history.fetched(began, 0, (5, Some(3)), &unanswered.to_string()).is_err());
    }

    #[test]
    fn what_was_refused_or_never_committed_may_not_be_found() {
        let mut history = GroupHistory::default();
        let refused = history.committing(0, (5, 3), (1, 1));
        history.refused(refused);
        let began = history.tick();
        assert!(history.fetched(began, 0, (5, Some(3)), &refused.to_string()).is_err());
        assert!(history.fetched(began, 0, (7, Some(3)), "").is_err());
        assert_eq!(history.fetched(began, 0, (-1, Some(-1)), ""), Ok(false));
    }

    #[test]
    fn an_acknowledged_commit_must_be_looked_for_at_the_end() {
        let mut history = GroupHistory::default();
        let commit = history.committing(0, (5, 3), (1, 1));
        assert!(history.verdict().is_empty(), "nobody knows what became of it");
        assert_eq!(history.committed(commit), None);
        assert_eq!(history.verdict().len(), 1);
        let began = history.tick();
        assert_eq!(history.fetched(began, 0, (5, Some(3)), &commit.to_string()), Ok(true));
        assert!(history.verdict().is_empty());
    }

    #[test]
    fn a_commit_of_an_older_generation_may_not_be_acknowledged() {
        let mut history = GroupHistory::default();
        history.joined(1, 2);
        let stale = history.committing(0, (5, 3), (1, 1));
        assert!(history.committed(stale).is_some());
        let of_a_new_start = history.committing(0, (5, 3), (2, 1));
        assert_eq!(history.committed(of_a_new_start), None);
    }

    #[test]
    fn a_member_must_be_given_what_a_leader_gave_to_it() {
        let mut history = GroupHistory::default();
        history.assigned(1, "a", b"all");
        assert_eq!(history.given(1, "a", b"all"), None);
        assert!(history.given(1, "a", b"").is_some());
        assert!(history.given(2, "a", b"all").is_some());
    }

    #[test]
    fn a_static_member_that_comes_back_has_what_its_former_self_had() {
        let mut history = GroupHistory::default();
        let [former, present, other] = ["1-a", "1-b", "2-a"].map(|it| format!("instance-{}{}", it, "0".repeat(35)));
        history.assigned(1, &former, b"all");
        assert_eq!(history.owns(1, 0, &former), None);
        assert_eq!(history.given(1, &present, b"all"), None);
        assert_eq!(history.owns(1, 0, &present), None);
        assert!(history.given(1, &other, b"all").is_some());
        assert!(history.owns(1, 0, &other).is_some());
    }

    #[test]
    fn a_partition_has_one_owner_in_a_generation() {
        let mut history = GroupHistory::default();
        assert_eq!(history.owns(1, 0, "a"), None);
        assert_eq!(history.owns(1, 0, "a"), None);
        assert_eq!(history.owns(2, 0, "b"), None);
        assert!(history.owns(2, 0, "a").is_some());
    }
}
