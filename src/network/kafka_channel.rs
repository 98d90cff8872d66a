//! One connection: the frame that is coming in, the answer that is going out, and why it is or is not read.
//!
//! It must not know its Processor's other channels, nor what a request means.

use std::io;
use std::net::SocketAddr;

use super::memory_pool::MemoryPool;
use super::mute_state::{MuteEvent, MuteState};
use super::network_receive::{NetworkReceive, Received};
use super::network_send::{NetworkSend, SendProgress};
use super::request::RequestTimes;
use crate::env::{Connection, Event, Piece};
use crate::types::{Instant, Ticket};
use crate::zoo::{self, Bug};

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It waits for a handler, or one has it.
    AtHandler,
    /// The handler has parked it.
    Parked,
    /// Its answer is being sent.
    Answered,
}

/// What is known of a channel's peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PeerState {
    /// It may send more.
    Open,
    /// It sends nothing more.
    Finished,
    /// It takes no answer either.
    Gone,
}

impl PeerState {
    /// What an event tells of it.
    pub(crate) fn shown_by(event: &Event) -> PeerState {
        match (event.error || event.write_closed, event.read_closed) {
            (true, _) => PeerState::Gone,
            (false, true) => PeerState::Finished,
            (false, false) => PeerState::Open,
        }
    }
}

/// The request of a channel that is in work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) ticket: Ticket,
    pub(crate) stage: Stage,
    /// Bytes of the pool that its frame holds.
    pub(crate) frame_bytes: usize,
    pub(crate) received: Instant,
    pub(crate) times: RequestTimes,
    pub(crate) response_dequeued: Instant,
}

/// A channel.
#[derive(Debug)]
pub(crate) struct KafkaChannel<C> {
    pub(crate) connection: C,
    pub(crate) peer: SocketAddr,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) last_used: Instant,
    pub(crate) in_flight: Option<InFlight>,
    /// An edge has come and the socket was not found dry since.
    pub(crate) is_readable: bool,
    pub(crate) peer_state: PeerState,
    /// Requests that it has brought, around for ever.
    pub(crate) requests: u32,
    /// It stands in its Processor's queue of channels to read.
    pub(crate) is_queued_to_read: bool,
    /// It is registered for writable events.
    pub(crate) wants_writable: bool,
    receive: NetworkReceive,
    send: Option<NetworkSend>,
    mute: MuteState,
}

impl<C: Connection> KafkaChannel<C> {
    pub(crate) fn new(connection: C, peer: SocketAddr, now: Instant) -> KafkaChannel<C> {
        KafkaChannel {
            local: connection.local_address().ok(),
            connection,
            peer,
            last_used: now,
            in_flight: None,
            is_readable: true,
            peer_state: PeerState::Open,
            requests: 0,
            is_queued_to_read: false,
            wants_writable: false,
            receive: NetworkReceive::default(),
            send: None,
            mute: MuteState::NotMuted,
        }
    }

    /// Whether the Processor may read it now.
    pub(crate) fn may_be_read(&self) -> bool {
        self.is_readable && (self.mute == MuteState::NotMuted || zoo::is(Bug::NoMuteWhileProcessing))
    }

    /// Reads towards the next frame.
    pub(crate) fn read(
        &mut self,
        scratch: &mut [u8],
        frame_bytes_max: usize,
        pool: &MemoryPool,
        budget_bytes: usize,
    ) -> io::Result<Received> {
        debug_assert!(self.may_be_read(), "a muted channel is never read");
        let received = self.receive.read_from(&mut self.connection, scratch, frame_bytes_max, pool, budget_bytes)?;
        let is_one_frame = matches!(received, Received::Frame(_)) && zoo::is(Bug::EdgeReadOnce);
        let holds_more = self.receive.is_unfinished() && zoo::is(Bug::BufferedFrameForgotten);
        if matches!(received, Received::Blocked) || is_one_frame || holds_more {
            self.is_readable = false;
        }
        Ok(received)
    }

    /// Mutes it for a request that was queued. `None` where Kafka calls that illegal.
    pub(crate) fn request_received(&mut self, in_flight: InFlight) -> Option<()> {
        if zoo::is(Bug::NoMuteWhileProcessing) {
            self.in_flight = Some(in_flight);
            return Some(());
        }
        self.mute = self.mute.muted().after(MuteEvent::RequestReceived)?;
        self.in_flight = Some(in_flight);
        Some(())
    }

    /// Starts to throttle it.
    pub(crate) fn begin_throttle(&mut self) -> Option<()> {
        self.mute = self.mute.after(MuteEvent::ThrottleStarted)?;
        Some(())
    }

    /// Ends the throttle and unmutes it if nothing else holds it.
    pub(crate) fn end_throttle(&mut self) -> Option<()> {
        self.mute = self.mute.after(MuteEvent::ThrottleEnded)?.unmuted();
        Some(())
    }

    /// Says that the response of the request in work is done with, and unmutes if nothing else holds it.
    pub(crate) fn response_sent(&mut self) -> Option<InFlight> {
        if zoo::is(Bug::NoMuteWhileProcessing) {
            return self.in_flight;
        }
        self.mute = self.mute.after(MuteEvent::ResponseSent)?.unmuted();
        self.in_flight.take()
    }

    /// Begins to send an answer. `None` if one is being sent already.
    pub(crate) fn begin_send(&mut self, pieces: Vec<Piece>) -> Option<()> {
        match &mut self.send {
            Some(send) if zoo::is(Bug::NoMuteWhileProcessing) || zoo::is(Bug::UnmutedTooEarly) => send.add(pieces),
            Some(_) => return None,
            None => self.send = Some(NetworkSend::new(pieces)),
        }
        Some(())
    }

    pub(crate) fn is_sending(&self) -> bool {
        self.send.is_some()
    }

    /// Writes what the socket takes; `Complete` also if there is nothing to send.
    pub(crate) fn write(&mut self) -> io::Result<SendProgress> {
        let Some(send) = &mut self.send else { return Ok(SendProgress::Complete) };
        let progress = send.write_to(&mut self.connection)?;
        if progress == SendProgress::Complete {
            self.send = None;
        }
        Ok(progress)
    }

    /// Whether a frame has begun to come in and lacks bytes.
    pub(crate) fn is_inside_frame(&self) -> bool {
        self.receive.is_unfinished()
    }

    /// Bytes of the pool that its unfinished frame holds.
    pub(crate) fn unfinished_bytes(&self) -> usize {
        self.receive.held_bytes()
    }
}
