//! What a power cut leaves on the simulated disk.
//!
//! It must not know segments or records. Synced bytes and entries stay; of everything else each sector and each change is kept,
//! lost or torn as chance says.

use std::collections::BTreeSet;

use crate::disk_state::{EntryChange, Node, NodeId, ROOT};
use crate::flaw::Flaw;
use crate::inode::{Inode, SECTOR_BYTES};
use crate::kernel::Kernel;
use crate::keyed::{Draw, Site};
use crate::trace::TraceKind;

impl Kernel {
    /// The process is gone, the machine stays: what was written is still seen, what was not synced is still in danger.
    pub(crate) fn disk_process_dies(&mut self) {
        if !self.flawed(Flaw::LockOutlivesProcess) {
            self.disk.locks.clear();
        }
        self.disk.poisoned.clear();
        self.disk.deferred.clear();
        self.disk.noting = None;
        let handles: Vec<NodeId> = self.disk.nodes.keys().copied().collect();
        for node in handles {
            if let Some(inode) = self.disk.file(node) {
                inode.poisoned = false;
                inode.show_holes();
                let held = std::mem::take(&mut inode.handles) > 0;
                if held && inode.links == 0 {
                    self.disk.release(node);
                }
            }
        }
        if self.flawed(Flaw::KillLosesWritten) {
            self.lose_unsynced();
        }
    }

    fn lose_unsynced(&mut self) {
        for node in self.disk.nodes.values_mut() {
            if let Node::File(inode) = node {
                let image = inode.durable();
                inode.replace(image);
            }
        }
    }

    /// The machine loses its power.
    pub(crate) fn disk_power_fails(&mut self) {
        self.disk_process_dies();
        self.disk.crashes += 1;
        let nodes: Vec<NodeId> = self.disk.nodes.keys().copied().collect();
        for node in &nodes {
            self.crash_file(*node);
        }
        self.crash_entries(&nodes);
        self.forget_unreachable();
        self.note(TraceKind::Crash, 0, self.disk.crashes);
    }

    fn crash_file(&mut self, node: NodeId) {
        let Some(inode) = self.disk.file(node).filter(|inode| inode.is_dirty()) else { return };
        let entity = inode.entity;
        let draw = self.value(Site::CrashFile, entity);
        let keeps = self.flawed(Flaw::PowerKeepsUnsynced);
        let whole = self.flawed(Flaw::PowerNeverTears);
        let inode = self.disk.file(node).expect("the file was there a moment ago");
        let image = if keeps { inode.data.clone() } else { torn_image(inode, draw, whole) };
        self.trace.note(TraceKind::Left, entity, 0);
        self.trace.bytes(&image);
        self.disk.file(node).expect("the file was there a moment ago").replace(image);
    }

    /// Decides which changes of each directory came through, and shows the result as the directory.
    fn crash_entries(&mut self, nodes: &[NodeId]) {
        let keeps = self.flawed(Flaw::PowerKeepsEntries);
        let halves = self.flawed(Flaw::RenameHalfDone);
        let mut moved = Vec::new();
        for node in nodes {
            let Some(directory) = self.disk.directory(*node) else { continue };
            let pending = std::mem::take(&mut directory.pending);
            let entity = directory.entity;
            let has_changes = !pending.is_empty();
            if has_changes {
                let draw = self.value(Site::CrashDirectory, entity);
                let directory = self.disk.directory(*node).expect("the directory was there a moment ago");
                for change in kept_changes(&pending, draw, keeps) {
                    if let EntryChange::Unlink { name, node: child, moved_to: Some(target) } = change {
                        moved.push((*node, name.clone(), *child, *target));
                    }
                    directory.apply(change);
                    if let EntryChange::Rename { to, .. } = change
                        && halves
                    {
                        directory.durable.remove(to);
                    }
                }
            }
            let directory = self.disk.directory(*node).expect("the directory was there a moment ago");
            directory.entries = directory.durable.clone();
            let names = directory.entries.keys().cloned().collect::<Vec<_>>();
            if has_changes {
                self.note(TraceKind::Left, entity, names.len() as u64);
                names.iter().for_each(|name| self.trace.bytes(name.as_bytes()));
            }
        }
        // A file that left one directory but did not come to the other one is still where it was.
        for (from, name, child, target) in moved {
            let came = self
                .disk
                .directory(target)
                .is_some_and(|directory| directory.durable.values().any(|entry| *entry == child));
            let settled = came || self.flawed(Flaw::MoveLosesFile);
            if let Some(directory) = self.disk.directory(from).filter(|_| !settled) {
                directory.durable.insert(name.clone(), child);
                directory.entries.insert(name, child);
            }
        }
    }

    fn forget_unreachable(&mut self) {
        let reachable: BTreeSet<NodeId> = self.disk.below(ROOT).into_iter().collect();
        self.disk.nodes.retain(|node, _| reachable.contains(node));
        self.disk.paths.retain(|node, _| reachable.contains(node));
        let mut links = std::collections::BTreeMap::<NodeId, u32>::new();
        for node in self.disk.nodes.values() {
            if let Node::Directory(directory) = node {
                directory.entries.values().for_each(|entry| *links.entry(*entry).or_default() += 1);
            }
        }
        self.disk.used = 0;
        for (id, node) in &mut self.disk.nodes {
            if let Node::File(inode) = node {
                inode.links = links.get(id).copied().unwrap_or(0);
                self.disk.used += inode.data.len() as u64;
            }
        }
    }
}

/// The changes that came through: all, none, a prefix, or (where the file system keeps no order) any.
fn kept_changes(pending: &[EntryChange], draw: Draw, keeps: bool) -> Vec<&EntryChange> {
    if keeps {
        return pending.iter().collect();
    }
    let count = pending.len() as u64;
    match draw.below(4) {
        0 => Vec::new(),
        1 => pending.iter().collect(),
        2 => {
            let prefix = usize::try_from(draw.part(0).below(count + 1)).unwrap_or(0);
            pending.iter().take(prefix).collect()
        }
        _ => (0..)
            .zip(pending)
            .filter(|(index, _)| draw.part(1 + *index).below(2) == 0)
            .map(|(_, change)| change)
            .collect(),
    }
}

/// What a power cut leaves of a file: its durable bytes, and of the rest what chance says.
fn torn_image(inode: &Inode, draw: Draw, whole: bool) -> Vec<u8> {
    let durable = inode.durable();
    let mut written = inode.data.clone();
    let holes = durable.get(..inode.shared).unwrap_or_default();
    written[..holes.len()].copy_from_slice(holes);
    match draw.below(if whole { 2 } else { 6 }) {
        0 => durable,
        1 => written,
        2 => {
            // The new bytes up to any point, then nothing: a cut in the middle of an append.
            let unsynced = (written.len() - inode.shared) as u64;
            let kept = usize::try_from(draw.part(0).below(unsynced + 1)).unwrap_or(0);
            written.truncate(inode.shared + kept);
            written
        }
        style => by_sector(inode, &durable, written, draw, style),
    }
}

/// Each sector after the shared part on its own: new bytes, old ones, zeroes or rubbish; and a length of its own.
fn by_sector(inode: &Inode, durable: &[u8], mut image: Vec<u8>, draw: Draw, style: u64) -> Vec<u8> {
    let lengths = [durable.len().max(inode.shared), image.len(), image.len().max(durable.len())];
    let length = lengths[usize::try_from(draw.part(0).below(3)).unwrap_or(1)];
    image.resize(length, 0);
    let mut at = inode.shared;
    let mut index = 1;
    while at < length {
        let end = (at / SECTOR_BYTES + 1).saturating_mul(SECTOR_BYTES).min(length);
        let choice = if style == 3 { draw.part(index).below(2) } else { draw.part(index).below(4) };
        let sector = &mut image[at..end];
        match choice {
            0 => {}
            1 => sector.fill(0),
            2 => old_bytes(inode, durable, at, sector),
            _ => {
                for (offset, byte) in (0..).zip(sector.iter_mut()) {
                    *byte = u8::try_from(draw.part(index << 16 | offset).below(256)).unwrap_or(0);
                }
            }
        }
        at = end;
        index += 1;
    }
    image
}

/// What lay at this place before: durable bytes that a cut took away, or bytes that were cut before a sync.
fn old_bytes(inode: &Inode, durable: &[u8], at: usize, sector: &mut [u8]) {
    sector.fill(0);
    if let Some(old) = durable.get(at..) {
        let count = old.len().min(sector.len());
        sector[..count].copy_from_slice(&old[..count]);
    } else if let Some((from, ghost)) = &inode.ghost
        && let Some(old) = at.checked_sub(*from).and_then(|skip| ghost.get(skip..))
    {
        let count = old.len().min(sector.len());
        sector[..count].copy_from_slice(&old[..count]);
    }
}
