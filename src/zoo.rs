//! The bug zoo: defects that the simulator must find, planted one at a time by a build with the feature `zoo`.
//!
//! Without the feature nothing can be planted and every question folds to `false`. It must not know how a bug is found.

macro_rules! bugs {
    ($($(#[doc = $sentence:literal])+ $variant:ident = $name:literal;)*) => {
        /// A planted bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Bug {
            $($(#[doc = $sentence])+ $variant,)*
        }

        impl Bug {
            /// Every bug.
            pub const ALL: &[Bug] = &[$(Bug::$variant,)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Bug::$variant => $name,)*
                }
            }

            /// What is wrong, in a sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Bug::$variant => concat!($($sentence),+).trim_ascii(),)*
                }
            }
        }
    };
}

bugs! {
    /// A produce with acks=all is answered when it is written, not when it is on the disk.
    AckBeforeFsync = "ack before fsync";
    /// A recovery takes batches whose checksum does not match.
    RecoveryIgnoresCrc = "recovery ignores CRC";
    /// A recovery does not look which producers wrote the batches that it reads.
    ProducerStateNotRebuilt = "producer state not rebuilt";
    /// After a write that took a part of a piece, the piece is sent again from its start.
    PartialWriteResumesWrong = "partial write resumes at wrong place";
    /// A channel is read on while a request of it is in work.
    NoMuteWhileProcessing = "no mute while processing";
    /// After an edge a channel is read for one frame and counts as drained.
    EdgeReadOnce = "edge-triggered, read once";
    /// A writable event does not go on with an answer that was written in part.
    WritableEventIgnored = "writable event ignored after partial write";
    /// The slots of a Processor have no generations, so that an answer may find the next channel of its slot.
    SlotReuseWithoutGeneration = "slot reuse without generation";
    /// A failed sync counts as one that succeeded.
    FsyncErrorIgnored = "fsync error ignored";
    /// Consumers see an acks=all batch before it is on the disk.
    HighWatermarkBeforeFsync = "high watermark before fsync";
    /// A frame's length that comes in two reads is forgotten after the first.
    LengthPrefixSplit = "length prefix split over reads";
    /// A retry is recognised only if it is the producer's last batch.
    DedupKeepsLastSequence = "dedup keeps only last sequence";
    /// Memory that one Processor gives back wakes no other that waits for it.
    MemoryWakesNobody = "memory given back wakes nobody";
    /// What a group coordinator decided is answered when it is written, not when it is on the disk.
    GroupAnswerBeforeFsync = "group answer before fsync";
    /// A commit is taken from a member that knows an older generation only.
    GenerationNotChecked = "generation not checked";
    /// A member that asks for its assignment after the others have theirs gets none.
    AssignmentLost = "assignment lost after the rebalance";
    /// A fetch session tells of records only together with a new high watermark.
    SessionForgetsRecords = "fetch session forgets records";
    /// A decision about the cluster is answered with the next sync, whichever log that is of.
    DecisionBeforeFsync = "topic created before fsync";
    /// What looks damaged is cut off at the first look, though a second one would find it whole.
    DamageBelievedAtOnce = "damage believed at once";
    /// A torn batch at the start of a segment is taken for one of an old format, and the partition stays offline.
    TornTakenForOld = "torn batch taken for an old format";
    /// A fetch gives a piece of a first batch that is too large for a partition which is not the first with data.
    FirstBatchCut = "first batch of a fetch is cut";
    /// Who has read up to the end of a log and fetches there is told that there is no such offset.
    EndOutOfRange = "the end of the log is out of range";
    /// A look-up by timestamp passes over a record that has just this timestamp.
    TimestampPassed = "timestamp look-up goes one too far";
    /// A request that is only to be validated creates partitions.
    ValidationCreates = "validation creates partitions";
    /// An offset that was deleted is still there.
    DeletedOffsetStays = "deleted offset stays";
    /// A deleted group is still there while somebody who was given a member id may come back with it.
    PendingKeepsGroup = "deleted group waits for who may join";
}

#[cfg(feature = "zoo")]
mod planted {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Bug;

    const NONE: u8 = u8::MAX;
    static PLANTED: AtomicU8 = AtomicU8::new(NONE);

    /// Plants this bug and no other, or none, in every broker of the process.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.store(bug.map_or(NONE, |bug| bug as u8), Ordering::Relaxed);
    }

    /// Whether this bug is planted.
    #[inline]
    pub fn is(bug: Bug) -> bool {
        PLANTED.load(Ordering::Relaxed) == bug as u8
    }
}

#[cfg(feature = "zoo")]
pub use planted::{is, plant};

/// Whether this bug is planted: never, in this build.
#[cfg(not(feature = "zoo"))]
#[inline(always)]
pub const fn is(_bug: Bug) -> bool {
    false
}
