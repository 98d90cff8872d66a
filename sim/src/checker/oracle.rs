//! How the oracle of a run judges: as a whole, or bent in one place, to learn what that place is worth.
//!
//! A check that no planted bug needs proves nothing, and an excuse that no clean run needs only hides bugs. A bend changes the verdict and never the run, but for a
//! client that goes by what it excuses. It must not know what a check looks at.

use super::Violation;

macro_rules! checks {
    ($($check:ident,)*) => {
        impl Violation {
            /// Every check, by the name of what it finds.
            pub const CHECKS: &[&str] = &[$(stringify!($check),)*];

            /// The check that has found it.
            pub fn check(&self) -> &'static str {
                match self {
                    $(Violation::$check { .. } => stringify!($check),)*
                }
            }
        }
    };
}

checks! {
    AcknowledgedLost, AcknowledgedElsewhere, Twice, RefusedThere, RefusedWithoutCause, OffsetChanged, Gap,
    OutOfOrder, SequenceBroken, NeverAcknowledged, WentBack, AboveHighWatermark, DeletedServed, DeletedBack,
    DeletedOtherwise, OutOfRange, ReadLost, EpochEndsEarly, EpochEndsElsewhere, Foreign, SoughtInVain, NotSought, ServedShort, Denied,
    RemovalUnseen, NotRetained, StaleServed, Leaderless, StartsWithoutMetadata, DamagedBatch, TwoOwners, CommitLost,
    CommitUnseen, ForeignCommit, CommitAhead, StaleCommit, StaleHeartbeat, AssignmentLost, TwinAlive,
    StaticRebalance, GroupTooLarge, CannotLeave, Expelled, WaitedInVain, OffsetExpired, OffsetKept, ExpiredEarly,
    AnsweredEarly, WokenLate, TopicNotAsTold, ConfigNotAsTold, SettingNotAsTold, BrokerSettingNotAsTold, BadSettingTaken,
    PartitionsGone, FormerTopicServed, FormerRecord, RenewedLost, SessionOtherwise, ForgottenTold,
    DivergenceOtherwise, RefusedOtherwise, RefusedKept, AcceptedLost, RefusalUnheard, AbortedTold, NotDone,
    Unmentioned, UnaskedAnswer, AnswerOutOfOrder, ReadAhead, ConnectionKept, ClosedWithoutCause, HeldForNobody, DeletedKept, DeletedGone,
    NonsenseHeard, Unanswered, LimitPassed, UnreadableAnswer, SceneOtherwise, NotAsReference, DoesNotStart,
    DoesNotStop, StopsInTheMiddle, Panicked, Stuck,
}

macro_rules! excuses {
    ($($(#[doc = $sentence:literal])+ $excuse:ident = $name:literal;)*) => {
        /// What lets a check say nothing: something has gone wrong for which the broker need not answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Excuse {
            $($(#[doc = $sentence])+ $excuse,)*
        }

        impl Excuse {
            /// Every one.
            pub const ALL: &[Excuse] = &[$(Excuse::$excuse,)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Excuse::$excuse => $name,)*
                }
            }

            /// What it excuses, in a sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Excuse::$excuse => concat!($($sentence),+).trim_ascii(),)*
                }
            }
        }
    };
}

excuses! {
    /// A fault has struck that may end a connection.
    NetworkFault = "a fault of the network";
    /// A fault of the disk has struck that the broker must tell somebody.
    DiskFault = "a fault of the disk";
    /// A fault has struck a part of a disk, so that logs on sound disks may suffer too.
    PartFault = "a fault of a part of a disk";
    /// A whole disk was struck in this start of the broker.
    WholeDiskFault = "a fault of a whole disk";
    /// Something has made the whole broker late.
    LateMachine = "a late machine";
    /// The disk, the clocks or the machine are off, be it that something takes long.
    MachineFault = "a fault of the machine";
    /// Something was shortly before what makes who waits late, be it an event of a socket that is not shown at once.
    RecentFault = "a fault a moment ago";
    /// A start may fail in which a fault strikes.
    SpoiltStart = "a spoilt start";
    /// A stop may take long after any fault.
    SlowStop = "a slow stop";
    /// A power cut or a failed sync loses what was not synced.
    UnsyncedLost = "unsynced records are lost";
    /// A producer whose answer was lost knows nothing of its batch.
    UnknownOutcome = "an answer to a producer was lost";
    /// A record may be gone that lay in destroyed bytes, or behind them.
    Destroyed = "destroyed records";
    /// A reader may leap over destroyed records.
    DestroyedGap = "a leap over destroyed records";
    /// A reader may leap over offsets that a compaction of another broker has left empty.
    Hollow = "a leap over a hollow";
    /// A record may be found at a higher offset if the bytes were destroyed that say where.
    Moved = "destroyed offsets";
    /// Nothing is owed any more of a partition of which records were destroyed.
    Touched = "a partition with destroyed records";
    /// A look-up by time may err where indexes or segments were destroyed.
    Misled = "destroyed indexes";
    /// A record may be gone that somebody has had deleted.
    Deleted = "deleted records";
    /// A broker that goes down may forget which records were deleted.
    DeletionForgotten = "a forgotten deletion";
    /// A member may be unknown after its session, or when the broker has started again.
    SessionOver = "a session that is over";
    /// A member may be unknown whom its group did not take back since it was full, or has awaited for long.
    PutOut = "a member that was put out";
    /// A power cut may take a generation of a group back.
    OtherStart = "a generation of another start";
    /// A commit without an answer may take effect late.
    LateCommit = "a commit without an answer";
    /// Nobody knows what became of a topic if an answer about it was lost.
    LostAnswer = "an answer to an admin was lost";
}

/// How the oracle judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// With every check, and every excuse where it belongs.
    #[default]
    Whole,
    /// Without this check.
    Without(&'static str),
    /// Too lenient: it grants this excuse always.
    Granting(Excuse),
    /// Too strict: it never grants this excuse.
    Refusing(Excuse),
}

impl Oracle {
    /// Whether an excuse is granted that is due or not.
    pub(crate) fn grants(self, excuse: Excuse, is_due: bool) -> bool {
        match self {
            Oracle::Granting(bent) if bent == excuse => true,
            Oracle::Refusing(bent) if bent == excuse => false,
            Oracle::Whole | Oracle::Without(_) | Oracle::Granting(_) | Oracle::Refusing(_) => is_due,
        }
    }

    /// Whether what was found is told.
    pub(super) fn tells(self, violation: &Violation) -> bool {
        self != Oracle::Without(violation.check())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::{History, Patience};

    fn found_by(oracle: Oracle) -> Vec<Violation> {
        let mut history = History::judged_by(oracle);
        history.violate(Violation::StartsWithoutMetadata);
        history.violate(Violation::TopicNotAsTold { name: "events".into(), is_there: true });
        history.verdict()
    }

    #[test]
    fn a_check_that_is_left_out_finds_nothing_and_all_others_what_they_found() {
        let whole = found_by(Oracle::Whole);
        assert_eq!(whole.iter().map(Violation::check).collect::<Vec<_>>(), ["StartsWithoutMetadata", "TopicNotAsTold"]);
        assert_eq!(found_by(Oracle::Without("StartsWithoutMetadata")), whole[1..]);
        assert_eq!(found_by(Oracle::Without("Twice")), whole);
    }

    #[test]
    fn a_bent_excuse_is_granted_always_or_never_and_all_others_when_they_are_due() {
        for is_due in [false, true] {
            assert!(Oracle::Granting(Excuse::Deleted).grants(Excuse::Deleted, is_due));
            assert!(!Oracle::Refusing(Excuse::Deleted).grants(Excuse::Deleted, is_due));
            assert_eq!(Oracle::Refusing(Excuse::Deleted).grants(Excuse::Moved, is_due), is_due);
            assert_eq!(Oracle::Whole.grants(Excuse::Deleted, is_due), is_due);
        }
    }

    #[test]
    fn each_record_of_the_history_goes_by_the_oracle_that_it_was_made_with() {
        let mut lenient = History::judged_by(Oracle::Granting(Excuse::Destroyed));
        assert!(lenient.destroyed().excuses(0, 0, 0) && !lenient.deleted().excuses(0, 0));
        let mut strict = History::judged_by(Oracle::Refusing(Excuse::Deleted));
        strict.deleted().asked(0, 5);
        assert!(!strict.deleted().excuses(0, 4));
        let mut strict = History::judged_by(Oracle::Refusing(Excuse::LostAnswer));
        assert_eq!(strict.admin().created("events"), None);
        strict.admin().unknown("events");
        assert!(strict.admin().found("events", false).is_some());
        let mut strict = History::judged_by(Oracle::Refusing(Excuse::SessionOver));
        strict.sessions().owes_nothing("a", klamm::types::Instant(0));
        strict.sessions().heard("a", 1, klamm::types::Instant(0));
        let patience = Patience { session_ms: 0, rebalance_ms: 1 };
        assert!(strict.sessions().unknown("a", 2, klamm::types::Instant(0), patience).is_some());
        let mut strict = History::judged_by(Oracle::Refusing(Excuse::OtherStart));
        strict.groups().joined(2, 1);
        assert!(strict.groups().is_stale(1, 0));
    }
}
