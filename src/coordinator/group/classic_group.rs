//! One classic group while it lives: its state, generation, members and the vote on their protocol.
//!
//! All of this is soft: the log keeps only what [`GroupMetadata`] holds. It must not know timers, answers or the log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::group::member::{Member, MemberProtocol, Parked};
use crate::coordinator::group::records::GroupMetadata;
use crate::coordinator::group::requests::JoinProtocol;
use crate::coordinator::group::subscription::subscribed_topics;
use crate::error_code::ErrorCode;
use crate::types::{ConnectionId, Ticket, WallTime};
use crate::zoo::{self, Bug};

/// The protocol type of Kafka's consumers; only of these the broker knows the subscription.
pub(super) const CONSUMER_PROTOCOL_TYPE: &str = "consumer";

/// Where a classic group stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupState {
    /// No members; it stays while it has offsets.
    Empty,
    /// Members are to join again.
    PreparingRebalance,
    /// All have joined; the leader's assignment is awaited.
    CompletingRebalance,
    /// Every member has its assignment.
    Stable,
    /// There is no such group.
    Dead,
}

impl GroupState {
    /// The state's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            GroupState::Empty => "Empty",
            GroupState::PreparingRebalance => "PreparingRebalance",
            GroupState::CompletingRebalance => "CompletingRebalance",
            GroupState::Stable => "Stable",
            GroupState::Dead => "Dead",
        }
    }

    /// Whether a group may go from this state to `next`.
    pub fn may_become(self, next: GroupState) -> bool {
        use GroupState::{CompletingRebalance, Dead, Empty, PreparingRebalance, Stable};
        matches!(
            (self, next),
            (PreparingRebalance, Empty | CompletingRebalance)
                | (Stable | CompletingRebalance | Empty, PreparingRebalance)
                | (CompletingRebalance, Stable)
                | (_, Dead)
        )
    }
}

/// The first rebalance of an empty group waits for more members in rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InitialRebalance {
    pub(super) delay_ms: i32,
    pub(super) remaining_ms: i32,
    pub(super) new_member_added: bool,
}

/// A classic group.
#[derive(Debug)]
pub(super) struct ClassicGroup {
    pub(super) group_id: Arc<str>,
    state: GroupState,
    state_timestamp: Option<WallTime>,
    pub(super) generation: i32,
    pub(super) protocol_type: Option<Arc<str>>,
    pub(super) protocol: Option<Arc<str>>,
    leader: Option<Arc<str>>,
    members: BTreeMap<Arc<str>, Member>,
    /// Instance id → member id.
    static_members: BTreeMap<Arc<str>, Arc<str>>,
    /// Members that were told their id and have not come back with it.
    pub(super) pending_joins: BTreeSet<Arc<str>>,
    /// Members of this generation that have not sent SyncGroup.
    pub(super) pending_syncs: BTreeSet<Arc<str>>,
    /// How many members support each protocol.
    protocol_counts: BTreeMap<Arc<str>, usize>,
    parked_joins: usize,
    subscribed_topics: Option<BTreeSet<Arc<str>>>,
    pub(super) initial_rebalance: Option<InitialRebalance>,
}

impl ClassicGroup {
    /// A group without members.
    pub(super) fn new(group_id: Arc<str>, now: WallTime) -> ClassicGroup {
        ClassicGroup {
            group_id,
            state: GroupState::Empty,
            state_timestamp: Some(now),
            generation: 0,
            protocol_type: None,
            protocol: None,
            leader: None,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            pending_joins: BTreeSet::new(),
            pending_syncs: BTreeSet::new(),
            protocol_counts: BTreeMap::new(),
            parked_joins: 0,
            subscribed_topics: None,
            initial_rebalance: None,
        }
    }

    /// The group as it was when its last record was written: stable, or empty.
    pub(super) fn from_record(group_id: Arc<str>, metadata: &GroupMetadata) -> ClassicGroup {
        let protocol = metadata.protocol.clone().unwrap_or_default();
        let mut group = ClassicGroup::new(group_id, WallTime(0));
        group.state = if metadata.members.is_empty() { GroupState::Empty } else { GroupState::Stable };
        group.state_timestamp = metadata.current_state_timestamp;
        group.generation = metadata.generation;
        group.protocol = metadata.protocol.clone();
        group.leader = metadata.leader.clone();
        for member in &metadata.members {
            group.insert(Member::from_record(member, &metadata.protocol_type, &protocol));
        }
        group.protocol_type = Some(metadata.protocol_type.clone()).filter(|name| !name.is_empty());
        group.subscribed_topics = group.compute_subscribed_topics();
        group
    }

    /// What the log is to know of the group, once each member has what `assignment_of` gives it.
    pub(super) fn to_record(&self, assignment_of: impl Fn(&Member) -> Bytes) -> GroupMetadata {
        GroupMetadata {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            current_state_timestamp: self.state_timestamp,
            members: self
                .members
                .values()
                .map(|member| member.to_record(self.protocol.as_deref(), assignment_of(member)))
                .collect(),
        }
    }

    pub(super) fn state(&self) -> GroupState {
        self.state
    }

    pub(super) fn is_in(&self, state: GroupState) -> bool {
        self.state == state
    }

    pub(super) fn state_timestamp(&self) -> Option<WallTime> {
        self.state_timestamp
    }

    /// Changes the state; a change that is not in the state machine is our own fault.
    pub(super) fn transition_to(&mut self, state: GroupState, now: WallTime) {
        assert!(self.state.may_become(state), "group {} from {:?} to {state:?}", self.group_id, self.state);
        self.state = state;
        self.state_timestamp = Some(now);
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub(super) fn member_ids(&self) -> Vec<Arc<str>> {
        self.members.keys().cloned().collect()
    }

    pub(super) fn member(&self, member_id: &str) -> Option<&Member> {
        self.members.get(member_id)
    }

    pub(super) fn has_member(&self, member_id: &str) -> bool {
        self.members.contains_key(member_id)
    }

    pub(super) fn member_count(&self) -> usize {
        self.members.len()
    }

    /// Neither members nor anybody who was told to come back.
    pub(super) fn is_vacant(&self) -> bool {
        self.members.is_empty() && self.pending_joins.is_empty()
    }

    pub(super) fn is_leader(&self, member_id: &str) -> bool {
        self.leader.as_deref() == Some(member_id)
    }

    pub(super) fn leader(&self) -> Arc<str> {
        self.leader.clone().unwrap_or_default()
    }

    pub(super) fn static_member_id(&self, group_instance_id: &str) -> Option<Arc<str>> {
        self.static_members.get(group_instance_id).cloned()
    }

    /// Whether this is a member under that instance id: UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID if not.
    pub(super) fn validate_member(&self, member_id: &str, group_instance_id: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(group_instance_id) = group_instance_id {
            match self.static_members.get(group_instance_id) {
                None => return Err(ErrorCode::UnknownMemberId),
                Some(current) if current.as_ref() != member_id && !zoo::is(Bug::StaticTwinKept) => {
                    return Err(ErrorCode::FencedInstanceId);
                }
                Some(_) => {}
            }
        }
        if self.has_member(member_id) { Ok(()) } else { Err(ErrorCode::UnknownMemberId) }
    }

    /// Adds a member, who leads if nobody else does.
    pub(super) fn insert(&mut self, member: Member) {
        if self.members.is_empty() {
            self.protocol_type = Some(member.protocol_type.clone());
        }
        if let Some(group_instance_id) = &member.group_instance_id {
            self.static_members.insert(group_instance_id.clone(), member.member_id.clone());
        }
        if self.leader.is_none() {
            self.leader = Some(member.member_id.clone());
        }
        self.pending_joins.remove(&member.member_id);
        self.count_protocols(&member.protocols);
        self.parked_joins += usize::from(member.parked_join.is_some());
        self.members.insert(member.member_id.clone(), member);
    }

    /// Takes a member out and forgets what was expected of it. If it led, the first of the others does.
    pub(super) fn remove(&mut self, member_id: &str) -> Option<Member> {
        self.pending_joins.remove(member_id);
        self.pending_syncs.remove(member_id);
        let member = self.members.remove(member_id)?;
        self.discount_protocols(&member.protocols);
        self.parked_joins -= usize::from(member.parked_join.is_some());
        if let Some(group_instance_id) = &member.group_instance_id {
            self.static_members.remove(group_instance_id);
        }
        if self.is_leader(member_id) {
            self.leader = self.members.keys().next().cloned();
        }
        Some(member)
    }

    /// Lets `member` take the place of `old_member_id`, in the lead too. Returns the former member.
    pub(super) fn replace(&mut self, old_member_id: &str, member: Member) -> Option<Member> {
        let led = self.is_leader(old_member_id);
        let was_pending_sync = self.pending_syncs.contains(old_member_id);
        let member_id = member.member_id.clone();
        let former = self.remove(old_member_id)?;
        self.insert(member);
        if led {
            self.leader = Some(member_id.clone());
        }
        if was_pending_sync {
            self.pending_syncs.insert(member_id);
        }
        Some(former)
    }

    /// Takes over what a member says in a JoinGroup.
    pub(super) fn update_member(
        &mut self,
        member_id: &str,
        protocols: Vec<MemberProtocol>,
        session_timeout_ms: i32,
        rebalance_timeout_ms: i32,
    ) {
        let Some(member) = self.members.get_mut(member_id) else { return };
        member.session_timeout_ms = session_timeout_ms;
        member.rebalance_timeout_ms = rebalance_timeout_ms;
        let former = std::mem::replace(&mut member.protocols, protocols.clone());
        self.discount_protocols(&former);
        self.count_protocols(&protocols);
    }

    fn count_protocols(&mut self, protocols: &[MemberProtocol]) {
        for protocol in protocols {
            *self.protocol_counts.entry(protocol.name.clone()).or_default() += 1;
        }
    }

    fn discount_protocols(&mut self, protocols: &[MemberProtocol]) {
        for protocol in protocols {
            if let Some(count) = self.protocol_counts.get_mut(&protocol.name) {
                *count -= 1;
                if *count == 0 {
                    self.protocol_counts.remove(&protocol.name);
                }
            }
        }
    }

    /// Parks a JoinGroup of a member. Returns whom an earlier one would have answered.
    pub(super) fn park_join(&mut self, member_id: &str, ticket: Ticket) -> Option<Ticket> {
        let member = self.members.get_mut(member_id)?;
        let earlier = member.parked_join.replace(Parked::For(ticket));
        self.parked_joins += usize::from(earlier.is_none());
        earlier.and_then(Parked::ticket)
    }

    /// Takes a parked JoinGroup out, to answer it.
    pub(super) fn take_join(&mut self, member_id: &str) -> Option<Parked> {
        let parked = self.members.get_mut(member_id)?.parked_join.take()?;
        self.parked_joins -= 1;
        Some(parked)
    }

    /// Parks a SyncGroup of a member. Returns whom an earlier one would have answered.
    pub(super) fn park_sync(&mut self, member_id: &str, ticket: Ticket) -> Option<Ticket> {
        self.members.get_mut(member_id)?.parked_sync.replace(Parked::For(ticket)).and_then(Parked::ticket)
    }

    /// Takes a parked SyncGroup out, to answer it.
    pub(super) fn take_sync(&mut self, member_id: &str) -> Option<Parked> {
        self.members.get_mut(member_id)?.parked_sync.take()
    }

    pub(super) fn member_mut(&mut self, member_id: &str) -> Option<MemberMut<'_>> {
        self.members.get_mut(member_id).map(|member| MemberMut { member })
    }

    pub(super) fn parked_join_count(&self) -> usize {
        self.parked_joins
    }

    /// All members have asked to join, and nobody else is about to.
    pub(super) fn has_all_members_joined(&self) -> bool {
        self.parked_joins == self.members.len() && self.pending_joins.is_empty()
    }

    /// The members that have not asked to join and are not static, so that nothing is known of them but silence.
    pub(super) fn dynamic_members_not_joined(&self) -> Vec<Arc<str>> {
        self.members
            .values()
            .filter(|member| member.parked_join.is_none() && member.group_instance_id.is_none())
            .map(|member| member.member_id.clone())
            .collect()
    }

    /// Sees to it that the leader is somebody who has joined. False if nobody has.
    pub(super) fn elect_joined_leader(&mut self) -> bool {
        let has_joined = |member: &Member| member.parked_join.is_some();
        if self.leader.as_ref().and_then(|leader| self.members.get(leader)).is_some_and(has_joined) {
            return true;
        }
        match self.members.values().find(|member| has_joined(member)) {
            Some(member) => {
                self.leader = Some(member.member_id.clone());
                true
            }
            None => false,
        }
    }

    /// How long a rebalance waits: for the most patient member.
    pub(super) fn rebalance_timeout_ms(&self) -> i32 {
        self.members.values().map(|member| member.rebalance_timeout_ms).max().unwrap_or(0).max(0)
    }

    /// Whether a member of this type with these protocols can be in the group.
    pub(super) fn supports_protocols(&self, protocol_type: &str, protocols: &[JoinProtocol<'_>]) -> bool {
        if self.is_in(GroupState::Empty) {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols
                .iter()
                .any(|protocol| self.protocol_counts.get(protocol.name).copied().unwrap_or(0) == self.members.len())
    }

    /// The protocol that most members like best among those that all support. Of equals the leader's favourite wins, so that the
    /// outcome does not hang on chance.
    pub(super) fn select_protocol(&self) -> Option<Arc<str>> {
        let is_candidate = |name: &Arc<str>| self.protocol_counts.get(name).copied().unwrap_or(0) == self.members.len();
        let mut votes: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for member in self.members.values() {
            let favourite = member.protocols.iter().map(|protocol| &protocol.name).find(|name| is_candidate(name));
            if let Some(favourite) = favourite {
                *votes.entry(favourite).or_default() += 1;
            }
        }
        let most = votes.values().copied().max()?;
        let leader = self.leader.as_ref().and_then(|leader| self.members.get(leader))?;
        leader.protocols.iter().map(|protocol| &protocol.name).find(|name| votes.get(name) == Some(&most)).cloned()
    }

    /// Ends the join phase: the next generation begins, with its protocol, or the group is empty.
    pub(super) fn start_next_generation(&mut self, now: WallTime) {
        self.generation = self.generation.checked_add(1).unwrap_or(1);
        self.initial_rebalance = None;
        self.pending_syncs.clear();
        self.protocol = self.select_protocol();
        self.subscribed_topics = self.compute_subscribed_topics();
        let next = if self.members.is_empty() { GroupState::Empty } else { GroupState::CompletingRebalance };
        self.transition_to(next, now);
    }

    /// Whether the members are Kafka consumers.
    pub(super) fn uses_consumer_protocol(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER_PROTOCOL_TYPE)
    }

    /// Whether the topics that the members subscribe to are known.
    pub(super) fn knows_subscription(&self) -> bool {
        self.subscribed_topics.is_some()
    }

    /// Whether a member subscribes to `topic`; if that cannot be known of consumers, they are taken to.
    pub(super) fn is_subscribed_to(&self, topic: &str) -> bool {
        match &self.subscribed_topics {
            Some(topics) => topics.contains(topic),
            None => self.uses_consumer_protocol(),
        }
    }

    fn compute_subscribed_topics(&self) -> Option<BTreeSet<Arc<str>>> {
        if !self.uses_consumer_protocol() {
            return None;
        }
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        let protocol = self.protocol.as_deref()?;
        let mut topics = BTreeSet::new();
        for member in self.members.values() {
            topics.extend(subscribed_topics(&member.metadata(Some(protocol)))?);
        }
        Some(topics)
    }
}

/// The parts of a member that nothing in the group is counted by.
pub(super) struct MemberMut<'a> {
    member: &'a mut Member,
}

impl MemberMut<'_> {
    pub(super) fn set_assignment(&mut self, assignment: Bytes) {
        self.member.assignment = assignment;
    }

    pub(super) fn set_known(&mut self) {
        self.member.is_new = false;
    }

    pub(super) fn abandon(&mut self, connection: ConnectionId) -> bool {
        self.member.abandon(connection)
    }
}
