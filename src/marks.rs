//! Marks: situations that a campaign of the simulator has to bring about, so that nobody believes in code that never ran.
//!
//! A mark is reached or it is not. In a build with the feature `marks` whoever steps a broker can ask which ones were; in any other build
//! a mark is nothing. It must not know who asks.

#[cfg(feature = "marks")]
mod noted; // what was reached, in a build that is asked for it

macro_rules! marks {
    (@within) => { 2_000 };
    (@within $seeds:literal) => { $seeds };
    ($($(#[doc = $sentence:literal])+ $variant:ident $(= $seeds:literal)?;)*) => {
        /// A situation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Mark {
            $($(#[doc = $sentence])+ $variant,)*
        }

        impl Mark {
            /// Whether this build notes them.
            pub const ARE_NOTED: bool = cfg!(feature = "marks");

            /// Every mark.
            pub const ALL: &[Mark] = &[$(Mark::$variant,)*];

            /// Within so many seeds a campaign reaches it.
            pub fn within(self) -> u64 {
                match self {
                    $(Mark::$variant => marks!(@within $($seeds)?),)*
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Mark::$variant => stringify!($variant),)*
                }
            }

            /// What the situation is, in a sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Mark::$variant => concat!($($sentence),+).trim_ascii(),)*
                }
            }
        }
    };
}

// A mark is there to be reached: what the workload cannot bring about is none. The few that take long say within how many seeds.
marks! {
    // ---- network
    /// The Acceptor finds no descriptor for a connection, and tries again later.
    NoDescriptorToAccept;
    /// A connection is gone before it is accepted.
    AcceptForNothing;
    /// A connection is lost between its accept and its options.
    LostBeforeSetUp;
    /// No Processor has room for another connection, and the Acceptor holds it.
    ProcessorsFull;
    /// A Processor that takes a connection wakes the Acceptor that waits for room.
    AcceptorWoken;
    /// A new connection cannot be waited for, and is refused.
    NotRegistered;
    /// An event names a channel that is closed.
    StaleEvent;
    /// A peer is done writing while its request waits for data.
    FinishedWhileParked;
    /// A peer resets its connection while its request waits.
    GoneWhileParked;
    /// A peer resets its connection while an answer is half sent.
    GoneWhileSending;
    /// An answer does not fit into the socket, and goes on when there is room.
    SentInParts;
    /// A socket is full and cannot be waited for.
    CannotWaitForRoom;
    /// A connection is closed since nobody used it for too long.
    IdleClosed;
    /// A connection is closed since its peer has stopped in the middle of a frame.
    IdleInsideFrame;
    /// A request is answered whose connection has ended.
    OrphanAnswered;
    /// Channels that waited for memory are read again.
    StarvedReads;
    /// A frame finds no memory, and its channel waits.
    Starved;
    /// The request queue is full, and a Processor keeps its request.
    QueueFull;
    /// The request that a Processor kept goes into the queue.
    QueueHasRoom;
    /// A peer closes its connection inside a frame.
    EndedInsideFrame;
    /// A connection breaks inside a frame.
    BrokenInsideFrame;
    /// A frame has a length that none may have.
    BadLength;
    /// A frame begins with no header of a request.
    BadHeader;
    /// A request is read whose peer has reset its connection.
    ReadAfterReset;
    /// A request whose body cannot be read ends its connection.
    UnreadableBody;
    /// The bytes that are there end inside the length of a frame.
    LengthCut;
    /// One read brings a frame and what follows it.
    FramesTogether;
    /// A range of a file is sent in parts.
    FileSentInParts;
    /// Memory that is given back wakes a Processor that waits for it.
    MemoryWakes;

    // ---- apis
    /// A fetch is answered at its deadline, with what there is.
    FetchExpires;
    /// A fetch that waited is served by records that came.
    FetchServedLater;
    /// A produce that waits for its sync loses its connection.
    ProduceAbandoned;
    /// A fetch that waits loses its connection.
    FetchAbandoned;
    /// A fetch that waits is answered since the broker stops.
    FetchReleased;
    /// A sync fails, and the broker has to stop.
    SyncFailed;
    /// A sync of what groups have committed takes along the logs that it tells of.
    SyncTellsOfOthers;
    /// A fetch session has nothing new to tell of a partition.
    SessionSaysNothing;
    /// A fetch session is put out for another one.
    SessionPutOut;
    /// A produce with acks=0 is refused, which only the end of its connection tells.
    RefusedSilently;
    /// A produce waits for a sync of a log that goes offline.
    ProduceLosesLog;
    /// A producer asks for an id while another waits for the next block.
    ProducerIdsAwaited;
    /// A decision changes nothing, and tells of one that is not durable yet.
    DecisionWaitsForAnother;
    /// The metadata log takes no records.
    DecisionRefused;
    /// A partition gets no log, and is tried again.
    PartitionWithoutLog;
    /// A partition that had no log is tried again, and gets one.
    PartitionGetsLog;
    /// A partition's log is made in another directory than the first, which refused it.
    MadeElsewhere;
    /// A start finds an empty folder of a partition that lies in another directory.
    LeftOverGivesWay;
    /// A coordinator is asked while a decision of its is not durable.
    NotWrittenYet;
    /// What a coordinator decided is not durable in time, and those who wait are told so.
    GroupAnswerLate;
    /// The log of a coordinator goes offline before a decision is durable.
    GroupsLogLost;
    /// The log of a coordinator takes no records.
    GroupsLogRefuses;
    /// The groups of a partition cannot be read.
    GroupsNotRead;
    /// The groups of a partition that could not be read are read again.
    GroupsReadAgain;
    /// A partition that the metadata do not know is put aside.
    StrayPutAside;

    // ---- log
    /// A batch that a producer sends again is recognised.
    Duplicate;
    /// A batch is refused since the disk is nearly full.
    DiskNearlyFull;
    /// A log begins a new segment.
    Rolled;
    /// An append fails, and what it left is cut off.
    AppendCutBack;
    /// An append fails so that its log goes offline.
    AppendEndsLog;
    /// A batch comes for a log that is offline.
    AppendOffline;
    /// A batch would take the place of the first one of its producer, which failed.
    OvertakesFailed;
    /// A batch does not follow the last one of its producer.
    OutOfOrder;
    /// A new segment cannot be made.
    RollFails;
    /// Too many older segments are open, and one is closed.
    SegmentClosed;
    /// A log rolls before the name of its first segment is durable.
    NameSyncedFirst;
    /// Records that lay on the disk at the start are checked before they are sent.
    CheckedBeforeSent;
    /// Good records before damaged ones are served.
    ServedUpToDamage = 20_000;
    /// A consumer is told that the records are damaged.
    DamageTold = 20_000;
    /// The first batch of a fetch is larger than asked for, and given whole.
    FirstBatchTooLarge;
    /// The first batch of a further partition does not fit, and nothing is given.
    LaterBatchTooLarge;
    /// An entry of an index leads to no batch, and the segment is read from its start.
    IndexLeadsAstray;
    /// What looked damaged is whole at a second look.
    SecondLookDiffers;
    /// Reading ahead fails, and what is needed is read alone.
    ReadAheadFails;
    /// A log is shorter than its recovery point, which is of another one then.
    OtherLogsCheckpoint;
    /// A recovery cuts off a tail that is not whole.
    TornTailCut;
    /// A recovery removes the segments behind a torn one.
    LaterSegmentsRemoved;
    /// A segment is whole, and the next one begins beyond its end.
    EndLost;
    /// The end of a log is damaged although nothing says so.
    EndDamaged;
    /// A log has no segment, or none that reaches its start.
    LogBegunAnew;
    /// An index is missing or damaged, and made again.
    IndexRebuilt = 20_000;
    /// A recovery begins at a later segment than the first.
    RecoveryFromTheMiddle;
    /// Producers are learnt from the batches of a log.
    ProducersReplayed;
    /// Producers are learnt from a snapshot.
    ProducersFromSnapshot;
    /// Only a snapshot tells of an open transaction, and the batch with which it begins is looked for.
    TransactionSought;
    /// A snapshot of producers cannot be believed, and the one before it is taken.
    SnapshotDamaged;
    /// A start removes a file that was half made, or half removed.
    LeftOverRemoved;
    /// A start puts a segment that is ready in the place of others.
    ReplacementCompleted;
    /// A log is too large, or segments are too old or below its start, and the oldest go.
    OldSegmentsDeleted;
    /// A start finds an index without its segment.
    IndexWithoutSegment;
    /// A start finds the mark of a clean shutdown.
    CleanStart;
    /// A log does not say to which topic it belongs.
    TopicIdUnknown;
    /// A log ends before what an orderly shutdown has left.
    RecordsGone = 20_000;
    /// A log directory cannot be loaded.
    DirectoryOffline;
    /// There is space on a disk that was nearly full.
    SpaceIsBack;
    /// An orderly shutdown cannot close every log.
    ShutdownNotClean;
    /// The folder of a deleted partition is removed.
    FolderRemoved;
    /// Records are written that nobody may see before they are synced.
    RecordsHidden;
    /// A sync ends and does not cover what was appended meanwhile.
    SyncedBehind;
    /// The leader epochs of a log cannot be written, and it goes offline.
    EpochsNotReplaced;
    /// Somebody asks where an older leader epoch ended.
    EndOfOlderEpoch;
    /// Recovery points cannot be written.
    CheckpointFails;
    /// Entries of an index cannot be written.
    IndexWriteFails;

    // ---- metadata
    /// An unclean start raises the leader epoch of a partition.
    EpochRaised;
    /// A topic is to be made that is there.
    TopicExists;

    // ---- coordinator
    /// A member joins without an id, and is given one first.
    MemberIdGiven;
    /// A member joins again that has not heard the answer, and is told the same.
    JoinAnsweredAgain;
    /// A member joins with an id that the group does not know.
    RejoinUnknown;
    /// A member joins while its earlier join waits.
    EarlierJoinAnswered = 20_000;
    /// A rebalance begins before the leader has said who gets what.
    SyncsRefused;
    /// A new group waits longer since more members come.
    FirstRoundProlonged;
    /// A round ends with nobody in the group.
    GroupEmptied;
    /// A member is not heard of for too long.
    SessionEnds;
    /// Somebody was given an id, and does not come back.
    PendingJoinEnds = 20_000;
    /// A member asks for its assignment when the next round has begun.
    SyncInNextRound;
    /// A member asks for its assignment after the others have theirs.
    SyncLate;
    /// A member shows a sign of life for a generation that is over.
    HeartbeatStale;
    /// A member hears from its heartbeat that it has to join again.
    HeartbeatInRebalance;
    /// A member loses its connection while its request waits.
    MemberAbandoned;
    /// A member commits for a generation that is over.
    CommitStale;
    /// An assignment becomes durable when the group has moved on.
    AssignmentOvertaken;
    /// An assignment cannot be written, and the group divides again.
    AssignmentNotWritten;
    /// A new group cannot be written, and is gone.
    GroupDissolved;
    /// A commit cannot be written.
    CommitNotWritten;
    /// A group has members when a broker takes it over.
    GroupOutlivesBroker;
    /// A committed offset is too old, and goes.
    OffsetGrownOld;
    /// Members that have not asked for their parts in time are out.
    AbsenteesRemoved;
    /// What a transaction of another broker has committed counts from its end on.
    TransactionCommits;
    /// A join waits when the broker stops, and is sent elsewhere.
    JoinGivenUp;
}

#[cfg(not(feature = "marks"))]
impl Mark {
    /// The situation is there: nobody asks, in this build.
    #[inline(always)]
    pub const fn reached(self) {}

    /// The marks that were reached: none, in this build.
    pub const fn take_reached() -> Vec<Mark> {
        Vec::new()
    }
}
