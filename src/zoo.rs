//! The bug zoo: defects that the simulator must find, planted one at a time by a build with the feature `zoo`.
//!
//! Without the feature nothing can be planted and every question folds to `false`. It must not know how a bug is found.

macro_rules! bugs {
    ($($(#[doc = $meaning:literal])+ $family:ident = $family_name:literal {
        $($(#[doc = $sentence:literal])+ $variant:ident = $name:literal;)*
    })*) => {
        /// What kind of thing a planted bug does wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Family {
            $($(#[doc = $meaning])+ $family,)*
        }

        impl Family {
            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Family::$family => $family_name,)*
                }
            }
        }

        /// A planted bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Bug {
            $($($(#[doc = $sentence])+ $variant,)*)*
        }

        impl Bug {
            /// Every bug, family by family.
            pub const ALL: &[Bug] = &[$($(Bug::$variant,)*)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $($(Bug::$variant => $name,)*)*
                }
            }

            /// What is wrong, in a sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $($(Bug::$variant => concat!($($sentence),+).trim_ascii(),)*)*
                }
            }

            /// Its family.
            pub fn family(self) -> Family {
                match self {
                    $($(Bug::$variant => Family::$family,)*)*
                }
            }
        }
    };
}

bugs! {
    /// From bytes to frames and back.
    Framing = "framing" {
        /// A frame's length that comes in two reads is forgotten after the first.
        LengthPrefixSplit = "length prefix split over reads";
        /// What a read brings beyond the frame that it completes is dropped.
        SurplusDropped = "surplus of a read is dropped";
        /// A frame's length is believed, however large it is.
        LengthBelieved = "any length of a frame is believed";
        /// After a write that took a part of a piece, the piece is sent again from its start.
        PartialWriteResumesWrong = "partial write resumes at wrong place";
        /// An answer is encoded in a version older than the request's.
        AnswerInOldVersion = "answer in another version";
        /// A partition of a fetch without data has no record set instead of an empty one.
        NullRecords = "null record set";
    }
    /// Who is told that there is something to do.
    Readiness = "readiness" {
        /// After an edge a channel is read for one frame and counts as drained.
        EdgeReadOnce = "edge-triggered, read once";
        /// A request that was read together with the one before it waits for the next edge of its socket.
        BufferedFrameForgotten = "buffered request waits for an edge";
        /// A channel that became readable while it was muted is not read when it no longer is.
        UnmuteForgets = "unmute forgets to read";
        /// A writable event does not go on with an answer that was written in part.
        WritableEventIgnored = "writable event ignored after partial write";
        /// An Acceptor that found no descriptor for a connection waits for an edge that has come already.
        AcceptNotRetried = "failed accept is not tried again";
        /// Memory that one Processor gives back wakes no other that waits for it.
        MemoryWakesNobody = "memory given back wakes nobody";
        /// A place in the full queue of requests wakes no Processor that was refused.
        QueueWakesNobody = "room in the queue wakes nobody";
        /// The role that watches deadlines is not told of a parked fetch's.
        DeadlineUnannounced = "deadline of a fetch is not announced";
        /// Records that a sync lets readers see wake no fetch that waits for them.
        SyncWakesNoFetch = "a sync wakes no fetch";
        /// Records that an append lets readers see at once wake no fetch that waits for them.
        AppendWakesNoFetch = "an append wakes no fetch";
        /// A connection that was aborted before it was accepted lets the others wait for an edge that has come already.
        AbortedAcceptEnds = "aborted connection ends the accepting";
    }
    /// What a connection leaves behind, and who goes on with it.
    LifeCycle = "life cycle" {
        /// The slots of a Processor have no generations, so that an answer may find the next channel of its slot.
        SlotReuseWithoutGeneration = "slot reuse without generation";
        /// The memory of a frame that its peer did not finish is not given back with its connection.
        UnfinishedFrameKept = "unfinished frame keeps its memory";
        /// A channel whose answer cannot be written is not closed.
        BrokenChannelKept = "channel is kept when a write fails";
        /// A peer that writes no more is closed before what it has sent is read and answered.
        FinishedPeerCut = "peer that finished is cut off";
        /// A closed connection is not taken out of the counts.
        ConnectionCountKept = "closed connection stays counted";
        /// A connection on which nothing was ever asked is not closed, however long it is idle.
        SilenceNotExpired = "who never speaks is never idle";
        /// A connection is not closed in the middle of a frame, however long it is idle.
        HalfFrameNotExpired = "half a frame is never idle";
        /// A connection whose answer its peer does not read is not closed, however long it is idle.
        UnreadNotExpired = "an unread answer is never idle";
        /// More connections than a lowered limit of all of them allows stay.
        ExcessKept = "excess over max.connections stays";
        /// A limit for an address that is changed at run time is not followed.
        AddressLimitFixed = "changed limit of an address is not followed";
        /// An exception from that limit that is changed at run time is not followed.
        OverridesFixed = "changed override of an address is not followed";
        /// A listener takes connections beyond a limit of its own.
        ListenerLimitIgnored = "limit of a listener is ignored";
        /// Connections that come faster than they may are taken at once.
        RateNotHeld = "connections above the rate are taken";
    }
    /// From the queue of requests to the answers, and back.
    Pipeline = "pipeline" {
        /// A channel is read on while a request of it is in work.
        NoMuteWhileProcessing = "no mute while processing";
        /// Only the first of the requests that wait for a block of producer ids is answered.
        IdsForTheFirst = "producer ids serve the first only";
        /// An orderly stop does not end the fetches that wait for data.
        DrainForgetsFetches = "stop waits for parked fetches";
        /// An orderly stop does not end the requests that wait for other members of a group.
        DrainForgetsGroups = "stop waits for parked group members";
        /// A channel is read on when its answer has begun to be sent, not when it is sent.
        UnmutedTooEarly = "unmuted before its answer is sent";
        /// A produce without an answer (acks=0) is answered.
        AnswerWithoutAcks = "acks=0 is answered";
        /// A fetch in a session that asks for nothing new is answered at once, whether there is anything or not.
        EmptyFetchDoesNotWait = "empty incremental fetch does not wait";
        /// A fetch from behind the last record, but before the end of the log, is answered at once, again and again.
        HoleEndsWait = "hole at the end ends the wait";
        /// Any byte ends the wait of a fetch, however many it waits for.
        AnyByteEndsWait = "any byte ends the wait";
        /// A produce that waits for the disk is given up after a thousandth of its time.
        ProduceGivenUp = "produce is given up before its time";
    }
    /// What was told although a power cut may take it.
    Durability = "durability" {
        /// A produce with acks=all is answered when it is written, not when it is on the disk.
        AckBeforeFsync = "ack before fsync";
        /// A retry is answered before the batch that it repeats is on the disk.
        RetryDoesNotWait = "retry does not wait for the disk";
        /// A failed sync counts as one that succeeded.
        FsyncErrorIgnored = "fsync error ignored";
        /// Consumers see an acks=all batch before it is on the disk.
        HighWatermarkBeforeFsync = "high watermark before fsync";
        /// Consumers are served up to the end of the log.
        ReadToEnd = "fetch beyond the high watermark";
        /// What a group coordinator decided is answered when it is written, not when it is on the disk.
        GroupAnswerBeforeFsync = "group answer before fsync";
        /// A committed offset is synced without the records that it tells of.
        CommitSyncedAlone = "commit synced before its records";
        /// A decision about the cluster is answered with the next sync, whichever log that is of.
        DecisionBeforeFsync = "topic created before fsync";
    }
    /// What a start, or what comes after an error, makes of what it finds.
    Recovery = "recovery" {
        /// An epoch in which nothing was written stays when the next one begins at the same offset.
        EmptyEpochStays = "empty epoch stays";
        /// The file of leader epochs is not replaced by a newer one.
        EpochFileStays = "file of epochs stays old";
        /// A recovery takes batches whose checksum does not match.
        RecoveryIgnoresCrc = "recovery ignores CRC";
        /// A recovery does not look which producers wrote the batches that it reads.
        ProducerStateNotRebuilt = "producer state not rebuilt";
        /// A snapshot of producers holds the last batch of each only.
        SnapshotOfLastBatch = "snapshot holds the last batch only";
        /// What looks damaged is cut off at the first look, though a second one would find it whole.
        DamageBelievedAtOnce = "damage believed at once";
        /// A torn batch at the start of a segment is taken for one of an old format, and the partition stays offline.
        TornTakenForOld = "torn batch taken for an old format";
        /// A segment whose index is gone or torn takes its partition offline.
        MissingIndexFatal = "missing index is fatal";
        /// What the checkpoints say of a deleted log is believed of the new one of its name.
        FormerCheckpointBelieved = "former log's checkpoint is believed";
        /// Several segments go at once, and nothing keeps their order on the disk.
        SegmentsGoTogether = "segments go in no order";
        /// An unclean start does not raise the leader epochs.
        EpochNotRaised = "leader epoch not raised";
        /// A failed append leaves the bytes that it has written.
        TornAppendStays = "torn append stays";
        /// From which offset on a log has not been deleted is not written down.
        LogStartForgotten = "log start is not written down";
        /// A log that finds no space goes offline for good.
        FullDiskOffline = "full disk takes the log offline";
        /// That a batch failed is forgotten, so that the next of its pipeline may take its place.
        FailedBatchForgotten = "failed batch is forgotten";
        /// A partition whose log could not be made gets none until the next start.
        MissingLogStays = "missing log is not tried again";
        /// A cluster begins on directories whose metadata are in one that is missing.
        MetadataLossUnseen = "lost metadata begin a cluster";
        /// A partition whose log lies in a directory that cannot be used begins anew in another one.
        LogBegunElsewhere = "partition of a missing directory begins anew";
        /// A directory that cannot be used keeps all others from being used.
        DirectoryTakesAll = "one directory takes all down";
        /// A directory that somebody has removed stays in use.
        RemovedDirectoryUnseen = "removed directory stays in use";
        /// A new partition makes a directory anew that somebody has removed, so that nobody notices.
        RemovedDirectoryRemade = "creation makes a removed directory anew";
        /// Of a directory that could not be read for a moment nobody remembers that the metadata may lie there.
        UnreadableForgotten = "unreadable directory is forgotten";
        /// The empty folder that a refused creation has left counts as a second log of its partition.
        LeftOverFolderIsTwin = "left-over folder counts as a log";
        /// The empty folder that a refused creation has left is served while its partition lies in a directory that is missing.
        LeftOverFolderTaken = "left-over folder is served";
        /// A segment that is ready to replace others is removed like one that is not.
        ReplacementForgotten = "complete replacement is undone";
        /// A segment that was to replace others replaces them although it is not complete.
        HalfReplacementTaken = "half a replacement is taken";
        /// A transaction that is open at a start stays open.
        OpenTransactionStays = "open transaction stays open";
        /// A start forgets how topics were configured.
        ConfigForgotten = "start forgets configurations";
        /// A start forgets the partitions that a topic was given later.
        PartitionsForgotten = "start forgets later partitions";
    }
    /// What a request means.
    Protocol = "protocol" {
        /// A partition that has no log is said not to exist.
        NoLogIsUnknown = "partition without a log is unknown";
        /// A retry is recognised only if it is the producer's last batch.
        DedupKeepsLastSequence = "dedup keeps only last sequence";
        /// A recognised retry is answered with the offset of the log's end.
        DuplicateElsewhere = "retry told another offset";
        /// A fetch gives a piece of a first batch that is too large for a partition which is not the first with data.
        FirstBatchCut = "first batch of a fetch is cut";
        /// Who has read up to the end of a log and fetches there is told that there is no such offset.
        EndOutOfRange = "the end of the log is out of range";
        /// A first batch that is larger than the limit of its partition is not given at all.
        LargeBatchWithheld = "batch above the limit is withheld";
        /// A fetch session tells of records only together with a new high watermark.
        SessionForgetsRecords = "fetch session forgets records";
        /// A fetch session takes a request in whatever epoch.
        SessionEpochUnchecked = "epoch of a fetch session is not checked";
        /// A fetch session goes on with a partition that its client does not want any more.
        ForgottenStays = "forgotten partition stays in its session";
        /// Who has read on in an epoch that is over is served as if its history were the log's.
        DivergenceUnseen = "diverging history is not told";
        /// Aborted transactions are told also to those who read everything.
        AbortedToldToAll = "aborted transactions told to all";
        /// A past leader epoch is said to end where it began.
        EpochEndsAtStart = "epoch ends at its start";
        /// A batch is leapt over of which only the last record is wanted.
        LastRecordLeapt = "last record of a batch is leapt over";
        /// A commit is taken from a member that knows an older generation only.
        GenerationNotChecked = "generation not checked";
        /// A heartbeat is taken from a member that knows an older generation only.
        HeartbeatNotChecked = "generation of a heartbeat not checked";
        /// A session is over after an eighth of its time.
        SessionCutShort = "session is over too soon";
        /// A member cannot leave while the group gathers.
        LeaveRefused = "nobody leaves a rebalance";
        /// A member that asks for its assignment after the others have theirs gets none.
        AssignmentLost = "assignment lost after the rebalance";
        /// An assignment that is none of a Kafka consumer is dropped.
        AssignmentParsed = "assignment is parsed";
        /// A static member that comes back stands beside its former self.
        StaticTwinKept = "static member's former self stays";
        /// A static member that comes back begins a rebalance.
        StaticReturnRebalances = "static member's return rebalances";
        /// A rebalance waits for whoever was given a member id and did not come back.
        PendingMemberBlocks = "pending member blocks the rebalance";
        /// A deleted group is still there while somebody who was given a member id may come back with it.
        PendingKeepsGroup = "deleted group waits for who may join";
        /// A group takes one member more than it may have.
        GroupOneTooMany = "group takes one member too many";
        /// An offset that was never committed is an error.
        NoOffsetIsError = "missing offset is an error";
        /// An offset that was deleted is still there.
        DeletedOffsetStays = "deleted offset stays";
        /// The leader epoch of a committed offset is not told.
        CommitEpochLost = "leader epoch of a commit is lost";
        /// A topic that is made anew under the name of one that was deleted takes that one's log.
        FormerLogKept = "topic made anew has the former records";
        /// A batch that is compressed anew says that it is compressed as it was.
        CodecUntold = "compressed anew, said to be as before";
        /// Retention by size takes segments as long as the log is too large, and with the last of them too much.
        RetentionTakesOneMore = "retention takes a segment too many";
        /// A last segment of old records alone stays.
        LastSegmentNeverOld = "last segment never grows old";
        /// The folder of a deleted log is never due to be removed.
        DeletedFolderStays = "deleted folder stays";
        /// The files of deleted segments are never due to be removed.
        DeletedFilesStay = "deleted files stay";
        /// The offset of a member that is there grows old.
        HeldOffsetAges = "offset of a member grows old";
        /// The end that a client has set for its offset is forgotten when the broker starts again.
        NamedEndForgotten = "end of an offset is lost in a restart";
        /// Groups outlive the topic in which their offsets were.
        GroupsOutliveTopic = "groups outlive their topic";
        /// A compacted topic takes a record without a key.
        KeylessTaken = "record without a key is taken";
        /// Of two batches for one partition the second is dropped without a word.
        SecondBatchDropped = "second batch is dropped";
        /// A batch whose time is the broker's to give may claim to have it already.
        AppendTimeClaimed = "claimed append time is taken";
        /// Of a batch that is refused nobody is told who wants no acknowledgement: the connection goes on.
        RefusalUntold = "refusal without acks goes unnoticed";
        /// A topic that is only to be validated is created.
        ValidationCreates = "validation creates the topic";
        /// A request that is only to be validated creates partitions.
        ValidationCreatesPartitions = "validation creates partitions";
        /// A topic is refused whose number of partitions is left to the broker.
        DefaultRefused = "default number of partitions refused";
        /// A topic that does not exist is left out of the answer instead of refused by name.
        MissingTopicUntold = "missing topic is not mentioned";
        /// A configuration that makes no sense ends the connection.
        BadConfigDisconnects = "bad configuration disconnects";
        /// A configuration that is only to be validated is taken.
        ValidationAlters = "validation alters the configuration";
        /// Only the first change of the broker's configuration at run time takes effect.
        LaterConfigIgnored = "later change of the broker is ignored";
        /// Records are deleted up to an offset that the log has not come to.
        DeletedBeyondEnd = "deletion beyond the end of the log";
        /// Records that were deleted are served as long as their segment is there.
        DeletedServed = "deleted records are served";
        /// A look-up by time leaves out the records of that very time.
        TimeLookupExcludes = "time look-up excludes equals";
        /// A look-up by a time after which nothing was written is refused.
        LateTimeRefused = "time look-up beyond the end is refused";
        /// The largest timestamp of a segment is taken to be its last.
        TimestampsTakenInOrder = "timestamps are taken to rise";
        /// A batch that is older than the first of its segment ends the broker.
        NegativeAgeFatal = "negative age of a segment is fatal";
        /// A fetch session that nobody uses any more keeps its slot.
        OldSessionKept = "old fetch session keeps its slot";
        /// An admin deletes an offset of a topic that a member reads.
        ReadOffsetDeleted = "offset of what is read is deleted";
        /// A member that never asks for its part holds up all others.
        AbsenteeAwaited = "absentee holds up its group";
        /// Who waits for records of a topic that is deleted waits on.
        WaitOutlivesTopic = "wait outlives its topic";
        /// The next page of partitions begins one too late.
        PageLeaps = "page leaps over a partition";
        /// A batch of a transaction is taken, although there are none.
        TransactionTaken = "batch of a transaction is taken";
        /// Of a fetch each partition is told in a topic of its own.
        FetchedTopicTorn = "topic of a fetch is torn";
        /// A batch behind the first that takes just what is left of a fetch is withheld.
        FittingBatchWithheld = "batch that just fits is withheld";
        /// A partition that does not exist ends the wait of a fetch for others.
        MissingEndsWait = "what is missing ends the wait";
        /// A partition that is looked up twice in one request is told twice.
        LookedUpTwice = "partition looked up twice is told";
        /// The time that asks for the youngest record is taken for any time.
        YoungestNotKnown = "youngest record is the first";
        /// A topic that is made because somebody asks for it has one partition, whatever the default is.
        DefaultsNotAsked = "topic made by itself has one partition";
        /// The topic of committed offsets is configured like any other.
        OwnTopicUsual = "own topic is like any other";
        /// Words beside a commit that are just as many as they may be are refused.
        WordsCutShort = "words of a commit are one too many";
        /// A member may ask for its part by any protocol.
        SyncByAnyProtocol = "any protocol will do for a sync";
        /// Of what a consumer subscribes to only the oldest version is read.
        NewSubscriptionUnread = "later subscription is not read";
        /// Every group begins a new round when the broker starts.
        LoadedGroupRebalances = "start rebalances each group";
        /// What is deleted from a topic's beginning takes the ends of later leader epochs along.
        DeletionTakesEpochs = "deletion takes later epochs along";
        /// A record without a time counts as old.
        TimelessIsOld = "record without a time is old";
        /// Each append begins a segment.
        RollsAlways = "each append begins a segment";
        /// Segments below the start of a log stay.
        BelowStartStays = "segments below the start stay";
        /// The folder of a deleted topic goes before its delay is over.
        DeletedFolderGoes = "deleted folder goes at once";
        /// A fetch session forgets what a topic was called when its client asks for it again.
        SessionForgetsName = "session forgets a topic's name";
        /// Of a batch that is refused nobody is told which records are at fault.
        RecordsAtFaultUntold = "records at fault are not told";
        /// Ids that stand in the records of another broker are given out again.
        ForeignIdsGiven = "ids of another broker are given out";
        /// A segment is read from its start, wherever in it the record is that is wanted.
        ReadFromStart = "segment is read from its start";
        /// No snapshot of the producers is taken.
        NoSnapshotTaken = "no snapshot of producers is taken";
        /// After the largest number of a batch none is the next.
        SequenceEnds = "no batch follows the largest sequence";
        /// The role that watches deadlines is not told of that of a decision.
        DecisionUnwatched = "deadline of a decision is not announced";
        /// A commit is answered when it is on the disk, however long that takes.
        CommitWaitsOn = "commit waits as long as the disk";
        /// Who waits for producer ids waits until there are some.
        IdsAwaitedForever = "wait for producer ids has no end";
        /// Of the leader epochs that the batches of a log tell only the first is seen.
        LaterEpochsUnseen = "later epochs of batches are unseen";
        /// Who replaces the configurations of a topic leaves those that are not named as they are.
        ReplacementKeeps = "replaced configurations stay";
    }
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
