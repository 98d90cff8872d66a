//! One offset per partition of a log directory, in Kafka's text form: recovery points, log starts.
//!
//! It must not know what the offsets mean.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::env::{Disk, DiskError};
use crate::log::checkpoint_file::{
    NextText, checkpoint_lines, format_checkpoint, read_text, replace_text, write_beside,
};
use crate::log::error::LogError;
use crate::types::{Offset, PartitionIndex, TopicPartition};

/// Up to where each log is on disk.
pub(super) const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
/// Where each log starts, if not at its first segment.
pub(super) const LOG_STARTS: &str = "log-start-offset-checkpoint";

/// The offsets of a checkpoint.
pub(super) type Offsets = BTreeMap<TopicPartition, Offset>;

/// Reads a checkpoint. A missing one has no offsets, nor has one without a byte: Kafka makes all of them at its start and writes them
/// later.
pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Offsets, LogError> {
    let Some(text) = read_text(disk, path)?.filter(|text| !text.is_empty()) else { return Ok(Offsets::new()) };
    let lines = checkpoint_lines(path, &text)?;
    let offsets: Option<Offsets> = lines.iter().map(|line| parse(line)).collect();
    offsets.ok_or_else(|| LogError::malformed(path, "a line is not topic, partition, offset"))
}

/// Writes a checkpoint that is to take the place of the one at `path`.
pub(super) fn write_next(disk: &dyn Disk, path: &Path, offsets: &Offsets) -> Result<NextText, DiskError> {
    write_beside(disk, path, &text_of(offsets))
}

/// Replaces a checkpoint. Waits for the disk.
pub(super) fn replace(disk: &dyn Disk, path: &Path, offsets: &Offsets) -> Result<(), LogError> {
    replace_text(disk, path, &text_of(offsets))
}

fn text_of(offsets: &Offsets) -> String {
    let line = |(partition, offset): (&TopicPartition, &Offset)| {
        format!("{} {} {offset}", partition.topic, partition.partition)
    };
    let lines: Vec<String> = offsets.iter().map(line).collect();
    format_checkpoint(&lines)
}

fn parse(line: &str) -> Option<(TopicPartition, Offset)> {
    let mut words = line.split_whitespace();
    let topic = Arc::from(words.next()?);
    let partition = PartitionIndex(words.next()?.parse().ok()?);
    let offset: i64 = words.next()?.parse().ok()?;
    (words.next().is_none() && offset >= 0).then_some((TopicPartition { topic, partition }, Offset(offset)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::tests::memory_disk::MemoryDisk;

    #[test]
    fn a_checkpoint_without_a_byte_is_as_good_as_none_and_a_malformed_one_is_not() {
        let (disk, path) = (MemoryDisk::new(), Path::new("/logs").join(RECOVERY_POINTS));
        disk.create_directory(Path::new("/logs")).unwrap();
        assert_eq!(read(&*disk, &path).unwrap(), Offsets::new());
        disk.write(path.to_str().unwrap(), b"");
        assert_eq!(read(&*disk, &path).unwrap(), Offsets::new());
        for text in ["\n", "1\n0\n", "0\n1\nt 0\n"] {
            disk.write(path.to_str().unwrap(), text.as_bytes());
            assert!(matches!(read(&*disk, &path), Err(LogError::Malformed { .. })), "{text:?}");
        }
    }
}
