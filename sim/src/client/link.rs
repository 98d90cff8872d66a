//! A client's link to the broker: one connection at a time, made anew when it is gone, and treated as the client's habits say.
//!
//! It must not know what is asked. A client is told when a connection is lost, since nobody knows what became of what was open on it.

use klamm::types::Instant;

use super::connection::{earlier, later};
use super::habits::Whim;
use super::{ClientConnection, ClientContext, ConnectionNews, Habits};
use crate::stream::Turnaround;
use klamm::protocol::ApiKey;

const RETRY_NS: u64 = 20_000_000;

/// The link of one client.
pub(crate) struct Link {
    client: u32,
    habits: Habits,
    connection: Option<ClientConnection>,
    attempt: u32,
    retry_at: Option<Instant>,
    /// A request was sent in this step.
    has_asked: bool,
    is_left: bool,
    /// It comes in where operators do.
    is_inner: bool,
}

/// How a step of a client begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// The connection of the last step is gone.
    pub(crate) was_lost: bool,
    pub(crate) next: Next,
}

/// What is to be done in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The client goes on.
    Work,
    /// It goes on, on a new connection.
    WorkAnew,
    /// Nothing before this time.
    Rest(Instant),
}

/// What a pump brought.
pub(crate) enum LinkNews {
    /// An answer: its correlation id, API, version, and the body.
    Answer(i32, ApiKey, i16, Vec<u8>),
    /// Nothing for now; the client comes again at this time.
    Rest(Option<Instant>),
    /// The connection is gone; the client comes again at this time.
    Lost(Instant),
}

impl Link {
    pub(crate) fn new(client: u32, habits: Habits) -> Link {
        Link {
            client,
            habits,
            connection: None,
            attempt: 0,
            retry_at: None,
            has_asked: false,
            is_left: false,
            is_inner: false,
        }
    }

    /// The same by the listener of operators, each time from another address.
    pub(crate) fn by_inner_listener(self) -> Link {
        Link { is_inner: true, ..self }
    }

    /// Begins a step: gives up a connection that is not worth waiting for, follows a whim, connects. A client that `may_wait` is patient.
    pub(crate) fn begin(&mut self, context: &ClientContext<'_>, may_wait: bool) -> Beginning {
        let now = context.now();
        self.has_asked = false;
        let is_hopeless = self.connection.as_ref().is_some_and(|connection| connection.is_of_the_past(context));
        let gives_up = self.gives_up_at(context).is_some_and(|at| at <= now && !may_wait);
        let mut was_lost = is_hopeless || gives_up;
        if was_lost {
            self.lose(context);
        }
        match self.habits.whim(context, self.client) {
            Whim::Work => {}
            Whim::Sleep(nanoseconds) => {
                return Beginning { was_lost, next: Next::Rest(later(context, nanoseconds)) };
            }
            Whim::HalfClose => self.connection.iter_mut().for_each(ClientConnection::half_close),
            whim => {
                if let Some(connection) = self.connection.take() {
                    if whim == Whim::Reset {
                        connection.reset();
                    }
                    was_lost = true;
                    self.lose(context);
                }
            }
        }
        if self.connection.is_some() {
            return Beginning { was_lost, next: Next::Work };
        }
        if let Some(at) = self.retry_at.filter(|at| *at > now) {
            return Beginning { was_lost, next: Next::Rest(at) };
        }
        self.attempt += 1;
        self.connection = Some(match self.is_inner {
            true => ClientConnection::open_inner(self.client, self.attempt, context),
            false => ClientConnection::open(self.client, self.attempt, context),
        });
        Beginning { was_lost, next: Next::WorkAnew }
    }

    /// The connection, if requests may be sent on it now.
    pub(crate) fn open(&mut self, context: &ClientContext<'_>) -> Option<&mut ClientConnection> {
        let may_ask = self.retry_at.is_none_or(|at| at <= context.now());
        self.connection.as_mut().filter(|connection| may_ask && !connection.is_half_closed())
    }

    /// Takes the connection out if a request may be sent on it now and nothing is open on it.
    pub(crate) fn take_idle(&mut self, context: &ClientContext<'_>) -> Option<ClientConnection> {
        self.open(context).filter(|connection| connection.outstanding() == 0)?;
        self.retry_at = None;
        self.connection.take()
    }

    /// Puts it back, with a request that was sent in this step.
    pub(crate) fn give_back(&mut self, connection: ClientConnection) {
        self.connection = Some(connection);
        self.has_asked = true;
    }

    /// Notes that something was sent in this step.
    pub(crate) fn has_asked(&mut self) {
        self.has_asked = true;
    }

    /// Sends nothing new for a while.
    pub(crate) fn pause(&mut self, context: &ClientContext<'_>, nanoseconds: u64) {
        self.retry_at = Some(later(context, nanoseconds));
    }

    /// Sends nothing new before the usual time of a retry.
    pub(crate) fn retry(&mut self, context: &ClientContext<'_>) {
        self.pause(context, RETRY_NS);
    }

    /// Writes and reads.
    pub(crate) fn pump(&mut self, context: &mut ClientContext<'_>, may_wait: bool) -> LinkNews {
        let news = match &mut self.connection {
            Some(connection) => connection.pump(context),
            None => return LinkNews::Rest(self.retry_at),
        };
        match news {
            ConnectionNews::Answer(id, api_key, version, body) => LinkNews::Answer(id, api_key, version, body),
            ConnectionNews::Nothing if self.has_asked && self.habits.runs_away(context, self.client) => {
                LinkNews::Lost(self.run_away(context))
            }
            ConnectionNews::Nothing => {
                self.has_asked = false;
                let gives_up = self.gives_up_at(context).filter(|_| !may_wait);
                LinkNews::Rest(earlier(gives_up, self.retry_at.filter(|at| *at > context.now())))
            }
            ConnectionNews::Over => LinkNews::Lost(self.lose(context)),
        }
    }

    /// Writes what is queued, tears the connection, and says when the client comes again.
    pub(crate) fn run_away(&mut self, context: &ClientContext<'_>) -> Instant {
        if let Some(mut connection) = self.connection.take() {
            connection.flush(context);
            connection.reset();
        }
        self.lose(context)
    }

    /// Whether the client has said on it that it will write no more.
    pub(crate) fn is_half_closed(&self) -> bool {
        self.connection.as_ref().is_some_and(ClientConnection::is_half_closed)
    }

    /// Closes it: nothing is to be done for now.
    pub(crate) fn close(&mut self) {
        self.connection = None;
    }

    /// Closes it: the client is done.
    pub(crate) fn leave(&mut self) {
        self.close();
        self.is_left = true;
    }

    /// Whether the client has left.
    pub(crate) fn is_left(&self) -> bool {
        self.is_left
    }

    /// The number of the client.
    pub(crate) fn client(&self) -> u32 {
        self.client
    }

    /// Whether everything that was queued is on its way.
    pub(crate) fn is_flushed(&self) -> bool {
        self.connection.as_ref().is_none_or(ClientConnection::is_flushed)
    }

    /// The name of the connection.
    pub(crate) fn identity(&self) -> Option<u64> {
        self.connection.as_ref().map(ClientConnection::identity)
    }

    /// What the broker did last with the connection.
    pub(crate) fn turnaround(&self) -> Option<Turnaround> {
        self.connection.as_ref().map(ClientConnection::turnaround)
    }

    /// Since when the oldest request is open.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(ClientConnection::waits_since)
    }

    /// How many requests are open.
    pub(crate) fn outstanding(&self) -> usize {
        self.connection.as_ref().map_or(0, ClientConnection::outstanding)
    }

    fn lose(&mut self, context: &ClientContext<'_>) -> Instant {
        self.connection = None;
        let at = later(context, RETRY_NS);
        self.retry_at = Some(at);
        at
    }

    fn gives_up_at(&self, context: &ClientContext<'_>) -> Option<Instant> {
        self.connection.as_ref().and_then(|open| self.habits.gives_up_at(context, open))
    }
}
