//! Reads which topics a consumer subscribes to out of the metadata that it joins with.
//!
//! It must not know what follows from a subscription. The bytes are the client's own; Kafka's consumers put version, topics and
//! more there, and only the topics, which all versions share, are read.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::zoo::{self, Bug};

/// The topics of a `ConsumerProtocolSubscription`, or `None` if the bytes are something else.
pub(super) fn subscribed_topics(metadata: &[u8]) -> Option<BTreeSet<Arc<str>>> {
    let (version, rest) = metadata.split_first_chunk::<2>()?;
    let version = i16::from_be_bytes(*version);
    if version < 0 || version > 0 && zoo::is(Bug::NewSubscriptionUnread) {
        return None;
    }
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    let count = u32::try_from(i32::from_be_bytes(*count)).ok()?;
    let mut topics = BTreeSet::new();
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<2>()?;
        let length = usize::try_from(i16::from_be_bytes(*length)).ok()?;
        let (name, after) = after.split_at_checked(length)?;
        topics.insert(Arc::from(std::str::from_utf8(name).ok()?));
        rest = after;
    }
    Some(topics)
}

#[cfg(test)]
mod tests {
    use super::subscribed_topics;

    #[test]
    fn the_topics_of_a_subscription_are_read_and_what_follows_is_ignored() {
        let metadata = b"\x00\x03\x00\x00\x00\x02\x00\x01a\x00\x02bc\xff\xff\xff\xff";
        let topics = subscribed_topics(metadata).unwrap();
        assert_eq!(topics.iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["a", "bc"]);
    }

    #[test]
    fn bytes_that_are_no_subscription_are_refused_without_harm() {
        for metadata in [
            &b""[..],
            b"\x00",
            b"\x00\x00\x7f\xff\xff\xff",
            b"\x00\x00\x00\x00\x00\x01\x00\x05ab",
            b"\xff\xff\x00\x00\x00\x00",
        ] {
            assert_eq!(subscribed_topics(metadata), None);
        }
    }
}
