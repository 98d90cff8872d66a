//! A disk in memory for tests: it can tear an append, be full, fail a sync, and lose what was not synced.
//!
//! It must not be used outside tests.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::env::{Disk, DiskEntry, DiskError, DiskFile, DiskLock, EntryKind, FileSink, OpenMode};
use crate::types::WallTime;

/// The bytes of one file and how many of them a power cut leaves.
#[derive(Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    synced: usize,
    modified: i64,
}

/// What may go wrong, shared by a disk and its files.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Appends keep only this many bytes and then fail; negative for no fault.
    pub(crate) tear_next_append_at: AtomicI64,
    /// Appends fail with `Full`.
    pub(crate) is_full: AtomicBool,
    /// Truncations fail.
    pub(crate) fails_truncate: AtomicBool,
    /// Syncs fail.
    pub(crate) fails_sync: AtomicBool,
    /// How often something was read so far.
    pub(crate) reads: AtomicUsize,
    /// The longest read so far.
    pub(crate) read_bytes_max: AtomicUsize,
    /// Renames fail.
    pub(crate) fails_rename: AtomicBool,
    /// Nothing at or below this path can be opened, renamed or removed, nor its space be told.
    pub(crate) broken: Mutex<Option<PathBuf>>,
    /// All that lies in this directory cannot be synced at once.
    pub(crate) unsyncable: Mutex<Option<PathBuf>>,
    /// This directory cannot be listed.
    pub(crate) unreadable: Mutex<Option<PathBuf>>,
    /// This directory lies on another file system.
    pub(crate) elsewhere: Mutex<Option<PathBuf>>,
}

#[derive(Debug)]
struct MemoryFile {
    path: PathBuf,
    content: Arc<Mutex<Content>>,
    faults: Arc<Faults>,
}

impl MemoryFile {
    fn io_error(&self, operation: &'static str) -> DiskError {
        DiskError::Io { operation, path: self.path.clone(), source: io::Error::other("made to fail") }
    }
}

impl DiskFile for MemoryFile {
    fn append(&self, pieces: &[IoSlice<'_>]) -> Result<(), DiskError> {
        let mut content = self.content.lock().unwrap();
        let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
        let tear = self.faults.tear_next_append_at.swap(-1, Ordering::Relaxed);
        if let Ok(keep) = usize::try_from(tear) {
            content.bytes.extend_from_slice(&bytes[..keep.min(bytes.len())]);
            return Err(self.io_error("append"));
        }
        if self.faults.is_full.load(Ordering::Relaxed) {
            content.bytes.extend_from_slice(&bytes[..bytes.len() / 2]);
            return Err(DiskError::Full { path: self.path.clone() });
        }
        content.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let content = self.content.lock().unwrap();
        let start = usize::try_from(offset).unwrap().min(content.bytes.len());
        let read = buffer.len().min(content.bytes.len() - start);
        buffer[..read].copy_from_slice(&content.bytes[start..start + read]);
        self.faults.reads.fetch_add(1, Ordering::Relaxed);
        self.faults.read_bytes_max.fetch_max(buffer.len(), Ordering::Relaxed);
        Ok(read)
    }

    fn bytes(&self) -> Result<u64, DiskError> {
        Ok(self.content.lock().unwrap().bytes.len() as u64)
    }

    fn truncate(&self, bytes: u64) -> Result<(), DiskError> {
        if self.faults.fails_truncate.load(Ordering::Relaxed) {
            return Err(self.io_error("truncate"));
        }
        let mut content = self.content.lock().unwrap();
        content.bytes.truncate(usize::try_from(bytes).unwrap());
        content.synced = content.synced.min(content.bytes.len());
        Ok(())
    }

    fn sync(&self) -> Result<(), DiskError> {
        if self.faults.fails_sync.load(Ordering::Relaxed) {
            return Err(self.io_error("sync"));
        }
        let mut content = self.content.lock().unwrap();
        content.synced = content.bytes.len();
        Ok(())
    }

    fn modified(&self) -> Result<WallTime, DiskError> {
        Ok(WallTime(self.content.lock().unwrap().modified))
    }

    fn set_modified(&self, time: WallTime) -> Result<(), DiskError> {
        self.content.lock().unwrap().modified = time.0;
        Ok(())
    }

    fn send_to(&self, sink: &mut dyn FileSink, offset: u64, bytes: usize) -> io::Result<usize> {
        let mut buffer = vec![0; bytes];
        let read = self.read_at(offset, &mut buffer).map_err(io::Error::other)?;
        sink.send_bytes(&buffer[..read])
    }
}

/// A disk in memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryDisk {
    files: Mutex<BTreeMap<PathBuf, Arc<Mutex<Content>>>>,
    directories: Mutex<BTreeSet<PathBuf>>,
    locks: Arc<Mutex<BTreeSet<PathBuf>>>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) free: AtomicI64,
}

impl MemoryDisk {
    /// An empty disk.
    pub(crate) fn new() -> Arc<MemoryDisk> {
        let disk = MemoryDisk::default();
        disk.faults.tear_next_append_at.store(-1, Ordering::Relaxed);
        disk.free.store(i64::MAX, Ordering::Relaxed);
        Arc::new(disk)
    }

    /// The disk as it is now, without its locks and faults, each file cut to the length that `keep` chooses from path, synced and
    /// whole length.
    pub(crate) fn crash(&self, keep: impl Fn(&Path, usize, usize) -> usize) -> Arc<MemoryDisk> {
        let after = MemoryDisk::new();
        for (path, content) in &*self.files.lock().unwrap() {
            let content = content.lock().unwrap();
            let kept = keep(path, content.synced, content.bytes.len()).min(content.bytes.len());
            let bytes = content.bytes[..kept].to_vec();
            let content = Content { synced: kept, bytes, modified: content.modified };
            after.files.lock().unwrap().insert(path.clone(), Arc::new(Mutex::new(content)));
        }
        *after.directories.lock().unwrap() = self.directories.lock().unwrap().clone();
        after
    }

    /// The disk after the process was killed: nothing is lost, but what was not synced is still only in memory.
    pub(in crate::log) fn kill(&self) -> Arc<MemoryDisk> {
        let after = self.crash(|_, _, bytes| bytes);
        for (path, content) in &*self.files.lock().unwrap() {
            let killed = Arc::clone(after.files.lock().unwrap().get(path).unwrap());
            killed.lock().unwrap().synced = content.lock().unwrap().synced;
        }
        after
    }

    /// A file's bytes.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let files = self.files.lock().unwrap();
        files.get(path.as_ref()).map(|content| content.lock().unwrap().bytes.clone())
    }

    /// Sets a file's bytes.
    pub(crate) fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let content = Content { bytes: bytes.to_vec(), synced: bytes.len(), modified: 0 };
        self.files.lock().unwrap().insert(path.as_ref().to_path_buf(), Arc::new(Mutex::new(content)));
    }

    /// All files, sorted.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.files.lock().unwrap().keys().map(|path| path.to_str().unwrap().to_owned()).collect()
    }

    /// How often a file is open, not counting the disk itself.
    pub(crate) fn open_handles(&self) -> usize {
        self.files.lock().unwrap().values().map(|content| Arc::strong_count(content) - 1).sum()
    }
}

impl Faults {
    fn check(&self, operation: &'static str, path: &Path) -> Result<(), DiskError> {
        match &*self.broken.lock().unwrap() {
            Some(broken) if path.starts_with(broken) => {
                Err(DiskError::Io { operation, path: path.to_path_buf(), source: io::Error::other("made to fail") })
            }
            _ => Ok(()),
        }
    }

    /// Breaks this path.
    pub(crate) fn break_at(&self, path: &str) {
        *self.broken.lock().unwrap() = Some(PathBuf::from(path));
    }

    /// Repairs it.
    pub(crate) fn repair(&self) {
        *self.broken.lock().unwrap() = None;
    }
}

fn not_found(path: &Path) -> DiskError {
    DiskError::NotFound { path: path.to_path_buf() }
}

#[derive(Debug)]
struct MemoryLock(PathBuf, Arc<Mutex<BTreeSet<PathBuf>>>);

impl DiskLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.1.lock().unwrap().remove(&self.0);
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.faults.check("open", path)?;
        let mut files = self.files.lock().unwrap();
        let makes = matches!(mode, OpenMode::Create | OpenMode::CreateEmpty);
        if !files.contains_key(path) {
            let has_parent = self.directories.lock().unwrap().contains(path.parent().unwrap());
            if !makes || !has_parent {
                return Err(not_found(path));
            }
            files.insert(path.to_path_buf(), Arc::default());
        }
        let content = Arc::clone(files.get(path).unwrap());
        let file = Arc::new(MemoryFile { path: path.to_path_buf(), content, faults: Arc::clone(&self.faults) });
        if mode == OpenMode::CreateEmpty {
            file.truncate(0)?;
        }
        Ok(file)
    }

    fn create_directory(&self, path: &Path) -> Result<(), DiskError> {
        let mut directories = self.directories.lock().unwrap();
        path.ancestors().for_each(|path| {
            directories.insert(path.to_path_buf());
        });
        Ok(())
    }

    fn list(&self, directory: &Path) -> Result<Vec<DiskEntry>, DiskError> {
        if self.faults.unreadable.lock().unwrap().as_deref() == Some(directory) {
            let source = io::Error::other("made to fail");
            return Err(DiskError::Io { operation: "list", path: directory.to_path_buf(), source });
        }
        let directories = self.directories.lock().unwrap();
        if !directories.contains(directory) {
            return Err(not_found(directory));
        }
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let files = self.files.lock().unwrap();
        let mut entries: Vec<DiskEntry> = files
            .iter()
            .filter(|(path, _)| path.parent() == Some(directory))
            .map(|(path, content)| {
                let bytes = content.lock().unwrap().bytes.len() as u64;
                DiskEntry { name: name(path), kind: EntryKind::File, bytes }
            })
            .collect();
        let inside = directories.iter().filter(|path| path.parent() == Some(directory));
        entries.extend(inside.map(|path| {
            let is_elsewhere = self.faults.elsewhere.lock().unwrap().as_deref() == Some(path.as_path());
            let kind = if is_elsewhere { EntryKind::Elsewhere } else { EntryKind::Directory };
            DiskEntry { name: name(path), kind, bytes: 0 }
        }));
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.faults.check("rename", from)?;
        if self.faults.fails_rename.load(Ordering::Relaxed) {
            let source = io::Error::other("made to fail");
            return Err(DiskError::Io { operation: "rename", path: from.to_path_buf(), source });
        }
        let mut files = self.files.lock().unwrap();
        if let Some(content) = files.remove(from) {
            files.insert(to.to_path_buf(), content);
            return Ok(());
        }
        let mut directories = self.directories.lock().unwrap();
        if !directories.contains(from) {
            return Err(not_found(from));
        }
        let moved = |path: &Path| {
            path.strip_prefix(from)
                .ok()
                .map(|rest| if rest.as_os_str().is_empty() { to.to_path_buf() } else { to.join(rest) })
        };
        *directories = directories.iter().map(|path| moved(path).unwrap_or_else(|| path.clone())).collect();
        let taken = std::mem::take(&mut *files);
        *files = taken.into_iter().map(|(path, content)| (moved(&path).unwrap_or(path), content)).collect();
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> Result<(), DiskError> {
        self.faults.check("remove", path)?;
        self.files.lock().unwrap().remove(path).map(|_| ()).ok_or_else(|| not_found(path))
    }

    fn remove_directory(&self, path: &Path) -> Result<(), DiskError> {
        self.faults.check("remove directory", path)?;
        let mut directories = self.directories.lock().unwrap();
        if !directories.contains(path) {
            return Err(not_found(path));
        }
        directories.retain(|directory| !directory.starts_with(path));
        self.files.lock().unwrap().retain(|file, _| !file.starts_with(path));
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> Result<(), DiskError> {
        if self.faults.fails_sync.load(Ordering::Relaxed) {
            let source = io::Error::other("made to fail");
            return Err(DiskError::Io { operation: "sync directory", path: path.to_path_buf(), source });
        }
        self.list(path).map(|_| ())
    }

    fn sync_all(&self, root: &Path) -> Result<(), DiskError> {
        let is_broken = self.faults.unsyncable.lock().unwrap().as_deref() == Some(root);
        if is_broken || self.faults.fails_sync.load(Ordering::Relaxed) {
            let source = io::Error::other("made to fail");
            return Err(DiskError::Io { operation: "sync_all", path: root.to_path_buf(), source });
        }
        for (path, content) in &*self.files.lock().unwrap() {
            if path.starts_with(root) {
                let mut content = content.lock().unwrap();
                content.synced = content.bytes.len();
            }
        }
        Ok(())
    }

    fn free_bytes(&self, root: &Path) -> Result<u64, DiskError> {
        self.faults.check("free space", root)?;
        if !self.directories.lock().unwrap().contains(root) {
            return Err(not_found(root));
        }
        Ok(u64::try_from(self.free.load(Ordering::Relaxed)).unwrap())
    }

    fn total_bytes(&self, _root: &Path) -> Result<u64, DiskError> {
        Ok(i64::MAX as u64)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn DiskLock>, DiskError> {
        self.faults.check("lock", path)?;
        if !self.locks.lock().unwrap().insert(path.to_path_buf()) {
            return Err(DiskError::Locked { path: path.to_path_buf() });
        }
        Ok(Box::new(MemoryLock(path.to_path_buf(), Arc::clone(&self.locks))))
    }
}
