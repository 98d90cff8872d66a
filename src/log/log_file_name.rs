//! The names of files and folders below a log directory, made and read.
//!
//! It must not know what is in them.

use std::sync::Arc;

use crate::types::{Offset, PartitionIndex, TopicPartition};

/// Records.
pub(super) const LOG: &str = "log";
/// Offset index.
pub(super) const OFFSET_INDEX: &str = "index";
/// Time index.
pub(super) const TIME_INDEX: &str = "timeindex";
/// Index of aborted transactions.
pub(super) const TRANSACTION_INDEX: &str = "txnindex";
/// Producer state.
pub(super) const SNAPSHOT: &str = "snapshot";
/// Ends the name of a file that waits for its removal.
pub(super) const DELETED: &str = ".deleted";
/// Ends the name of a file that a compaction or split is still writing.
pub(super) const CLEANED: &str = ".cleaned";
/// Ends the name of a file that is complete and about to replace others.
pub(super) const SWAP: &str = ".swap";
/// The largest offset that a file's name may say, so that no offset in a segment overflows.
const BASE_OFFSET_MAX: i64 = i64::MAX - u32::MAX as i64;
/// How wide an offset is in a name.
const ZEROES: &str = "00000000000000000000";
/// Longest name of a file or folder.
const NAME_BYTES_MAX: usize = 255;

/// The name of a file of the segment, or the snapshot, with this offset.
pub(super) fn file_name(offset: Offset, suffix: &str) -> String {
    // Each start of a broker makes some hundreds of these, and a formatter pads one character at a time.
    let digits = offset.0.to_string();
    let zeroes = ZEROES.get(digits.len()..).unwrap_or_default();
    [zeroes, &digits, ".", suffix].concat()
}

/// The offset and the rest of a name that [`file_name`] made (with `.deleted` and the like still attached to the suffix).
pub(super) fn parse_file_name(name: &str) -> Option<(Offset, &str)> {
    let (digits, suffix) = name.split_once('.')?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let offset = digits.parse().ok().filter(|offset| *offset <= BASE_OFFSET_MAX)?;
    Some((Offset(offset), suffix))
}

/// What a folder below a log directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FolderKind {
    /// A partition's log.
    Current(TopicPartition),
    /// A deleted partition, to be removed.
    Deleted,
    /// A copy during a move between directories, never completed by us.
    Future,
    /// A partition that an earlier start found not to be this broker's.
    Stray,
    /// Nothing that a log is made of.
    Other,
}

/// Says what a folder is by its name.
pub(super) fn parse_folder_name(name: &str) -> FolderKind {
    for (ending, kind) in
        [("-delete", FolderKind::Deleted), ("-future", FolderKind::Future), ("-stray", FolderKind::Stray)]
    {
        if let Some(stem) = name.strip_suffix(ending)
            && let Some((partition, unique)) = stem.rsplit_once('.')
            && unique.len() == 32
            && unique.bytes().all(|byte| byte.is_ascii_hexdigit())
            && parse_topic_partition(partition).is_some()
        {
            return kind;
        }
    }
    parse_topic_partition(name).map_or(FolderKind::Other, FolderKind::Current)
}

/// Splits `topic-partition` at its last dash.
fn parse_topic_partition(name: &str) -> Option<TopicPartition> {
    let (topic, partition) = name.rsplit_once('-')?;
    if topic.is_empty() || partition.is_empty() || !partition.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(TopicPartition { topic: Arc::from(topic), partition: PartitionIndex(partition.parse().ok()?) })
}

/// The name of a deleted partition's folder: unique, and never longer than a file system allows.
pub(super) fn deleted_folder_name(partition: &TopicPartition, unique: u128) -> String {
    folder_name_with(partition, unique, "delete")
}

/// The name of the folder of a partition that is not this broker's.
pub(super) fn stray_folder_name(partition: &TopicPartition, unique: u128) -> String {
    folder_name_with(partition, unique, "stray")
}

fn folder_name_with(partition: &TopicPartition, unique: u128, suffix: &str) -> String {
    let ending = format!("-{}.{unique:032x}-{suffix}", partition.partition);
    let mut topic = &*partition.topic;
    while topic.len() + ending.len() > NAME_BYTES_MAX {
        let mut characters = topic.chars();
        characters.next_back();
        topic = characters.as_str();
    }
    format!("{topic}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(topic: &str, index: i32) -> TopicPartition {
        TopicPartition { topic: Arc::from(topic), partition: PartitionIndex(index) }
    }

    #[test]
    fn a_file_name_has_twenty_digits_and_is_read_back() {
        assert_eq!(file_name(Offset(42), LOG), "00000000000000000042.log");
        assert_eq!(parse_file_name(&file_name(Offset(i64::MAX), LOG)), None, "no offset could follow it");
        assert_eq!(parse_file_name("00000000000000000042.log"), Some((Offset(42), "log")));
        assert_eq!(parse_file_name("00000000000000000042.index.deleted"), Some((Offset(42), "index.deleted")));
        assert_eq!(parse_file_name("leader-epoch-checkpoint"), None);
        assert_eq!(parse_file_name("99999999999999999999.log"), None);
        assert_eq!(parse_file_name("+1.log"), None);
    }

    #[test]
    fn a_folder_name_says_topic_and_partition_at_its_last_dash() {
        assert_eq!(parse_folder_name("a-b-7"), FolderKind::Current(partition("a-b", 7)));
        assert_eq!(parse_folder_name("remote-log-index-cache"), FolderKind::Other);
        assert_eq!(parse_folder_name("-1"), FolderKind::Other);
        assert_eq!(parse_folder_name("a-99999999999"), FolderKind::Other);
    }

    #[test]
    fn a_deleted_folder_name_fits_a_file_system_also_for_the_longest_topic() {
        let name = deleted_folder_name(&partition(&"t".repeat(249), 123), 0xabc);
        assert_eq!(name.len(), 255);
        assert_eq!(parse_folder_name(&name), FolderKind::Deleted);
        assert_eq!(parse_folder_name(&stray_folder_name(&partition("t", 0), 1)), FolderKind::Stray);
        assert!(deleted_folder_name(&partition("t", 0), 1).starts_with("t-0.00000000000000000000000000000001-delete"));
    }
}
