//! What a scene has to do with the broker: connections on which it asks and hears, one for each of its roles, and time that passes.
//!
//! A scene is written as it is played, one line after the other; it goes on when what it awaits has come. It must not know sockets.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::future::poll_fn;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::task::Poll;

use klamm::error_code::ErrorCode;
use klamm::protocol::messages::api_versions::ApiVersionsRequest;
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message};
use klamm::types::Instant;

use crate::client::versions::ANY;
use crate::client::{ClientConnection, ClientContext};

const NANOS_PER_MS: u64 = 1_000_000;

/// What came of a scene, or of a part of it.
pub(super) type Played<T = ()> = Result<T, Otherwise>;

/// What is otherwise than the scene has it, in words.
#[derive(Debug)]
pub(super) struct Otherwise(pub(super) String);

impl From<DecodeError> for Otherwise {
    fn from(error: DecodeError) -> Otherwise {
        Otherwise(format!("an answer cannot be read: {error}"))
    }
}

/// An answer that was heard.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) version: i16,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn read<'a, M: Message<'a>>(&'a self) -> Played<M> {
        Ok(M::decode(&mut Decoder::new(&self.body), self.version)?)
    }
}

/// Where a role puts its question.
pub(super) struct Question<'a> {
    context: &'a ClientContext<'a>,
    connection: &'a mut ClientConnection,
    api: (ApiKey, i16),
}

impl Question<'_> {
    pub(super) fn put<'m, M: Message<'m>>(&mut self, message: &M) {
        self.connection.send(self.context, self.api, message, true);
    }

    /// The first bytes of one that never comes to its end.
    pub(super) fn put_start<'m, M: Message<'m>>(&mut self, message: &M, bytes: usize) {
        self.connection.send_start(self.api, message, bytes);
    }

    /// One that is never answered.
    pub(super) fn put_unanswered<'m, M: Message<'m>>(&mut self, message: &M) {
        self.connection.send(self.context, self.api, message, false);
    }
}

type Put = Box<dyn FnOnce(&mut Question<'_>)>;

/// What a role wants to ask.
pub(super) struct Asked {
    pub(super) role: usize,
    api_key: ApiKey,
    versions: RangeInclusive<i16>,
    put: Put,
}

impl Asked {
    pub(super) fn send(self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let api = connection.api(context, self.api_key, &self.versions);
        (self.put)(&mut Question { context, connection, api });
    }
}

/// What the client and its scene tell each other.
#[derive(Default)]
pub(super) struct Prompter {
    pub(super) now: Instant,
    pub(super) wall_ms: i64,
    /// Nothing of the disk or the machine has gone wrong in the whole run.
    pub(super) is_sound: bool,
    /// The start before this act was the first that was tried.
    pub(super) has_started_at_once: bool,
    /// What the broker has read from the disk.
    pub(super) bytes_read: u64,
    /// How much longer each sync is to take from now on.
    pub(super) sync_ns: Option<u64>,
    /// Nothing goes on before.
    pub(super) rests_until: Option<Instant>,
    pub(super) asked: VecDeque<Asked>,
    pub(super) heard: BTreeMap<usize, VecDeque<Answer>>,
    pub(super) gone: BTreeSet<usize>,
}

/// The stage.
#[derive(Clone)]
pub(super) struct Stage(Rc<RefCell<Prompter>>);

impl Stage {
    pub(super) fn new(prompter: Rc<RefCell<Prompter>>) -> Stage {
        Stage(prompter)
    }

    pub(super) fn now(&self) -> Instant {
        self.0.borrow().now
    }

    pub(super) fn wall_ms(&self) -> i64 {
        self.0.borrow().wall_ms
    }

    /// Whether the broker has all that was ever on its disk.
    pub(super) fn is_sound(&self) -> bool {
        self.0.borrow().is_sound
    }

    /// Whether the start before this act came to its end at the first try.
    pub(super) fn has_started_at_once(&self) -> bool {
        self.0.borrow().has_started_at_once
    }

    /// How many bytes the broker has read from the disk so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.0.borrow().bytes_read
    }

    /// From now on each sync takes so much longer than usual.
    pub(super) fn slow_syncs(&self, milliseconds: u64) {
        self.0.borrow_mut().sync_ns = Some(milliseconds * NANOS_PER_MS);
    }

    /// A role asks, in a version that will do, on a connection of its own.
    pub(super) fn ask(
        &self,
        role: usize,
        api_key: ApiKey,
        versions: RangeInclusive<i16>,
        put: impl FnOnce(&mut Question<'_>) + 'static,
    ) {
        let asked = Asked { role, api_key, versions, put: Box::new(put) };
        self.0.borrow_mut().asked.push_back(asked);
    }

    /// The next answer that a role is given.
    pub(super) async fn hear(&self, role: usize) -> Answer {
        poll_fn(|_| {
            let heard = self.0.borrow_mut().heard.get_mut(&role).and_then(VecDeque::pop_front);
            heard.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// The next answer that any of these roles is given, and whose it is.
    pub(super) async fn hear_any(&self, roles: &[usize]) -> (usize, Answer) {
        poll_fn(|_| {
            let heard = &mut self.0.borrow_mut().heard;
            let next = |role: &usize| Some((*role, heard.get_mut(role)?.pop_front()?));
            roles.iter().find_map(next).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Asks and hears.
    pub(super) async fn call(
        &self,
        role: usize,
        api_key: ApiKey,
        versions: RangeInclusive<i16>,
        put: impl FnOnce(&mut Question<'_>) + 'static,
    ) -> Answer {
        self.ask(role, api_key, versions, put);
        self.hear(role).await
    }

    /// A role comes to the broker, and is served there. What it asks next does not wait behind a full backlog, which may be for seconds.
    pub(super) async fn arrive(&self, role: usize) {
        drop(self.call(role, ApiKey::ApiVersions, ANY, put_versions).await);
    }

    /// Whether a role has an answer that it has not heard.
    pub(super) fn is_answered(&self, role: usize) -> bool {
        self.0.borrow().heard.get(&role).is_some_and(|answers| !answers.is_empty())
    }

    /// Time passes.
    pub(super) async fn rest(&self, milliseconds: u64) {
        let until = Instant(self.now().0.saturating_add(milliseconds * NANOS_PER_MS));
        self.0.borrow_mut().rests_until = Some(until);
        poll_fn(|_| if self.now() >= until { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// A role closes its connection.
    pub(super) fn leave(&self, role: usize) {
        self.0.borrow_mut().gone.insert(role);
    }
}

/// Asks which versions there are.
pub(super) fn put_versions(question: &mut Question<'_>) {
    let (client_software_name, client_software_version) = ("sim", "1");
    question.put(&ApiVersionsRequest { client_software_name, client_software_version, ..Default::default() });
}

/// What was found is what the scene has.
pub(super) fn same<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Played {
    if found == expected { Ok(()) } else { Err(Otherwise(format!("{what}: {found:?} and not {expected:?}"))) }
}

/// An error code is the expected one.
pub(super) fn told(what: &str, found: i16, expected: ErrorCode) -> Played {
    same(what, ErrorCode::from_code(found), expected)
}
