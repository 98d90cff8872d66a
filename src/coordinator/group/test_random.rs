//! Random clients, faults and restarts against what must always hold of a group.
//!
//! It must not know how the coordinator is made inside: it sees answers, the log, and the state's name.
//!
//! G1: in one generation a partition has one owner, and what an earlier generation says is refused. G2: a committed offset is the last one
//! that was acknowledged, or one that was never answered. G3: states follow the allowed edges, and every JoinGroup and SyncGroup is
//! answered exactly once, unless its connection closed or the broker restarted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use crate::coordinator::group::test_world::{GROUP, World, commit_of, join_of};
use crate::coordinator::group::{GroupAnswer, GroupSettings, GroupState, HeartbeatRequest, JoinRequest, SyncRequest};
use crate::error_code::ErrorCode;
use crate::types::Ticket;

/// What is answered if a record may yet become durable.
const LATE: ErrorCode = ErrorCode::CoordinatorNotAvailable;

/// What a step of the driver does.
#[derive(Clone, Debug)]
enum Action {
    Join(usize),
    /// Once more, on another connection, while the first waits.
    JoinAgain(usize),
    Sync(usize),
    Heartbeat(usize),
    Commit(usize),
    /// With the generation before the present one.
    CommitLate(usize),
    Leave(usize),
    DeleteGroup,
    /// The client forgets all and starts again.
    Restart(usize),
    Disconnect(usize),
    Pass(u16),
    Hold(bool),
    Fail,
    /// What is held back takes too long, and may be durable later.
    BeLate,
    RestartBroker,
}

fn action() -> impl Strategy<Value = Action> {
    let client = 0usize..6;
    prop_oneof![
        8 => client.clone().prop_map(Action::Join),
        1 => client.clone().prop_map(Action::JoinAgain),
        8 => client.clone().prop_map(Action::Sync),
        4 => client.clone().prop_map(Action::Heartbeat),
        3 => client.clone().prop_map(Action::Commit),
        1 => client.clone().prop_map(Action::CommitLate),
        1 => client.clone().prop_map(Action::Leave),
        1 => Just(Action::DeleteGroup),
        1 => client.clone().prop_map(Action::Restart),
        1 => client.prop_map(Action::Disconnect),
        6 => (1u16..4_000).prop_map(Action::Pass),
        2 => any::<bool>().prop_map(Action::Hold),
        1 => Just(Action::Fail),
        1 => Just(Action::BeLate),
        1 => Just(Action::RestartBroker),
    ]
}

#[derive(Clone, Debug, Default)]
struct Client {
    member_id: Arc<str>,
    generation: i32,
    /// The last generation that it joined since the broker started.
    generation_floor: i32,
    /// Who else is there, if it leads.
    followers: Option<Vec<Arc<str>>>,
    parked: Option<Ticket>,
}

struct Driver {
    world: World,
    clients: Vec<Client>,
    /// Member → assignment, by generation. An assignment is a partition's number.
    owners: BTreeMap<i32, BTreeMap<u8, Arc<str>>>,
    acknowledged: i64,
    /// Commits and deletions whose outcome nobody was told.
    unanswered: BTreeMap<Ticket, i64>,
    /// Offsets that may have become durable without an answer.
    possible: BTreeSet<i64>,
    /// Counts commits and deletions; a commit's number is its offset.
    commits: i64,
    state: GroupState,
    dropped: BTreeSet<Ticket>,
    /// Joins whose client has sent another.
    superseded: BTreeSet<Ticket>,
}

impl Driver {
    fn new() -> Driver {
        let settings = GroupSettings { initial_rebalance_delay_ms: 500, members_max: 5, ..GroupSettings::default() };
        Driver {
            world: World::with(settings),
            clients: vec![Client::default(); 6],
            owners: BTreeMap::new(),
            acknowledged: -1,
            unanswered: BTreeMap::new(),
            possible: BTreeSet::new(),
            commits: 0,
            state: GroupState::Dead,
            dropped: BTreeSet::new(),
            superseded: BTreeSet::new(),
        }
    }

    /// The last two clients are static members.
    fn instance(index: usize) -> Option<&'static str> {
        [None, None, None, None, Some("i4"), Some("i5")][index]
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Join(index) => self.join(*index),
            Action::JoinAgain(index) => {
                let client = &mut self.clients[*index];
                if !client.member_id.is_empty() {
                    self.superseded.extend(client.parked.take());
                    self.join(*index);
                }
            }
            Action::DeleteGroup => {
                self.commits += 1;
                let ticket = self.world.ticket();
                self.unanswered.insert(ticket, self.commits);
                let result = self.world.coordinator.handle_delete_groups(ticket, &[GROUP]);
                self.world.settle(result);
            }
            Action::Sync(index) => self.sync(*index),
            Action::Heartbeat(index) => self.heartbeat(*index),
            Action::Commit(index) => self.commit(*index, 0),
            Action::CommitLate(index) => self.commit(*index, 1),
            Action::Leave(index) => {
                let client = self.clients[*index].clone();
                if client.parked.is_none() && !client.member_id.is_empty() {
                    self.world.leave_without_waiting(&client.member_id, Self::instance(*index));
                    self.clients[*index] = Client::default();
                }
            }
            Action::Restart(index) => {
                self.disconnect(*index);
                self.clients[*index] = Client::default();
            }
            Action::Disconnect(index) => self.disconnect(*index),
            Action::Pass(milliseconds) => self.world.pass_ms(i64::from(*milliseconds)),
            Action::Hold(holds) => {
                self.world.holds_appends = *holds;
                if !*holds {
                    self.world.release();
                }
            }
            Action::Fail => self.world.fail(ErrorCode::KafkaStorageError),
            Action::BeLate => self.world.be_late(),
            Action::RestartBroker => self.restart_broker(),
        }
        self.collect();
    }

    fn disconnect(&mut self, index: usize) {
        if let Some(ticket) = self.clients[index].parked.take() {
            self.world.coordinator.connection_closed(self.world.now, ticket.connection);
            self.dropped.insert(ticket);
        }
    }

    fn restart_broker(&mut self) {
        self.collect();
        for client in &mut self.clients {
            self.dropped.extend(client.parked.take());
            client.generation_floor = 0;
        }
        self.dropped.extend(std::mem::take(&mut self.superseded));
        let lost = std::mem::take(&mut self.unanswered);
        self.dropped.extend(lost.keys());
        self.world.restart();
        self.state = self.world.coordinator.state(GROUP);
        // The last rebalance may not have reached the log, and its number is given out again.
        let generation = self.world.coordinator.durable().groups().get(GROUP).map_or(0, |group| group.generation);
        self.owners.split_off(&(generation + 1));
    }

    fn join(&mut self, index: usize) {
        let client = self.clients[index].clone();
        if client.parked.is_some() {
            return;
        }
        let request = JoinRequest { group_instance_id: Self::instance(index), ..join_of(&client.member_id) };
        self.clients[index].parked = Some(self.world.join(&request));
    }

    fn sync(&mut self, index: usize) {
        let client = self.clients[index].clone();
        if client.parked.is_some() || client.member_id.is_empty() {
            return;
        }
        let members = client.followers.clone().unwrap_or_default();
        let parts: Vec<[u8; 1]> = (0..members.len()).map(|part| [part as u8]).collect();
        let assignments = members.iter().zip(&parts).map(|(id, part)| (id.as_ref(), &part[..])).collect();
        let ticket = self.world.ticket();
        let request = SyncRequest {
            group_id: GROUP,
            generation: client.generation,
            member_id: &client.member_id,
            group_instance_id: Self::instance(index),
            protocol_type: None,
            protocol_name: None,
            assignments,
        };
        let result = self.world.coordinator.handle_sync(self.world.now, ticket, &request);
        self.clients[index].parked = Some(ticket);
        self.world.settle(result);
    }

    /// Whether the coordinator takes the client for a member of its present generation.
    fn is_current(&mut self, index: usize, generations_late: i32) -> bool {
        let client = self.clients[index].clone();
        let ticket = self.world.ticket();
        let request = HeartbeatRequest {
            group_id: GROUP,
            generation: client.generation - generations_late,
            member_id: &client.member_id,
            group_instance_id: Self::instance(index),
        };
        let result = self.world.coordinator.handle_heartbeat(self.world.now, ticket, &request);
        let [(_, GroupAnswer::Heartbeat(error))] = result.answers[..] else { panic!("{result:?}") };
        matches!(error, ErrorCode::None | ErrorCode::RebalanceInProgress)
    }

    fn heartbeat(&mut self, index: usize) {
        assert!(!(self.is_current(index, 0) && self.is_current(index, 1)), "two generations at a time");
    }

    fn commit(&mut self, index: usize, generations_late: i32) {
        let client = self.clients[index].clone();
        if client.member_id.is_empty() {
            return;
        }
        let is_late = generations_late > 0 && self.is_current(index, 0);
        self.commits += 1;
        let ticket = self.world.ticket();
        let mut request = commit_of(GROUP, &client.member_id, client.generation - generations_late, self.commits);
        request.group_instance_id = Self::instance(index);
        let result = self.world.coordinator.handle_commit(self.world.now, ticket, &request);
        assert!(!is_late || result.append.is_none(), "an old generation commits nothing");
        self.unanswered.insert(ticket, self.commits);
        self.possible.insert(self.commits);
        self.world.settle(result);
    }

    /// Takes the answers in.
    fn collect(&mut self) {
        for (ticket, answer) in std::mem::take(&mut self.world.answers) {
            assert!(!self.dropped.contains(&ticket), "a request whose connection closed was answered");
            match answer {
                GroupAnswer::Commit(answer) => {
                    let offset = self.unanswered.remove(&ticket).unwrap();
                    match answer.topics[0].partitions[0].error {
                        ErrorCode::None => {
                            self.acknowledged = offset;
                            self.possible = self.possible.split_off(&(offset + 1));
                        }
                        LATE => {}
                        _ => drop(self.possible.remove(&offset)),
                    }
                }
                GroupAnswer::DeleteGroups(answer) => {
                    let deleted_at = self.unanswered.remove(&ticket).unwrap();
                    match answer.groups[0].1 {
                        ErrorCode::None => {
                            self.acknowledged = -1;
                            self.possible = self.possible.split_off(&(deleted_at + 1));
                            self.forget_generations();
                        }
                        LATE => drop(self.possible.insert(-1)),
                        _ => {}
                    }
                }
                answer if self.superseded.remove(&ticket) => {
                    assert!(matches!(answer, GroupAnswer::Join(_) | GroupAnswer::Sync(_)))
                }
                answer => self.collect_parked(ticket, answer),
            }
        }
    }

    fn collect_parked(&mut self, ticket: Ticket, answer: GroupAnswer) {
        let Some(client) = self.clients.iter_mut().find(|client| client.parked == Some(ticket)) else {
            assert!(matches!(answer, GroupAnswer::Leave(_)), "nobody had asked for {answer:?}");
            return;
        };
        client.parked = None;
        match answer {
            GroupAnswer::Join(joined) => match joined.error {
                ErrorCode::None => {
                    assert!(joined.generation >= client.generation_floor, "a generation never goes back");
                    client.generation = joined.generation;
                    client.generation_floor = joined.generation;
                    client.member_id = joined.member_id.clone();
                    let leads = joined.leader == joined.member_id && !joined.skip_assignment;
                    client.followers =
                        leads.then(|| joined.members.iter().map(|member| member.member_id.clone()).collect());
                }
                ErrorCode::MemberIdRequired => client.member_id = joined.member_id,
                ErrorCode::RebalanceInProgress => {}
                _ => *client = Client::default(),
            },
            GroupAnswer::Sync(synced) => match synced.error {
                ErrorCode::None => {
                    let (generation, member_id) = (client.generation, client.member_id.clone());
                    if let [part] = synced.assignment[..] {
                        self.owns(generation, part, member_id);
                    }
                }
                ErrorCode::RebalanceInProgress | ErrorCode::NotCoordinator | LATE => {}
                _ => *client = Client::default(),
            },
            other => panic!("{other:?} is no answer to JoinGroup or SyncGroup"),
        }
    }

    /// The group has begun anew, and so do its generations.
    fn forget_generations(&mut self) {
        self.owners.clear();
        for client in &mut self.clients {
            client.generation_floor = 0;
        }
    }

    /// A static member that restarts takes its former self's part over, so it counts as the same.
    fn owns(&mut self, generation: i32, part: u8, member_id: Arc<str>) {
        let name = |id: &str| if id.starts_with('i') { Arc::from(&id[..2]) } else { Arc::from(id) };
        let owner = self.owners.entry(generation).or_default().entry(part).or_insert_with(|| name(&member_id));
        assert_eq!(*owner, name(&member_id), "part {part} of generation {generation} has two owners");
    }

    fn check(&mut self) {
        self.world.check();
        let committed = self.world.fetch(GROUP);
        assert!(
            committed == self.acknowledged || self.possible.contains(&committed),
            "{committed} is committed, {} was acknowledged",
            self.acknowledged
        );
        let state = self.world.coordinator.state(GROUP);
        assert!(is_reachable(self.state, state), "from {:?} to {state:?}", self.state);
        self.state = state;
        if state == GroupState::Dead {
            self.forget_generations();
        }
        for client in &self.clients {
            if let Some(ticket) = client.parked {
                assert!(!self.world.answers.contains_key(&ticket));
            }
        }
    }

    /// Nothing stays parked for ever.
    fn calm_down(&mut self) {
        self.world.holds_appends = false;
        self.world.release();
        self.world.pass_ms(400_000);
        self.collect();
        self.check();
        assert!(self.clients.iter().all(|client| client.parked.is_none()), "a request was never answered");
        assert!(self.superseded.is_empty(), "a request that another took the place of was never answered");
        assert!(self.unanswered.is_empty(), "a commit was never answered");
        assert!(self.world.coordinator.parked.is_empty(), "an answered request is remembered");
    }
}

/// Whether one action may lead from `from` to `to`, over whatever lies between.
fn is_reachable(from: GroupState, to: GroupState) -> bool {
    use GroupState::{CompletingRebalance, Dead, Empty, PreparingRebalance, Stable};
    let states = [Empty, PreparingRebalance, CompletingRebalance, Stable, Dead];
    let from = if from == Dead { Empty } else { from };
    let mut reached = BTreeSet::from([from]);
    for _ in states {
        let more: Vec<_> =
            states.into_iter().filter(|next| reached.iter().any(|known| known.may_become(*next))).collect();
        reached.extend(more);
    }
    reached.contains(&to)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_clients_and_disks_do_a_group_keeps_its_promises(
        actions in proptest::collection::vec(action(), 1..150),
    ) {
        let mut driver = Driver::new();
        for action in &actions {
            driver.act(action);
            driver.check();
        }
        driver.calm_down();
    }
}
