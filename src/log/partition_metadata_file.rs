//! `partition.metadata`: the id of the topic to which a partition's folder belongs.
//!
//! It must not know topics.

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use crate::env::{Disk, DiskError, DiskFile, OpenMode};
use crate::log::checkpoint_file::read_text;
use crate::log::error::LogError;
use crate::types::TopicId;

/// The file's name.
const PARTITION_METADATA: &str = "partition.metadata";

/// What stands before the id.
const HEAD: &str = "version: 0\ntopic_id: ";
/// An id in base64 without padding.
const ID_BYTES: usize = 22;

/// Reads the topic id; `None` if the folder has no such file, or only the beginning of one, since its write has failed.
pub(super) fn read(disk: &dyn Disk, directory: &Path) -> Result<Option<TopicId>, LogError> {
    let path = directory.join(PARTITION_METADATA);
    let Some(text) = read_text(disk, &path)?.filter(|text| !is_beginning(text)) else { return Ok(None) };
    let value = |key: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
        pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
    };
    let id = value("topic_id").and_then(TopicId::from_base64);
    match (value("version"), id) {
        (Some("0"), Some(id)) => Ok(Some(id)),
        _ => Err(LogError::malformed(&path, "version 0 or a topic id is missing")),
    }
}

/// Whether more was to come behind this.
fn is_beginning(text: &str) -> bool {
    HEAD.starts_with(text) || text.strip_prefix(HEAD).is_some_and(|id| id.len() < ID_BYTES && !id.contains('\n'))
}

/// The file, to be synced.
pub(super) fn open(disk: &dyn Disk, directory: &Path) -> Result<Arc<dyn DiskFile>, DiskError> {
    disk.open(&directory.join(PARTITION_METADATA), OpenMode::Write)
}

/// Writes the file without a sync. It is then owed one, before any record is.
pub(super) fn write(disk: &dyn Disk, directory: &Path, id: TopicId) -> Result<Arc<dyn DiskFile>, DiskError> {
    let path = directory.join(PARTITION_METADATA);
    let file = disk.open(&path, OpenMode::CreateEmpty)?;
    if let Err(error) = file.append(&[IoSlice::new(format!("{HEAD}{id}\n").as_bytes())]) {
        // What is left of it if that fails, too, says nothing at the next start.
        let _ = disk.remove_file(&path);
        return Err(error);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{HEAD, is_beginning};

    #[test]
    fn a_file_whose_write_broke_off_is_told_from_a_damaged_one() {
        let whole = format!("{HEAD}mNaKvbcgS6GQ-7w_TbluNA");
        assert!((0..whole.len()).all(|bytes| is_beginning(&whole[..bytes])));
        assert!(!is_beginning(&whole) && !is_beginning(&format!("{whole}\n")));
        assert!(!is_beginning("version: 1\ntopic_id: ") && !is_beginning("\0\0\0\0"));
    }
}
