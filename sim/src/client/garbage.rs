//! A client that sends what no client should send: no other connection may notice.
//!
//! It must not know requests that change anything. Whatever the broker answers is right; it may also close.

use klamm::protocol::messages::api_versions::ApiVersionsRequest;
use klamm::protocol::{ApiKey, encode_request};
use klamm::types::Instant;

use super::connection::{earlier, later};
use super::{Client, ClientContext};
use crate::checker::Violation;
use crate::client_socket::ClientSocket;
use crate::keyed::{Draw, Site};

const MILLISECOND: u64 = 1_000_000;
/// So many of the kinds of rubbish are nothing that a broker takes.
const NONSENSE_KINDS: u64 = 6;
/// How others begin to speak.
const GREETINGS: [&[u8]; 6] = [
    b"GET /metrics HTTP/1.1\r\nHost: klamm\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"SSH-2.0-OpenSSH_9.7\r\n",
    b"PROXY TCP4 10.0.0.1 10.1.0.1 56324 9092\r\n",
    &[0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, b'Q', b'U', b'I', b'T', 0x0a],
    &[0x80, 0x2e, 1, 3, 1, 0, 0x15, 0, 0, 0, 0x10, 1, 0, 0x80],
];
/// Where nothing is wrong, a broker closes the connection of one who sends such a thing within so much time.
const CLOSED_WITHIN_NS: u64 = 100 * MILLISECOND;
/// The largest frame that the broker takes, which is also all that it may hold where that is bounded.
const LARGE_BYTES: i32 = 20_000;

/// The client.
pub(crate) struct Garbage {
    client: u32,
    /// Half of what it sends is the start of a large frame.
    likes_large_frames: bool,
    attempts_left: u32,
    attempt: u32,
    socket: Option<ClientSocket>,
    outgoing: Vec<u8>,
    leaves_at: Option<Instant>,
    /// No broker takes what it sends: since when all of that is on its way, and to which start of the broker.
    is_nonsense: bool,
    sent_at: Option<(u32, Instant)>,
    /// It has announced a large frame. Its memory comes back when the connection ends, for a peer that vanished only after
    /// `connections.max.idle.ms`: longer than the others would wait, with Kafka's rules as with ours.
    holds_memory: bool,
}

impl Garbage {
    pub(crate) fn new(client: u32, attempts: u32, likes_large_frames: bool) -> Garbage {
        Garbage {
            client,
            likes_large_frames,
            attempts_left: attempts,
            attempt: 0,
            socket: None,
            outgoing: Vec::new(),
            leaves_at: None,
            is_nonsense: false,
            sent_at: None,
            holds_memory: false,
        }
    }

    fn begin(&mut self, context: &ClientContext<'_>) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.client));
        self.attempts_left -= 1;
        self.attempt += 1;
        let identity = u64::from(self.client) << 32 | u64::from(self.attempt);
        let host = [10, 9, 0, u8::try_from(self.client & 0xff).unwrap_or(0)];
        let port = 1_024 + u16::try_from(self.attempt % 60_000).unwrap_or(0);
        self.socket = Some(context.world.connect(identity, (host, port).into(), context.broker).unprotected());
        let is_large = self.likes_large_frames && draw.part(5).happens(500_000);
        (self.outgoing, self.is_nonsense) = match draw.part(6).below(2) {
            0 if is_large => (start_of_large_frame(), false),
            1 if is_large => (large_frame(), false),
            _ => rubbish(draw),
        };
        self.sent_at = None;
        self.holds_memory = is_large || self.outgoing.starts_with(&LARGE_BYTES.to_be_bytes());
        // Some leave before they can have been answered, so that the answer finds nobody, or somebody else.
        let stays_ns = [MILLISECOND / 20, MILLISECOND, 100 * MILLISECOND][draw.part(1).below(3) as usize];
        let stays_ns = draw.part(4).exponential(stays_ns);
        // Who sends nonsense is curious what becomes of it, now and then.
        let is_curious = self.is_nonsense && draw.part(7).below(2) == 0;
        self.leaves_at = Some(later(context, if is_curious { CLOSED_WITHIN_NS + stays_ns } else { stays_ns }));
    }

    /// Whoever sends nonsense is closed, if nothing else keeps the broker from it.
    fn check_closed(&self, context: &mut ClientContext<'_>) {
        let Some((boot, at)) = self.sent_at.filter(|_| self.is_nonsense) else { return };
        let was_time = context.now().0.saturating_sub(at.0) >= CLOSED_WITHIN_NS && boot == context.boot;
        let is_sound = context.is_network_sound && context.is_machine_sound && !context.is_draining;
        if was_time && is_sound {
            let connection = self.socket.as_ref().map_or(0, ClientSocket::identity);
            context.history.violate(Violation::NonsenseHeard { connection });
        }
    }

    fn leave(&mut self, context: &ClientContext<'_>) {
        let Some(socket) = self.socket.take() else { return };
        match context.world.value(Site::ClientAction, u64::from(self.client)).below(3) {
            0 => socket.reset(),
            1 if !context.is_calm && !self.holds_memory => socket.vanish(),
            _ => drop(socket),
        }
        self.leaves_at = None;
    }
}

/// Bytes of one kind of nonsense, or of a request whose answer is not waited for; and whether no broker takes them.
fn rubbish(draw: Draw) -> (Vec<u8>, bool) {
    let frame = |length: i32, body: &[u8]| [&length.to_be_bytes()[..], body].concat();
    let kind = draw.below(15);
    let bytes = match kind {
        0 => frame(i32::MAX, &[0; 40]),
        1 => frame(-1, &[1; 8]),
        2 => frame(0, &[]),
        3 => frame(10, &[0x7f, 0xff, 0, 0, 0, 0, 0, 1, 0xff, 0xff]),
        4 => vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 9, 9, 9],
        5 => one_of(draw.part(2), &GREETINGS).to_vec(),
        6 => frame(100, &[0, 18, 0, 3]),
        7 => vec![0; draw.part(2).below(4) as usize],
        8 => (0..draw.part(2).below(60)).map(|index| draw.part(3 + index).below(256) as u8).collect(),
        9 => start_of_large_frame(),
        10..14 => asking(),
        _ => {
            let mut bytes = asking();
            let at = draw.part(2).below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << draw.part(3).below(8);
            bytes
        }
    };
    (bytes, kind < NONSENSE_KINDS)
}

fn one_of<'a>(draw: Draw, choices: &[&'a [u8]]) -> &'a [u8] {
    choices.get(usize::try_from(draw.below(choices.len() as u64)).unwrap_or(0)).copied().unwrap_or_default()
}

/// A frame that does not come to its end: it holds what `queued.max.request.bytes` allows until its sender leaves.
fn start_of_large_frame() -> Vec<u8> {
    [&LARGE_BYTES.to_be_bytes()[..], &[0, 18, 0, 3, 0, 0, 0, 1]].concat()
}

/// A request with so many bytes behind it that little memory is left while it is in work.
fn large_frame() -> Vec<u8> {
    let mut bytes = asking();
    bytes.resize(4 + LARGE_BYTES as usize, 0);
    bytes[..4].copy_from_slice(&LARGE_BYTES.to_be_bytes());
    bytes
}

/// What a client may well send.
fn asking() -> Vec<u8> {
    let asked = ApiVersionsRequest { client_software_name: "sim", client_software_version: "1", ..Default::default() };
    encode_request(ApiKey::ApiVersions, 3, 1, Some("garbage"), &asked).bytes.to_vec()
}

impl Client for Garbage {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if context.is_calm {
            self.leave(context);
            self.attempts_left = 0;
            return None;
        }
        if self.leaves_at.is_some_and(|at| at <= context.now()) {
            self.check_closed(context);
            self.leave(context);
        }
        if self.socket.is_none() {
            if self.attempts_left == 0 {
                return None;
            }
            self.begin(context);
        }
        let socket = self.socket.as_mut()?;
        while !self.outgoing.is_empty() {
            match socket.write(&self.outgoing) {
                Ok(written) => drop(self.outgoing.drain(..written)),
                Err(_) => break,
            }
        }
        if self.outgoing.is_empty() && socket.readiness().connected {
            self.sent_at.get_or_insert((context.boot, context.now()));
        }
        let mut buffer = [0; 256];
        let is_over = loop {
            match socket.read(&mut buffer) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(error) => break error.kind() != std::io::ErrorKind::WouldBlock,
            }
        };
        if is_over && self.is_nonsense {
            self.leave(context);
            return Some(context.now());
        }
        earlier(self.leaves_at, None)
    }

    fn is_done(&self) -> bool {
        self.attempts_left == 0 && self.socket.is_none()
    }

    fn waits_since(&self) -> Option<Instant> {
        None
    }

    fn waits_for(&self) -> String {
        format!("garbage sender {}: {} attempts left", self.client, self.attempts_left)
    }
}
