//! A small world for tests: a coordinator, the log it writes, a clock, and clients with one connection each.
//!
//! It must not decide anything that the coordinator decides. After every step it rebuilds the durable state from the log and compares.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::coordinator::group::{
    Append, CommitPartition, CommitRequest, CommitTopic, CoordinatorResult, DurableState, FetchRequest, FetchTopic,
    GroupAnswer, GroupCoordinator, GroupRecord, GroupSettings, HeartbeatRequest, JoinAnswer, JoinProtocol, JoinRequest,
    LeaveRequest, LeavingMember, SyncAnswer, SyncRequest,
};
use crate::error_code::ErrorCode;
use crate::types::{
    ConnectionId, Instant, Now, Offset, PartitionIndex, ProcessorId, ProducerId, Ticket, TopicId, WallTime,
};

/// The group of most tests.
pub(super) const GROUP: &str = "readers";

/// A consumer's metadata: version 0, one topic `t`, no user data.
pub(super) const READS_T: &[u8] = b"\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff";

/// A JoinGroup of version 4 or later by a consumer that knows `range`.
pub(super) fn join_of(member_id: &str) -> JoinRequest<'_> {
    JoinRequest {
        group_id: GROUP,
        member_id,
        group_instance_id: None,
        client_id: "client",
        client_host: "/127.0.0.1",
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        protocol_type: "consumer",
        protocols: vec![JoinProtocol { name: "range", metadata: READS_T }],
        requires_known_member_id: true,
        supports_skipping_assignment: true,
    }
}

/// A JoinGroup of a static member without a member id.
pub(super) fn static_join_of(group_instance_id: &str) -> JoinRequest<'_> {
    JoinRequest { group_instance_id: Some(group_instance_id), ..join_of("") }
}

pub(super) struct World {
    pub(super) coordinator: GroupCoordinator,
    /// Producer, key and value, as the log keeps them.
    log: Vec<(ProducerId, Vec<u8>, Option<Vec<u8>>)>,
    pub(super) now: Now,
    pub(super) answers: BTreeMap<Ticket, GroupAnswer>,
    /// Appends that are held back while `holds_appends`.
    pub(super) held: Vec<Append>,
    pub(super) holds_appends: bool,
    /// Whose transaction the next appends belong to.
    pub(super) producer_id: ProducerId,
    tickets: i32,
    random: u128,
}

impl World {
    pub(super) fn new() -> World {
        World::with(GroupSettings::default())
    }

    pub(super) fn with(settings: GroupSettings) -> World {
        let now = Now { instant: Instant(1_000_000), wall: WallTime(1_700_000_000_000) };
        let mut coordinator = GroupCoordinator::new(settings);
        coordinator.loaded(now);
        assert!(coordinator.opened(now).append.is_none());
        World {
            coordinator,
            log: Vec::new(),
            now,
            answers: BTreeMap::new(),
            held: Vec::new(),
            holds_appends: false,
            producer_id: ProducerId::NONE,
            tickets: 0,
            random: 0,
        }
    }

    /// A request's ticket; each has a connection of its own unless the caller says otherwise.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        let connection = ConnectionId { processor: ProcessorId(0), number: self.tickets as u64 };
        Ticket { connection, ordinal: 0, correlation_id: self.tickets, api_key: 11, api_version: 9 }
    }

    /// Collects answers and completes appends, as a broker does whose log never fails.
    pub(super) fn settle(&mut self, result: CoordinatorResult) {
        for (ticket, answer) in result.answers {
            assert!(self.answers.insert(ticket, answer).is_none(), "a request was answered twice");
        }
        if let Some(append) = result.append {
            self.held.push(append);
        }
        if !self.holds_appends {
            self.release();
        }
    }

    /// Completes what was held back, in order.
    pub(super) fn release(&mut self) {
        if self.held.is_empty() {
            return;
        }
        while !self.held.is_empty() {
            let append = self.held.remove(0);
            let base_offset = Offset(self.log.len() as i64);
            let bytes_of = |record: &GroupRecord| (self.producer_id, record.encode_key(), record.encode_value());
            self.log.extend(append.records.iter().map(bytes_of));
            let result = self.coordinator.appended(self.now, append, base_offset, self.producer_id);
            self.settle(result);
        }
        self.check();
    }

    /// What the coordinator holds for durable is what its log says.
    pub(super) fn check(&self) {
        assert_eq!(self.coordinator.durable(), self.rebuilt().durable());
    }

    /// Lets what was held back fail.
    pub(super) fn fail(&mut self, error: ErrorCode) {
        let before: DurableState = self.coordinator.durable().clone();
        for append in std::mem::take(&mut self.held) {
            let result = self.coordinator.append_failed(self.now, append, error);
            self.settle(result);
        }
        assert_eq!(*self.coordinator.durable(), before);
    }

    /// What is held back is not durable in time.
    pub(super) fn be_late(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        for append in &mut held {
            let result = self.coordinator.append_late(self.now, append);
            self.settle(result);
        }
        self.held.splice(0..0, held);
    }

    /// Another coordinator, made from the log alone.
    pub(super) fn rebuilt(&self) -> GroupCoordinator {
        let mut rebuilt = GroupCoordinator::new(self.coordinator.settings.clone());
        for (offset, (producer_id, key, value)) in self.log.iter().enumerate() {
            let record = GroupRecord::decode(key, value.as_deref()).unwrap();
            rebuilt.replay(Offset(offset as i64), *producer_id, &record);
        }
        rebuilt
    }

    /// The broker restarts: only the log survives.
    pub(super) fn restart(&mut self) {
        self.held.clear();
        self.coordinator = self.rebuilt();
        self.coordinator.loaded(self.now);
        let result = self.coordinator.opened(self.now);
        self.settle(result);
    }

    /// Time passes, one deadline after the other.
    pub(super) fn pass_ms(&mut self, milliseconds: i64) {
        let end = self.now.instant.after_ms(milliseconds);
        while let Some(deadline) = self.coordinator.next_deadline().filter(|deadline| *deadline <= end) {
            self.advance_to(deadline.max(self.now.instant));
            let result = self.coordinator.expire(self.now);
            self.settle(result);
        }
        self.advance_to(end);
    }

    fn advance_to(&mut self, instant: Instant) {
        let passed_ms = instant.since(self.now.instant).as_millis() as i64;
        self.now = Now { instant, wall: WallTime(self.now.wall.0 + passed_ms) };
    }

    pub(super) fn join(&mut self, request: &JoinRequest<'_>) -> Ticket {
        let ticket = self.ticket();
        let random = &mut self.random;
        let mut next = || {
            *random += 1;
            *random
        };
        let result = self.coordinator.handle_join(self.now, ticket, request, &mut next);
        self.settle(result);
        ticket
    }

    pub(super) fn sync(&mut self, member_id: &str, generation: i32, assignments: Vec<(&str, &[u8])>) -> Ticket {
        let ticket = self.ticket();
        let request = SyncRequest {
            group_id: GROUP,
            generation,
            member_id,
            group_instance_id: None,
            protocol_type: Some("consumer"),
            protocol_name: None,
            assignments,
        };
        let result = self.coordinator.handle_sync(self.now, ticket, &request);
        self.settle(result);
        ticket
    }

    pub(super) fn heartbeat(&mut self, member_id: &str, generation: i32) -> ErrorCode {
        let ticket = self.ticket();
        let request = HeartbeatRequest { group_id: GROUP, generation, member_id, group_instance_id: None };
        let result = self.coordinator.handle_heartbeat(self.now, ticket, &request);
        self.settle(result);
        match self.answers.remove(&ticket) {
            Some(GroupAnswer::Heartbeat(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn leave(&mut self, members: &[(&str, Option<&str>)]) -> Vec<ErrorCode> {
        let ticket = self.ticket();
        let members = members
            .iter()
            .map(|(member_id, group_instance_id)| LeavingMember { member_id, group_instance_id: *group_instance_id })
            .collect();
        let result = self.coordinator.handle_leave(self.now, ticket, &LeaveRequest { group_id: GROUP, members });
        self.settle(result);
        match self.answers.remove(&ticket) {
            Some(GroupAnswer::Leave(answer)) => answer.members.iter().map(|left| left.error).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// A member leaves and does not wait for the answer.
    pub(super) fn leave_without_waiting(&mut self, member_id: &str, group_instance_id: Option<&str>) {
        let ticket = self.ticket();
        let members = vec![LeavingMember { member_id, group_instance_id }];
        let result = self.coordinator.handle_leave(self.now, ticket, &LeaveRequest { group_id: GROUP, members });
        self.settle(result);
    }

    /// Commits an offset for `t-0`.
    pub(super) fn commit(&mut self, group_id: &str, member_id: &str, generation: i32, offset: i64) -> ErrorCode {
        let ticket = self.ticket();
        let request = commit_of(group_id, member_id, generation, offset);
        let result = self.coordinator.handle_commit(self.now, ticket, &request);
        self.settle(result);
        self.committed(ticket)
    }

    /// The error of the only partition of a commit.
    pub(super) fn committed(&mut self, ticket: Ticket) -> ErrorCode {
        match self.answers.remove(&ticket) {
            Some(GroupAnswer::Commit(answer)) => answer.topics[0].partitions[0].error,
            other => panic!("{other:?}"),
        }
    }

    /// The offset committed for `t-0`, -1 if none.
    pub(super) fn fetch(&self, group_id: &str) -> i64 {
        let topics = vec![FetchTopic { name: "t", topic_id: TopicId::ZERO, partitions: vec![PartitionIndex(0)] }];
        let request = FetchRequest { group_id, topics: Some(topics), require_stable: false };
        self.coordinator.fetch_offsets(&request).topics[0].partitions[0].offset.0
    }

    pub(super) fn joined(&mut self, ticket: Ticket) -> JoinAnswer {
        match self.answers.remove(&ticket) {
            Some(GroupAnswer::Join(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn synced(&mut self, ticket: Ticket) -> SyncAnswer {
        match self.answers.remove(&ticket) {
            Some(GroupAnswer::Sync(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn waits(&self, ticket: Ticket) -> bool {
        !self.answers.contains_key(&ticket)
    }

    /// Asks for a member id, as clients from JoinGroup version 4 on do.
    pub(super) fn member_id(&mut self) -> Arc<str> {
        let ticket = self.join(&join_of(""));
        let answer = self.joined(ticket);
        assert_eq!(answer.error, ErrorCode::MemberIdRequired);
        answer.member_id
    }

    /// A stable group of `count` dynamic members; the first leads. Each owns its index as assignment.
    pub(super) fn stable_group(&mut self, count: usize) -> (Vec<Arc<str>>, i32) {
        let ids: Vec<Arc<str>> = (0..count).map(|_| self.member_id()).collect();
        let tickets: Vec<Ticket> = ids.iter().map(|id| self.join(&join_of(id))).collect();
        self.pass_ms(6_000);
        let joined: Vec<JoinAnswer> = tickets.into_iter().map(|ticket| self.joined(ticket)).collect();
        let generation = joined[0].generation;
        assert!(joined.iter().all(|answer| answer.error == ErrorCode::None && answer.generation == generation));
        self.assign(&ids, generation);
        (ids, generation)
    }

    /// Every member syncs, the first as leader.
    pub(super) fn assign(&mut self, ids: &[Arc<str>], generation: i32) {
        let parts: Vec<[u8; 1]> = (0..ids.len()).map(|index| [index as u8]).collect();
        let assignments: Vec<(&str, &[u8])> =
            ids.iter().zip(&parts).map(|(id, part)| (id.as_ref(), &part[..])).collect();
        for (index, id) in ids.iter().enumerate() {
            let sent = if index == 0 { assignments.clone() } else { Vec::new() };
            let ticket = self.sync(id, generation, sent);
            let answer = self.synced(ticket);
            assert_eq!((answer.error, &answer.assignment[..]), (ErrorCode::None, &[index as u8][..]));
        }
    }
}

/// A commit for `t-0`.
pub(super) fn commit_of<'a>(group_id: &'a str, member_id: &'a str, generation: i32, offset: i64) -> CommitRequest<'a> {
    CommitRequest {
        group_id,
        generation,
        member_id,
        group_instance_id: None,
        retention_ms: None,
        understands_group_id_not_found: true,
        topics: vec![CommitTopic {
            name: "t",
            topic_id: TopicId::ZERO,
            partitions: vec![CommitPartition {
                partition: PartitionIndex(0),
                offset: Offset(offset),
                leader_epoch: None,
                metadata: None,
            }],
        }],
    }
}
