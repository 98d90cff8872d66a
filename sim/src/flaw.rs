//! Wrong makers: one planted defect per clause of the conformance suite, so that every clause is seen to fail.
//!
//! A run without a planted flaw never looks different for this list being here. It must not know the clauses.

macro_rules! flaws {
    ($($(#[doc = $sentence:literal])+ $name:ident;)*) => {
        /// A defect of a simulated maker.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Flaw {
            $($(#[doc = $sentence])+ $name,)*
        }

        impl Flaw {
            /// Every flaw.
            pub const ALL: &[Flaw] = &[$(Flaw::$name,)*];
        }
    };
}

flaws! {
    /// A new connection shows no edge of the listener.
    AcceptEdgeLost;
    /// Accepting where nobody waits is an error instead of a block.
    EmptyBacklogIsAnError;
    /// Registering a listener does not look for waiting connections.
    RegisterForgetsWaiting;
    /// Re-arming a listener does not look for waiting connections.
    RearmForgetsWaiting;
    /// The peer's address is another one.
    PeerAddressWrong;
    /// Registering does not look for bytes that wait.
    RegisterForgetsReadiness;
    /// New bytes show an edge although the last one was not drained.
    LevelTriggered;
    /// New bytes after a block show no edge.
    EdgeAfterDrainLost;
    /// A short read loses a byte.
    ReadSkipsAByte;
    /// Reading where nothing is says that the stream has ended.
    EmptyReadIsEnd;
    /// The end of the stream hides bytes before it.
    EndHidesBytes;
    /// The peer's half-close forbids our answer.
    HalfCloseIsWhole;
    /// The end of the stream shows no edge.
    FinishShowsNoEdge;
    /// A reset shows no edge.
    ResetShowsNoEdge;
    /// A reset looks like a clean end.
    ResetLooksLikeEnd;
    /// A reset by the client is lost.
    ClientResetLost;
    /// Writing to a peer that is gone succeeds for ever.
    WriteToClosedPeerSucceeds;
    /// A write never blocks.
    WriteNeverBlocks;
    /// Room after a blocked write shows no edge.
    WritableEdgeLost;
    /// A write says one byte more than it took.
    ShortWriteOverstates;
    /// A vectored write leaves out its first slice.
    VectoredWriteSkipsSlice;
    /// Reading into nothing blocks.
    EmptyReadBlocks;
    /// Writing nothing blocks.
    EmptyWriteBlocks;
    /// Re-registering does not look for bytes that wait.
    ReregisterForgetsReadiness;
    /// Registering for writing does not look for room.
    WatchForgetsWritable;
    /// A wake before the poll is lost.
    WakeBeforePollLost;
    /// Wakes are counted, each ending a poll of its own.
    WakesAreCounted;
    /// A wake shows an event.
    WakeShowsAnEvent;
    /// A wake swallows the events that were ready.
    WakeSwallowsEvents;
    /// A deregistered connection still shows events.
    DeregisterKeepsShowing;
    /// Events lose the token's generation.
    GenerationLost;
    /// Re-registering under a new token keeps the old one.
    ReregisterKeepsToken;
    /// A dropped connection shows an event.
    DroppedStillShown;
    /// An accept error loses the waiting connection.
    AcceptErrorLosesConnection;
    /// Accepting goes on beyond the limit of descriptors.
    DescriptorLimitIgnored;
    /// A listener on a port of the kernel's choice says port 0.
    PortZeroReported;
    /// A dropped listener still listens.
    DroppedListenerListens;
    /// A dropped connection says nothing to its peer.
    DropSaysNothing;
    /// A dropped connection with unread bytes says a clean end.
    DropWithUnreadIsGraceful;
    /// Shutting the write side drops bytes that are on their way.
    ShutdownDropsQueued;
    /// Writing after shutting the write side succeeds.
    WriteAfterShutdownSucceeds;
    /// Shutting the read side changes nothing.
    ShutdownReadIgnored;
    /// Shutting the write side shuts the read side too.
    ShutdownWriteClosesReading;
    /// Sending a file starts one byte late.
    SendShifted;
    /// Sending beyond a file's end sends nothing and says so.
    SendBeyondEndIsNothing;
    /// Sending across a file's end adds zeroes.
    SendPadsWithZeroes;
    /// Bytes that came before the accept are lost.
    AcceptForgetsBytes;
    /// Two connections read each other's bytes.
    ConnectionsMixed;
    /// A blocked writer is not told of a reset.
    BlockedWriterNotTold;
    /// A poll clears events that were there.
    PollClearsEvents;
    /// Opening a file needs no descriptor.
    FilesNeedNoDescriptor;
    /// A connection that was torn before its accept looks as if it lived.
    EarlyResetForgotten;
    /// The newest connection is accepted first.
    AcceptsNewestFirst;
    /// Every connection waits at the first listener.
    ListenersMixed;
    /// A listener's events lose the token's generation.
    ListenerTokenLost;
    /// Re-arming a listener under a new token keeps the old one.
    RearmKeepsToken;
    /// Dropping a listener leaves who waits at it waiting.
    DroppedListenerForgetsWaiting;
    /// Dropping a listener tears the accepted connections too.
    DroppedListenerTakesAll;
    /// An event says that there is room, asked for or not.
    WritableUnasked;
    /// Re-registering changes nothing of what is shown.
    ReregisterKeepsInterest;
    /// Registering a registered connection succeeds.
    RegisterTwiceSucceeds;
    /// Re-registering a connection that is not registered succeeds.
    ReregisterStrangerSucceeds;
    /// Deregistering a connection that is not registered succeeds.
    DeregisterStrangerSucceeds;
    /// A wake ends the polls of all.
    WakeReachesAll;
    /// Reading blocks until a poll has shown the edge.
    ReadNeedsEdge;
    /// A read that leaves something drops it.
    PartialReadDropsRest;
    /// A poll shows an event of nobody.
    PollInventsEvents;
    /// A poll forgets whom it did not show.
    PollForgetsMany;
    /// The peer's end is lost on one who has shut its own side.
    EndAfterShutdownLost;
    /// A reset is lost on one who has heard the end.
    ResetAfterEndLost;
    /// Shutting both sides shuts the read side only.
    ShutdownBothIsRead;
    /// Shutting a connection that was reset succeeds.
    ShutdownAfterResetSucceeds;
    /// Writing after a reset succeeds.
    WriteAfterResetSucceeds;
    /// Unread bytes stop the writer.
    WriteBlocksWhileUnread;
    /// The kind selector is as strict as the other one.
    KindnessForgotten;
    /// What a black hole took is lost for ever.
    HoleSwallows;

    /// Appending overwrites what was there.
    AppendOverwrites;
    /// Appending leaves out the second piece.
    AppendSkipsSecondPiece;
    /// Reading starts one byte late.
    ReadShifted;
    /// Reading beyond the end gives zeroes.
    ReadPadsWithZeroes;
    /// The length is that of the synced part.
    LengthIsSyncedLength;
    /// Truncating changes nothing.
    TruncateIgnored;
    /// Opening makes a file that is missing, whatever the mode.
    OpenAlwaysCreates;
    /// Opening to create empties a file that is there.
    CreateEmpties;
    /// Opening to create empty keeps the bytes.
    CreateEmptyKeeps;
    /// Making a directory does not make those above it.
    CreateDirectoryIsShallow;
    /// A list is not sorted.
    ListUnsorted;
    /// Renaming leaves the old name.
    RenameCopies;
    /// Renaming onto a file keeps that file.
    RenameKeepsTarget;
    /// Removing what is not there succeeds.
    RemoveMissingSucceeds;
    /// A removed file is empty for those who hold it open.
    RemovedFileUnreadable;
    /// Removing a directory wants it empty.
    RemoveDirectoryWantsEmpty;
    /// Two may hold one lock.
    LockShared;
    /// A lock outlives its value.
    LockNeverReleased;
    /// Free space never changes.
    FreeBytesConstant;
    /// The disk never fills.
    SpaceNeverEnds;
    /// Setting the time of the last change changes nothing.
    SetModifiedIgnored;
    /// A file opened to read can be changed.
    ReadHandleAppends;
    /// Cutting a file beyond its end changes nothing.
    GrowingCutIgnored;
    /// Renaming a directory replaces one that holds files.
    FullDirectoryReplaced;
    /// Removing a file takes directories too.
    RemoveFileTakesDirectories;
    /// A sync of a directory that is not there succeeds.
    MissingDirectorySynced;
    /// More space is free than there is.
    MoreFreeThanTotal;
    /// Renaming a file onto itself removes it.
    RenameOntoItselfRemoves;

    /// The instant goes back.
    ClockGoesBack;
    /// The instant is half of what has passed.
    ClockRunsSlow;
    /// The wall time stands still.
    WallStandsStill;
    /// The stopwatch is ahead of the instant.
    StopwatchOfItsOwn;
    /// Nobody can set the wall clock.
    WallNeverJumps;

    /// A sync makes nothing durable.
    SyncIgnored;
    /// A sync of everything misses what lies deeper.
    SyncAllIsShallow;
    /// A sync of a directory makes nothing durable.
    DirectorySyncIgnored;
    /// A power cut loses nothing.
    PowerKeepsUnsynced;
    /// A power cut keeps all of the unsynced bytes or none.
    PowerNeverTears;
    /// A power cut keeps every entry.
    PowerKeepsEntries;
    /// A power cut in the middle of a rename loses both names.
    RenameHalfDone;
    /// A power cut in the middle of a move between directories loses the file.
    MoveLosesFile;
    /// Killing the process loses what it had written.
    KillLosesWritten;
    /// A failed sync is forgotten.
    PoisonForgotten;
    /// A later sync makes durable what a failed one lost.
    FailedSyncHeals;
    /// The files of a dead process can still be changed.
    DeadHandlesWork;
    /// A lock outlives the process that held it.
    LockOutlivesProcess;
    /// A machine without power ends its connections politely.
    PowerCutSaysEnd;
    /// A sync covers what was appended while it ran.
    SyncCoversLaterBytes;

    /// The ledger does not note what was destroyed.
    LedgerForgets;
    /// What is mirrored is destroyed all the same.
    MirrorBreaks;
    /// A bad sector reads as if nothing were wrong.
    BadSectorReads;
    /// A bit that flips on its way flips every time.
    MisreadRepeats;
    /// Write-back never fails behind the broker's back.
    WriteBackNeverFails;
    /// A read-only file system takes changes.
    ReadOnlyTakesChanges;
    /// A sync that hangs completes in time.
    HungSyncCompletes;
    /// A slow disk takes no time.
    SlowDiskIsFast;
}
