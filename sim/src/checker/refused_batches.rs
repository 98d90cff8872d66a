//! What a contrarian was told of its batches: a refused one is refused with the right error, and nothing of it is ever there; a sound one beside it is.
//!
//! It must not know what is wrong with a batch.

use std::collections::{BTreeMap, BTreeSet};

use klamm::error_code::ErrorCode;

use super::Violation;
use crate::client::Value;

/// The sound batches of one topic, and what was found there.
#[derive(Debug, Default)]
pub(crate) struct RefusedBatches {
    /// By offset.
    accepted: BTreeMap<i64, Value>,
    /// Sound ones of which nobody knows what became.
    unknown: BTreeSet<Value>,
    found: BTreeMap<i64, Option<Value>>,
}

/// What was expected of a batch, and what it came to.
pub(crate) fn refused(what: String, expected: ErrorCode, found: ErrorCode) -> Option<Violation> {
    (expected != found).then_some(Violation::RefusedOtherwise { what, expected, found })
}

impl RefusedBatches {
    pub(crate) fn accepted(&mut self, offset: i64, value: Value) {
        self.accepted.insert(offset, value);
    }

    pub(crate) fn unknown(&mut self, value: Value) {
        self.unknown.insert(value);
    }

    /// The topic is read from its start.
    pub(crate) fn begin_reading(&mut self) {
        self.found.clear();
    }

    pub(crate) fn found(&mut self, offset: i64, value: Option<Value>) {
        self.found.insert(offset, value);
    }

    /// All of it was read.
    pub(crate) fn verdict(&self, name: &str) -> Option<Violation> {
        let is_own = |(offset, value): (&i64, &Option<Value>)| {
            value.is_some_and(|value| self.accepted.get(offset) == Some(&value) || self.unknown.contains(&value))
        };
        let name = name.to_owned();
        if let Some((offset, _)) = self.found.iter().find(|entry| !is_own(*entry)) {
            return Some(Violation::RefusedKept { name, offset: *offset });
        }
        let lost = self.accepted.keys().find(|offset| !self.found.contains_key(offset)).copied();
        lost.map(|offset| Violation::AcceptedLost { name, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: Value = Value { client: 1, sequence: 1 };
    const OTHER: Value = Value { client: 1, sequence: 2 };

    #[test]
    fn another_error_is_told_and_the_right_one_is_not() {
        let told = |found| refused("Torn".to_owned(), ErrorCode::InvalidRecord, found);
        assert_eq!(told(ErrorCode::InvalidRecord), None);
        assert!(told(ErrorCode::CorruptMessage).is_some() && told(ErrorCode::None).is_some());
    }

    #[test]
    fn only_what_was_accepted_or_may_be_is_there() {
        let mut batches = RefusedBatches::default();
        batches.accepted(0, SOUND);
        assert!(matches!(batches.verdict("a"), Some(Violation::AcceptedLost { offset: 0, .. })));
        batches.found(0, Some(SOUND));
        assert_eq!(batches.verdict("a"), None);
        batches.found(1, Some(OTHER));
        assert!(matches!(batches.verdict("a"), Some(Violation::RefusedKept { offset: 1, .. })));
        batches.unknown(OTHER);
        assert_eq!(batches.verdict("a"), None);
        batches.found(2, None);
        assert!(matches!(batches.verdict("a"), Some(Violation::RefusedKept { offset: 2, .. })));
    }
}
