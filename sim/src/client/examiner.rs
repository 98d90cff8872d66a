//! A client that knows what it must be told: it asks all kinds of things, odd ones too, in all versions, and a reference broker judges each answer.
//!
//! It has topics and groups of its own and one request open at a time, so that every answer is determined. It is silent for good as soon as
//! something may be lost that it does not know of: an answer, or what the broker had not synced. It must not know what a right answer is.

use klamm::protocol::{ApiKey, DecodeError, Message};

use super::dialogue::Dialogue;
use super::link::Link;
use super::questions::Asker;
use super::{ClientConnection, ClientContext, Habits};
use crate::checker::Violation;
use crate::keyed::Site;
use crate::reference::{ReferenceBroker, encoded};

/// What one examiner is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExaminerProfile {
    pub(crate) client: u32,
    pub(crate) questions: u32,
    /// The broker is set up to name another address than the one at which it is reached.
    pub(crate) is_told_another_address: bool,
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
        }
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

impl Dialogue for Examiner {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    /// Something may be lost, or refused, for reasons that a reference broker does not have.
    fn look_about(&mut self, context: &mut ClientContext<'_>) {
        let boot = *self.boot.get_or_insert(context.boot);
        if boot != context.boot || context.is_draining || !context.is_machine_sound {
            self.link.leave();
        }
    }

    fn may_wait(&self) -> bool {
        true
    }

    fn ask(&mut self, context: &mut ClientContext<'_>, connection: &mut ClientConnection) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        let mut question = Question { context, connection, asked: None };
        self.asker.ask(draw, &self.reference, &mut question);
        self.asked = question.asked;
        self.questions_left = self.questions_left.saturating_sub(1);
    }

    fn take_answer(&mut self, context: &mut ClientContext<'_>, _: i16, body: &[u8]) -> Result<(), DecodeError> {
        let Some(Asked { api_key, version, body: request }) = self.asked.take() else { return Ok(()) };
        if !self.profile.is_told_another_address {
            self.reference.node.reached_at(context.broker);
        }
        if let Err(difference) = self.reference.judge((api_key, version), &request, body) {
            context.history.violate(Violation::NotAsReference { api: api_key.name(), version, difference });
        }
        if self.questions_left == 0 {
            self.link.leave();
        }
        Ok(())
    }

    fn connection_lost(&mut self, _: &mut ClientContext<'_>) {
        if self.asked.is_some() {
            self.link.leave();
        }
    }

    fn is_at(&self) -> String {
        let asked = self.asked.as_ref().map(|asked| format!("{} version {}", asked.api_key, asked.version));
        let open = asked.unwrap_or_else(|| "nothing".to_string());
        format!("examiner {}: {} questions left, {open} is open", self.profile.client, self.questions_left)
    }
}
