//! What a client may do, as sets of bits (KIP-430). Nobody is kept from anything yet, so these are all operations of each kind of resource.
//!
//! It must not know who asks.

/// Numbers of operations: the place of their bit.
const READ: u32 = 3;
const WRITE: u32 = 4;
const CREATE: u32 = 5;
const DELETE: u32 = 6;
const ALTER: u32 = 7;
const DESCRIBE: u32 = 8;
const CLUSTER_ACTION: u32 = 9;
const DESCRIBE_CONFIGS: u32 = 10;
const ALTER_CONFIGS: u32 = 11;
const IDEMPOTENT_WRITE: u32 = 12;

/// Everything that can be done to a topic.
pub(crate) const TOPIC_OPERATIONS: i32 =
    set(&[READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS]);

/// Everything that can be done to the cluster.
pub(crate) const CLUSTER_OPERATIONS: i32 =
    set(&[CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE]);

/// Everything that can be done to a group.
pub(crate) const GROUP_OPERATIONS: i32 = set(&[READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS]);

const fn set(operations: &[u32]) -> i32 {
    let mut bits = 0;
    let mut at = 0;
    while at < operations.len() {
        bits |= 1 << operations[at];
        at += 1;
    }
    bits
}
