//! What a connection that ends leaves behind: the memory of its request, the frames that came whole before, a word to the operator.

use std::time::Duration;

use super::test_reactor::{FRAME, QUIET, Reactor};
use super::testing::ScriptedConnection;
use super::*;
use crate::env::Event;
use crate::types::Instant;

#[test]
fn a_parked_request_gives_its_memory_back_unless_its_frame_is_kept() {
    for keeps_frame in [false, true] {
        let mut reactor = Reactor::new(1, &[]);
        reactor.turn();
        let request = reactor.take();
        assert!(!reactor.pool.try_take(1), "it holds the memory");
        reactor.respond(&request, ResponseKind::Parked { keeps_frame });
        reactor.turn();
        assert_eq!(reactor.pool.try_take(0), !keeps_frame);
        reactor.respond(&request, ResponseKind::NoOp);
        reactor.turn();
        assert!(reactor.pool.try_take(0));
    }
}

#[test]
fn a_closed_connection_holds_the_memory_of_a_frame_until_the_handler_has_let_go_of_it() {
    for keeps_frame in [false, true] {
        let mut reactor = Reactor::new(1, &[]);
        reactor.turn();
        let request = reactor.take();
        reactor.close();
        assert!(!reactor.pool.try_take(0), "the handler has the frame");
        reactor.respond(&request, ResponseKind::Parked { keeps_frame });
        reactor.turn();
        assert_eq!(reactor.pool.try_take(0), !keeps_frame);
        reactor.respond(&request, ResponseKind::NoOp);
        reactor.turn();
        assert!(reactor.pool.try_take(1), "nothing is held any more");
        assert!(!reactor.pool.try_take(0), "and nothing was given back twice");
    }
}

#[test]
fn a_closed_connection_holds_the_memory_of_a_frame_that_is_kept_for_later() {
    let mut reactor = Reactor::new(1, &[]);
    reactor.turn();
    let request = reactor.take();
    reactor.respond(&request, ResponseKind::Parked { keeps_frame: true });
    reactor.turn();
    reactor.close();
    assert_eq!(reactor.requests.take_departure(), Some(Departure::Closed(request.ticket.connection)));
    assert!(!reactor.pool.try_take(0), "the parked request has the frame");
    reactor.respond(&request, ResponseKind::NoOp);
    reactor.turn();
    assert!(reactor.pool.try_take(1) && !reactor.pool.try_take(0));
}

#[test]
fn frames_that_came_whole_before_a_reset_are_handled_one_after_the_other() {
    let mut reactor = Reactor::new(3, &[QUIET, Event { error: true, write_closed: true, read_closed: true, ..QUIET }]);
    reactor.turn();
    let mut ordinals = Vec::new();
    for _ in 0..3 {
        let request = reactor.take();
        ordinals.push(request.ticket.ordinal);
        reactor.turn();
        assert!(reactor.requests.take().is_none(), "one at a time");
        reactor.respond(&request, ResponseKind::NoOp);
        reactor.turn();
    }
    assert_eq!(ordinals, [1, 2, 3]);
}

#[test]
fn a_reset_inside_a_frame_is_told_to_the_operator_as_an_end_inside_one_is() {
    let class_after = |connection| {
        let mut reactor = Reactor::with_connection(connection, None, &[]);
        reactor.turn();
        reactor.turn();
        assert_eq!(reactor.quotas.total(), 0);
        reactor.listener.nonsense.classes()
    };
    let half = &FRAME[..7];
    let [ended] = class_after(ScriptedConnection::new(half, &[]))[..] else { panic!("one class") };
    let [broken] = class_after(ScriptedConnection::new(half, &[7]).then_reset())[..] else { panic!("one class") };
    assert!(ended.contains("inside a frame") && broken.contains("inside a frame"), "{ended}; {broken}");
    assert_eq!(
        class_after(ScriptedConnection::new(&[], &[]).then_reset()).len(),
        0,
        "between frames it is nobody's business"
    );
}

#[test]
fn an_answer_is_a_use_of_the_connection() {
    let idle_max = Duration::from_nanos(100);
    let connection = ScriptedConnection::new(&FRAME, &[FRAME.len(), 0, 0]);
    let mut reactor = Reactor::with_connection(connection, Some(idle_max), &[]);
    reactor.turn();
    let request = reactor.take();
    reactor.respond(&request, ResponseKind::NoOp);
    reactor.turn_at(Instant(90));
    reactor.turn_at(Instant(189));
    assert_eq!(reactor.quotas.total(), 1);
    reactor.turn_at(Instant(190));
    assert_eq!(reactor.quotas.total(), 0);
}
