//! The real disk: files of the operating system.
//!
//! It must not know segments or records.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use rustix::fs::{FlockOperation, flock, statvfs, syncfs};

use crate::env::{Disk, DiskEntry, DiskError, DiskFile, DiskLock, EntryKind, OpenMode};
use crate::os::real_file::{Poison, RealFile};

/// The file system of this machine.
#[derive(Clone, Debug, Default)]
pub struct FileDisk {
    poison: Arc<Poison>,
    /// Directories whose file systems are synced as a whole. They stay open from before the first write on: a descriptor tells of the
    /// failures of writeback since it was opened, and of none before.
    roots: Arc<Mutex<BTreeMap<PathBuf, Arc<File>>>>,
}

impl FileDisk {
    /// The file system, with no failed sync so far.
    pub fn new() -> FileDisk {
        FileDisk::default()
    }

    fn root(&self, path: &Path) -> Result<Arc<File>, DiskError> {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(root) = roots.get(path) {
            return Ok(Arc::clone(root));
        }
        let root = Arc::new(File::open(path).map_err(|error| to_disk_error("open", path, error))?);
        roots.insert(path.to_path_buf(), Arc::clone(&root));
        Ok(root)
    }
}

impl Disk for FileDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        let mut options = OpenOptions::new();
        options.read(true).append(mode != OpenMode::Read);
        options.create(matches!(mode, OpenMode::Create | OpenMode::CreateEmpty));
        let file = options.open(path).map_err(|error| to_disk_error("open", path, error))?;
        if mode == OpenMode::CreateEmpty {
            file.set_len(0).map_err(|error| to_disk_error("truncate", path, error))?;
        }
        Ok(Arc::new(RealFile::new(file, path.to_path_buf(), Arc::clone(&self.poison))))
    }

    fn create_directory(&self, path: &Path) -> Result<(), DiskError> {
        fs::create_dir_all(path).map_err(|error| to_disk_error("create directory", path, error))
    }

    fn list(&self, directory: &Path) -> Result<Vec<DiskEntry>, DiskError> {
        let fail = |error| to_disk_error("list", directory, error);
        let mut entries = Vec::new();
        let device = fs::metadata(directory).map_err(fail)?.dev();
        for entry in fs::read_dir(directory).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // Follows links, so that a log directory may be one; an entry that vanished meanwhile is not there.
            let metadata = match fs::metadata(entry.path()) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(fail(error)),
            };
            if metadata.is_dir() {
                let kind = if metadata.dev() == device { EntryKind::Directory } else { EntryKind::Elsewhere };
                entries.push(DiskEntry { name, kind, bytes: 0 });
            } else if metadata.is_file() {
                entries.push(DiskEntry { name, kind: EntryKind::File, bytes: metadata.len() });
            }
        }
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        fs::rename(from, to).map_err(|error| to_disk_error("rename", from, error))
    }

    fn remove_file(&self, path: &Path) -> Result<(), DiskError> {
        fs::remove_file(path).map_err(|error| to_disk_error("remove", path, error))
    }

    fn remove_directory(&self, path: &Path) -> Result<(), DiskError> {
        fs::remove_dir_all(path).map_err(|error| to_disk_error("remove directory", path, error))
    }

    fn sync_directory(&self, path: &Path) -> Result<(), DiskError> {
        let synced = File::open(path).and_then(|directory| directory.sync_all());
        synced.map_err(|error| to_disk_error("sync directory", path, error))
    }

    fn sync_all(&self, root: &Path) -> Result<(), DiskError> {
        self.poison.check(root)?;
        syncfs(&*self.root(root)?).map_err(|error| {
            self.poison.add(root);
            to_disk_error("sync all", root, error.into())
        })
    }

    fn sync_roots(&self, roots: &[PathBuf]) -> Result<(), DiskError> {
        let mut devices: BTreeMap<u64, &Path> = BTreeMap::new();
        for root in roots {
            self.poison.check(root)?;
            let metadata = self.root(root)?.metadata().map_err(|error| to_disk_error("sync all", root, error))?;
            devices.entry(metadata.dev()).or_insert(root);
        }
        let mut devices = devices.into_values();
        let Some(first) = devices.next() else { return Ok(()) };
        // Each further file system on a thread of its own, or on this one if there is none to be had.
        thread::scope(|scope| {
            let (mut others, mut result) = (Vec::new(), Ok(()));
            for root in devices {
                match thread::Builder::new().spawn_scoped(scope, move || self.sync_all(root)) {
                    Ok(other) => others.push(other),
                    Err(_) => result = result.and(self.sync_all(root)),
                }
            }
            let result = result.and(self.sync_all(first));
            let outcome = |other: ScopedJoinHandle<'_, _>| other.join().expect("a panic aborts the process");
            others.into_iter().map(outcome).fold(result, Result::and)
        })
    }

    fn free_bytes(&self, root: &Path) -> Result<u64, DiskError> {
        let space = statvfs(root).map_err(|error| to_disk_error("free space", root, error.into()))?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }

    fn total_bytes(&self, root: &Path) -> Result<u64, DiskError> {
        let space = statvfs(root).map_err(|error| to_disk_error("total space", root, error.into()))?;
        Ok(space.f_blocks.saturating_mul(space.f_frsize))
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn DiskLock>, DiskError> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let file = file.map_err(|error| to_disk_error("open", path, error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                self.root(path.parent().unwrap_or(path))?;
                Ok(Box::new(FileLock { _file: file }))
            }
            Err(rustix::io::Errno::WOULDBLOCK) => Err(DiskError::Locked { path: path.to_path_buf() }),
            Err(error) => Err(to_disk_error("lock", path, error.into())),
        }
    }
}

/// Holds the lock until its descriptor is closed.
struct FileLock {
    _file: File,
}

impl DiskLock for FileLock {}

/// What an error of the system means to the broker.
pub(super) fn to_disk_error(operation: &'static str, path: &Path, source: io::Error) -> DiskError {
    let path = path.to_path_buf();
    match source.kind() {
        io::ErrorKind::NotFound => DiskError::NotFound { path },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DiskError::Full { path },
        _ => DiskError::Io { operation, path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_stays_open_from_its_lock_on() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        let disk = FileDisk::new();
        disk.create_directory(&root).unwrap();
        let _lock = disk.lock(&root.join(".lock")).unwrap();
        disk.rename(&root, &directory.path().join("elsewhere")).unwrap();
        disk.sync_all(&root).expect("the descriptor that has seen every failed write since the start");
    }

    #[test]
    fn a_link_to_another_file_system_is_told_from_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("here")).unwrap();
        std::os::unix::fs::symlink("here", directory.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/proc", directory.path().join("other")).unwrap();
        let entries = FileDisk::new().list(directory.path()).unwrap();
        let kinds: Vec<EntryKind> = entries.iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [EntryKind::Directory, EntryKind::Directory, EntryKind::Elsewhere]);
    }

    #[test]
    fn several_roots_are_synced_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let disk = FileDisk::new();
        let roots = [directory.path().to_path_buf(), directory.path().join("..")];
        disk.sync_roots(&roots).unwrap();
        disk.sync_roots(&[]).unwrap();
        disk.poison.add(directory.path());
        assert!(matches!(disk.sync_roots(&roots), Err(DiskError::Poisoned { .. })));
    }
}
