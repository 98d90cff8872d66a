//! The simulated network: connections, listeners, selectors and what is in flight, as state that only time and calls move.
//!
//! It must not know frames or requests, nor when an edge is due: `flight` decides that.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::SocketAddr;

use klamm::env::{Event, Token};

use crate::keyed::Draw;
use crate::pipe::NEVER;
use crate::stream::{Side, Stream};

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A connect reaches the listener.
    Connect { stream: u32, attempt: u32 },
    /// A piece arrives at this side.
    Arrive { stream: u32, side: Side },
    /// The end of the stream arrives at this side.
    Finish { stream: u32, side: Side },
    /// A reset arrives at this side.
    Reset { stream: u32, side: Side },
    /// The broker's kernel gives a connection up, with this error.
    GiveUp { stream: u32, error: i32 },
    /// Somebody between the ends resets both.
    Tear { stream: u32 },
    /// Nothing arrives on this connection until then.
    Clog { stream: u32, until: u64 },
    /// A stranger leaves, with a word or without.
    Leave { stream: u32, manner: Manner },
    /// A readable edge that a fault made or delayed; shown to one that is not owed an edge only if `always`.
    ReadEdge { stream: u32, always: bool },
    /// The same for writing.
    WriteEdge { stream: u32, always: bool },
    /// An accept edge that a fault made.
    AcceptEdge { listener: u32 },
    /// A wake reaches its selector.
    Wake { selector: u32 },
    /// A selector that was late sees what has gathered.
    Look { selector: u32 },
}

/// How one leaves a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Close,
    Reset,
    Vanish,
}

/// An action and its time; the earlier pushed goes first among equals.
#[derive(Debug, PartialEq, Eq)]
struct Due {
    at: u64,
    sequence: u64,
    action: Action,
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Who waits in a selector's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    Stream(u32),
    Listener(u32),
    /// An event of someone who has left.
    Stale(Event),
}

/// A listening socket.
#[derive(Debug)]
pub(crate) struct ListenerState {
    pub(crate) entity: u64,
    pub(crate) address: SocketAddr,
    pub(crate) backlog: usize,
    pub(crate) open: bool,
    pub(crate) waiting: VecDeque<u32>,
    pub(crate) registration: Option<(u32, Token)>,
    pub(crate) armed: bool,
    pub(crate) edge: bool,
}

/// A selector.
#[derive(Debug, Default)]
pub(crate) struct SelectorState {
    pub(crate) entity: u64,
    pub(crate) ready: VecDeque<Ready>,
    /// How many wakes the next poll answers: one, unless a flaw counts them.
    pub(crate) wakes: u32,
    /// How many of the next polls fail.
    pub(crate) failing: u64,
    /// Until when it is too late to see anything.
    pub(crate) late_until: u64,
}

/// The network.
#[derive(Debug)]
pub(crate) struct NetworkState {
    pub(crate) streams: Vec<Stream>,
    pub(crate) listeners: Vec<ListenerState>,
    pub(crate) selectors: Vec<SelectorState>,
    due: BinaryHeap<Reverse<Due>>,
    sequence: u64,
    /// Clients to whom something happened since they were last asked for.
    pub(crate) touched: VecDeque<u32>,
    /// What waits for the end of all faults, in the order of its sending.
    pub(crate) lost: Vec<Action>,
    /// How far away the clients are that were asked for, by number, in nanoseconds.
    pub(crate) distances: BTreeMap<u64, u64>,
    /// Ends that are gone without a word, and whose machine will say so when faults are over.
    pub(crate) half_open: Vec<(u32, Side)>,
    /// Every selector is as kind as epoll.
    pub(crate) is_linux_like: bool,
    /// Until when nothing new can be watched.
    pub(crate) no_watches_until: u64,
    next_port: u16,
    /// The mean time of a piece on its way; 0 in a share of the seeds.
    pub(crate) mean_delay: u64,
}

impl NetworkState {
    /// A network as fast as `speed` says.
    pub(crate) fn new(speed: Draw) -> NetworkState {
        let mean_delay = match speed.below(4) {
            0 => 0,
            1 => 20 * MICROSECOND,
            2 => 200 * MICROSECOND,
            _ => 2 * MILLISECOND,
        };
        NetworkState {
            streams: Vec::new(),
            listeners: Vec::new(),
            selectors: Vec::new(),
            due: BinaryHeap::new(),
            sequence: 0,
            touched: VecDeque::new(),
            lost: Vec::new(),
            distances: BTreeMap::new(),
            half_open: Vec::new(),
            is_linux_like: false,
            no_watches_until: 0,
            next_port: 40_000,
            mean_delay,
        }
    }

    pub(crate) fn schedule(&mut self, at: u64, action: Action) {
        if at == NEVER {
            return self.lost.push(action);
        }
        self.sequence += 1;
        self.due.push(Reverse(Due { at, sequence: self.sequence, action }));
    }

    /// When the next action is due.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.due.peek().map(|Reverse(due)| due.at)
    }

    pub(crate) fn pop_due(&mut self, now: u64) -> Option<Action> {
        if self.next_due()? > now {
            return None;
        }
        self.due.pop().map(|Reverse(due)| due.action)
    }

    /// Makes every way, selector and peer sound again: what was held back or lost is due now, in the order in which it was sent.
    pub(crate) fn heal(&mut self, now: u64) {
        let is_held = |action: &Action| match action {
            Action::Connect { attempt, .. } => *attempt > 0,
            Action::Arrive { stream, side } | Action::Finish { stream, side } | Action::Reset { stream, side } => {
                let state = &self.streams[*stream as usize];
                state.is_held(*side, now)
            }
            _ => false,
        };
        let mut due = std::mem::take(&mut self.due).into_vec();
        for Reverse(due) in due.iter_mut().filter(|Reverse(due)| is_held(&due.action)) {
            due.at = due.at.min(now);
        }
        due.retain(|Reverse(due)| !matches!(due.action, Action::Clog { .. } | Action::GiveUp { .. }));
        self.due = BinaryHeap::from(due);
        self.streams.iter_mut().for_each(|stream| stream.heal(now));
        std::mem::take(&mut self.lost).into_iter().for_each(|action| self.schedule(now, action));
        self.selectors.iter_mut().for_each(|selector| selector.failing = 0);
        self.distances.clear();
        self.no_watches_until = 0;
    }

    pub(crate) fn free_port(&mut self) -> u16 {
        self.next_port = self.next_port.wrapping_add(1).max(40_000);
        self.next_port
    }

    pub(crate) fn stream(&mut self, stream: u32) -> &mut Stream {
        &mut self.streams[stream as usize]
    }

    pub(crate) fn listener(&mut self, listener: u32) -> &mut ListenerState {
        &mut self.listeners[listener as usize]
    }

    pub(crate) fn selector(&mut self, selector: u32) -> &mut SelectorState {
        &mut self.selectors[selector as usize]
    }

    pub(crate) fn touch_client(&mut self, stream: u32) {
        let state = &mut self.streams[stream as usize];
        if !state.client_touched && state.client.open {
            state.client_touched = true;
            self.touched.push_back(stream);
        }
    }

    pub(crate) fn listener_at(&self, address: SocketAddr) -> Option<usize> {
        self.listeners.iter().position(|listener| {
            let wildcard = listener.address.ip().is_unspecified();
            let port = listener.address.port() == address.port();
            listener.open && port && (wildcard || listener.address.ip() == address.ip())
        })
    }

    /// Removes a connection from its selector's queue.
    pub(crate) fn unqueue(&mut self, selector: u32, who: Ready) {
        self.selector(selector).ready.retain(|ready| *ready != who);
    }

    pub(crate) fn queue(&mut self, selector: u32, who: Ready) {
        self.selector(selector).ready.push_back(who);
    }

    /// Shows the edges that are set in a connection's registration.
    fn enqueue(&mut self, stream: u32) {
        if let Some(registration) = &mut self.stream(stream).registration
            && !registration.queued
        {
            registration.queued = true;
            let selector = registration.selector;
            self.queue(selector, Ready::Stream(stream));
        }
    }

    /// Gives a readable edge to a connection, whether it is owed one or not.
    pub(crate) fn show_read_edge(&mut self, stream: u32) {
        let state = self.stream(stream);
        if let Some(registration) = &mut state.registration {
            registration.read_edge = true;
            state.read_armed = false;
            self.enqueue(stream);
        }
    }

    /// Gives a writable edge to a connection that wants to hear of it.
    pub(crate) fn show_write_edge(&mut self, stream: u32) {
        let state = self.stream(stream);
        if let Some(registration) = state.registration.as_mut().filter(|registration| registration.wants_writable()) {
            registration.write_edge = true;
            state.write_armed = false;
            self.enqueue(stream);
        }
    }

    pub(crate) fn show_accept_edge(&mut self, listener: u32) {
        let state = self.listener(listener);
        if let Some((selector, _)) = state.registration
            && !state.edge
        {
            state.edge = true;
            state.armed = false;
            self.queue(selector, Ready::Listener(listener));
        }
    }
}
