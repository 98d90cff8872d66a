//! The list of places where chance decides. A number, once given, is never given again, so that old seeds keep their meaning.
//!
//! It must not know how a decision is made.

/// What kind of decision a site makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteKind {
    /// A fault that fires or not: parts per million when it is rare, when it is frequent, and when it is the rule.
    Fault([u32; 3]),
    /// What a power cut may do to bytes that were not synced, in parts per million. It strikes in calm runs too: no cure of the machine
    /// makes an unsynced byte safe.
    Fate(u32),
    /// A number that every run needs: a delay, a choice among equals.
    Value,
    /// A number that is drawn once for the whole run.
    Config,
}

/// Everyday faults, of which a run bears many.
const COMMON: SiteKind = SiteKind::Fault([10_000, 100_000, 500_000]);
/// Faults that befall a connection or a peer once and for all.
const FATE: SiteKind = SiteKind::Fault([10_000, 50_000, 200_000]);
/// Faults that cost a connection, a poll or a request.
const RARE: SiteKind = SiteKind::Fault([1_000, 10_000, 50_000]);
/// Faults that cost a partition or the process.
const GRAVE: SiteKind = SiteKind::Fault([200, 2_000, 20_000]);
/// Faults that cost a disk when the broker goes down, which it does a few times in a run.
const DISK: SiteKind = SiteKind::Fault([50_000, 150_000, 400_000]);

macro_rules! sites {
    ($($(#[doc = $sentence:literal])+ $name:ident = $number:literal, $kind:expr;)*) => {
        /// Where chance decides.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Site {
            $($(#[doc = $sentence])+ $name = $number,)*
        }

        impl Site {
            /// One more than the highest number that a site may have.
            pub const NUMBERS: usize = 1_000;

            /// Every site, by number.
            pub const ALL: &[Site] = &[$(Site::$name,)*];

            /// What kind of decision it makes.
            pub fn kind(self) -> SiteKind {
                match self {
                    $(Site::$name => $kind,)*
                }
            }

            /// Its name, as capsules write it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Site::$name => stringify!($name),)*
                }
            }

            /// What it decides, in a sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Site::$name => concat!($($sentence),+).trim_ascii(),)*
                }
            }
        }
    };
}

sites! {
    /// A readable event comes although nothing is to be read.
    SpuriousReadable = 1, COMMON;
    /// A writable event comes although nothing can be written.
    SpuriousWritable = 2, COMMON;
    /// A new edge comes although the last one was not drained, as Linux does.
    ExtraEdge = 3, COMMON;
    /// The events of one poll come in another order.
    PollShuffled = 4, COMMON;
    /// A poll shows only some of the events; the others come with the next.
    PollTruncated = 5, COMMON;
    /// An event reports both directions although only one changed, as epoll does.
    ReadinessMerged = 6, COMMON;
    /// An event lacks its hints.
    HintsMissing = 7, COMMON;
    /// A reset shows no event while the connection is not drained.
    HangUpUnseen = 8, COMMON;
    /// An event of one who has left comes with the next poll.
    StaleEvent = 9, RARE;
    /// A poll returns nothing although something is ready.
    PollEarly = 10, RARE;
    /// A poll is interrupted by a signal.
    PollInterrupted = 11, RARE;
    /// A poll fails.
    PollFails = 12, GRAVE;
    /// A wake takes time.
    WakeLate = 13, COMMON;
    /// A registration fails (out of memory or watches).
    RegisterFails = 14, RARE;
    /// A new registration of a registered connection fails.
    ReregisterFails = 15, RARE;
    /// A writable edge comes long after there is room.
    WritableLate = 16, COMMON;
    /// What one event could say comes as two, so that the second may name one who left because of the first.
    EventSplit = 17, COMMON;
    /// A sleep lasts longer than it should: the timer has slack, or the processor is somebody else's.
    TimerLate = 18, COMMON;
    /// A sleeper wakes although nobody woke it, as the system's waits may.
    WokenForNothing = 19, COMMON;
    /// The selector is as kind as epoll throughout the run: each arrival is an edge, and events tell all that holds; without it only
    /// what mio promises is there.
    LinuxLike = 20, SiteKind::Fault([300_000, 500_000, 700_000]);
    /// For a while nothing new can be watched (ENOSPC): the user's watches are used up.
    WatchesExhausted = 21, RARE;
    /// Re-arming a listener fails (out of memory).
    RearmFails = 22, COMMON;
    /// No selector can be made: its descriptor is one too many (EMFILE).
    SelectorFails = 23, GRAVE;
    /// Polls fail, one after the other.
    PollFailsOn = 24, GRAVE;
    /// Taking a connection out of its selector fails.
    DeregisterFails = 25, COMMON;
    /// The machine is busy and the next poll comes late, so that it finds the events of many.
    EventsGathered = 26, RARE;

    /// A read returns less than there is.
    ShortRead = 100, COMMON;
    /// A write takes less than there is room for.
    ShortWrite = 101, COMMON;
    /// A read would block although there is something; an edge follows.
    ReadBlocksSpuriously = 102, COMMON;
    /// A write would block although there is room; an edge follows.
    WriteBlocksSpuriously = 103, COMMON;
    /// What was written at once arrives in pieces.
    SegmentSplit = 104, COMMON;
    /// A piece arrives much later than usual.
    SegmentSlow = 105, COMMON;
    /// How long a piece travels.
    SegmentDelay = 106, SiteKind::Value;
    /// Whether a connection's buffers are small, and how small.
    SmallBuffers = 107, COMMON;
    /// A clog of a connection: nothing arrives for a while.
    Clogged = 108, RARE;
    /// What was written at once is cut where parsers err: inside the length, inside the header, or just before the last byte.
    SegmentCutNearEdge = 109, COMMON;
    /// A read ends there too: after a byte or three, or just before the last one.
    ReadCutNearEdge = 110, COMMON;
    /// Pieces wait for each other and arrive at once: the network card merges them, or Nagle's algorithm does.
    SegmentsGathered = 111, RARE;
    /// The broker's send buffer is small (`socket.send.buffer.bytes`, or memory is scarce).
    SmallSendBuffer = 112, COMMON;
    /// A client's bytes drip, a few at a time.
    SlowSender = 113, FATE;
    /// A link has little bandwidth.
    LittleBandwidth = 114, FATE;
    /// A peer is far away, on all of its connections.
    SlowPeer = 115, FATE;
    /// Several connections are clogged one after the other, and freed in another order: a switch that is overloaded.
    Swizzled = 116, RARE;
    /// A bit flips on a link that nothing protects.
    BitFlipped = 117, COMMON;
    /// A write fails with an error that nobody expects there.
    ConnectionWriteFails = 118, GRAVE;
    /// A read fails with an error that nobody expects there.
    ConnectionReadFails = 119, GRAVE;
    /// For a while the reads of a connection bring one byte each.
    OneByteReads = 120, FATE;
    /// A peer's window is shut for long: its process does not read.
    WindowShut = 121, FATE;

    /// A reset overtakes the bytes before it.
    ResetOvertakes = 200, COMMON;
    /// A reset destroys bytes that had arrived and were not read yet.
    ResetDestroysData = 201, COMMON;
    /// Asking an accepted connection for its address fails.
    AddressUnknown = 202, RARE;
    /// Setting the options of an accepted connection fails.
    ConfigureFails = 203, RARE;
    /// Something between the peers tears their connection: a firewall that has forgotten it.
    TornBetween = 204, FATE;
    /// A peer that had vanished is back, and answers what is sent to it by a reset: its machine has started again.
    VanishedPeerResets = 205, COMMON;
    /// The end of the stream is lost and sent again, so that the other side may close meanwhile.
    EndLate = 206, COMMON;
    /// A peer is out of reach, and after a while the kernel says so (ETIMEDOUT, EHOSTUNREACH).
    PeerUnreachable = 207, FATE;
    /// An end or a reset comes with the bytes before it, so that one poll shows both.
    EndWithData = 208, COMMON;
    /// Nothing passes any more, in either direction, and nobody says so.
    BlackHole = 209, FATE;
    /// Nothing passes any more in one direction.
    OneWayHole = 210, FATE;

    /// No descriptor is left in the process (EMFILE).
    AcceptProcessLimit = 300, RARE;
    /// No descriptor is left in the system (ENFILE).
    AcceptSystemLimit = 301, RARE;
    /// A waiting connection was aborted (ECONNABORTED).
    AcceptAborted = 302, RARE;
    /// An accept edge comes although nobody waits.
    SpuriousAccept = 303, COMMON;
    /// How long a connect takes.
    ConnectDelay = 304, SiteKind::Value;
    /// A connect is refused, as by a firewall.
    ConnectRefused = 305, RARE;
    /// A connect hangs: its first packet is lost and sent again only after seconds.
    ConnectHangs = 306, RARE;
    /// A connection is torn right after its accept.
    ResetAfterAccept = 307, RARE;
    /// For a while no descriptor is to be had, for sockets and for files (EMFILE, ENFILE); who waits goes on waiting, without a new edge.
    DescriptorsExhausted = 308, RARE;
    /// The process may have few descriptors more than it has, for sockets and files together (EMFILE).
    DescriptorLimit = 309, COMMON;
    /// The kernel lets few connections wait (`somaxconn`).
    SmallBacklog = 310, COMMON;
    /// Many strangers connect at the same instant.
    ConnectStorm = 311, RARE;
    /// A stranger connects and is gone before anybody has accepted it.
    ConnectAndVanish = 312, FATE;
    /// The port is still held by another process (EADDRINUSE).
    ListenFails = 313, RARE;

    /// An append tears and reports an input/output error.
    AppendFails = 400, GRAVE;
    /// An append finds no space.
    AppendFull = 401, GRAVE;
    /// A read reports an input/output error.
    ReadFails = 402, GRAVE;
    /// A sync fails, and the pages stay dirty.
    SyncFails = 403, GRAVE;
    /// Opening fails for want of descriptors.
    OpenFails = 404, GRAVE;
    /// A sync of a directory fails.
    DirectorySyncFails = 405, GRAVE;
    /// How long a sync takes.
    SyncDelay = 406, SiteKind::Value;
    /// A sync takes seconds.
    SyncStalls = 407, RARE;
    // 408 and 409 drew what a power cut leaves before each of its ways had a name.
    /// Creating or renaming finds no space.
    EntryFull = 410, GRAVE;
    /// Truncating reports an input/output error.
    TruncateFails = 411, GRAVE;
    /// The power goes while pages are dirty: what was not synced is gone.
    UnsyncedLost = 412, SiteKind::Fate(300_000);
    /// The power goes in the middle of a write: its first bytes are there, the rest is not.
    SectorTorn = 413, SiteKind::Fate(200_000);
    /// The disk's queue wrote later sectors before earlier ones when the power went.
    WritesReordered = 414, SiteKind::Fate(200_000);
    /// The file system had journaled the file's length before its blocks: the tail is zeroes.
    TailZeroed = 415, SiteKind::Fate(150_000);
    /// The file system had given the file blocks that were not written yet: the tail is what lay there before.
    TailGarbage = 416, SiteKind::Fate(150_000);
    /// Length and data reach the disk apart: a length that the file had once comes without its data.
    SizeOutOfStep = 417, SiteKind::Fate(100_000);
    /// A directory that was not synced forgets entries: its block never left the page cache.
    EntryLost = 418, SiteKind::Fate(600_000);
    /// A rename is one entry more and one less: the power goes between them, and both names show the file.
    RenameHalfDone = 419, SiteKind::Fate(150_000);
    /// A truncation waits in the journal: the power goes before, and the old tail is back.
    TruncateUndone = 420, SiteKind::Fate(500_000);
    /// A send of a file's range stops early, as sendfile does where the next page is not in memory.
    FileShortRead = 421, COMMON;
    /// The device takes a part of an append and no more.
    ShortAppend = 422, GRAVE;
    /// A sector goes bad: reading it is an error for ever.
    SectorUnreadable = 423, GRAVE;
    /// A bit flips on the medium, of cosmic rays or worn cells, and stays so.
    BitRotAtRest = 424, GRAVE;
    /// A bit flips on a bus or in memory on its way from the medium; the next read is right.
    BitRotOnRead = 425, GRAVE;
    /// The firmware writes a sector of one file over one of another.
    WriteMisdirected = 426, GRAVE;
    /// The firmware reads another sector than was asked for; the next read is right.
    ReadMisdirected = 427, GRAVE;
    /// The firmware says that a sector is written and never writes it.
    WritePhantom = 428, GRAVE;
    /// A sync fails and the kernel calls the pages clean, so that the next sync succeeds without them (fsyncgate).
    SyncLosesPages = 429, GRAVE;
    /// Write-back failed, and another handle was told: the broker's own sync succeeds without the pages.
    SyncErrorElsewhere = 430, GRAVE;
    /// A file system that allocates late finds no space when it syncs, and drops the pages.
    SyncFull = 431, GRAVE;
    /// The quota of the user or the project is used up.
    QuotaExceeded = 432, GRAVE;
    /// The file system finds an error in itself and is mounted read-only for a while.
    ReadOnlyRemount = 433, GRAVE;
    /// Somebody else fills the disk to the last bytes.
    SpaceEnds = 434, GRAVE;
    /// Somebody else makes room on a full disk.
    SpaceReturns = 435, COMMON;
    /// A read or an append waits for a busy disk.
    DiskSlow = 436, RARE;
    /// The cloud throttles the volume: a sync takes time for each byte.
    SyncThrottled = 437, RARE;
    /// A sync never completes: the controller hangs, and so does who waits for it.
    SyncNeverCompletes = 438, GRAVE;
    /// A directory is gone after a restart: a mount is missing, or somebody removed it.
    DirectoryVanished = 439, RARE;
    /// A directory holds an older state after a restart: somebody restored a backup.
    DirectoryStale = 440, RARE;
    /// The disk's own cache lied about a flush: bytes that were synced are gone after a power cut, be there a mark of a clean shutdown.
    CacheLies = 441, GRAVE;
    /// A whole disk is not there when the machine or the broker has gone down: nobody has mounted it. It comes back later.
    DiskMissing = 442, DISK;
    /// A disk fails as a whole: from now on every call on it is an input/output error, until an operator mends it.
    DiskFails = 443, GRAVE;
    /// A file system is mounted read-only as a whole, until an operator mends it.
    DiskReadOnly = 444, GRAVE;
    /// Somebody moves a log directory away under the broker, and brings it back later.
    DirectoryRemoved = 445, RARE;
    /// Whether an operator mends a disk while the broker is down.
    DiskMended = 446, SiteKind::Value;
    /// A log directory cannot be listed for a moment: its file system is not up yet.
    ListFails = 447, SiteKind::Fault([5_000, 30_000, 100_000]);
    /// A sync takes long, and the power goes before it is done.
    PowerFailsInSync = 448, RARE;

    /// The wall clock is set, by minutes to days.
    WallJump = 500, RARE;
    /// The wall clock is stepped by some milliseconds, as a time daemon does.
    WallStep = 501, COMMON;
    /// The wall clock is stepped back by up to half a second, which no segment and no timestamp expects.
    WallStepsBack = 502, RARE;
    /// The oscillator is off: the wall clock drifts by up to 500 parts in a million.
    ClockDrift = 503, RARE;
    /// A leap second is smeared over a day: the wall clock runs slow.
    LeapSmear = 504, RARE;
    /// The whole machine wakes late: its processor was somebody else's.
    MachineLate = 505, RARE;
    /// The machine is paused, as for a migration: time goes on, nothing of the broker does.
    NodePause = 506, GRAVE;

    /// Which runnable role steps next.
    SchedulerPick = 600, SiteKind::Value;
    /// How the scheduler chooses in this run.
    SchedulerPolicy = 601, SiteKind::Config;
    /// How much time a step costs.
    StepCost = 602, SiteKind::Value;

    /// What all randomness of one start of the broker grows from.
    BrokerSeed = 603, SiteKind::Value;
    /// When the broker goes down, and how.
    BrokerCrash = 604, SiteKind::Config;
    /// How the broker of this run is laid out.
    BrokerLayout = 605, SiteKind::Config;

    /// How many clients of which kind there are, and how the phases of this run end.
    RunShape = 606, SiteKind::Config;
    /// How a machine goes down whose broker had to stop, or whose start failed.
    StopStyle = 607, SiteKind::Value;
    /// When a broker whose start failed is started again.
    RestartDelay = 608, SiteKind::Value;
    /// Whether and how the broker goes down in the middle of a start, before which of its effects on the disk.
    StartCrash = 609, SiteKind::Value;
    /// Before which of its next effects on the disk a broker goes down whose time has come.
    CrashEffect = 610, SiteKind::Value;

    /// What a client does next.
    ClientAction = 700, SiteKind::Value;
    /// What a client is like in this run.
    ClientProfile = 701, SiteKind::Config;
    /// Whether a client treats its connection badly now.
    ClientHabit = 702, SiteKind::Value;
    /// How much of what it has to say a client writes at once.
    ClientWrite = 703, SiteKind::Value;
    /// With which correlation id a connection begins.
    FirstCorrelationId = 704, SiteKind::Value;
    /// Whether a client runs away from the request that it has just sent.
    RunsAway = 705, SiteKind::Value;
    /// In which version a connection speaks to an API.
    ApiVersion = 706, SiteKind::Value;

    /// What kind of run it is.
    SwarmMode = 900, SiteKind::Config;
    /// Whether a fault exists in this run, and how often it fires.
    SwarmPresence = 901, SiteKind::Config;
    /// How fast the network is in this run.
    NetworkSpeed = 902, SiteKind::Config;
    /// From where a guided exploration goes on, and with which seed.
    Exploration = 903, SiteKind::Config;
}

impl Site {
    /// Its number.
    pub fn number(self) -> u16 {
        self as u16
    }

    /// The site of this name.
    pub fn from_name(name: &str) -> Option<Site> {
        Site::ALL.iter().copied().find(|site| site.name() == name)
    }

    /// Whether it decides about a fault, or about what a crash does.
    pub fn is_fault(self) -> bool {
        matches!(self.kind(), SiteKind::Fault(_) | SiteKind::Fate(_))
    }

    /// Whether it may end a connection.
    pub(crate) fn ends_connections(self) -> bool {
        // A file that cannot be read in the middle of an answer does so too.
        self.number() < Site::AppendFails.number() || self == Site::ReadFails
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_fit() {
        assert!(Site::ALL.windows(2).all(|pair| pair[0].number() < pair[1].number()));
        assert!(Site::ALL.iter().all(|site| usize::from(site.number()) < Site::NUMBERS));
        assert_eq!(Site::ShortRead.sentence(), "A read returns less than there is.");
    }
}
