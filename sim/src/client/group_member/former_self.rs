//! A static member that starts again, and its former self, which speaks once more and must be fenced.
//!
//! It must not know what either of them owns.

use klamm::types::Instant;

use super::{GroupMember, NANOS_PER_MS, SESSION_MS};
use crate::checker::Violation;
use crate::client::ClientContext;

/// A static member before it started again.
#[derive(Clone, Debug)]
pub(super) struct FormerSelf {
    pub(super) member_id: String,
    pub(super) generation: i32,
    /// In which start of the broker, and when, it was told last that it is alive in a group that was settled.
    settled: Option<(u32, Instant)>,
}

impl GroupMember {
    /// A static member starts again: it has forgotten everything but its instance id.
    pub(super) fn start_again(&mut self) {
        let (member_id, settled) = (std::mem::take(&mut self.member_id), self.settled.take());
        self.before = Some(FormerSelf { member_id, generation: self.generation, settled });
        (self.generation, self.generation_before, self.is_late) = (-1, None, false);
        self.members.clear();
        self.owned.clear();
    }

    /// Its former self has spoken, and must not be heard while it is known itself.
    pub(super) fn take_twin(&mut self, context: &mut ClientContext<'_>, error: i16) {
        let twin = self.twin.take();
        let is_of_now = self.settled.is_some_and(|(boot, _)| boot == self.asked_in && boot == context.boot);
        if let Some(twin) = twin.filter(|_| error == 0 && is_of_now) {
            context.history.violate(Violation::TwinAlive { member: twin.member_id });
        }
        self.task = self.next_round(context);
    }

    /// It has the place of its former self. If that was settled and alone, the group has noticed nothing of it.
    pub(super) fn take_place(&mut self, context: &mut ClientContext<'_>) {
        let Some(before) = self.before.take().filter(|before| !before.member_id.is_empty()) else { return };
        let session_ns = u64::try_from(SESSION_MS).unwrap_or(0) * NANOS_PER_MS;
        let was_settled = before.settled.is_some_and(|(boot, at)| {
            boot == self.asked_in && boot == context.boot && context.now().0.saturating_sub(at.0) < session_ns
        });
        let (was, is) = (before.generation, self.generation);
        if was != is && was_settled && context.history.groups().is_alone(self.profile.client) {
            let member = self.member_id.clone();
            context.history.violate(Violation::StaticRebalance { member, was, is });
        }
        self.twin = Some(before);
    }
}
