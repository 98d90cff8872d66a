//! The simulated disk behind the doors of `env`.
//!
//! It must not know segments or records. No call waits; a sync that takes time is begun and finished by the scheduler.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use klamm::env::{Disk, DiskEntry, DiskError, DiskFile, DiskLock, EntryKind, FileSink, OpenMode, SyncJob};
use klamm::types::{Instant, WallTime};

use crate::disk_state::{Covered, Destroyed, EntryChange, Node, NodeId, entity_of};
use crate::flaw::Flaw;
use crate::kernel::{Kernel, Shared};
use crate::keyed::Site;
use crate::network_state::errno;
use crate::trace::TraceKind;

const MILLISECOND: u64 = 1_000_000;
/// The most of a file that is copied for one send; a send may be short anyway.
const SEND_BYTES_MAX: usize = 128 * 1_024;

/// The file system of the simulated machine.
#[derive(Clone, Debug)]
pub struct SimDisk {
    shared: Shared,
}

/// A sync on its way: it covers what was written before it began.
#[derive(Debug)]
pub struct DeferredSync {
    number: u64,
    boot: u32,
    /// When it will be done.
    pub due: Instant,
}

impl SimDisk {
    pub(crate) fn new(shared: Shared) -> SimDisk {
        SimDisk { shared }
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
        let mut delay = 50_000 + kernel.value(Site::SyncDelay, 0).exponential(2 * MILLISECOND);
        if let Some(draw) = kernel.fault(Site::SyncStalls, 0) {
            delay += draw.exponential(3_000 * MILLISECOND);
        }
        Ok(DeferredSync { number, boot: kernel.boot, due: Instant(kernel.now.0 + delay) })
    }

    /// Ends a sync: what it covered is durable now, or it failed. After a crash it is nobody's.
    pub fn finish_sync(&self, sync: DeferredSync) -> Result<(), DiskError> {
        let mut kernel = self.shared.lock();
        if kernel.boot != sync.boot {
            return Err(dead("sync", Path::new("")));
        }
        let covered = kernel.disk.deferred.remove(&sync.number).unwrap_or_default();
        covered.into_iter().try_for_each(|covered| kernel.sync_done(covered))
    }

    /// How many bytes fit on the disk from now on.
    pub fn set_capacity(&self, bytes: u64) {
        self.shared.lock().disk.capacity = bytes;
    }

    /// Turns one bit of a file, durable and seen: bit rot. Says whether the byte was there. The ledger remembers it.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u8) -> bool {
        let mut kernel = self.shared.lock();
        let Some(node) = kernel.disk.lookup(path) else { return false };
        let Some(inode) = kernel.disk.file(node) else { return false };
        let synced = offset < inode.shared as u64;
        let Some(byte) = usize::try_from(offset).ok().and_then(|offset| inode.data.get_mut(offset)) else {
            return false;
        };
        *byte ^= 1 << (bit & 7);
        let path = path.to_path_buf();
        kernel.disk.destroyed.push(Destroyed { path, from: offset, to: offset + 1, synced });
        true
    }

    /// Everything that faults and power cuts have destroyed so far.
    pub fn destroyed(&self) -> Vec<Destroyed> {
        self.shared.lock().disk.destroyed.clone()
    }

    /// What readers see of a file, for oracles.
    pub fn snapshot(&self, path: &Path) -> Option<Vec<u8>> {
        let mut kernel = self.shared.lock();
        let node = kernel.disk.lookup(path)?;
        kernel.disk.file(node).map(|inode| inode.data.clone())
    }
}

fn not_found(path: &Path) -> DiskError {
    DiskError::NotFound { path: path.to_path_buf() }
}

fn failure(operation: &'static str, path: &Path, number: i32) -> DiskError {
    DiskError::Io { operation, path: path.to_path_buf(), source: io::Error::from_raw_os_error(number) }
}

/// The answer to a process that is gone.
fn dead(operation: &'static str, path: &Path) -> DiskError {
    failure(operation, path, errno::EBADF)
}

const EISDIR: i32 = 21;
const ENOTDIR: i32 = 20;
const ENOTEMPTY: i32 = 39;

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        let mut kernel = self.shared.lock();
        let node = kernel.open(path, mode)?;
        let boot = kernel.boot;
        drop(kernel);
        let writable = mode != OpenMode::Read;
        Ok(Arc::new(SimFile { shared: self.shared.clone(), node, boot, path: path.to_path_buf(), writable }))
    }

    fn create_directory(&self, path: &Path) -> Result<(), DiskError> {
        let mut kernel = self.shared.lock();
        let mut ancestors: Vec<&Path> = path.ancestors().filter(|ancestor| ancestor.file_name().is_some()).collect();
        ancestors.reverse();
        for ancestor in ancestors {
            match kernel.disk.lookup(ancestor).map(|node| kernel.disk.directory(node).is_some()) {
                Some(true) => {}
                Some(false) => return Err(failure("create directory", path, ENOTDIR)),
                None => {
                    if kernel.flawed(Flaw::CreateDirectoryIsShallow) && ancestor != path {
                        return Err(not_found(ancestor));
                    }
                    let (parent, name) = kernel.disk.parent(ancestor).ok_or_else(|| not_found(ancestor))?;
                    kernel.disk.make(parent, &name, ancestor, true);
                    kernel.note(TraceKind::Entry, entity_of(ancestor), 0);
                }
            }
        }
        Ok(())
    }

    fn list(&self, directory: &Path) -> Result<Vec<DiskEntry>, DiskError> {
        let mut kernel = self.shared.lock();
        let node = kernel.disk.lookup(directory).ok_or_else(|| not_found(directory))?;
        let entries = kernel.disk.directory(node).ok_or_else(|| failure("list", directory, ENOTDIR))?.entries.clone();
        let mut listed: Vec<DiskEntry> = Vec::with_capacity(entries.len());
        for (name, node) in entries {
            listed.push(match kernel.disk.nodes.get(&node) {
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
        self.shared.lock().rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<(), DiskError> {
        let mut kernel = self.shared.lock();
        let node = kernel.disk.lookup(path);
        if node.is_none() && kernel.flawed(Flaw::RemoveMissingSucceeds) {
            return Ok(());
        }
        let node = node.ok_or_else(|| not_found(path))?;
        if kernel.disk.directory(node).is_some() {
            return Err(failure("remove", path, EISDIR));
        }
        kernel.unlink(path)
    }

    fn remove_directory(&self, path: &Path) -> Result<(), DiskError> {
        let mut kernel = self.shared.lock();
        let node = kernel.disk.lookup(path).ok_or_else(|| not_found(path))?;
        let children =
            kernel.disk.directory(node).ok_or_else(|| failure("remove directory", path, ENOTDIR))?.entries.clone();
        if !children.is_empty() && kernel.flawed(Flaw::RemoveDirectoryWantsEmpty) {
            return Err(failure("remove directory", path, ENOTEMPTY));
        }
        drop(kernel);
        for (name, child) in children {
            let path = path.join(name);
            let is_directory = self.shared.lock().disk.directory(child).is_some();
            if is_directory {
                self.remove_directory(&path)?;
            } else {
                self.shared.lock().unlink(&path)?;
            }
        }
        self.shared.lock().unlink(path)
    }

    fn sync_directory(&self, path: &Path) -> Result<(), DiskError> {
        let mut kernel = self.shared.lock();
        let node = kernel.disk.lookup(path).ok_or_else(|| not_found(path))?;
        let directory = kernel.disk.directory(node).ok_or_else(|| failure("sync directory", path, ENOTDIR))?;
        let (entity, changes) = (directory.entity, directory.pending.len());
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
        let mut kernel = self.shared.lock();
        if kernel.disk.is_poisoned(root) {
            return Err(DiskError::Poisoned { path: root.to_path_buf() });
        }
        let node = kernel.disk.lookup(root).ok_or_else(|| not_found(root))?;
        let entity = entity_of(root);
        if kernel.fault(Site::SyncFails, entity).is_some() {
            kernel.disk.poisoned.insert(root.to_path_buf());
            kernel.note(TraceKind::DiskFault, entity, 0);
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
        let kernel = self.shared.lock();
        kernel.disk.lookup(root).ok_or_else(|| not_found(root))?;
        if kernel.flawed(Flaw::FreeBytesConstant) {
            return Ok(kernel.disk.capacity);
        }
        Ok(kernel.disk.capacity.saturating_sub(kernel.disk.used))
    }

    fn total_bytes(&self, root: &Path) -> Result<u64, DiskError> {
        let kernel = self.shared.lock();
        kernel.disk.lookup(root).ok_or_else(|| not_found(root))?;
        Ok(kernel.disk.capacity)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn DiskLock>, DiskError> {
        let mut kernel = self.shared.lock();
        if kernel.disk.lookup(path).is_none() {
            let (parent, name) = kernel.disk.parent(path).ok_or_else(|| not_found(path))?;
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

struct SimLock {
    shared: Shared,
    path: PathBuf,
    number: u64,
}

impl DiskLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut kernel = self.shared.lock();
        if kernel.disk.locks.get(&self.path) == Some(&self.number) && !kernel.flawed(Flaw::LockNeverReleased) {
            kernel.disk.locks.remove(&self.path);
        }
    }
}

/// An open simulated file.
#[derive(Debug)]
struct SimFile {
    shared: Shared,
    node: NodeId,
    boot: u32,
    path: PathBuf,
    writable: bool,
}

impl SimFile {
    fn check_poison(&self, kernel: &mut Kernel) -> Result<(), DiskError> {
        let poisoned =
            kernel.disk.file(self.node).is_some_and(|inode| inode.poisoned) || kernel.disk.is_poisoned(&self.path);
        if poisoned && !kernel.flawed(Flaw::PoisonForgotten) {
            return Err(DiskError::Poisoned { path: self.path.clone() });
        }
        Ok(())
    }

    /// Does `operation` with the machine, unless the process that opened the file is gone.
    fn with<T>(
        &self,
        operation: &'static str,
        run: impl FnOnce(&mut Kernel) -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        let mut kernel = self.shared.lock();
        let dead_process = kernel.boot != self.boot && !kernel.flawed(Flaw::DeadHandlesWork);
        if dead_process || kernel.disk.file(self.node).is_none() {
            return Err(dead(operation, &self.path));
        }
        run(&mut kernel)
    }

    fn check(&self, kernel: &mut Kernel) -> Result<(), DiskError> {
        self.check_poison(kernel)?;
        self.check_writable(kernel, "append")
    }

    fn check_writable(&self, kernel: &Kernel, operation: &'static str) -> Result<(), DiskError> {
        if self.writable || kernel.flawed(Flaw::ReadHandleAppends) { Ok(()) } else { Err(dead(operation, &self.path)) }
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut kernel = self.shared.lock();
        if kernel.boot == self.boot
            && let Some(inode) = kernel.disk.file(self.node)
        {
            inode.handles = inode.handles.saturating_sub(1);
            if inode.handles == 0 && inode.links == 0 {
                kernel.disk.release(self.node);
            }
        }
    }
}

impl DiskFile for SimFile {
    fn append(&self, pieces: &[IoSlice<'_>]) -> Result<(), DiskError> {
        self.with("append", |kernel| {
            self.check(kernel)?;
            kernel.append(self.node, &self.path, pieces)
        })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        self.with("read", |kernel| {
            let shift = u64::from(kernel.flawed(Flaw::ReadShifted));
            let inode = kernel.disk.file(self.node).expect("`with` has looked");
            let entity = inode.entity;
            let start = usize::try_from(offset.saturating_add(shift)).unwrap_or(usize::MAX);
            let found = inode.data.get(start..).unwrap_or_default();
            let count = found.len().min(buffer.len());
            buffer[..count].copy_from_slice(&found[..count]);
            if kernel.flawed(Flaw::ReadPadsWithZeroes) {
                buffer[count..].fill(0);
                return Ok(buffer.len());
            }
            match kernel.fault(Site::ReadFails, entity) {
                Some(_) => Err(failure("read", &self.path, errno::EIO)),
                None => Ok(count),
            }
        })
    }

    fn bytes(&self) -> Result<u64, DiskError> {
        self.with("length", |kernel| {
            let durable_only = kernel.flawed(Flaw::LengthIsSyncedLength);
            let inode = kernel.disk.file(self.node).expect("`with` has looked");
            Ok(if durable_only { inode.shared } else { inode.data.len() } as u64)
        })
    }

    fn truncate(&self, bytes: u64) -> Result<(), DiskError> {
        self.with("truncate", |kernel| {
            self.check_writable(kernel, "truncate")?;
            kernel.truncate(self.node, &self.path, bytes)
        })
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.with("sync", |kernel| {
            self.check_poison(kernel)?;
            let covered = kernel.covered(self.node);
            match kernel.disk.noting {
                Some(number) => {
                    kernel.note_covered(number, covered);
                    Ok(())
                }
                None => kernel.sync_file(covered, &self.path),
            }
        })
    }

    fn modified(&self) -> Result<WallTime, DiskError> {
        self.with("modified", |kernel| Ok(kernel.disk.file(self.node).expect("`with` has looked").modified))
    }

    fn set_modified(&self, time: WallTime) -> Result<(), DiskError> {
        self.with("set modified", |kernel| {
            if !kernel.flawed(Flaw::SetModifiedIgnored) {
                kernel.disk.file(self.node).expect("`with` has looked").modified = time;
            }
            Ok(())
        })
    }

    fn send_to(&self, sink: &mut dyn FileSink, offset: u64, bytes: usize) -> io::Result<usize> {
        // The bytes are copied out, since the sink takes the machine's lock itself.
        let part = {
            let mut kernel = self.shared.lock();
            let shift = u64::from(kernel.flawed(Flaw::SendShifted));
            let (lax, padded) = (kernel.flawed(Flaw::SendBeyondEndIsNothing), kernel.flawed(Flaw::SendPadsWithZeroes));
            let boot = kernel.boot;
            let inode = kernel.disk.file(self.node).filter(|_| boot == self.boot);
            let inode = inode.ok_or_else(|| io::Error::from_raw_os_error(errno::EBADF))?;
            let start = usize::try_from(offset.saturating_add(shift)).unwrap_or(usize::MAX);
            let found = inode.data.get(start..).unwrap_or_default();
            if found.is_empty() && bytes > 0 && !lax {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut part = found[..found.len().min(bytes).min(SEND_BYTES_MAX)].to_vec();
            if padded {
                part.resize(bytes, 0);
            }
            part
        };
        sink.send_bytes(&part)
    }
}

impl Kernel {
    fn open(&mut self, path: &Path, mode: OpenMode) -> Result<NodeId, DiskError> {
        let entity = entity_of(path);
        if self.fault(Site::OpenFails, entity).is_some() {
            return Err(failure("open", path, errno::EMFILE));
        }
        let creates = matches!(mode, OpenMode::Create | OpenMode::CreateEmpty) || self.flawed(Flaw::OpenAlwaysCreates);
        let node = match self.disk.lookup(path) {
            Some(node) => node,
            None if creates => {
                let (parent, name) = self.disk.parent(path).ok_or_else(|| not_found(path))?;
                if self.fault(Site::EntryFull, entity).is_some() {
                    return Err(DiskError::Full { path: path.to_path_buf() });
                }
                self.note(TraceKind::Entry, entity, 1);
                let node = self.disk.make(parent, &name, path, false);
                let wall = self.clocks().wall;
                self.disk.file(node).expect("it was just made").modified = wall;
                node
            }
            None => return Err(not_found(path)),
        };
        if self.disk.file(node).is_none() {
            return Err(failure("open", path, EISDIR));
        }
        let empties = mode == OpenMode::CreateEmpty && !self.flawed(Flaw::CreateEmptyKeeps);
        let empties = empties || (mode == OpenMode::Create && self.flawed(Flaw::CreateEmpties));
        if empties {
            self.truncate(node, path, 0)?;
        }
        self.disk.file(node).expect("it was there a moment ago").handles += 1;
        Ok(node)
    }

    fn append(&mut self, node: NodeId, path: &Path, pieces: &[IoSlice<'_>]) -> Result<(), DiskError> {
        let total: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
        let inode = self.disk.file(node).expect("an open file has a node");
        let entity = inode.entity;
        let room = self.disk.capacity.saturating_sub(self.disk.used);
        let (limit, error) = if let Some(draw) = self.fault(Site::AppendFull, entity) {
            (draw.below(total), Some(DiskError::Full { path: path.to_path_buf() }))
        } else if total > room && !self.flawed(Flaw::SpaceNeverEnds) {
            (room, Some(DiskError::Full { path: path.to_path_buf() }))
        } else if let Some(draw) = self.fault(Site::AppendFails, entity) {
            (draw.below(total), Some(failure("append", path, errno::EIO)))
        } else {
            (total, None)
        };
        self.note(TraceKind::Append, entity, limit);
        let overwrites = self.flawed(Flaw::AppendOverwrites);
        let skips_second = self.flawed(Flaw::AppendSkipsSecondPiece);
        let wall = self.clocks().wall;
        let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
        for (index, piece) in pieces.iter().enumerate() {
            let taken = &piece[..piece.len().min(left)];
            left -= taken.len();
            self.trace.bytes(taken);
            if skips_second && index == 1 {
                continue;
            }
            let inode = self.disk.file(node).expect("an open file has a node");
            if overwrites && index == 0 {
                inode.data.clear();
                inode.shared = 0;
            }
            inode.append(taken);
            inode.modified = wall;
        }
        self.disk.used = self.disk.used.saturating_add(limit);
        if error.is_some() {
            self.note(TraceKind::DiskFault, entity, limit);
        }
        error.map_or(Ok(()), Err)
    }

    fn truncate(&mut self, node: NodeId, path: &Path, bytes: u64) -> Result<(), DiskError> {
        let inode = self.disk.file(node).expect("an open file has a node");
        let (entity, before) = (inode.entity, inode.data.len() as u64);
        if self.fault(Site::TruncateFails, entity).is_some() {
            return Err(failure("truncate", path, errno::EIO));
        }
        self.note(TraceKind::Truncate, entity, bytes);
        if self.flawed(Flaw::TruncateIgnored) {
            return Ok(());
        }
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.disk.file(node).expect("an open file has a node").truncate(length);
        self.disk.used = self.disk.used.saturating_sub(before).saturating_add(bytes);
        for covered in self.disk.deferred.values_mut().flatten().filter(|covered| covered.node == node) {
            covered.cut |= length < covered.bytes;
            covered.bytes = covered.bytes.min(length);
        }
        Ok(())
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let (source, from_name) = self.disk.parent(from).ok_or_else(|| not_found(from))?;
        let (target, to_name) = self.disk.parent(to).ok_or_else(|| not_found(to))?;
        let node = self.disk.lookup(from).ok_or_else(|| not_found(from))?;
        let entity = entity_of(from);
        if self.fault(Site::EntryFull, entity).is_some() {
            return Err(DiskError::Full { path: from.to_path_buf() });
        }
        let replaced = self.disk.lookup(to);
        if replaced == Some(node) {
            return Ok(());
        }
        if replaced.is_some() && self.flawed(Flaw::RenameKeepsTarget) {
            return self.unlink(from);
        }
        if let Some(replaced) = replaced
            && let Some(directory) = self.disk.directory(replaced)
            && !directory.entries.is_empty()
        {
            return Err(failure("rename", from, ENOTEMPTY));
        }
        self.note(TraceKind::Entry, entity, 2);
        let leaves = !self.flawed(Flaw::RenameCopies);
        if let Some(directory) = self.disk.directory(source).filter(|_| leaves) {
            directory.entries.remove(&from_name);
        }
        if let Some(directory) = self.disk.directory(target) {
            directory.entries.insert(to_name.clone(), node);
        }
        if source == target {
            if let Some(directory) = self.disk.directory(source) {
                directory.pending.push(EntryChange::Rename { from: from_name, to: to_name, node });
            }
        } else {
            if let Some(directory) = self.disk.directory(target) {
                directory.pending.push(EntryChange::Link { name: to_name, node });
            }
            if let Some(directory) = self.disk.directory(source) {
                directory.pending.push(EntryChange::Unlink { name: from_name, node, moved_to: Some(target) });
            }
        }
        if let Some(replaced) = replaced {
            self.disk.unlinked(replaced);
        }
        Ok(())
    }

    fn unlink(&mut self, path: &Path) -> Result<(), DiskError> {
        let node = self.disk.lookup(path).ok_or_else(|| not_found(path))?;
        let (parent, name) = self.disk.parent(path).ok_or_else(|| not_found(path))?;
        self.note(TraceKind::Entry, entity_of(path), 3);
        let forgets = self.flawed(Flaw::RemovedFileUnreadable);
        if let Some(directory) = self.disk.directory(parent) {
            directory.entries.remove(&name);
            directory.pending.push(EntryChange::Unlink { name, node, moved_to: None });
        }
        if let Some(inode) = self.disk.file(node).filter(|_| forgets) {
            inode.data.clear();
            inode.shared = 0;
        }
        self.disk.unlinked(node);
        Ok(())
    }

    fn covered(&mut self, node: NodeId) -> Covered {
        match self.disk.nodes.get(&node) {
            Some(Node::File(inode)) => Covered { node, bytes: inode.data.len(), cut: false, changes: 0 },
            Some(Node::Directory(directory)) => {
                Covered { node, bytes: 0, cut: false, changes: directory.pending.len() }
            }
            None => Covered { node, bytes: 0, cut: false, changes: 0 },
        }
    }

    fn note_covered(&mut self, number: u64, covered: Covered) {
        self.disk.deferred.entry(number).or_default().push(covered);
    }

    fn sync_done(&mut self, covered: Covered) -> Result<(), DiskError> {
        let path = self.disk.paths.get(&covered.node).cloned().unwrap_or_default();
        if self.disk.file(covered.node).is_none() {
            self.apply_sync(covered);
            return Ok(());
        }
        self.sync_file(covered, &path)
    }

    fn sync_file(&mut self, covered: Covered, path: &Path) -> Result<(), DiskError> {
        let inode = self.disk.file(covered.node).expect("an open file has a node");
        let entity = inode.entity;
        if let Some(draw) = self.fault(Site::SyncFails, entity) {
            let (clean, heals) = (draw.below(2) == 0, self.flawed(Flaw::FailedSyncHeals));
            let inode = self.disk.file(covered.node).expect("it was there a moment ago");
            inode.poisoned = true;
            if clean && !heals {
                inode.lost_as_clean();
            }
            self.note(TraceKind::DiskFault, entity, u64::from(clean));
            return Err(failure("sync", path, errno::EIO));
        }
        self.note(TraceKind::Sync, entity, covered.bytes as u64);
        self.apply_sync(covered);
        Ok(())
    }

    fn apply_sync(&mut self, covered: Covered) {
        if self.flawed(Flaw::SyncIgnored) {
            return;
        }
        let later = self.flawed(Flaw::SyncCoversLaterBytes);
        if let Some(inode) = self.disk.file(covered.node) {
            let bytes = if later { inode.data.len() } else { covered.bytes };
            inode.synced(bytes, covered.cut);
        } else {
            self.disk.sync_entries(covered.node, covered.changes);
        }
    }
}
