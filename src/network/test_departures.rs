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

#[test]
fn a_request_whose_connection_ends_is_in_the_request_times_once() {
    let kinds = [
        None,
        Some(ResponseKind::NoOp),
        Some(ResponseKind::Parked { keeps_frame: false }),
        Some(ResponseKind::Parked { keeps_frame: true }),
        Some(ResponseKind::Close("it is refused")),
    ];
    for kind in kinds {
        let mut reactor = Reactor::new(1, &[QUIET, Event { error: true, ..QUIET }]);
        reactor.turn();
        let request = reactor.take();
        let what = format!("{kind:?}");
        let is_answered_late = matches!(kind, Some(ResponseKind::NoOp));
        if let Some(kind) = kind.filter(|_| !is_answered_late) {
            reactor.respond(&request, kind);
        }
        reactor.turn();
        reactor.respond(&request, ResponseKind::NoOp);
        reactor.turn();
        let (count, _) = reactor.metrics.totals(request.ticket.api_key, RequestPhase::Total);
        assert_eq!(count, 1, "{what}");
    }
}
