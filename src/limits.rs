//! Every bound that is not a configuration, in one place, with the assertions that hold between them.
//!
//! It must not know who obeys a bound.

/// The four bytes in front of every frame on the wire.
pub const FRAME_PREFIX_BYTES: usize = 4;
/// New connections that an Acceptor may hand to a Processor before it has registered them.
pub const CONNECTION_QUEUE_CAPACITY: usize = 20;
/// The longest that a Processor sleeps when nothing happens (Kafka: 300 ms).
pub const PROCESSOR_POLL_MS: u64 = 300;
/// The longest that an Acceptor sleeps when nothing happens (Kafka: 500 ms).
pub const ACCEPTOR_POLL_MS: u64 = 500;
/// Bytes that one connection may read before another gets its turn.
pub const READ_BUDGET_BYTES: usize = 1 << 20;
/// Length of the header of a record batch, magic 2.
pub const BATCH_HEADER_BYTES: usize = 61;
/// What a compressed batch from a producer may hold. Kafka has no such bound; a batch of 1 MiB can hold 30 GiB of zeroes.
pub const DECOMPRESSED_BODY_BYTES_MAX: usize = 256 << 20;
/// Records of one refused batch that an answer names.
pub const RECORD_ERRORS_MAX: usize = 100;
/// Longest topic name (Kafka: 249, so that `name-partition.hash-delete` fits a file name).
pub const TOPIC_NAME_CHARS_MAX: usize = 249;
/// Batches per producer that are remembered to recognise a retry.
pub const PRODUCER_BATCHES_REMEMBERED: usize = 5;
/// The longest string that the protocol carries, in bytes, whichever length form is used.
pub const STRING_BYTES_MAX: usize = i16::MAX as usize;
/// Bytes of decoded structures that any frame may cost, however short it is.
pub const DECODE_BUDGET_BASE_BYTES: usize = 64 * 1024;
/// Bytes of decoded structures that one byte of a frame may cost.
pub const DECODE_BUDGET_PER_BYTE: usize = 16;
/// Bytes that one answer may hold in memory; records that are sent from their files do not count.
pub const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Records that one answer to a Fetch may hold: a frame is shorter than 2 GiB, and this leaves room for what stands around them.
pub const FETCH_BYTES_MAX: usize = i32::MAX as usize - (64 << 20);
/// Partitions that all fetch sessions together remember (Kafka has no such bound).
pub const FETCH_SESSION_PARTITIONS_MAX: usize = 1 << 20;
/// Longest batch of the metadata log (Kafka: 8 MiB). No setting of the topics holds there.
pub const METADATA_BATCH_BYTES_MAX: usize = 8 << 20;
/// Milliseconds that a request waits for a decision to be durable if it does not say how long it waits.
pub const DECISION_TIMEOUT_MS: i32 = 30_000;

const _: () = assert!(ACCEPTOR_POLL_MS >= PROCESSOR_POLL_MS);
const _: () = assert!(BATCH_HEADER_BYTES > FRAME_PREFIX_BYTES);
