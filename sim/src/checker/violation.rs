//! A broken promise, named by the invariant that it breaks.
//!
//! It must not know how it came about.

use klamm::error_code::ErrorCode;

use super::Wrong;
use crate::client::Value;

/// What kind of promise was broken; the command's exit status tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationClass {
    /// Something happened that never may.
    Invariant,
    /// Something that must happen does not.
    Liveness,
    /// The broker panicked.
    Panic,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the sentences say it")]
pub enum Violation {
    #[error("L1: {value}, acknowledged at offset {offset} of partition {partition}, is not there")]
    AcknowledgedLost { value: Value, partition: i32, offset: i64 },
    #[error("L1: {value}, acknowledged at offset {offset} of partition {partition}, lies at {found}")]
    AcknowledgedElsewhere { value: Value, partition: i32, offset: i64, found: i64 },
    #[error("L5: {value} is in partition {partition} at offsets {first} and {second}")]
    Twice { value: Value, partition: i32, first: i64, second: i64 },
    #[error("L6: {value} was refused and is in partition {partition} at offset {offset}")]
    RefusedThere { value: Value, partition: i32, offset: i64 },
    #[error("L6: {value} was refused with {error:?} while nothing was wrong")]
    RefusedWithoutCause { value: Value, error: ErrorCode },
    #[error("L2: offset {offset} of partition {partition} held {before} and holds {after}")]
    OffsetChanged { partition: i32, offset: i64, before: Value, after: Value },
    #[error("L3: client {client} read offset {offset} of partition {partition} where {expected} was next")]
    Gap { client: u32, partition: i32, offset: i64, expected: i64 },
    #[error("L4: {later} was sent after {earlier} on one connection and lies before it in partition {partition}")]
    OutOfOrder { earlier: Value, later: Value, partition: i32 },
    #[error(
        "L7: the first unanswered batch of idempotent producer {client} in partition {partition} is refused with {error}"
    )]
    SequenceBroken { client: u32, partition: i32, error: &'static str },
    #[error("L7: {value} of an idempotent producer was never acknowledged")]
    NeverAcknowledged { value: Value },
    #[error("L8: client {client} saw the {what} of partition {partition} go back from {before} to {after}")]
    WentBack { client: u32, partition: i32, what: &'static str, before: i64, after: i64 },
    #[error(
        "L9: client {client} read offset {offset} of partition {partition} above the high watermark {high_watermark}"
    )]
    AboveHighWatermark { client: u32, partition: i32, offset: i64, high_watermark: i64 },
    #[error(
        "L8: client {client} was served offset {offset} of partition {partition}, whose records were deleted up to {start}"
    )]
    DeletedServed { client: u32, partition: i32, offset: i64, start: i64 },
    #[error("L8: the records of partition {partition} were deleted up to {told}, and it begins at {found}")]
    DeletedBack { partition: i32, told: i64, found: i64 },
    #[error(
        "L8: the records of partition {partition} were to be deleted up to {offset}, and it is said to begin at {start}"
    )]
    DeletedOtherwise { partition: i32, offset: i64, start: i64 },
    #[error("L8: client {client} wanted offset {offset} of partition {partition}, and was told that there is none")]
    OutOfRange { client: u32, partition: i32, offset: i64 },
    #[error("L9: {value} was read at offset {offset} of partition {partition} and is not there any more")]
    ReadLost { value: Value, partition: i32, offset: i64 },
    #[error(
        "L9: client {client} has read up to {read} in an epoch of partition {partition} that is said to end at {end}"
    )]
    EpochEndsEarly { client: u32, partition: i32, read: i64, end: i64 },
    #[error(
        "L20: by what was read, epoch {epoch} of partition {partition} ends as {expected:?} says, and {found:?} is told"
    )]
    EpochEndsElsewhere { partition: i32, epoch: i32, expected: (i32, i64), found: (i32, i64) },
    #[error("L2: offset {offset} of partition {partition} holds bytes that nobody wrote")]
    Foreign { partition: i32, offset: i64 },
    #[error(
        "L14: of partition {partition}, {expected} is the first offset from time {timestamp} on, and {found} was told"
    )]
    SoughtInVain { partition: i32, timestamp: i64, expected: i64, found: i64 },
    #[error("L14: a look-up by time in partition {partition} is refused with {error:?} while nothing is wrong")]
    NotSought { partition: i32, error: ErrorCode },
    #[error(
        "L15: client {client} is told that partition {partition} ends at {end}, while records up to {acknowledged} are durable"
    )]
    ServedShort { client: u32, partition: i32, end: i64, acknowledged: i64 },
    #[error("L16: client {client} is told that there is no partition {partition}")]
    Denied { client: u32, partition: i32 },
    #[error(
        "L17: client {client} is told of a leader of partition {partition} {after_ms} ms after its log directory was removed"
    )]
    RemovalUnseen { client: u32, partition: i32, after_ms: u64 },
    #[error("L18: topic {name}, of which old records are taken: {wrong}")]
    NotRetained { name: String, wrong: Wrong },
    #[error(
        "L19: {value}, which another broker had replaced or deleted, is served at offset {offset} of partition {partition}"
    )]
    StaleServed { value: Value, partition: i32, offset: i64 },
    #[error("M5: topic {name} is there, and nobody leads a partition of it: {error:?}")]
    Leaderless { name: String, error: ErrorCode },
    #[error("S3: the broker starts while the disk with its metadata is not there")]
    StartsWithoutMetadata,
    #[error("L13: the batch at offset {offset} of partition {partition} was served with a wrong checksum")]
    DamagedBatch { partition: i32, offset: i64 },
    #[error("G1: partition {partition} belongs in generation {generation} to {first} and to {second}")]
    TwoOwners { generation: i32, partition: i32, first: String, second: String },
    #[error(
        "G2: offset {acknowledged} of partition {partition}, whose commit was sent at tick {sent} and acknowledged, gave way to {found}"
    )]
    CommitLost { partition: i32, acknowledged: i64, sent: u64, found: i64 },
    #[error(
        "G2: offset {acknowledged} of partition {partition}, whose commit was sent at tick {sent} and acknowledged, was never found"
    )]
    CommitUnseen { partition: i32, acknowledged: i64, sent: u64 },
    #[error("G2: the committed offset {offset} of partition {partition} was refused, or nobody ever committed it")]
    ForeignCommit { partition: i32, offset: i64 },
    #[error("G4: the commit of offset {committed} of partition {partition} is there, and the records up to {end} only")]
    CommitAhead { partition: i32, committed: i64, end: i64 },
    #[error("G3: offset {offset} of partition {partition} was committed by a member of an older generation")]
    StaleCommit { partition: i32, offset: i64 },
    #[error("G3: member {member} is alive in a generation that is over")]
    StaleHeartbeat { member: String },
    #[error("G1: member {member} was not given in generation {generation} what the leader gave to it")]
    AssignmentLost { generation: i32, member: String },
    #[error("G8: member {member} is heard although another has its instance id")]
    TwinAlive { member: String },
    #[error("G9: static member {member} came back alone, and generation {was} gave way to {is}")]
    StaticRebalance { member: String, was: i32, is: i32 },
    #[error("G10: generation {generation} has {members} members, more than a group may")]
    GroupTooLarge { generation: i32, members: usize },
    #[error("G5: member {member} of client {client} cannot leave: {error:?}")]
    CannotLeave { client: u32, member: String, error: ErrorCode },
    #[error("G6: member {member} was expelled {silent_ms} ms after it was heard, before its session was over")]
    Expelled { member: String, silent_ms: u64 },
    #[error("G7: member {member} waited {waited_ms} ms for the others and was then unknown")]
    WaitedInVain { member: String, waited_ms: u64 },
    #[error("G11: the offset {offset} that group {group} has committed is not old, and {found} is found")]
    OffsetExpired { group: String, offset: i64, found: i64 },
    #[error("G11: the committed offset of group {group} is still there {late_ms} ms after it was to be gone")]
    OffsetKept { group: String, late_ms: i64 },
    #[error("T1: a request of client {client} was answered as timed out before its time")]
    ExpiredEarly { client: u32 },
    #[error(
        "T2: a fetch of client {client} was answered with fewer bytes than it waits for {early_ns} ns before its time"
    )]
    AnsweredEarly { client: u32, early_ns: u64 },
    #[error(
        "T3: a fetch of client {client} waits for records of partition {partition} {late_ns} ns after they were there for it"
    )]
    WokenLate { client: u32, partition: i32, late_ns: u64 },
    #[error("M1: that topic {name} is there is {is_there}, and the client was told otherwise")]
    TopicNotAsTold { name: String, is_there: bool },
    #[error("M2: topic {name} was configured with {told} and has {found:?}")]
    ConfigNotAsTold { name: String, told: u32, found: Option<String> },
    #[error("M2: {key} was configured with {told:?} while others used the topic, and is {found:?}")]
    SettingNotAsTold { key: &'static str, told: Option<String>, found: Option<String> },
    #[error("M2: the broker was configured with {key} {told:?}, and {found:?} is found")]
    BrokerSettingNotAsTold { key: &'static str, told: Option<String>, found: Option<String> },
    #[error("M6: the broker has taken {value} for {key}, which it must not")]
    BadSettingTaken { key: &'static str, value: &'static str },
    #[error("M1: a topic was said to have {told} partitions, and has {found}")]
    PartitionsGone { told: i32, found: i32 },
    #[error("M5: topic {name} was deleted and is served under its id")]
    FormerTopicServed { name: String },
    #[error("M5: offset {offset} of topic {name} holds what was not written since it was made anew")]
    FormerRecord { name: String, offset: i64 },
    #[error("L1: what was acknowledged at offset {offset} of topic {name}, which was made anew, is not there")]
    RenewedLost { name: String, offset: i64 },
    #[error("F1: a fetch session of client {client} should say {expected:?}, and says {found:?}")]
    SessionOtherwise { client: u32, expected: ErrorCode, found: ErrorCode },
    #[error("F2: client {client} is told of partition {partition} in a fetch session that it does not want it in")]
    ForgottenTold { client: u32, partition: i32 },
    #[error(
        "F3: the history of client {client} leaves that of partition {partition} at {expected:?}, and it is told {found:?}"
    )]
    DivergenceOtherwise { client: u32, partition: i32, expected: Option<(i32, i64)>, found: Option<(i32, i64)> },
    #[error("P1: a produce that is wrong ({what}) came to {found:?}, and must come to {expected:?}")]
    RefusedOtherwise { what: String, expected: ErrorCode, found: ErrorCode },
    #[error("P2: offset {offset} of topic {name} holds what was refused, or nobody ever wrote")]
    RefusedKept { name: String, offset: i64 },
    #[error("P2: what was acknowledged at offset {offset} of topic {name}, beside what was refused, is not there")]
    AcceptedLost { name: String, offset: i64 },
    #[error("P3: client {client} is answered on a connection on which a batch without acknowledgement was refused")]
    RefusalUnheard { client: u32 },
    #[error("X1: client {client}, which reads everything, was told of aborted transactions in partition {partition}")]
    AbortedTold { client: u32, partition: i32 },
    #[error("M3: what was asked about topic {name} came to {error:?} while nothing was wrong")]
    NotDone { name: String, error: ErrorCode },
    #[error("M4: topic {name} was asked about and is not in the answer")]
    Unmentioned { name: String },
    #[error("N1: an answer on connection {connection:#x} that nobody asked for")]
    UnaskedAnswer { connection: u64 },
    #[error("N1: an answer on connection {connection:#x} that is not the next one's")]
    AnswerOutOfOrder { connection: u64 },
    #[error(
        "N2: {bytes} bytes too many were read on connection {connection:#x} behind a request whose answer was not sent yet"
    )]
    ReadAhead { connection: u64, bytes: u64 },
    #[error("N4: connection {connection:#x} is held by the broker long after its peer has left, or fallen silent")]
    ConnectionKept { connection: u64 },
    #[error("N6: connection {connection:#x} of a well-behaved client was closed while nothing was wrong")]
    ClosedWithoutCause { connection: u64 },
    #[error("R1: {open} connections are open after all clients have left, and the broker holds {held}")]
    HeldForNobody { held: String, open: u64 },
    #[error("R2: {name} is deleted, and lies on the disk long after its delay")]
    DeletedKept { name: String },
    #[error("R3: a topic was deleted a moment ago, and its files are gone, long before their delay is over")]
    DeletedGone,
    #[error("N6: connection {connection:#x}, on which nonsense was sent, is still open")]
    NonsenseHeard { connection: u64 },
    #[error(
        "N7: connection {connection:#x} was closed before its last requests were answered, while nothing was wrong"
    )]
    Unanswered { connection: u64 },
    #[error("N8: {key} allows {limit} connections by now, and there are {found}")]
    LimitPassed { key: &'static str, limit: u64, found: u64 },
    #[error("N9: client {client} got an answer that cannot be read")]
    UnreadableAnswer { client: u32 },
    #[error("D3: the scene of {scene} goes otherwise: {found}")]
    SceneOtherwise { scene: &'static str, found: String },
    #[error("D2: {api} version {version} is not answered as by the reference broker: {difference}")]
    NotAsReference { api: &'static str, version: i16, difference: String },
    #[error("S1: the broker does not start again: {reason}")]
    DoesNotStart { reason: String },
    #[error("S1: the orderly stop failed: {reason}")]
    DoesNotStop { reason: String },
    #[error("S2: the orderly stop leaves a request without an answer; {waiting}")]
    StopsInTheMiddle { waiting: String },
    #[error("V1: the broker panicked at {place}: {message}")]
    Panicked { message: String, place: String },
    #[error("liveness: {reason}; {waiting}")]
    Stuck { reason: &'static str, waiting: String },
}

impl Violation {
    /// What makes two findings the same: the invariant, and what is wrong with it, without who, where and when.
    pub fn identity(&self) -> String {
        let said = self.to_string();
        let invariant = said.split(':').next().unwrap_or_default();
        match self {
            Violation::SceneOtherwise { scene, found } => format!("{invariant}: {scene}: {}", without_numbers(found)),
            Violation::NotAsReference { api, .. } => format!("{invariant}: {api}"),
            Violation::Stuck { reason, .. } => format!("{invariant}: {reason}"),
            Violation::Panicked { message, place } => {
                // Lines move when others come and go; the file and the words stay.
                let file = place.split(':').next().unwrap_or_default();
                format!("{invariant}: {file}: {}", without_numbers(message))
            }
            Violation::DoesNotStart { reason } | Violation::DoesNotStop { reason } => {
                format!("{invariant}: {} {}", self.check(), without_numbers(reason))
            }
            Violation::RefusedWithoutCause { error, .. }
            | Violation::CannotLeave { error, .. }
            | Violation::NotDone { error, .. }
            | Violation::NotSought { error, .. } => {
                format!("{invariant}: {} {error:?}", self.check())
            }
            Violation::NotRetained { wrong, .. } => {
                let wrong = format!("{wrong:?}");
                format!("{invariant}: {}", wrong.split(' ').next().unwrap_or_default())
            }
            Violation::RefusedOtherwise { what, .. } => format!("{invariant}: {} {what}", self.check()),
            Violation::SequenceBroken { error: what, .. } | Violation::WentBack { what, .. } => {
                format!("{invariant}: {} {what}", self.check())
            }
            Violation::LimitPassed { key, .. } => format!("{invariant}: {key}"),
            _ => format!("{invariant}: {}", self.check()),
        }
    }

    /// The client that it is about, if it is about one.
    pub fn client(&self) -> Option<u32> {
        match self {
            Violation::AcknowledgedLost { value, .. }
            | Violation::AcknowledgedElsewhere { value, .. }
            | Violation::Twice { value, .. }
            | Violation::RefusedThere { value, .. }
            | Violation::RefusedWithoutCause { value, .. }
            | Violation::NeverAcknowledged { value }
            | Violation::ReadLost { value, .. } => Some(value.client),
            Violation::OutOfOrder { later, .. } => Some(later.client),
            Violation::OffsetChanged { after, .. } => Some(after.client),
            Violation::Gap { client, .. }
            | Violation::SequenceBroken { client, .. }
            | Violation::WentBack { client, .. }
            | Violation::OutOfRange { client, .. }
            | Violation::DeletedServed { client, .. }
            | Violation::AboveHighWatermark { client, .. }
            | Violation::EpochEndsEarly { client, .. }
            | Violation::ServedShort { client, .. }
            | Violation::Denied { client, .. }
            | Violation::RemovalUnseen { client, .. }
            | Violation::CannotLeave { client, .. }
            | Violation::AnsweredEarly { client, .. }
            | Violation::WokenLate { client, .. }
            | Violation::AbortedTold { client, .. }
            | Violation::SessionOtherwise { client, .. }
            | Violation::ForgottenTold { client, .. }
            | Violation::DivergenceOtherwise { client, .. }
            | Violation::RefusalUnheard { client }
            | Violation::UnreadableAnswer { client } => Some(*client),
            Violation::UnaskedAnswer { connection }
            | Violation::AnswerOutOfOrder { connection }
            | Violation::ReadAhead { connection, .. }
            | Violation::ConnectionKept { connection }
            | Violation::NonsenseHeard { connection }
            | Violation::ClosedWithoutCause { connection }
            | Violation::Unanswered { connection } => u32::try_from(connection >> 32).ok(),
            _ => None,
        }
    }

    /// What kind of promise it breaks.
    pub fn class(&self) -> ViolationClass {
        match self {
            Violation::Stuck { .. } => ViolationClass::Liveness,
            Violation::Panicked { .. } => ViolationClass::Panic,
            _ => ViolationClass::Invariant,
        }
    }
}

/// A sentence whose offsets, lengths and names of files by number say nothing about what is wrong.
fn without_numbers(sentence: &str) -> String {
    let letters = sentence.chars().filter(|letter| !letter.is_ascii_digit());
    letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}
