//! Classic consumer groups and the offsets they commit: one coordinator value per partition of `__consumer_offsets`.
//!
//! It must not know the log, wire versions, clocks or threads: time, chance and topic ids are arguments, and what it decides are values.

mod answers;
mod append_outcome;
mod classic_group;
mod completion;
mod group_coordinator;
mod group_join;
mod group_membership;
mod group_offsets;
mod group_overview;
mod group_sync;
mod group_timers;
mod in_flight;
mod member;
mod offsets;
mod parked;
mod rebalance;
mod records;
mod requests;
mod settings;
mod subscription;
mod timers;

#[cfg(test)]
mod test_join;
#[cfg(test)]
mod test_membership;
#[cfg(test)]
mod test_offsets;
#[cfg(test)]
mod test_overview;
#[cfg(test)]
mod test_random;
#[cfg(test)]
mod test_recovery;
#[cfg(test)]
mod test_static_members;
#[cfg(test)]
mod test_sync;
#[cfg(test)]
mod test_world;

pub use answers::{
    CommitAnswer, CommittedPartition, CommittedTopic, DeleteGroupsAnswer, DeleteOffsetsAnswer, DescribedGroup,
    DescribedMember, FetchedGroup, FetchedPartition, FetchedTopic, GroupAnswer, JoinAnswer, JoinedMember, LeaveAnswer,
    LeftMember, ListedGroup, SyncAnswer,
};
pub use classic_group::GroupState;
pub use completion::{Append, CoordinatorResult, response_error};
pub use group_coordinator::{DurableState, GroupCoordinator};
pub use offsets::{CommittedOffset, Offsets};
pub use records::{GroupMetadata, GroupRecord, GroupRecordError, MemberMetadata};
pub use requests::{
    CommitPartition, CommitRequest, CommitTopic, DeleteOffsetsRequest, FetchRequest, FetchTopic, HeartbeatRequest,
    JoinProtocol, JoinRequest, LeaveRequest, LeavingMember, SyncRequest, TransactionalCommitRequest,
};
pub use settings::GroupSettings;
