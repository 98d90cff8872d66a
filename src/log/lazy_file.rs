//! A file of a segment that is opened when it is first used and closed when it is no longer busy, so that a thousand idle
//! partitions hold few descriptors.
//!
//! It must not know what is in the file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::{Disk, DiskError, DiskFile, OpenMode};
use crate::log::checkpoint_file::replace_file;
use crate::log::error::LogError;
use crate::log::log_file_name::{LOG, file_name};
use crate::types::Offset;

/// Where the files of one segment lie.
#[derive(Clone, Debug)]
pub(super) struct SegmentPlace {
    /// The file system.
    pub(super) disk: Arc<dyn Disk>,
    /// The partition's folder.
    pub(super) directory: Arc<Path>,
    /// The segment's base offset, which names its files.
    pub(super) base_offset: Offset,
}

impl SegmentPlace {
    /// The path of the segment's file with this suffix.
    pub(super) fn path(&self, suffix: &str) -> PathBuf {
        self.directory.join(file_name(self.base_offset, suffix))
    }
}

/// One file of a segment, open or not.
#[derive(Debug)]
pub(super) struct LazyFile {
    place: SegmentPlace,
    suffix: &'static str,
    handle: Option<Arc<dyn DiskFile>>,
}

impl LazyFile {
    /// A file that is not opened yet.
    pub(super) fn new(place: SegmentPlace, suffix: &'static str) -> LazyFile {
        LazyFile { place, suffix, handle: None }
    }

    /// The open file; made if it is not there. That of the records is made with its segment and at no other time: in the place of one that
    /// somebody removed, an empty one would hide the loss.
    pub(super) fn open(&mut self) -> Result<&Arc<dyn DiskFile>, DiskError> {
        if self.handle.is_none() {
            let mode = if self.suffix == LOG { OpenMode::Write } else { OpenMode::Create };
            self.handle = Some(self.place.disk.open(&self.path(), mode)?);
        }
        Ok(self.handle.as_ref().expect("it was opened above"))
    }

    /// Looks whether the file still lies under its name, `bytes` bytes long at least: if somebody has removed it, what is written to an open one is
    /// nowhere, and a closed one cannot be opened. Fails only if that is so.
    pub(super) fn check_place(&self, bytes: u64) -> Result<(), DiskError> {
        let path = self.path();
        match self.place.disk.open(&path, OpenMode::Read).and_then(|file| file.bytes()) {
            Err(error) if error.is_not_found() => Err(error),
            Ok(found) if found < bytes => {
                let source = io::Error::other("another, shorter file lies there now");
                Err(DiskError::Io { operation: "append", path, source })
            }
            _ => Ok(()),
        }
    }

    /// Lets the descriptor go; it lives on while someone else holds the file.
    pub(super) fn close(&mut self) {
        self.handle = None;
    }

    /// Where it lies.
    pub(super) fn path(&self) -> PathBuf {
        self.place.path(self.suffix)
    }

    /// Follows its folder to a new name.
    pub(super) fn move_to(&mut self, directory: Arc<Path>) {
        self.place.directory = directory;
    }

    /// Puts a file with this content, which is synced before, in its place.
    pub(super) fn replace(&mut self, content: &[u8]) -> Result<(), LogError> {
        self.handle = None;
        replace_file(&*self.place.disk, &self.path(), content)
    }

    /// Removes it. A file that was never made is no error.
    pub(super) fn remove(&mut self) -> Result<(), DiskError> {
        self.handle = None;
        match self.place.disk.remove_file(&self.path()) {
            Err(error) if error.is_not_found() => Ok(()),
            result => result,
        }
    }

    /// Gives it another ending, and says what it is called now; `None` for a file that was never made.
    pub(super) fn rename_with(&mut self, ending: &str) -> Result<Option<PathBuf>, DiskError> {
        self.handle = None;
        let from = self.path();
        let mut to = from.clone().into_os_string();
        to.push(ending);
        let to = PathBuf::from(to);
        match self.place.disk.rename(&from, &to) {
            Err(error) if error.is_not_found() => Ok(None),
            result => result.map(|()| Some(to)),
        }
    }
}
