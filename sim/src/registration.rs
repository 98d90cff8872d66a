//! A connection's place in a selector.
//!
//! It must not know when an edge is due.

use klamm::env::{Event, Interest, Token};

/// A connection's place in a selector, and what was shown of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration {
    pub(crate) selector: u32,
    pub(crate) token: Token,
    pub(crate) interest: Interest,
    /// Edges that the next poll shows.
    pub(crate) read_edge: bool,
    pub(crate) write_edge: bool,
    /// Whether the place is in the selector's queue.
    pub(crate) queued: bool,
}

impl Registration {
    pub(crate) fn new(selector: u32, token: Token, interest: Interest) -> Registration {
        Registration { selector, token, interest, read_edge: false, write_edge: false, queued: false }
    }

    /// What a poll shows of a connection in this state.
    pub(crate) fn event(&self, read_closed: bool, write_closed: bool, error: bool) -> Event {
        Event {
            token: self.token,
            readable: self.read_edge,
            writable: self.write_edge,
            read_closed,
            write_closed,
            error,
        }
    }

    pub(crate) fn wants_writable(&self) -> bool {
        self.interest == Interest::ReadableWritable
    }
}
