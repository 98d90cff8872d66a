//! The door to files. An append may tear at any byte on a crash, only a sync makes durable, a failed sync poisons the file, and a
//! new or renamed file needs its directory synced.
//!
//! It must not know segments or records.

use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::types::WallTime;

/// What can go wrong with a disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// There is no such file or directory.
    #[error("{path}: no such file or directory")]
    NotFound {
        /// Which.
        path: PathBuf,
    },
    /// The disk is full, or the quota is used up. Nothing of the operation happened, or a torn part that the caller truncates.
    #[error("{path}: no space left")]
    Full {
        /// Which file.
        path: PathBuf,
    },
    /// Another process holds the lock.
    #[error("{path}: locked by another process")]
    Locked {
        /// Which lock file.
        path: PathBuf,
    },
    /// A sync of this file failed earlier, so that nobody knows what of it is on disk.
    #[error("{path}: an earlier sync failed; what is on disk is unknown")]
    Poisoned {
        /// Which file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("{path}: {operation} failed: {source}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl DiskError {
    /// Whether the file or directory is simply not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, DiskError::NotFound { .. })
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must exist; only reads are made.
    Read,
    /// It must exist; it may be read, appended to and truncated.
    Write,
    /// Like `Write`, and made (empty) if it is not there.
    Create,
    /// Like `Create`, and emptied if it was there.
    CreateEmpty,
}

/// Whether an entry is a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A directory of another file system, by a link or a mount: [`Disk::sync_all`] does not reach it.
    Elsewhere,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskEntry {
    /// Its name, without the directory. Entries whose name is not UTF-8 are not shown.
    pub name: String,
    /// File or directory.
    pub kind: EntryKind,
    /// Its length; 0 for a directory.
    pub bytes: u64,
}

/// A file system.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError>;
    /// Makes a directory and those above it; one that exists is no error.
    fn create_directory(&self, path: &Path) -> Result<(), DiskError>;
    /// What is in a directory, sorted by name.
    fn list(&self, directory: &Path) -> Result<Vec<DiskEntry>, DiskError>;
    /// Renames a file or directory, replacing a file at `to`. Durable after [`Disk::sync_directory`] of both parents.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> Result<(), DiskError>;
    /// Removes a directory with all that is in it.
    fn remove_directory(&self, path: &Path) -> Result<(), DiskError>;
    /// Makes the entries of a directory durable.
    fn sync_directory(&self, path: &Path) -> Result<(), DiskError>;
    /// Makes everything durable that was written below `root` before the call (`syncfs`).
    fn sync_all(&self, root: &Path) -> Result<(), DiskError>;
    /// Like [`Disk::sync_all`] of each of these roots. One file system is synced once, and several at the same time, where that is possible.
    fn sync_roots(&self, roots: &[PathBuf]) -> Result<(), DiskError> {
        roots.iter().try_for_each(|root| self.sync_all(root))
    }
    /// Bytes that can still be written below `root`.
    fn free_bytes(&self, root: &Path) -> Result<u64, DiskError>;
    /// Bytes that fit below `root` when it is empty.
    fn total_bytes(&self, root: &Path) -> Result<u64, DiskError>;
    /// Takes an exclusive lock that ends with the returned value or with the process.
    fn lock(&self, path: &Path) -> Result<Box<dyn DiskLock>, DiskError>;
}

/// An exclusive lock, held as long as the value lives.
pub trait DiskLock: Send + Sync {}

/// An open file. Reads and appends take `&self`; the caller orders appends.
pub trait DiskFile: Send + Sync + fmt::Debug {
    /// Appends all of `pieces` at the end. On an error a part may be there: the caller truncates.
    fn append(&self, pieces: &[IoSlice<'_>]) -> Result<(), DiskError>;
    /// Reads from `offset` until `buffer` is full or the file ends; says how many bytes it read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError>;
    /// Its length in bytes.
    fn bytes(&self) -> Result<u64, DiskError>;
    /// Cuts it to `bytes`.
    fn truncate(&self, bytes: u64) -> Result<(), DiskError>;
    /// Makes data and length durable. After a failure every later append and sync fails with [`DiskError::Poisoned`].
    fn sync(&self) -> Result<(), DiskError>;
    /// When it was last changed.
    fn modified(&self) -> Result<WallTime, DiskError>;
    /// Sets when it was last changed.
    fn set_modified(&self, time: WallTime) -> Result<(), DiskError>;
    /// Hands a range of itself to a sink, in the form in which it can.
    fn send_to(&self, sink: &mut dyn FileSink, offset: u64, bytes: usize) -> io::Result<usize>;
}

/// What can take a range of a file: neither side learns the other's type.
pub trait FileSink {
    /// Takes a prefix of a range of a real file.
    fn send_descriptor(&mut self, file: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<usize>;
    /// Takes a prefix of bytes.
    fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<usize>;
}

/// A part of an answer: bytes in memory, or a range of a file.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Bytes in memory.
    Bytes(Bytes),
    /// A range of a file.
    File {
        /// The file, which stays readable as long as it is held, also after its removal.
        file: Arc<dyn DiskFile>,
        /// Where the range starts.
        offset: u64,
        /// How long it is.
        bytes: usize,
    },
}

impl Piece {
    /// Its length in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::File { bytes, .. } => *bytes,
        }
    }
}

/// A sync for the driver to run while roles go on: either some files, or all below some roots at once.
#[derive(Clone, Debug)]
pub enum SyncJob {
    /// Each of these files, then the entries of each of these directories.
    Files {
        /// The files.
        files: Vec<Arc<dyn DiskFile>>,
        /// The directories. One that is gone by now, with all that was in it, needs no sync.
        directories: Vec<PathBuf>,
    },
    /// Everything below these directories.
    All(Vec<PathBuf>),
}

impl SyncJob {
    /// Runs it. The first failure ends it.
    pub fn run(&self, disk: &dyn Disk) -> Result<(), DiskError> {
        match self {
            SyncJob::Files { files, directories } => {
                files.iter().try_for_each(|file| file.sync())?;
                directories.iter().try_for_each(|directory| match disk.sync_directory(directory) {
                    Err(error) if error.is_not_found() => Ok(()),
                    result => result,
                })
            }
            SyncJob::All(roots) => disk.sync_roots(roots),
        }
    }
}
