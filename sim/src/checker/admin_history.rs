//! What admins were told of topics of their own: what is there, what is not, and what was configured.
//!
//! It must not know when an admin asks. A topic of which an answer was lost is not spoken of any more.

use std::collections::BTreeMap;

use super::{Excuse, Oracle, Violation};

/// What is known of one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    There {
        altered_to: Option<u32>,
    },
    Gone,
    /// An answer was lost: it may be there or not, now or later.
    Nothing,
}

/// The history of all admins.
#[derive(Debug, Default)]
pub(crate) struct AdminHistory {
    topics: BTreeMap<String, Known>,
    oracle: Oracle,
}

impl AdminHistory {
    pub(super) fn judged_by(oracle: Oracle) -> AdminHistory {
        AdminHistory { oracle, ..AdminHistory::default() }
    }

    /// It was created.
    pub(crate) fn created(&mut self, name: &str) -> Option<Violation> {
        self.learn(name, Known::There { altered_to: None }, Known::Gone)
    }

    /// It could be created, so it is not there; nor is it now.
    pub(crate) fn could_be_created(&mut self, name: &str) -> Option<Violation> {
        let violation = self.found(name, false);
        self.topics.insert(name.to_owned(), Known::Gone);
        violation
    }

    /// It was deleted.
    pub(crate) fn deleted(&mut self, name: &str) -> Option<Violation> {
        self.learn(name, Known::Gone, Known::There { altered_to: None })
    }

    /// Its configuration was changed to this.
    pub(crate) fn altered_to(&mut self, name: &str, value: u32) -> Option<Violation> {
        let violation = self.found(name, true);
        self.topics.insert(name.to_owned(), Known::There { altered_to: Some(value) });
        violation
    }

    /// Nobody knows what became of a change of it.
    pub(crate) fn unknown(&mut self, name: &str) {
        if self.oracle.grants(Excuse::LostAnswer, true) {
            self.topics.insert(name.to_owned(), Known::Nothing);
        }
    }

    /// Whether it is there, if that is known.
    pub(crate) fn is_there(&self, name: &str) -> Option<bool> {
        match self.topics.get(name).filter(|_| !self.oracle.grants(Excuse::LostAnswer, false))? {
            Known::There { .. } => Some(true),
            Known::Gone => Some(false),
            Known::Nothing => None,
        }
    }

    /// The broker says that it is there, or that it is not.
    pub(crate) fn found(&self, name: &str, is_there: bool) -> Option<Violation> {
        let known = self.is_there(name).unwrap_or(is_there);
        (known != is_there).then(|| Violation::TopicNotAsTold { name: name.to_owned(), is_there })
    }

    /// The broker says how it is configured.
    pub(crate) fn described(&self, name: &str, value: Option<&str>) -> Option<Violation> {
        let Some(Known::There { altered_to: Some(told) }) = self.topics.get(name) else { return None };
        let is_right = value == Some(told.to_string().as_str());
        (!is_right).then(|| Violation::ConfigNotAsTold {
            name: name.to_owned(),
            told: *told,
            found: value.map(ToOwned::to_owned),
        })
    }

    /// The topics of which something is known.
    pub(crate) fn names(&self) -> Vec<String> {
        self.topics.iter().filter(|(_, known)| **known != Known::Nothing).map(|(name, _)| name.clone()).collect()
    }

    /// The topics whose configuration is known.
    pub(crate) fn altered(&self) -> Vec<String> {
        let is_altered = |known: &Known| matches!(known, Known::There { altered_to: Some(_) });
        self.topics.iter().filter(|(_, known)| is_altered(known)).map(|(name, _)| name.clone()).collect()
    }

    /// What succeeded says that it was not so before.
    fn learn(&mut self, name: &str, now: Known, before: Known) -> Option<Violation> {
        let is_first = !self.topics.contains_key(name);
        let was_there = matches!(before, Known::There { .. });
        let violation = if is_first { None } else { self.found(name, was_there) };
        self.topics.insert(name.to_owned(), now);
        violation
    }
}

#[cfg(test)]
mod tests {
    use super::AdminHistory;

    #[test]
    fn what_was_created_must_be_there_until_it_is_deleted() {
        let mut history = AdminHistory::default();
        assert_eq!(history.created("a"), None);
        assert_eq!(history.found("a", true), None);
        assert!(history.found("a", false).is_some());
        assert_eq!(history.deleted("a"), None);
        assert!(history.found("a", true).is_some());
    }

    #[test]
    fn what_was_configured_must_be_found_so() {
        let mut history = AdminHistory::default();
        assert_eq!(history.created("a"), None);
        assert_eq!(history.described("a", None), None);
        assert_eq!(history.altered_to("a", 7), None);
        assert_eq!(history.described("a", Some("7")), None);
        assert!(history.described("a", Some("8")).is_some());
        assert!(history.described("a", None).is_some());
    }

    #[test]
    fn nothing_is_expected_of_a_topic_of_which_an_answer_was_lost() {
        let mut history = AdminHistory::default();
        assert_eq!(history.created("a"), None);
        history.unknown("a");
        assert_eq!(history.found("a", true), None);
        assert_eq!(history.found("a", false), None);
        assert!(history.names().is_empty());
    }
}
