//! Finds the snapshot that stands for what the metadata log no longer has (KIP-630). Kafka writes them; Klamm keeps its whole log.
//!
//! It must not know what a snapshot says.

use std::path::Path;

use crate::env::{Disk, DiskError, OpenMode};
use crate::types::{LeaderEpoch, Offset};

/// Ends the name of a snapshot that is complete.
const CHECKPOINT: &str = ".checkpoint";

/// A snapshot of the metadata.
pub(crate) struct MetadataSnapshot {
    /// It stands for all records before this offset.
    pub(crate) next_offset: Offset,
    /// The epoch of the last of them.
    pub(crate) leader_epoch: LeaderEpoch,
    /// Its batches.
    pub(crate) bytes: Vec<u8>,
}

/// The newest snapshot in the folder of the metadata log.
pub(crate) fn newest_snapshot(disk: &dyn Disk, directory: &Path) -> Result<Option<MetadataSnapshot>, DiskError> {
    let entries = disk.list(directory)?;
    let named = entries.iter().filter_map(|entry| parse_name(&entry.name).map(|id| (id, entry)));
    let Some(((next_offset, leader_epoch), entry)) = named.max_by_key(|(id, _)| *id) else { return Ok(None) };
    let file = disk.open(&directory.join(&entry.name), OpenMode::Read)?;
    let mut bytes = vec![0; usize::try_from(entry.bytes).unwrap_or(usize::MAX)];
    let read = file.read_at(0, &mut bytes)?;
    bytes.truncate(read);
    Ok(Some(MetadataSnapshot { next_offset, leader_epoch, bytes }))
}

/// `00000000000000000123-0000000004.checkpoint`: end offset and epoch.
fn parse_name(name: &str) -> Option<(Offset, LeaderEpoch)> {
    let (offset, epoch) = name.strip_suffix(CHECKPOINT)?.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(offset) || !is_number(epoch) {
        return None;
    }
    Some((Offset(offset.parse().ok()?), LeaderEpoch(epoch.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::tests::memory_disk::MemoryDisk;

    #[test]
    fn the_newest_complete_snapshot_is_read_and_other_files_are_not() {
        let disk = MemoryDisk::new();
        let folder = Path::new("/data/__cluster_metadata-0");
        disk.create_directory(Path::new("/data")).unwrap();
        disk.create_directory(folder).unwrap();
        assert!(newest_snapshot(&*disk, folder).unwrap().is_none());
        for (name, content) in [
            ("00000000000000000009-0000000002.checkpoint", "older"),
            ("00000000000000000120-0000000001.checkpoint", "newest"),
            ("00000000000000000500-0000000003.checkpoint.part", "torn"),
            ("leader-epoch-checkpoint", "another matter"),
            ("x-1.checkpoint", "no offset"),
        ] {
            disk.write(folder.join(name), content.as_bytes());
        }
        let snapshot = newest_snapshot(&*disk, folder).unwrap().unwrap();
        assert_eq!((snapshot.next_offset, snapshot.leader_epoch), (Offset(120), LeaderEpoch(1)));
        assert_eq!(snapshot.bytes, b"newest");
    }
}
