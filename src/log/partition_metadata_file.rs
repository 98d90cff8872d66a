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

/// Reads the topic id; `None` if the folder has no such file.
pub(super) fn read(disk: &dyn Disk, directory: &Path) -> Result<Option<TopicId>, LogError> {
    let path = directory.join(PARTITION_METADATA);
    let Some(text) = read_text(disk, &path)? else { return Ok(None) };
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

/// The file, to be synced.
pub(super) fn open(disk: &dyn Disk, directory: &Path) -> Result<Arc<dyn DiskFile>, DiskError> {
    disk.open(&directory.join(PARTITION_METADATA), OpenMode::Write)
}

/// Writes the file without a sync. It is then owed one, before any record is.
pub(super) fn write(disk: &dyn Disk, directory: &Path, id: TopicId) -> Result<Arc<dyn DiskFile>, DiskError> {
    let file = disk.open(&directory.join(PARTITION_METADATA), OpenMode::CreateEmpty)?;
    file.append(&[IoSlice::new(format!("version: 0\ntopic_id: {id}\n").as_bytes())])?;
    Ok(file)
}
