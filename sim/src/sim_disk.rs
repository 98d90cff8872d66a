//! The simulated disk behind the doors of `env`.
//!
//! It must not know segments or records. No call waits; a sync that takes time is begun and finished by the scheduler.

use std::path::Path;
use std::sync::{Arc, MutexGuard};

use klamm::env::{Disk, DiskEntry, DiskError, DiskFile, DiskLock, EntryKind, OpenMode, SyncJob};
use klamm::types::Instant;

use crate::disk_calls::{dead, failure, not_found};
use crate::disk_state::{Node, entity_of};
use crate::disk_volumes::MAIN;
use crate::errno;
use crate::flaw::Flaw;
use crate::kernel::{Kernel, Shared};
use crate::keyed::Site;
use crate::sim_file::{SimFile, SimLock};
use crate::trace::TraceKind;
use crate::world::Crash;

const MILLISECOND: u64 = 1_000_000;
/// Longer than a broker is up in any run.
const NEVER_NS: u64 = 86_400_000 * MILLISECOND;

/// The file system of the simulated machine.
#[derive(Clone, Debug)]
pub struct SimDisk {
    shared: Shared,
    /// The process that holds it; what a dead one asks is refused.
    boot: u32,
}

/// A sync on its way: it covers what was written before it began.
#[derive(Debug)]
pub struct DeferredSync {
    number: u64,
    boot: u32,
    /// When it will be done.
    pub due: Instant,
    /// The power goes first.
    is_last: bool,
}

impl SimDisk {
    pub(crate) fn new(shared: Shared) -> SimDisk {
        let boot = shared.lock().boot;
        SimDisk { shared, boot }
    }

    /// The machine, unless the process that asks is gone.
    fn kernel(&self, operation: &'static str, path: &Path) -> Result<MutexGuard<'_, Kernel>, DiskError> {
        let kernel = self.shared.lock();
        if kernel.boot == self.boot { Ok(kernel) } else { Err(dead(operation, path)) }
    }

    /// The machine, if the process lives and has a descriptor left for what it asks.
    fn kernel_with_descriptor(
        &self,
        operation: &'static str,
        path: &Path,
    ) -> Result<MutexGuard<'_, Kernel>, DiskError> {
        let kernel = self.kernel(operation, path)?;
        match kernel.descriptors.shortage(kernel.now.0) {
            Some(error) if !kernel.flawed(Flaw::FilesNeedNoDescriptor) => Err(failure(operation, path, error)),
            _ => Ok(kernel),
        }
    }

    /// Begins a sync: notes what it covers, and draws when it will be done. The scheduler calls [`SimDisk::finish_sync`] then.
    pub fn begin_sync(&self, job: &SyncJob) -> Result<DeferredSync, DiskError> {
        let number = {
            let mut kernel = self.shared.lock();
            let number = kernel.disk.next_deferred;
            kernel.disk.next_deferred += 1;
            kernel.disk.deferred.insert(number, Vec::new());
            kernel.disk.noting = Some(number);
            number
        };
        let noted = job.run(self);
        let mut kernel = self.shared.lock();
        kernel.disk.noting = None;
        if let Err(error) = noted {
            kernel.disk.deferred.remove(&number);
            return Err(error);
        }
        let first = kernel.disk.deferred.get(&number).and_then(|covered| covered.first()).map(|covered| covered.node);
        let path = first.and_then(|node| kernel.disk.paths.get(&node));
        let entity = path.map_or(0, |path| entity_of(path));
        let mut delay =
            kernel.disk.sync_ns + 50_000 + kernel.value(Site::SyncDelay, entity).exponential(2 * MILLISECOND);
        if let Some(draw) = kernel.fault(Site::SyncStalls, entity) {
            delay += draw.exponential(3_000 * MILLISECOND);
        }
        if let Some(draw) = kernel.fault(Site::SyncThrottled, entity) {
            let covered =
                kernel.disk.deferred.get(&number).map_or(0, |covered| covered.iter().map(|file| file.bytes).sum());
            delay += draw.between(1, 20) * 1_000 * covered as u64;
        }
        if kernel.fault(Site::SyncNeverCompletes, entity).is_some() && !kernel.flawed(Flaw::HungSyncCompletes) {
            delay += NEVER_NS;
        }
        let power_fails = kernel.fault(Site::PowerFailsInSync, entity);
        delay += power_fails.map_or(0, |draw| draw.exponential(500 * MILLISECOND));
        let due = Instant(kernel.now.0 + delay);
        Ok(DeferredSync { number, boot: kernel.boot, due, is_last: power_fails.is_some() })
    }

    /// Ends a sync: what it covered is durable now, or it failed. After a crash it is nobody's.
    pub fn finish_sync(&self, sync: DeferredSync) -> Result<(), DiskError> {
        let mut kernel = self.shared.lock();
        if kernel.boot != sync.boot {
            return Err(dead("sync", Path::new("")));
        }
        if sync.is_last && !kernel.chance.is_calm() {
            kernel.crash(Crash::Power);
            return Err(dead("sync", Path::new("")));
        }
        let covered = kernel.disk.deferred.remove(&sync.number).unwrap_or_default();
        covered.into_iter().try_for_each(|covered| kernel.sync_done(covered))
    }

    /// How many bytes fit on the disk from now on.
    pub fn set_capacity(&self, bytes: u64) {
        self.shared.lock().disk.volumes[MAIN].capacity = bytes;
    }

    /// What readers see of a file, for oracles.
    pub fn snapshot(&self, path: &Path) -> Option<Vec<u8>> {
        let mut kernel = self.shared.lock();
        let node = kernel.disk.lookup(path)?;
        kernel.disk.file(node).map(|inode| inode.data.clone())
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        let mut kernel = self.kernel_with_descriptor("open", path)?;
        let node = kernel.open(path, mode)?;
        kernel.descriptors.files += 1;
        let boot = kernel.boot;
        drop(kernel);
        let writable = mode != OpenMode::Read;
        Ok(Arc::new(SimFile { shared: self.shared.clone(), node, boot, path: path.to_path_buf(), writable }))
    }

    fn create_directory(&self, path: &Path) -> Result<(), DiskError> {
        let mut kernel = self.kernel("create directory", path)?;
        let mut ancestors: Vec<&Path> = path.ancestors().filter(|ancestor| ancestor.file_name().is_some()).collect();
        ancestors.reverse();
        for ancestor in ancestors {
            match kernel.disk.lookup(ancestor).map(|node| kernel.disk.directory(node).is_some()) {
                Some(true) => {}
                Some(false) => return Err(failure("create directory", path, errno::ENOTDIR)),
                None => {
                    if kernel.flawed(Flaw::CreateDirectoryIsShallow) && ancestor != path {
                        return Err(not_found(ancestor));
                    }
                    let (parent, name) = kernel.disk.parent(ancestor).ok_or_else(|| not_found(ancestor))?;
                    kernel.check_mount("create directory", ancestor)?;
                    kernel.check_entry(ancestor, entity_of(ancestor))?;
                    if !kernel.lives_to_next_effect() {
                        return Err(dead("create directory", path));
                    }
                    kernel.disk.make(parent, &name, ancestor, true);
                    kernel.note(TraceKind::Entry, entity_of(ancestor), 0);
                }
            }
        }
        Ok(())
    }

    fn list(&self, directory: &Path) -> Result<Vec<DiskEntry>, DiskError> {
        let mut kernel = self.kernel_with_descriptor("list", directory)?;
        kernel.check_disk("list", directory)?;
        let node = kernel.disk.lookup(directory).ok_or_else(|| not_found(directory))?;
        let is_log_directory = kernel.disk.log_directories.iter().any(|path| path == directory);
        if is_log_directory && kernel.fault(Site::ListFails, entity_of(directory)).is_some() {
            return Err(failure("list", directory, errno::EIO));
        }
        let entries =
            kernel.disk.directory(node).ok_or_else(|| failure("list", directory, errno::ENOTDIR))?.entries.clone();
        let mut listed: Vec<DiskEntry> = Vec::with_capacity(entries.len());
        for (name, node) in entries {
            listed.push(match kernel.disk.nodes.get(node) {
                Some(Node::File(inode)) => DiskEntry { name, kind: EntryKind::File, bytes: inode.data.len() as u64 },
                _ => DiskEntry { name, kind: EntryKind::Directory, bytes: 0 },
            });
        }
        if kernel.flawed(Flaw::ListUnsorted) {
            listed.reverse();
        }
        Ok(listed)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.kernel("rename", from)?.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<(), DiskError> {
        let mut kernel = self.kernel("remove", path)?;
        let node = kernel.disk.lookup(path);
        if node.is_none() && kernel.flawed(Flaw::RemoveMissingSucceeds) {
            return Ok(());
        }
        let node = node.ok_or_else(|| not_found(path))?;
        if kernel.disk.directory(node).is_some() && !kernel.flawed(Flaw::RemoveFileTakesDirectories) {
            return Err(failure("remove", path, errno::EISDIR));
        }
        kernel.unlink(path)
    }

    fn remove_directory(&self, path: &Path) -> Result<(), DiskError> {
        let mut kernel = self.kernel("remove directory", path)?;
        let node = kernel.disk.lookup(path).ok_or_else(|| not_found(path))?;
        let children = kernel
            .disk
            .directory(node)
            .ok_or_else(|| failure("remove directory", path, errno::ENOTDIR))?
            .entries
            .clone();
        if !children.is_empty() && kernel.flawed(Flaw::RemoveDirectoryWantsEmpty) {
            return Err(failure("remove directory", path, errno::ENOTEMPTY));
        }
        drop(kernel);
        for (name, child) in children {
            let path = path.join(name);
            let is_directory = self.kernel("remove directory", &path)?.disk.directory(child).is_some();
            if is_directory {
                self.remove_directory(&path)?;
            } else {
                self.kernel("remove directory", &path)?.unlink(&path)?;
            }
        }
        self.kernel("remove directory", path)?.unlink(path)
    }

    fn sync_directory(&self, path: &Path) -> Result<(), DiskError> {
        let mut kernel = self.kernel_with_descriptor("sync directory", path)?;
        if kernel.flawed(Flaw::MissingDirectorySynced) && kernel.disk.lookup(path).is_none() {
            return Ok(());
        }
        let node = kernel.disk.lookup(path).ok_or_else(|| not_found(path))?;
        kernel.check_disk("sync directory", path)?;
        let directory = kernel.disk.directory(node).ok_or_else(|| failure("sync directory", path, errno::ENOTDIR))?;
        let (entity, changes) = (directory.entity, directory.pending.len());
        if !kernel.lives_to_next_effect() {
            return Err(dead("sync directory", path));
        }
        if kernel.fault(Site::DirectorySyncFails, entity).is_some() {
            return Err(failure("sync directory", path, errno::EIO));
        }
        if !kernel.flawed(Flaw::DirectorySyncIgnored) {
            kernel.disk.sync_entries(node, changes);
        }
        kernel.note(TraceKind::Sync, entity, changes as u64);
        Ok(())
    }

    fn sync_all(&self, root: &Path) -> Result<(), DiskError> {
        let mut kernel = self.kernel_with_descriptor("sync all", root)?;
        if kernel.disk.is_poisoned(root) {
            return Err(DiskError::Poisoned { path: root.to_path_buf() });
        }
        // The root of a log directory was opened when its lock was taken, and is synced wherever it is now.
        let opened =
            || kernel.disk.unseen(root).filter(|_| kernel.disk.locks.keys().any(|lock| lock.starts_with(root)));
        let node = kernel.disk.lookup(root).or_else(opened).ok_or_else(|| not_found(root))?;
        kernel.check_changeable("sync all", root)?;
        let entity = entity_of(root);
        if !kernel.lives_to_next_effect() {
            return Err(dead("sync all", root));
        }
        if kernel.fault(Site::SyncFails, entity).is_some() {
            kernel.disk.poisoned.insert(root.to_path_buf());
            return Err(failure("sync all", root, errno::EIO));
        }
        let below = kernel.disk.below(node);
        let skipped = usize::from(kernel.flawed(Flaw::SyncAllIsShallow)) * 2;
        for node in below.into_iter().skip(skipped) {
            let covered = kernel.covered(node);
            match kernel.disk.noting {
                Some(number) => kernel.note_covered(number, covered),
                None => kernel.apply_sync(covered),
            }
        }
        kernel.note(TraceKind::Sync, entity, 0);
        Ok(())
    }

    fn free_bytes(&self, root: &Path) -> Result<u64, DiskError> {
        let mut kernel = self.kernel("free space", root)?;
        kernel.disk.lookup(root).ok_or_else(|| not_found(root))?;
        kernel.space_changes(root, entity_of(root));
        let volume = &kernel.disk.volumes[kernel.disk.volume_of(root)];
        if kernel.flawed(Flaw::FreeBytesConstant) || kernel.flawed(Flaw::MoreFreeThanTotal) {
            return Ok(volume.capacity);
        }
        Ok(volume.capacity.saturating_sub(volume.used))
    }

    fn total_bytes(&self, root: &Path) -> Result<u64, DiskError> {
        let kernel = self.shared.lock();
        kernel.disk.lookup(root).ok_or_else(|| not_found(root))?;
        Ok(kernel.disk.volumes[kernel.disk.volume_of(root)].capacity)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn DiskLock>, DiskError> {
        let mut kernel = self.kernel_with_descriptor("lock", path)?;
        kernel.check_changeable("lock", path)?;
        if kernel.disk.lookup(path).is_none() {
            let (parent, name) = kernel.disk.parent(path).ok_or_else(|| not_found(path))?;
            kernel.note(TraceKind::Entry, entity_of(path), 1);
            kernel.disk.make(parent, &name, path, false);
        }
        if kernel.disk.locks.contains_key(path) && !kernel.flawed(Flaw::LockShared) {
            return Err(DiskError::Locked { path: path.to_path_buf() });
        }
        let number = kernel.disk.next_lock;
        kernel.disk.next_lock += 1;
        kernel.disk.locks.insert(path.to_path_buf(), number);
        drop(kernel);
        Ok(Box::new(SimLock { shared: self.shared.clone(), path: path.to_path_buf(), number }))
    }
}
