//! What calls do to the simulated file system, with the faults that may strike them.
//!
//! It must not know segments or records.

use std::io::{self, IoSlice};
use std::path::Path;

use klamm::env::{DiskError, OpenMode};

use crate::disk_state::{Covered, EntryChange, Node, NodeId, entity_of};
use crate::errno;
use crate::flaw::Flaw;
use crate::kernel::Kernel;
use crate::keyed::Site;
use crate::trace::TraceKind;

pub(crate) fn not_found(path: &Path) -> DiskError {
    DiskError::NotFound { path: path.to_path_buf() }
}

pub(crate) fn failure(operation: &'static str, path: &Path, number: i32) -> DiskError {
    DiskError::Io { operation, path: path.to_path_buf(), source: io::Error::from_raw_os_error(number) }
}

/// The answer to a process that is gone.
pub(crate) fn dead(operation: &'static str, path: &Path) -> DiskError {
    failure(operation, path, errno::EBADF)
}

impl Kernel {
    pub(crate) fn open(&mut self, path: &Path, mode: OpenMode) -> Result<NodeId, DiskError> {
        let entity = entity_of(path);
        self.check_disk("open", path)?;
        if self.fault(Site::OpenFails, entity).is_some() {
            return Err(failure("open", path, errno::EMFILE));
        }
        let creates = matches!(mode, OpenMode::Create | OpenMode::CreateEmpty) || self.flawed(Flaw::OpenAlwaysCreates);
        let node = match self.disk.lookup(path) {
            Some(node) => node,
            None if creates => {
                let (parent, name) = self.disk.parent(path).ok_or_else(|| not_found(path))?;
                self.check_mount("open", path)?;
                self.check_entry(path, entity)?;
                if !self.lives_to_next_effect() {
                    return Err(dead("open", path));
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
            return Err(failure("open", path, errno::EISDIR));
        }
        let empties = mode == OpenMode::CreateEmpty && !self.flawed(Flaw::CreateEmptyKeeps);
        let empties = empties || (mode == OpenMode::Create && self.flawed(Flaw::CreateEmpties));
        if empties {
            self.truncate(node, path, 0)?;
        }
        self.disk.file(node).expect("it was there a moment ago").handles += 1;
        Ok(node)
    }

    pub(crate) fn append(&mut self, node: NodeId, path: &Path, pieces: &[IoSlice<'_>]) -> Result<(), DiskError> {
        if !self.lives_to_next_effect() {
            return Err(dead("append", path));
        }
        let total: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
        let inode = self.disk.file(node).expect("an open file has a node");
        let (entity, volume) = (inode.entity, inode.volume);
        self.strike_disk(path);
        self.check_mount("append", path)?;
        self.wait_for_disk(entity);
        let (limit, error) = self.take_append(path, entity, total);
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
        self.disk.volumes[volume].used = self.disk.volumes[volume].used.saturating_add(limit);
        error.map_or(Ok(()), Err)
    }

    pub(crate) fn truncate(&mut self, node: NodeId, path: &Path, bytes: u64) -> Result<(), DiskError> {
        if !self.lives_to_next_effect() {
            return Err(dead("truncate", path));
        }
        let inode = self.disk.file(node).expect("an open file has a node");
        let (entity, volume, before) = (inode.entity, inode.volume, inode.data.len() as u64);
        self.check_mount("truncate", path)?;
        if self.fault(Site::TruncateFails, entity).is_some() {
            return Err(failure("truncate", path, errno::EIO));
        }
        self.note(TraceKind::Truncate, entity, bytes);
        if self.flawed(Flaw::TruncateIgnored) {
            return Ok(());
        }
        if bytes > before && self.flawed(Flaw::GrowingCutIgnored) {
            return Ok(());
        }
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.disk.file(node).expect("an open file has a node").truncate(length);
        let volume = &mut self.disk.volumes[volume];
        volume.used = volume.used.saturating_sub(before).saturating_add(bytes);
        for covered in self.disk.deferred.values_mut().flatten().filter(|covered| covered.node == node) {
            covered.cut |= length < covered.bytes;
            covered.bytes = covered.bytes.min(length);
        }
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let (source, from_name) = self.disk.parent(from).ok_or_else(|| not_found(from))?;
        let (target, to_name) = self.disk.parent(to).ok_or_else(|| not_found(to))?;
        let node = self.disk.lookup(from).ok_or_else(|| not_found(from))?;
        let entity = entity_of(from);
        self.check_mount("rename", from)?;
        self.check_entry(from, entity)?;
        if !self.lives_to_next_effect() {
            return Err(dead("rename", from));
        }
        let replaced = self.disk.lookup(to);
        if replaced == Some(node) {
            return if self.flawed(Flaw::RenameOntoItselfRemoves) { self.unlink(from) } else { Ok(()) };
        }
        if replaced.is_some() && self.flawed(Flaw::RenameKeepsTarget) {
            return self.unlink(from);
        }
        if let Some(replaced) = replaced
            && let Some(directory) = self.disk.directory(replaced)
            && !directory.entries.is_empty()
            && !self.flawed(Flaw::FullDirectoryReplaced)
        {
            return Err(failure("rename", from, errno::ENOTEMPTY));
        }
        self.note(TraceKind::Entry, entity, 2);
        self.note(TraceKind::Entry, entity_of(to), 4);
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

    pub(crate) fn unlink(&mut self, path: &Path) -> Result<(), DiskError> {
        let node = self.disk.lookup(path).ok_or_else(|| not_found(path))?;
        let (parent, name) = self.disk.parent(path).ok_or_else(|| not_found(path))?;
        self.check_mount("remove", path)?;
        if !self.lives_to_next_effect() {
            return Err(dead("remove", path));
        }
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

    pub(crate) fn covered(&mut self, node: NodeId) -> Covered {
        match self.disk.nodes.get(node) {
            Some(Node::File(inode)) => Covered { node, bytes: inode.data.len(), cut: false, changes: 0 },
            Some(Node::Directory(directory)) => {
                Covered { node, bytes: 0, cut: false, changes: directory.pending.len() }
            }
            None => Covered { node, bytes: 0, cut: false, changes: 0 },
        }
    }

    pub(crate) fn note_covered(&mut self, number: u64, covered: Covered) {
        self.disk.deferred.entry(number).or_default().push(covered);
    }

    pub(crate) fn sync_done(&mut self, covered: Covered) -> Result<(), DiskError> {
        let path = self.disk.paths.get(&covered.node).cloned().unwrap_or_default();
        if self.disk.file(covered.node).is_none() {
            self.apply_sync(covered);
            return Ok(());
        }
        self.sync_file(covered, &path)
    }

    pub(crate) fn sync_file(&mut self, covered: Covered, path: &Path) -> Result<(), DiskError> {
        if !self.lives_to_next_effect() {
            return Err(dead("sync", path));
        }
        let inode = self.disk.file(covered.node).expect("an open file has a node");
        let entity = inode.entity;
        if let Some(error) = self.fail_sync(covered.node, entity, path) {
            return Err(error);
        }
        let is_dirty =
            self.disk.file(covered.node).is_some_and(|inode| inode.is_fragile && inode.shared < covered.bytes);
        let may_fail = is_dirty && !self.flawed(Flaw::WriteBackNeverFails);
        if may_fail && self.fault(Site::SyncErrorElsewhere, entity).is_some() {
            let inode = self.disk.file(covered.node).expect("it was there a moment ago");
            let (from, to) = (inode.shared, inode.data.len());
            self.destroy(covered.node, Site::SyncErrorElsewhere, from, to);
            self.disk.file(covered.node).expect("it was there a moment ago").lost_as_clean();
        }
        self.note(TraceKind::Sync, entity, covered.bytes as u64);
        self.apply_sync(covered);
        Ok(())
    }

    /// Why a sync fails, and what becomes of the pages.
    fn fail_sync(&mut self, node: NodeId, entity: u64, path: &Path) -> Option<DiskError> {
        let error = match self.check_mount("sync", path) {
            Err(error) => error,
            Ok(()) if self.fault(Site::SyncFails, entity).is_some() => {
                self.disk.file(node)?.poisoned = true;
                return Some(failure("sync", path, errno::EIO));
            }
            Ok(()) if self.fault(Site::SyncLosesPages, entity).is_some() => failure("sync", path, errno::EIO),
            Ok(()) if self.fault(Site::SyncFull, entity).is_some() => DiskError::Full { path: path.to_path_buf() },
            Ok(()) => return None,
        };
        let heals = self.flawed(Flaw::FailedSyncHeals);
        let inode = self.disk.file(node)?;
        inode.poisoned = true;
        if !heals {
            inode.lost_as_clean();
        }
        Some(error)
    }

    pub(crate) fn apply_sync(&mut self, covered: Covered) {
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
