//! Finds what a request names more than once: Kafka refuses each such item, and mostly answers it once.
//!
//! It must not know what the items are.

use std::collections::BTreeMap;

/// How an item stands among those of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occurrence {
    /// No other item has its key.
    Only,
    /// It is the first of several with its key.
    FirstOfSeveral,
    /// An earlier one has its key.
    Again,
}

/// One answer for each key, in their order.
pub(super) fn occurrences<K: Ord>(keys: impl Iterator<Item = K> + Clone) -> Vec<Occurrence> {
    let mut counts: BTreeMap<K, usize> = BTreeMap::new();
    for key in keys.clone() {
        *counts.entry(key).or_default() += 1;
    }
    let mut occurrence = |key| match counts.get_mut(&key) {
        Some(1) => Occurrence::Only,
        // From here on the count says that the first was seen.
        Some(count @ 2..) => {
            *count = 0;
            Occurrence::FirstOfSeveral
        }
        _ => Occurrence::Again,
    };
    keys.map(&mut occurrence).collect()
}

#[cfg(test)]
mod tests {
    use super::{Occurrence, occurrences};

    #[test]
    fn single_first_and_later_occurrences_are_told_apart() {
        let found = occurrences(["a", "b", "a", "c", "a", "b"].into_iter());
        let (only, first, again) = (Occurrence::Only, Occurrence::FirstOfSeveral, Occurrence::Again);
        assert_eq!(found, [first, first, again, only, again, again]);
    }
}
