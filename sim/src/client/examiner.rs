//! A client that knows what it must be told: it asks all kinds of things, odd ones too, in all versions, and a reference broker judges each answer.
//!
//! It has topics and groups of its own and one request open at a time, so that every answer is determined. It is silent for good as soon as
//! something may be lost that it does not know of: an answer, or what the broker had not synced. It must not know what a right answer is.

use klamm::protocol::{ApiKey, Message};
use klamm::types::Instant;

use super::link::{Link, LinkNews, Next};
use super::questions::Asker;
use super::{Client, ClientConnection, ClientContext, Habits};
use crate::checker::Violation;
use crate::keyed::Site;
use crate::reference::{ReferenceBroker, encoded};

/// What one examiner is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExaminerProfile {
    pub(crate) client: u32,
    pub(crate) questions: u32,
}

/// A request that has no answer yet.
struct Asked {
    api_key: ApiKey,
    version: i16,
    body: Vec<u8>,
}

/// The client.
pub(crate) struct Examiner {
    profile: ExaminerProfile,
    link: Link,
    reference: ReferenceBroker,
    asker: Asker,
    asked: Option<Asked>,
    questions_left: u32,
    /// The start of the broker that it knows.
    boot: Option<u32>,
    is_done: bool,
}

impl Examiner {
    pub(crate) fn new(profile: ExaminerProfile) -> Examiner {
        Examiner {
            profile,
            link: Link::new(profile.client, Habits::none()),
            reference: ReferenceBroker::default(),
            asker: Asker::new(profile.client),
            asked: None,
            questions_left: profile.questions,
            boot: None,
            is_done: false,
        }
    }

    fn ask(&mut self, context: &ClientContext<'_>, connection: &mut ClientConnection) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        let mut question = Question { context, connection, asked: None };
        self.asker.ask(draw, &self.reference, &mut question);
        self.asked = question.asked;
        self.questions_left = self.questions_left.saturating_sub(1);
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, body: &[u8]) {
        let Some(Asked { api_key, version, body: request }) = self.asked.take() else { return };
        if let Err(difference) = self.reference.judge((api_key, version), &request, body) {
            context.history.violate(Violation::NotAsReference { api: api_key.name(), version, difference });
        }
        self.is_done |= self.questions_left == 0;
    }

    /// Whether something may be lost, or refused, for reasons that a reference broker does not have.
    fn is_in_doubt(&mut self, context: &ClientContext<'_>, has_lost_answer: bool) -> bool {
        let boot = *self.boot.get_or_insert(context.boot);
        boot != context.boot || context.is_draining || !context.is_machine_sound || has_lost_answer
    }
}

/// Sends one request, and keeps what was sent.
pub(super) struct Question<'a, 'c> {
    context: &'a ClientContext<'c>,
    connection: &'a mut ClientConnection,
    asked: Option<Asked>,
}

impl Question<'_, '_> {
    pub(super) fn send<'m, M: Message<'m>>(&mut self, (api_key, version): (ApiKey, i16), message: &M) {
        self.connection.send(self.context, (api_key, version), message, true);
        self.asked = Some(Asked { api_key, version, body: encoded(message, version) });
    }
}

impl Client for Examiner {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if self.is_done {
            return None;
        }
        let beginning = self.link.begin(context, true);
        if self.is_in_doubt(context, beginning.was_lost && self.asked.is_some()) {
            self.is_done = true;
            self.link.close();
            return None;
        }
        if let Next::Rest(at) = beginning.next {
            return Some(at);
        }
        loop {
            if let Some(mut connection) = self.link.take_idle(context) {
                self.ask(context, &mut connection);
                self.link.give_back(connection);
            }
            match self.link.pump(context, true) {
                LinkNews::Answer(_, _, _, body) => self.take_answer(context, &body),
                LinkNews::Rest(at) => return at,
                LinkNews::Lost(at) => {
                    self.is_done |= self.asked.is_some();
                    return Some(at);
                }
            }
            if self.is_done {
                self.link.close();
                return None;
            }
        }
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn waits_since(&self) -> Option<Instant> {
        self.link.waits_since()
    }

    fn waits_for(&self) -> String {
        let asked = self.asked.as_ref().map(|asked| format!("{} version {}", asked.api_key, asked.version));
        let open = asked.unwrap_or_else(|| "nothing".to_string());
        format!("examiner {}: {} questions left, {open} is open", self.profile.client, self.questions_left)
    }
}
