//! What the group coordinator is asked, without wire versions: the caller has made the versions' differences into fields.
//!
//! It must not know how a request came in.

use crate::types::{LeaderEpoch, Offset, PartitionIndex, ProducerId, TopicId};

/// One protocol of a JoinGroup.
#[derive(Clone, Copy, Debug)]
pub struct JoinProtocol<'a> {
    /// The protocol's name.
    pub name: &'a str,
    /// What the member says about itself in its terms.
    pub metadata: &'a [u8],
}

/// JoinGroup.
#[derive(Clone, Debug)]
pub struct JoinRequest<'a> {
    /// The group.
    pub group_id: &'a str,
    /// Empty if the client has none yet.
    pub member_id: &'a str,
    /// Set by a static member.
    pub group_instance_id: Option<&'a str>,
    /// From the request's header; becomes part of the member id.
    pub client_id: &'a str,
    /// The peer's address as Kafka prints it: `/127.0.0.1`.
    pub client_host: &'a str,
    /// How long the member may be silent.
    pub session_timeout_ms: i32,
    /// How long a rebalance waits for it. Version 0 has none: the caller repeats the session timeout.
    pub rebalance_timeout_ms: i32,
    /// `consumer`, `connect` …
    pub protocol_type: &'a str,
    /// In order of preference.
    pub protocols: Vec<JoinProtocol<'a>>,
    /// The client must come back with the id it is given before it counts as a member (versions from 4 on, KIP-394).
    pub requires_known_member_id: bool,
    /// The client understands `skip_assignment` (versions from 9 on, KIP-814).
    pub supports_skipping_assignment: bool,
}

/// SyncGroup.
#[derive(Clone, Debug)]
pub struct SyncRequest<'a> {
    /// The group.
    pub group_id: &'a str,
    /// The generation that the member joined.
    pub generation: i32,
    /// The member.
    pub member_id: &'a str,
    /// Set by a static member.
    pub group_instance_id: Option<&'a str>,
    /// What the member believes the protocol type to be, if it says so (versions from 5 on).
    pub protocol_type: Option<&'a str>,
    /// What the member believes the chosen protocol to be.
    pub protocol_name: Option<&'a str>,
    /// Member id and assignment, from the leader only.
    pub assignments: Vec<(&'a str, &'a [u8])>,
}

/// Heartbeat.
#[derive(Clone, Copy, Debug)]
pub struct HeartbeatRequest<'a> {
    /// The group.
    pub group_id: &'a str,
    /// The generation that the member belongs to.
    pub generation: i32,
    /// The member.
    pub member_id: &'a str,
    /// Set by a static member.
    pub group_instance_id: Option<&'a str>,
}

/// One member that a LeaveGroup names.
#[derive(Clone, Copy, Debug)]
pub struct LeavingMember<'a> {
    /// Empty if an administrator removes a static member by its instance id.
    pub member_id: &'a str,
    /// Set for a static member.
    pub group_instance_id: Option<&'a str>,
}

/// LeaveGroup.
#[derive(Clone, Debug)]
pub struct LeaveRequest<'a> {
    /// The group.
    pub group_id: &'a str,
    /// Who leaves; exactly one before version 3.
    pub members: Vec<LeavingMember<'a>>,
}

/// One partition of a commit.
#[derive(Clone, Copy, Debug)]
pub struct CommitPartition<'a> {
    /// The partition.
    pub partition: PartitionIndex,
    /// The next offset to read.
    pub offset: Offset,
    /// The leader epoch of the last record read, if the client knows it.
    pub leader_epoch: Option<LeaderEpoch>,
    /// The client's own words; `None` counts as empty.
    pub metadata: Option<&'a str>,
}

/// One topic of a commit. The caller has looked up name and id, and has sorted out what does not exist.
#[derive(Clone, Debug)]
pub struct CommitTopic<'a> {
    /// The topic's name.
    pub name: &'a str,
    /// The topic's id, zero if unknown.
    pub topic_id: TopicId,
    /// The partitions.
    pub partitions: Vec<CommitPartition<'a>>,
}

/// OffsetCommit.
#[derive(Clone, Debug)]
pub struct CommitRequest<'a> {
    /// The group.
    pub group_id: &'a str,
    /// Below 0 for a client without membership.
    pub generation: i32,
    /// Empty for a client without membership.
    pub member_id: &'a str,
    /// Set by a static member.
    pub group_instance_id: Option<&'a str>,
    /// How long to keep the offsets, if the request says so (versions 2 to 4).
    pub retention_ms: Option<i64>,
    /// The client understands GROUP_ID_NOT_FOUND (versions from 9 on); older ones are told ILLEGAL_GENERATION.
    pub understands_group_id_not_found: bool,
    /// What is committed.
    pub topics: Vec<CommitTopic<'a>>,
}

/// TxnOffsetCommit: offsets that count once the producer's transaction is committed.
#[derive(Clone, Debug)]
pub struct TransactionalCommitRequest<'a> {
    /// The group.
    pub group_id: &'a str,
    /// The transaction's producer.
    pub producer_id: ProducerId,
    /// Below 0 if the client does not say.
    pub generation: i32,
    /// Empty if the client does not say.
    pub member_id: &'a str,
    /// Set by a static member.
    pub group_instance_id: Option<&'a str>,
    /// What is committed.
    pub topics: Vec<CommitTopic<'a>>,
}

/// One topic of an OffsetFetch.
#[derive(Clone, Debug)]
pub struct FetchTopic<'a> {
    /// The topic's name.
    pub name: &'a str,
    /// The topic's present id, zero if unknown. An offset that was committed for another topic of that name does not count.
    pub topic_id: TopicId,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

/// One group of an OffsetFetch.
#[derive(Clone, Debug)]
pub struct FetchRequest<'a> {
    /// The group.
    pub group_id: &'a str,
    /// `None` asks for all.
    pub topics: Option<Vec<FetchTopic<'a>>>,
    /// Offsets that an open transaction may still change are not answered but refused (KIP-447).
    pub require_stable: bool,
}

/// OffsetDelete.
#[derive(Clone, Debug)]
pub struct DeleteOffsetsRequest<'a> {
    /// The group.
    pub group_id: &'a str,
    /// Names and partitions of topics that exist.
    pub topics: Vec<(&'a str, Vec<PartitionIndex>)>,
}
