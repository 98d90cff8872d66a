//! A client that has one request open at a time: it asks, waits, hears, and asks the next thing, on whatever connection there is.
//!
//! It must not know what is asked. What the clients of this kind share stands here once: how they go through a step.

use klamm::protocol::DecodeError;
use klamm::types::Instant;

use super::link::{Link, LinkNews, Next};
use super::{Client, ClientConnection, ClientContext};
use crate::checker::Violation;

/// What such a client has to say for itself. It leaves by [`Link::leave`], and is done then.
pub(super) trait Dialogue {
    fn link(&self) -> &Link;

    fn link_mut(&mut self) -> &mut Link;

    /// Whether it has something to do when faults are over; else it leaves as soon as nothing of it is open.
    fn stays_when_calm(&self) -> bool {
        true
    }

    /// Looks about before it goes on: it may leave.
    fn look_about(&mut self, _: &mut ClientContext<'_>) {}

    /// Whether it is patient with the open request.
    fn may_wait(&self) -> bool {
        false
    }

    /// Sends the next request.
    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection);

    /// Whether it leaves its connection right behind the request that it has just sent.
    fn runs_away(&mut self, _: &ClientContext<'_>) -> bool {
        false
    }

    /// Takes the answer, in this version, and decides what comes next.
    fn take_answer(&mut self, context: &mut ClientContext<'_>, version: i16, body: &[u8]) -> Result<(), DecodeError>;

    /// What became of an open request nobody knows.
    fn connection_lost(&mut self, context: &mut ClientContext<'_>);

    /// Where it is, for a report of a run that is stuck.
    fn is_at(&self) -> String;
}

fn go_on_or_leave(client: &mut impl Dialogue, context: &mut ClientContext<'_>) {
    client.look_about(context);
    if context.is_calm && !client.stays_when_calm() && client.link().outstanding() == 0 {
        client.link_mut().leave();
    }
}

impl<D: Dialogue> Client for D {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        go_on_or_leave(self, context);
        if self.is_done() {
            return None;
        }
        let may_wait = self.may_wait();
        let beginning = self.link_mut().begin(context, may_wait);
        if beginning.was_lost {
            self.connection_lost(context);
        }
        if let Next::Rest(at) = beginning.next {
            return (!self.is_done()).then_some(at);
        }
        while !self.is_done() {
            if let Some(mut connection) = self.link_mut().take_idle(context) {
                self.ask(context, &mut connection);
                self.link_mut().give_back(connection);
                if self.runs_away(context) {
                    self.connection_lost(context);
                    return Some(self.link_mut().run_away(context));
                }
            }
            let may_wait = self.may_wait();
            match self.link_mut().pump(context, may_wait) {
                LinkNews::Answer(_, _, version, body) => {
                    if self.take_answer(context, version, &body).is_err() {
                        context.history.violate(Violation::UnreadableAnswer { client: self.link().client() });
                    }
                    go_on_or_leave(self, context);
                }
                LinkNews::Rest(at) => return at,
                LinkNews::Lost(at) => {
                    self.connection_lost(context);
                    return Some(at);
                }
            }
        }
        None
    }

    fn is_done(&self) -> bool {
        self.link().is_left()
    }

    fn waits_since(&self) -> Option<Instant> {
        self.link().waits_since()
    }

    fn waits_for(&self) -> String {
        self.is_at()
    }
}
