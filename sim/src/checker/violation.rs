//! A broken promise, named by the invariant that it breaks.
//!
//! It must not know how it came about.

use crate::client::Value;

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
    #[error("L2: offset {offset} of partition {partition} held {before:?} and holds {after:?}")]
    OffsetChanged { partition: i32, offset: i64, before: Value, after: Value },
    #[error("L3: client {client} read offset {offset} of partition {partition} where {expected} was next")]
    Gap { client: u32, partition: i32, offset: i64, expected: i64 },
    #[error("L4: {later} was sent after {earlier} on one connection and lies before it in partition {partition}")]
    OutOfOrder { earlier: Value, later: Value, partition: i32 },
    #[error(
        "L9: client {client} read offset {offset} of partition {partition} above the high watermark {high_watermark}"
    )]
    AboveHighWatermark { client: u32, partition: i32, offset: i64, high_watermark: i64 },
    #[error("L2: offset {offset} of partition {partition} holds bytes that nobody wrote")]
    Foreign { partition: i32, offset: i64 },
    #[error("L13: the batch at offset {offset} of partition {partition} was served with a wrong checksum")]
    DamagedBatch { partition: i32, offset: i64 },
    #[error("N1: an answer on connection {connection:#x} that nobody asked for")]
    UnaskedAnswer { connection: u64 },
    #[error("N1: an answer on connection {connection:#x} that is not the next one's")]
    AnswerOutOfOrder { connection: u64 },
    #[error("N9: client {client} got an answer that cannot be read")]
    UnreadableAnswer { client: u32 },
    #[error("liveness: the calm phase does not end; {waiting}")]
    Stuck { waiting: String },
    #[error("S1: the broker does not start again: {reason}")]
    DoesNotStart { reason: String },
}
