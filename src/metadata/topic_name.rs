//! Which names a topic may have, which two names are too alike, and the names that Kafka keeps for itself.
//!
//! It must not know which topics exist.

use crate::limits::TOPIC_NAME_CHARS_MAX;

/// Committed offsets and group state.
pub const GROUP_METADATA_TOPIC_NAME: &str = "__consumer_offsets";
/// The state of transactions.
pub const TRANSACTION_STATE_TOPIC_NAME: &str = "__transaction_state";
/// The state of share groups (KIP-932).
pub const SHARE_GROUP_STATE_TOPIC_NAME: &str = "__share_group_state";
/// The log of this room's records; not a topic that a client could name.
pub const CLUSTER_METADATA_TOPIC_NAME: &str = "__cluster_metadata";

/// Why a topic cannot have a name. The texts are Kafka's, since clients show them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicNameError {
    /// The empty name.
    #[error("Topic name is invalid: the empty string is not allowed")]
    Empty,
    /// `.` and `..` would be folders of another meaning.
    #[error("Topic name is invalid: '{0}' is not allowed")]
    Dots(String),
    /// Longer than 249 characters.
    #[error("Topic name is invalid: the length of '{0}' is longer than the max allowed length {TOPIC_NAME_CHARS_MAX}")]
    TooLong(String),
    /// Something else than ASCII letters, digits, `.`, `_` and `-`.
    #[error(
        "Topic name is invalid: '{0}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    )]
    Characters(String),
}

/// Whether a topic may have this name.
pub fn validate_topic_name(name: &str) -> Result<(), TopicNameError> {
    if name.is_empty() {
        Err(TopicNameError::Empty)
    } else if name == "." || name == ".." {
        Err(TopicNameError::Dots(name.to_owned()))
    } else if name.encode_utf16().count() > TOPIC_NAME_CHARS_MAX {
        Err(TopicNameError::TooLong(name.to_owned()))
    } else if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')) {
        Err(TopicNameError::Characters(name.to_owned()))
    } else {
        Ok(())
    }
}

/// Whether the topic belongs to the broker, as the Metadata response says in `is_internal`.
pub fn is_internal_topic(name: &str) -> bool {
    matches!(name, GROUP_METADATA_TOPIC_NAME | TRANSACTION_STATE_TOPIC_NAME | SHARE_GROUP_STATE_TOPIC_NAME)
}

/// Whether the name has a character that metric names cannot tell from another.
pub(super) fn has_collision_chars(name: &str) -> bool {
    name.contains(['.', '_'])
}

/// Whether two different names become one where `.` turns into `_`, as in metric names.
pub(super) fn collides(left: &str, right: &str) -> bool {
    let unified = |byte: u8| if byte == b'.' { b'_' } else { byte };
    left != right && left.len() == right.len() && left.bytes().map(unified).eq(right.bytes().map(unified))
}

#[cfg(test)]
mod tests {
    use super::{TopicNameError, collides, validate_topic_name};

    #[test]
    fn names_of_allowed_characters_up_to_249_are_legal() {
        for name in ["a", "A.b_c-9", "...", "-", &"x".repeat(249)] {
            assert_eq!(validate_topic_name(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn empty_dotted_long_and_strange_names_are_refused() {
        assert_eq!(validate_topic_name(""), Err(TopicNameError::Empty));
        assert_eq!(validate_topic_name(".."), Err(TopicNameError::Dots("..".into())));
        let long = "x".repeat(250);
        assert_eq!(validate_topic_name(&long), Err(TopicNameError::TooLong(long.clone())));
        for name in ["a b", "ü", "a/b", "a\0", "a:b"] {
            assert_eq!(validate_topic_name(name), Err(TopicNameError::Characters(name.into())));
        }
    }

    #[test]
    fn names_that_differ_only_in_dot_and_underscore_collide() {
        assert!(collides("a.b", "a_b"));
        assert!(collides("a._", "a_."));
        assert!(!collides("a.b", "a.b"), "a name does not collide with itself");
        assert!(!collides("a.b", "a-b"));
        assert!(!collides("a.b", "a_bc"));
    }
}
