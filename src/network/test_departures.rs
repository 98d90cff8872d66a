//! When handlers hear of a peer that leaves: never before they have parked its request, else it would be parked for nobody.

use super::test_reactor::{QUIET, Reactor};
use super::*;
use crate::env::Event;
use crate::metrics::RequestPhase;

#[test]
fn a_peer_that_resets_while_its_request_is_handled_departs_when_the_request_is_parked() {
    let mut reactor = Reactor::new(1, &[QUIET, Event { error: true, ..QUIET }]);
    reactor.turn();
    let request = reactor.take();
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), None, "the handler has not parked it yet");
    reactor.respond(&request, ResponseKind::Parked { keeps_frame: false });
    reactor.turn();
    let closed = Departure::Closed(request.ticket.connection);
    assert_eq!(reactor.requests.take_departure(), Some(closed));
}

#[test]
fn a_peer_that_resets_while_its_request_is_handled_never_departs_if_the_request_is_answered() {
    let mut reactor = Reactor::new(1, &[QUIET, Event { error: true, ..QUIET }]);
    reactor.turn();
    let request = reactor.take();
    reactor.turn();
    reactor.respond(&request, ResponseKind::NoOp);
    reactor.respond(&request, ResponseKind::Parked { keeps_frame: false });
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), None);
}

#[test]
fn a_peer_that_sends_nothing_more_is_told_of_when_its_request_is_parked() {
    let mut reactor = Reactor::new(1, &[QUIET, Event { read_closed: true, ..QUIET }]);
    reactor.turn();
    let request = reactor.take();
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), None);
    reactor.respond(&request, ResponseKind::Parked { keeps_frame: false });
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), Some(Departure::Finished(request.ticket.connection)));
}

#[test]
fn a_note_that_comes_after_its_answer_says_nothing_of_the_next_request_though_its_correlation_id_is_the_same() {
    let mut reactor = Reactor::new(2, &[QUIET, QUIET, QUIET, Event { error: true, ..QUIET }]);
    reactor.turn();
    let first = reactor.take();
    reactor.respond(&first, ResponseKind::NoOp);
    reactor.turn();
    let second = reactor.take();
    assert_eq!(first.ticket.correlation_id, second.ticket.correlation_id);
    reactor.respond(&first, ResponseKind::Parked { keeps_frame: false });
    reactor.turn();
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), None, "the second is not parked");
    reactor.respond(&second, ResponseKind::Parked { keeps_frame: false });
    reactor.turn();
    assert_eq!(reactor.requests.take_departure(), Some(Departure::Closed(second.ticket.connection)));
}

/// The connection ends before the last of these answers comes: by its peer, or from our side. How often the request was counted.
fn counted(by_peer: bool, kinds: Vec<ResponseKind>) -> u64 {
    let mut reactor = Reactor::new(1, &[QUIET, Event { error: by_peer, ..QUIET }]);
    reactor.turn();
    let request = reactor.take();
    let last = kinds.len() - 1;
    for (number, kind) in kinds.into_iter().enumerate() {
        match number == last {
            true if by_peer => reactor.turn(),
            true => reactor.close(),
            false => {}
        }
        reactor.respond(&request, kind);
    }
    reactor.turn();
    reactor.metrics.totals(request.ticket.api_key, RequestPhase::Total).0
}

#[test]
fn a_request_whose_connection_ends_is_in_the_request_times_once() {
    let parked = |keeps_frame| ResponseKind::Parked { keeps_frame };
    let malformed = || ResponseKind::Malformed(crate::protocol::DecodeError::VarintTooLong);
    for by_peer in [true, false] {
        for (kinds, expected) in [
            (vec![ResponseKind::NoOp], 1),
            (vec![parked(false)], 1),
            // From our side the handler has it still, and will have it once more.
            (vec![parked(true)], u64::from(by_peer)),
            (vec![parked(true), ResponseKind::NoOp], 1),
            (vec![parked(false), ResponseKind::NoOp], 1),
            (vec![ResponseKind::Close("it is refused")], 1),
            // What cannot be read is no request.
            (vec![malformed()], 0),
        ] {
            let what = format!("by its peer: {by_peer}, {kinds:?}");
            assert_eq!(counted(by_peer, kinds), expected, "{what}");
        }
    }
}
