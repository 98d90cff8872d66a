//! How to test against a whole broker in one thread, by a virtual clock: `klamm_sim::Broker` is the broker that runs in production, on a simulated
//! network and disk. Copy what you need; none of these tests sleeps, opens a socket or writes a file.

#![expect(clippy::unwrap_used, reason = "a test that cannot ask has failed")]

mod questions; // what a test asks: create, produce, fetch

use std::time::Duration;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::fetch::FetchResponse;
use klamm::protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use klamm::protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use klamm::protocol::{ApiKey, RecordsField};
use klamm_sim::keyed::Site;
use klamm_sim::{Broker, CallError, Crash};

use questions::{FETCH, create, earliest, fetch, fetch_request, find_coordinator, produce};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// A fault that fires whenever it can.
const ALWAYS: u32 = 1_000_000;

#[test]
fn a_record_that_is_acknowledged_survives_a_power_cut() {
    let mut broker = Broker::start(1, &[]).unwrap();
    let mut connection = broker.connect();
    create(&mut broker, &mut connection, "orders", &[]);
    assert_eq!(produce(&mut broker, &mut connection, "orders", b"paid"), Ok(0));

    broker.crash(Crash::Power);
    broker.restart().unwrap();

    assert_eq!(produce(&mut broker, &mut connection, "orders", b"sent"), Err(CallError::Over), "the old connection");
    let mut connection = broker.connect();
    assert_eq!(fetch(&mut broker, &mut connection, "orders", 0), [b"paid".to_vec()]);
}

#[test]
fn a_sync_that_fails_is_never_acknowledged_and_takes_nothing_along() {
    let mut broker = Broker::start(2, &[]).unwrap();
    let mut connection = broker.connect();
    create(&mut broker, &mut connection, "orders", &[]);
    assert_eq!(produce(&mut broker, &mut connection, "orders", b"paid"), Ok(0));

    broker.world().set_fault_rate(Site::SyncLosesPages, ALWAYS);
    assert!(produce(&mut broker, &mut connection, "orders", b"sent").is_err());
    assert!(!broker.is_up(), "nobody knows what is on the disk: the broker ends itself");

    broker.world().set_fault_rate(Site::SyncLosesPages, 0);
    broker.restart().unwrap();
    let mut connection = broker.connect();
    assert_eq!(fetch(&mut broker, &mut connection, "orders", 0), [b"paid".to_vec()]);
}

#[test]
fn records_go_when_their_time_is_over_however_long_that_is() {
    let mut broker = Broker::start(3, &[]).unwrap();
    let mut connection = broker.connect();
    create(&mut broker, &mut connection, "orders", &[("retention.ms", "172800000")]);
    produce(&mut broker, &mut connection, "orders", b"paid").unwrap();

    broker.pass(DAY);
    // The old connection was idle for too long.
    let mut connection = broker.connect();
    assert_eq!(earliest(&mut broker, &mut connection, "orders"), 0);
    broker.pass(2 * DAY);
    let mut connection = broker.connect();
    assert_eq!(earliest(&mut broker, &mut connection, "orders"), 1);
}

#[test]
fn a_member_that_falls_silent_is_expelled() {
    let mut broker = Broker::start(4, &["group.initial.rebalance.delay.ms=0"]).unwrap();
    let mut connection = broker.connect();
    find_coordinator(&mut broker, &mut connection, "billing");
    let request = JoinGroupRequest {
        group_id: "billing",
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        protocol_type: "consumer",
        protocols: vec![JoinGroupRequestProtocol { name: "range", metadata: b"" }],
        ..Default::default()
    };
    // The oldest version takes a member at once, without naming it first.
    let answer = broker.call(&mut connection, (ApiKey::JoinGroup, 3), &request).unwrap();
    let joined: JoinGroupResponse<'_> = answer.read().unwrap();
    let beat = HeartbeatRequest {
        group_id: "billing",
        generation_id: joined.generation_id,
        member_id: joined.member_id,
        ..Default::default()
    };
    let mut heartbeat = |broker: &mut Broker| {
        let answer = broker.call(&mut connection, (ApiKey::Heartbeat, 4), &beat).unwrap();
        ErrorCode::from_code(answer.read::<HeartbeatResponse>().unwrap().error_code)
    };

    broker.pass(Duration::from_secs(9));
    assert_eq!(heartbeat(&mut broker), ErrorCode::None);
    broker.pass(Duration::from_secs(11));
    assert_eq!(heartbeat(&mut broker), ErrorCode::UnknownMemberId);
}

#[test]
fn an_orderly_stop_answers_what_is_in_work() {
    let mut broker = Broker::start(5, &[]).unwrap();
    let mut connection = broker.connect();
    create(&mut broker, &mut connection, "orders", &[]);
    let asked = broker.send(&mut connection, FETCH, &fetch_request("orders", 0, 60_000)).unwrap();
    broker.pass(Duration::from_secs(1));
    let before = broker.now().instant;
    broker.stop().unwrap();
    assert!(!broker.is_up() && broker.now().instant < before.after(Duration::from_secs(1)));
    let answer = broker.receive(&mut connection, asked).unwrap();
    let response: FetchResponse<'_> = answer.read().unwrap();
    assert_eq!(response.responses[0].partitions[0].records, RecordsField::Bytes(b""));
}

#[test]
fn the_same_seed_and_the_same_calls_are_the_same_run() {
    let hash = |seed| {
        let mut broker = Broker::start(seed, &[]).unwrap();
        let mut connection = broker.connect();
        create(&mut broker, &mut connection, "orders", &[]);
        produce(&mut broker, &mut connection, "orders", b"paid").unwrap();
        broker.world().trace_hash()
    };
    assert_eq!(hash(6), hash(6));
    assert_ne!(hash(6), hash(7));
}

#[test]
fn a_setting_that_makes_no_sense_is_named() {
    let refusal = Broker::start(1, &["log.retention.hours=soon"]).err().map(|error| error.to_string());
    assert!(refusal.as_ref().is_some_and(|refusal| refusal.contains("log.retention.hours")), "{refusal:?}");
}
