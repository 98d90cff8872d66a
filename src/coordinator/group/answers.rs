//! What the group coordinator answers, without wire versions.
//!
//! It must not know how an answer is encoded or which fields a version lacks.

use std::sync::Arc;

use bytes::Bytes;

use crate::error_code::ErrorCode;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicId};

/// The answer to one request, with a ticket beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the answer to the request of that name")]
pub enum GroupAnswer {
    Join(JoinAnswer),
    Sync(SyncAnswer),
    Heartbeat(ErrorCode),
    Leave(LeaveAnswer),
    /// To OffsetCommit and TxnOffsetCommit.
    Commit(CommitAnswer),
    DeleteGroups(DeleteGroupsAnswer),
    DeleteOffsets(DeleteOffsetsAnswer),
}

/// A member as the leader is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    /// The member's id.
    pub member_id: Arc<str>,
    /// Set for a static member.
    pub group_instance_id: Option<Arc<str>>,
    /// Its metadata in the chosen protocol.
    pub metadata: Bytes,
}

/// To JoinGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinAnswer {
    /// `None` is success.
    pub error: ErrorCode,
    /// -1 on error.
    pub generation: i32,
    /// The group's protocol type.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen protocol.
    pub protocol_name: Option<Arc<str>>,
    /// The leader's member id, empty on error.
    pub leader: Arc<str>,
    /// The leader is not to compute an assignment (KIP-814).
    pub skip_assignment: bool,
    /// The member's id.
    pub member_id: Arc<str>,
    /// All members, for the leader only.
    pub members: Vec<JoinedMember>,
}

impl JoinAnswer {
    /// A refusal.
    pub fn refusal(member_id: &str, error: ErrorCode) -> JoinAnswer {
        JoinAnswer {
            error,
            generation: -1,
            protocol_type: None,
            protocol_name: None,
            leader: Arc::from(""),
            skip_assignment: false,
            member_id: Arc::from(member_id),
            members: Vec::new(),
        }
    }
}

/// To SyncGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncAnswer {
    /// `None` is success.
    pub error: ErrorCode,
    /// The group's protocol type.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen protocol.
    pub protocol_name: Option<Arc<str>>,
    /// What the leader gave to this member.
    pub assignment: Bytes,
}

impl SyncAnswer {
    /// A refusal.
    pub fn refusal(error: ErrorCode) -> SyncAnswer {
        SyncAnswer { error, protocol_type: None, protocol_name: None, assignment: Bytes::new() }
    }
}

/// One member's part of a LeaveGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftMember {
    /// As asked.
    pub member_id: Arc<str>,
    /// As asked.
    pub group_instance_id: Option<Arc<str>>,
    /// `None` is success.
    pub error: ErrorCode,
}

/// To LeaveGroup. Before version 3 the caller answers with the only member's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaveAnswer {
    /// Concerns the whole request.
    pub error: ErrorCode,
    /// In the order asked; empty if `error` is set.
    pub members: Vec<LeftMember>,
}

/// One partition of a commit or of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedPartition {
    /// The partition.
    pub partition: PartitionIndex,
    /// `None` is success.
    pub error: ErrorCode,
}

/// One topic of a commit or of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedTopic {
    /// As asked.
    pub name: Arc<str>,
    /// As asked.
    pub topic_id: TopicId,
    /// In the order asked.
    pub partitions: Vec<CommittedPartition>,
}

/// To OffsetCommit and TxnOffsetCommit. What concerns the whole request stands at each partition, as the protocol has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitAnswer {
    /// In the order asked.
    pub topics: Vec<CommittedTopic>,
}

/// To DeleteGroups, for the groups of this coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteGroupsAnswer {
    /// In the order asked.
    pub groups: Vec<(Arc<str>, ErrorCode)>,
}

/// To OffsetDelete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteOffsetsAnswer {
    /// Concerns the whole request.
    pub error: ErrorCode,
    /// In the order asked; empty if `error` is set.
    pub topics: Vec<CommittedTopic>,
}

/// One partition of an OffsetFetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedPartition {
    /// The partition.
    pub partition: PartitionIndex,
    /// -1 if nothing is committed.
    pub offset: Offset,
    /// As committed.
    pub leader_epoch: Option<LeaderEpoch>,
    /// As committed.
    pub metadata: Arc<str>,
    /// `None` is success.
    pub error: ErrorCode,
}

/// One topic of an OffsetFetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedTopic {
    /// The topic's name.
    pub name: Arc<str>,
    /// As asked; as committed if all topics were asked for.
    pub topic_id: TopicId,
    /// In the order asked, or ascending.
    pub partitions: Vec<FetchedPartition>,
}

/// One group of an OffsetFetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedGroup {
    /// As asked.
    pub group_id: Arc<str>,
    /// In the order asked, or by name.
    pub topics: Vec<FetchedTopic>,
}

/// One group of a ListGroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    /// The group.
    pub group_id: Arc<str>,
    /// Empty for a group that never had members.
    pub protocol_type: Arc<str>,
    /// The state's name on the wire.
    pub state: &'static str,
    /// The type's name on the wire.
    pub group_type: &'static str,
}

/// One member of a DescribeGroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedMember {
    /// The member.
    pub member_id: Arc<str>,
    /// Set for a static member.
    pub group_instance_id: Option<Arc<str>>,
    /// The client's name for itself.
    pub client_id: Arc<str>,
    /// Where it connected from.
    pub client_host: Arc<str>,
    /// Empty unless the group is stable.
    pub metadata: Bytes,
    /// What the leader gave it last.
    pub assignment: Bytes,
}

/// One group of a DescribeGroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedGroup {
    /// GROUP_ID_NOT_FOUND for a group that is not here; versions below 6 say that by state `Dead` and no error.
    pub error: ErrorCode,
    /// As asked.
    pub group_id: Arc<str>,
    /// The state's name on the wire.
    pub state: &'static str,
    /// Empty for a group that never had members.
    pub protocol_type: Arc<str>,
    /// The chosen protocol; empty unless the group is stable.
    pub protocol: Arc<str>,
    /// The members by id.
    pub members: Vec<DescribedMember>,
}
