//! One open file of the real disk, and the memory of failed syncs.
//!
//! It must not know segments or records.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use crate::env::{DiskError, DiskFile, FileSink};
use crate::os::file_disk::to_disk_error;
use crate::os::system_clock::wall_time;
use crate::types::WallTime;

/// A file, open for appending unless it was opened to read.
#[derive(Debug)]
pub(super) struct RealFile {
    file: File,
    path: PathBuf,
    poison: Arc<Poison>,
}

impl RealFile {
    pub(super) fn new(file: File, path: PathBuf, poison: Arc<Poison>) -> RealFile {
        RealFile { file, path, poison }
    }

    fn error(&self, operation: &'static str) -> impl Fn(io::Error) -> DiskError + '_ {
        move |error| to_disk_error(operation, &self.path, error)
    }
}

impl DiskFile for RealFile {
    fn append(&self, pieces: &[IoSlice<'_>]) -> Result<(), DiskError> {
        self.poison.check(&self.path)?;
        write_all(&self.file, pieces).map_err(self.error("append"))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.error("read")(error)),
            }
        }
        Ok(filled)
    }

    fn bytes(&self) -> Result<u64, DiskError> {
        self.file.metadata().map(|metadata| metadata.len()).map_err(self.error("length"))
    }

    fn truncate(&self, bytes: u64) -> Result<(), DiskError> {
        self.file.set_len(bytes).map_err(self.error("truncate"))
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.poison.check(&self.path)?;
        self.file.sync_data().map_err(|error| {
            self.poison.add(&self.path);
            self.error("sync")(error)
        })
    }

    fn modified(&self) -> Result<WallTime, DiskError> {
        self.file.metadata().and_then(|metadata| metadata.modified()).map(wall_time).map_err(self.error("modified"))
    }

    fn set_modified(&self, time: WallTime) -> Result<(), DiskError> {
        let distance = Duration::from_millis(time.0.unsigned_abs());
        let moment = if time.0 < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
        let moment = moment.ok_or_else(|| self.error("set modified")(io::ErrorKind::InvalidInput.into()))?;
        self.file.set_modified(moment).map_err(self.error("set modified"))
    }

    fn send_to(&self, sink: &mut dyn FileSink, offset: u64, bytes: usize) -> io::Result<usize> {
        sink.send_descriptor(self.file.as_fd(), offset, bytes)
    }
}

/// Writes all slices at the end of the file; the kernel may take them in several parts.
fn write_all(mut file: &File, slices: &[IoSlice<'_>]) -> io::Result<()> {
    let total: usize = slices.iter().map(|slice| slice.len()).sum();
    let mut written = write_some(&mut file, slices)?;
    if written == total {
        return Ok(());
    }
    let mut slices = slices.to_vec();
    let mut rest = slices.as_mut_slice();
    IoSlice::advance_slices(&mut rest, written);
    while written < total {
        let count = write_some(&mut file, rest)?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut rest, count);
        written += count;
    }
    Ok(())
}

fn write_some(file: &mut &File, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    loop {
        match file.write_vectored(slices) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// Remembers whose sync failed. The kernel reports such a failure once and may then call lost pages clean, so a later sync that
/// succeeds proves nothing. Kept by path, so that it holds for every handle.
#[derive(Debug, Default)]
pub(super) struct Poison {
    any: AtomicBool,
    paths: Mutex<BTreeSet<PathBuf>>,
}

impl Poison {
    pub(super) fn add(&self, path: &Path) {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf());
        self.any.store(true, Ordering::Release);
    }

    /// Refuses if a sync of this path, or of a directory above it, has failed.
    pub(super) fn check(&self, path: &Path) -> Result<(), DiskError> {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if path.ancestors().any(|ancestor| paths.contains(ancestor)) {
            return Err(DiskError::Poisoned { path: path.to_path_buf() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::env::{Disk, OpenMode};
    use crate::os::FileDisk;

    #[test]
    fn a_failed_sync_poisons_every_handle_of_the_path() {
        // The kernel refuses to sync a pipe, which is the one failing sync that a test can have without a broken disk.
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let disk = FileDisk::new();
        let file = disk.open(&path, OpenMode::Write).unwrap();
        let other = disk.open(&path, OpenMode::Write).unwrap();
        assert!(matches!(file.sync(), Err(DiskError::Io { operation: "sync", .. })));
        assert!(matches!(file.sync(), Err(DiskError::Poisoned { .. })));
        assert!(matches!(other.append(&[IoSlice::new(b"x")]), Err(DiskError::Poisoned { .. })));
        let healthy = disk.open(&directory.path().join("file"), OpenMode::Create).unwrap();
        healthy.sync().unwrap();
    }

    #[test]
    fn a_write_to_a_full_device_says_full() {
        let full = OpenOptions::new().read(true).append(true).open("/dev/full").unwrap();
        let file = RealFile::new(full, PathBuf::from("/dev/full"), Arc::default());
        assert!(matches!(file.append(&[IoSlice::new(b"x")]), Err(DiskError::Full { .. })));
    }

    #[test]
    fn slices_beyond_the_kernels_limit_are_all_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = FileDisk::new().open(&directory.path().join("file"), OpenMode::Create).unwrap();
        let bytes: Vec<[u8; 2]> = (0..3_000u16).map(u16::to_be_bytes).collect();
        let slices: Vec<IoSlice<'_>> = bytes.iter().map(|bytes| IoSlice::new(bytes)).collect();
        file.append(&slices).unwrap();
        let mut read = vec![0; 6_001];
        assert_eq!(file.read_at(0, &mut read).unwrap(), 6_000);
        assert_eq!(read[..6_000], bytes.concat());
    }
}
