//! How connections end on the simulated network: ends of streams, resets, closes, and what the process leaves when it dies.
//!
//! It must not know frames or requests.

use klamm::env::{Event, Token};

use crate::flaw::Flaw;
use crate::kernel::Kernel;
use crate::keyed::Site;
use crate::network_state::{Action, Ready};
use crate::stream::{Phase, Side};
use crate::trace::TraceKind;

const MILLISECOND: u64 = 1_000_000;

impl Kernel {
    /// Says the end of the stream, after the bytes sent before.
    pub(crate) fn finish(&mut self, stream: u32, side: Side) {
        let state = self.network.stream(stream);
        if state.end(side).write_shut && state.outgoing(side).is_finished() {
            return;
        }
        state.end(side).write_shut = true;
        if side == Side::Broker && self.flawed(Flaw::ShutdownDropsQueued) {
            self.network.stream(stream).outgoing(side).drop_in_flight();
        }
        self.network.stream(stream).outgoing(side).finish();
        let mut at = self.end_arrival(stream, side);
        let flow = self.flow(stream, side);
        if let Some(draw) = self.fault(Site::EndLate, flow) {
            at = at.saturating_add(draw.exponential(300 * MILLISECOND));
        }
        self.network.schedule(at, Action::Finish { stream, side: side.other() });
    }

    /// Tears the connection: what flies may be lost, and the other end learns by an error.
    pub(crate) fn reset(&mut self, stream: u32, side: Side) {
        let identity = self.network.stream(stream).identity;
        if self.fault(Site::ResetOvertakes, identity).is_some() {
            self.network.stream(stream).outgoing(side).drop_in_flight();
        }
        let at = self.end_arrival(stream, side);
        self.network.schedule(at, Action::Reset { stream, side: side.other() });
    }

    /// When an end or a reset comes: behind the bytes before it, or with the last of them.
    fn end_arrival(&mut self, stream: u32, side: Side) -> u64 {
        let flow = self.flow(stream, side);
        let with_data = self.fault(Site::EndWithData, flow).is_some();
        let last_due = self.network.stream(stream).outgoing(side).last_due;
        if with_data && last_due > self.now.0 { last_due } else { self.next_arrival(stream, side, 0) }
    }

    /// Somebody between the ends resets both.
    pub(crate) fn tear(&mut self, stream: u32) {
        self.reset(stream, Side::Broker);
        self.reset(stream, Side::Client);
    }

    /// A client's process tears its connection.
    pub(crate) fn tear_client(&mut self, stream: u32) {
        let state = self.network.stream(stream);
        let gone = state.client.reset;
        state.client.open = false;
        state.to_client.drop_all();
        if !gone && !self.flawed(Flaw::ClientResetLost) {
            self.reset(stream, Side::Client);
        }
    }

    /// A client goes silent for ever.
    pub(crate) fn vanish(&mut self, stream: u32) {
        let state = self.network.stream(stream);
        state.client.open = false;
        state.client.silent = true;
    }

    /// Faults are over: ways are sound, and who is half open is torn.
    pub(crate) fn heal_network(&mut self) {
        let now = self.now.0;
        if self.flawed(Flaw::HoleSwallows) {
            self.network.lost.clear();
        }
        self.network.heal(now);
        for (stream, gone) in std::mem::take(&mut self.network.half_open) {
            self.reset(stream, gone);
        }
    }

    /// The end of the stream comes.
    pub(crate) fn finish_comes(&mut self, stream: u32, side: Side) {
        let state = self.network.stream(stream);
        if side == Side::Client && !state.client.open {
            return;
        }
        if side == Side::Broker && state.broker.write_shut && self.flawed(Flaw::EndAfterShutdownLost) {
            return;
        }
        let state = self.network.stream(stream);
        state.incoming(side).finish_comes();
        if self.flawed(Flaw::FinishShowsNoEdge) && side == Side::Broker {
            self.network.stream(stream).incoming(side).settle();
            return;
        }
        if self.flawed(Flaw::HalfCloseIsWhole) && side == Side::Broker {
            self.network.stream(stream).broker.write_shut = true;
        }
        // The end alone is news, even if no byte came with it.
        let state = self.network.stream(stream);
        state.incoming(side).settle();
        if state.incoming(side).end_came() {
            self.tell_reader(stream, side);
        }
    }

    /// An end learns by an error that the connection is no more.
    pub(crate) fn reset_comes(&mut self, stream: u32, side: Side, error: i32) {
        let state = self.network.stream(stream);
        if state.end(side).reset || !state.end(side).open {
            return;
        }
        let is_early = state.phase == Phase::Waiting && self.flawed(Flaw::EarlyResetForgotten);
        let state = self.network.stream(stream);
        let is_late = state.to_broker.end_came() && self.flawed(Flaw::ResetAfterEndLost);
        if side == Side::Broker && (is_early || is_late) {
            return;
        }
        let state = self.network.stream(stream);
        let identity = state.identity;
        let end = state.end(side);
        end.reset = true;
        end.error = Some(error);
        state.outgoing(side).drop_all();
        state.incoming(side).drop_in_flight();
        self.note(TraceKind::Reset, identity, u64::from(side == Side::Client));
        if side == Side::Client {
            self.network.touch_client(stream);
            return;
        }
        if self.fault(Site::ResetDestroysData, identity).is_some() {
            self.network.stream(stream).to_broker.drop_all();
        }
        if self.flawed(Flaw::ResetLooksLikeEnd) {
            self.network.stream(stream).broker.error = None;
        }
        if self.flawed(Flaw::ResetShowsNoEdge) {
            return;
        }
        let state = self.network.stream(stream);
        // epoll reports a hang-up always, also to one who is not owed an edge.
        let owed = state.read_armed || state.write_armed;
        if owed || self.network.is_linux_like || self.fault(Site::HangUpUnseen, identity).is_none() {
            let blocked_writer = self.network.stream(stream).write_armed;
            if !(blocked_writer && self.flawed(Flaw::BlockedWriterNotTold)) {
                self.network.show_read_edge(stream);
                self.network.show_write_edge(stream);
            }
        }
    }

    /// Closes an end, as when its process drops it: with a reset if something was left unread, else with an end of the stream.
    pub(crate) fn close(&mut self, stream: u32, side: Side) {
        let state = self.network.stream(stream);
        if !state.end(side).open {
            return;
        }
        state.end(side).open = false;
        let identity = state.identity;
        let unread = state.incoming(side).readable() > 0;
        let gone = state.end(side).reset;
        state.incoming(side).drop_all();
        let accepted = state.phase == Phase::Accepted;
        self.note(TraceKind::Close, identity, u64::from(side == Side::Client));
        if side == Side::Broker {
            self.forget_registration(stream);
            if accepted {
                self.descriptors.sockets -= 1;
            }
            if self.flawed(Flaw::DropSaysNothing) {
                return;
            }
        }
        if gone {
            return;
        }
        if unread && !(side == Side::Broker && self.flawed(Flaw::DropWithUnreadIsGraceful)) {
            self.reset(stream, side);
        } else {
            self.finish(stream, side);
        }
    }

    /// Takes a connection out of its selector.
    pub(crate) fn forget_registration(&mut self, stream: u32) {
        let state = self.network.stream(stream);
        let identity = state.identity;
        let Some(registration) = state.registration else { return };
        if self.flawed(Flaw::DroppedStillShown) && !self.network.stream(stream).broker.open {
            self.network.queue(registration.selector, Ready::Stale(stale_event(registration.token)));
        }
        self.network.stream(stream).registration = None;
        self.network.unqueue(registration.selector, Ready::Stream(stream));
        if self.fault(Site::StaleEvent, identity).is_some() {
            self.network.queue(registration.selector, Ready::Stale(stale_event(registration.token)));
        }
    }

    /// The broker's process is gone: its sockets are closed by the kernel, or silent if the whole machine went.
    pub(crate) fn drop_broker_sockets(&mut self, silent: bool) {
        let polite = self.flawed(Flaw::PowerCutSaysEnd);
        for stream in 0..u32::try_from(self.network.streams.len()).expect("streams are counted in 32 bits") {
            let state = self.network.stream(stream);
            if silent && !polite {
                state.broker.open = false;
                state.registration = None;
                state.to_client.drop_in_flight();
                if state.phase == Phase::Waiting {
                    state.phase = Phase::Accepted;
                }
            } else {
                self.close(stream, Side::Broker);
            }
        }
        for listener in &mut self.network.listeners {
            listener.open = false;
            listener.registration = None;
            listener.waiting.clear();
        }
        for selector in &mut self.network.selectors {
            selector.ready.clear();
            selector.wakes = 0;
            selector.failing = 0;
        }
        self.descriptors.process_ends();
    }
}

fn stale_event(token: Token) -> Event {
    Event { token, readable: true, writable: false, read_closed: false, write_closed: false, error: false }
}
