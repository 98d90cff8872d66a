//! A client that falls silent for good, with or without a word begun: its machine has lost its power, or it hangs. Where idle connections are closed,
//! those that it has left behind must be, and their places be free again: in the end it comes back from the same address and must be served.
//!
//! It must not know what is answered.

use klamm::protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use klamm::protocol::messages::metadata::MetadataRequest;
use klamm::protocol::{ApiKey, Decoder, Message, encode_request};
use klamm::types::Instant;

use super::connection::later;
use super::link::{Link, LinkNews, Next};
use super::versions::ANY;
use super::{Client, ClientContext, Habits};
use crate::checker::Violation;
use crate::client_socket::ClientSocket;
use crate::keyed::{Draw, Site};

const MILLISECOND: u64 = 1_000_000;
/// Connections that it falls silent on are counted from here on; those on which it speaks in the end are its link's.
const FIRST_ATTEMPT: u32 = 10_000;
/// The length of a frame that takes all the memory that the broker may have, where that is bounded.
const LARGE_BYTES: i32 = 20_000;
/// How many connections it may hold without a word.
const HELD_MAX: usize = 3;

/// What one vanisher is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VanisherProfile {
    pub(crate) client: u32,
    /// Connections on which it falls silent.
    pub(crate) attempts: u32,
    /// Idle connections are closed, so that it may take what it likes, and its places are free again in the end.
    pub(crate) is_expired: bool,
}

/// The client.
pub(crate) struct Vanisher {
    profile: VanisherProfile,
    attempts_left: u32,
    attempt: u32,
    speaking: Option<Speaking>,
    /// Connections that it holds and never uses again.
    held: Vec<ClientSocket>,
    link: Link,
    is_done: bool,
}

/// A connection on which it has not fallen silent yet.
struct Speaking {
    socket: ClientSocket,
    outgoing: Vec<u8>,
    until: Instant,
}

impl Vanisher {
    pub(crate) fn new(profile: VanisherProfile) -> Vanisher {
        Vanisher {
            profile,
            attempts_left: profile.attempts,
            attempt: FIRST_ATTEMPT,
            speaking: None,
            held: Vec::new(),
            link: Link::new(profile.client, Habits::none()),
            is_done: false,
        }
    }

    fn begin(&mut self, context: &ClientContext<'_>) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        self.attempts_left -= 1;
        self.attempt += 1;
        let identity = u64::from(self.profile.client) << 32 | u64::from(self.attempt);
        let host = [10, 0, 0, u8::try_from(self.profile.client & 0xff).unwrap_or(0)];
        let port = 1_024 + u16::try_from(self.attempt % 60_000).unwrap_or(0);
        let socket = context.world.connect(identity, (host, port).into(), context.broker);
        let until = later(context, draw.part(0).exponential(20 * MILLISECOND));
        self.speaking = Some(Speaking { socket, outgoing: last_words(draw.part(1), self.profile.is_expired), until });
    }

    /// Its machine is gone, or it hangs, or its process has died and the kernel says so.
    fn fall_silent(&mut self, context: &ClientContext<'_>) {
        let Some(Speaking { socket, .. }) = self.speaking.take() else { return };
        match context.world.value(Site::ClientAction, u64::from(self.profile.client)).below(10) {
            0..5 => return socket.vanish(),
            5 | 6 => return socket.reset(),
            _ => {}
        }
        if self.held.len() == HELD_MAX {
            self.held.remove(0);
        }
        self.held.push(socket);
    }

    /// It comes back while all that it holds is still open.
    fn come_back(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if let Next::Rest(at) = self.link.begin(context, true).next {
            return Some(at);
        }
        if let Some(mut connection) = self.link.take_idle(context) {
            let request =
                ApiVersionsRequest { client_software_name: "sim", client_software_version: "1", ..Default::default() };
            connection.send(context, connection.api(context, ApiKey::ApiVersions, &ANY), &request, true);
            self.link.give_back(connection);
        }
        match self.link.pump(context, true) {
            LinkNews::Answer(_, _, version, body) => {
                let answer = ApiVersionsResponse::decode(&mut Decoder::new(&body), version);
                if !answer.is_ok_and(|answer| answer.error_code == 0) {
                    context.history.violate(Violation::UnreadableAnswer { client: self.profile.client });
                }
                self.is_done = true;
                self.link.close();
                None
            }
            LinkNews::Rest(at) => at,
            LinkNews::Lost(at) => Some(at),
        }
    }
}

/// What is said before the silence: nothing, a piece of a frame, a request, or a request and a piece.
fn last_words(draw: Draw, takes_much: bool) -> Vec<u8> {
    let whole = encode_request(ApiKey::Metadata, 4, 1, Some("vanisher"), &MetadataRequest::default()).bytes.to_vec();
    let large = [&LARGE_BYTES.to_be_bytes()[..], &[0; 100]].concat();
    let frame = if takes_much && draw.part(0).happens(300_000) { large } else { whole.clone() };
    let cut = usize::try_from(draw.part(1).between(1, frame.len() as u64 - 1)).unwrap_or(1);
    match draw.below(5) {
        0 => Vec::new(),
        1 => whole,
        2 => [&whole[..], &frame[..cut]].concat(),
        _ => frame[..cut].to_vec(),
    }
}

impl Client for Vanisher {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done {
            return None;
        }
        if context.is_calm && !self.profile.is_expired {
            // Nobody else would end what it holds.
            (self.speaking, self.is_done) = (None, true);
            self.held.clear();
            return None;
        }
        if self.speaking.as_ref().is_some_and(|speaking| speaking.until <= context.now()) {
            self.fall_silent(context);
        }
        if self.speaking.is_none() {
            match self.attempts_left {
                0 if context.is_calm => return self.come_back(context),
                0 => return None,
                _ => self.begin(context),
            }
        }
        let speaking = self.speaking.as_mut()?;
        while !speaking.outgoing.is_empty() {
            match speaking.socket.write(&speaking.outgoing) {
                Ok(written) => drop(speaking.outgoing.drain(..written)),
                Err(_) => break,
            }
        }
        Some(speaking.until)
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn waits_since(&self) -> Option<Instant> {
        self.link.waits_since()
    }

    fn waits_for(&self) -> String {
        format!(
            "vanisher {}: {} attempts left, {} connections held",
            self.profile.client,
            self.attempts_left,
            self.held.len()
        )
    }
}
