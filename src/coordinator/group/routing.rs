//! Which partition of an internal topic, and so which coordinator, a group or transaction belongs to.
//!
//! It must not know who leads that partition.

use crate::types::PartitionIndex;

/// Java's `String.hashCode`: over UTF-16 units, since that is what clients and Kafka's own tools computed before us.
pub fn hash_code(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The partition of `__consumer_offsets` (or `__transaction_state`) for `id`. The smallest hash counts as 0, as in Kafka's `Utils.abs`.
/// `partitions` below 1 counts as 1.
pub fn partition_for(id: &str, partitions: i32) -> PartitionIndex {
    let positive = hash_code(id).checked_abs().unwrap_or(0);
    PartitionIndex(positive % partitions.max(1))
}

#[cfg(test)]
mod tests {
    use super::{hash_code, partition_for};
    use crate::types::PartitionIndex;

    #[test]
    fn the_hash_is_that_of_java() {
        assert_eq!(hash_code(""), 0);
        assert_eq!(hash_code("hello"), 99_162_322);
        assert_eq!(hash_code("polygenelubricants"), i32::MIN);
        assert_eq!(hash_code("\u{1F600}"), 1_772_899);
    }

    #[test]
    fn a_hash_without_a_positive_twin_goes_to_partition_0() {
        assert_eq!(partition_for("polygenelubricants", 50), PartitionIndex(0));
        assert_eq!(partition_for("hello", 50), PartitionIndex(22));
        assert_eq!(partition_for("hello", 0), PartitionIndex(0));
    }
}
