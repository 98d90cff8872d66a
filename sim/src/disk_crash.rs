//! What a power cut leaves on the simulated disk.
//!
//! It must not know segments or records. Synced bytes and entries stay; of everything else each sector and each change is kept,
//! lost or torn as chance says.

use std::collections::BTreeSet;

use crate::disk_state::{EntryChange, Node, NodeId, ROOT};
use crate::disk_volumes::Volume;
use crate::flaw::Flaw;
use crate::inode::{Inode, SECTOR_BYTES};
use crate::kernel::Kernel;
use crate::keyed::{Draw, Site};
use crate::trace::TraceKind;
use crate::world::Crash;

impl Kernel {
    /// The process is gone, the machine stays: what was written is still seen, what was not synced is still in danger.
    pub(crate) fn disk_process_dies(&mut self) {
        self.cache_forgets();
        self.medium_shows(Crash::Process);
    }

    fn cache_forgets(&mut self) {
        if !self.flawed(Flaw::LockOutlivesProcess) {
            self.disk.locks.clear();
        }
        self.disk.poisoned.clear();
        self.disk.deferred.clear();
        self.disk.noting = None;
        let handles: Vec<NodeId> = self.disk.nodes.numbers();
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
        for (_, node) in self.disk.nodes.iter_mut() {
            if let Node::File(inode) = node {
                let image = inode.durable();
                inode.replace(image);
            }
        }
    }

    /// The machine loses its power.
    pub(crate) fn disk_power_fails(&mut self) {
        self.cache_forgets();
        // The next start of the machine mounts it anew; that of a process does not.
        self.disk.volumes.iter_mut().for_each(|volume| volume.read_only_until = None);
        let nodes: Vec<NodeId> = self.disk.nodes.numbers();
        for node in &nodes {
            self.crash_file(*node);
        }
        self.crash_entries(&nodes);
        self.forget_unreachable();
        self.medium_shows(Crash::Power);
    }

    fn crash_file(&mut self, node: NodeId) {
        let Some(inode) = self.disk.file(node).filter(|inode| inode.is_dirty()) else { return };
        let (entity, written) = (inode.entity, inode.data.clone());
        let image = if self.flawed(Flaw::PowerKeepsUnsynced) { written } else { self.left_of(node, entity) };
        self.trace.note(TraceKind::Left, entity, 0);
        self.trace.bytes(&image);
        self.disk.file(node).expect("the file was there a moment ago").replace(image);
    }

    /// What a power cut leaves of a file: its durable bytes, and of the rest what chance says.
    fn left_of(&mut self, node: NodeId, entity: u64) -> Vec<u8> {
        let tears = !self.flawed(Flaw::PowerNeverTears);
        let inode = self.disk.file(node).expect("the file was there a moment ago");
        let (shared, has_old_tail) = (inode.shared, !inode.old_tail.is_empty());
        let is_unsynced = shared < inode.data.len();
        let is_undone = has_old_tail && self.fate(Site::TruncateUndone, entity).is_some();
        let is_lost = is_unsynced && self.fate(Site::UnsyncedLost, entity).is_some();
        let torn: Vec<(Site, Draw)> = if is_unsynced && !is_lost && tears {
            TEARS.into_iter().filter_map(|site| Some((site, self.fate(site, entity)?))).collect()
        } else {
            Vec::new()
        };
        let inode = self.disk.file(node).expect("the file was there a moment ago");
        let durable = inode.durable();
        let mut image = inode.data.clone();
        image[..shared].copy_from_slice(&durable[..shared]);
        if is_lost {
            image.truncate(shared);
        }
        for (site, draw) in torn {
            tear(inode, &durable, &mut image, site, draw);
        }
        if is_undone && let Some(old) = durable.get(image.len()..) {
            image.extend_from_slice(old);
        }
        image
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
                let lost = if keeps { None } else { self.fate(Site::EntryLost, entity) };
                let kept = kept_changes(&pending, lost);
                let doubles = self.doubled(&kept, entity);
                let directory = self.disk.directory(*node).expect("the directory was there a moment ago");
                for change in kept {
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
                directory.durable.extend(doubles);
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

    /// The old name of the last file that was renamed, if the power went when only the new one had come.
    fn doubled(&mut self, kept: &[&EntryChange], entity: u64) -> Option<(String, NodeId)> {
        let Some(EntryChange::Rename { from, node, .. }) = kept.last() else { return None };
        self.disk.file(*node)?;
        self.fate(Site::RenameHalfDone, entity)?;
        Some((from.clone(), *node))
    }

    fn forget_unreachable(&mut self) {
        let away = self.disk.volumes.iter().filter_map(Volume::away);
        let roots = [ROOT].into_iter().chain(away);
        let reachable: BTreeSet<NodeId> = roots.flat_map(|root| self.disk.below(root)).collect();
        self.disk.nodes.retain(|node| reachable.contains(&node));
        self.disk.paths.retain(|node, _| reachable.contains(node));
        let mut links = std::collections::BTreeMap::<NodeId, u32>::new();
        for (_, node) in self.disk.nodes.iter() {
            if let Node::Directory(directory) = node {
                directory.entries.values().for_each(|entry| *links.entry(*entry).or_default() += 1);
            }
        }
        self.disk.volumes.iter_mut().for_each(|volume| volume.used = 0);
        for (id, node) in self.disk.nodes.iter_mut() {
            if let Node::File(inode) = node {
                inode.links = links.get(&id).copied().unwrap_or(0);
                self.disk.volumes[inode.volume].used += inode.data.len() as u64;
            }
        }
    }
}

/// The changes that came through: all, or if some are lost, none, a prefix, or (where the file system keeps no order) any.
fn kept_changes(pending: &[EntryChange], lost: Option<Draw>) -> Vec<&EntryChange> {
    let Some(draw) = lost else { return pending.iter().collect() };
    let count = pending.len() as u64;
    match draw.below(3) {
        0 => Vec::new(),
        1 => {
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

/// How bytes that were not synced are torn.
const TEARS: [Site; 5] =
    [Site::SectorTorn, Site::WritesReordered, Site::TailZeroed, Site::TailGarbage, Site::SizeOutOfStep];

/// A quarter of all tears is so near to the beginning of what was written: in the fields by which a recovery tells what lies there.
const FIRST_FIELDS_BYTES: u64 = 32;

/// Tears what lies behind the shared part of a file's image in one way.
fn tear(inode: &Inode, durable: &[u8], image: &mut Vec<u8>, site: Site, draw: Draw) {
    let shared = inode.shared;
    let unsynced = image.len().saturating_sub(shared) as u64;
    let reach = if draw.part(u64::MAX).below(4) == 0 { unsynced.min(FIRST_FIELDS_BYTES) } else { unsynced };
    let from = shared + usize::try_from(draw.below(reach)).unwrap_or(0);
    match site {
        Site::SectorTorn => image.truncate(from),
        Site::TailZeroed => image[from..].fill(0),
        Site::SizeOutOfStep if draw.part(0).below(2) == 0 => image.truncate(shared),
        Site::SizeOutOfStep => {
            // A length from before a cut.
            let ghost = inode.ghost.as_ref().map_or(0, |(from, ghost)| from + ghost.len());
            image.truncate(shared);
            image.resize(inode.data.len().max(durable.len()).max(ghost), 0);
        }
        _ => {
            let mut at = if site == Site::WritesReordered { shared } else { from };
            for index in 1.. {
                if at >= image.len() {
                    break;
                }
                let end = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(image.len());
                let sector = &mut image[at..end];
                match draw.part(index).below(2) {
                    0 if site == Site::WritesReordered => {}
                    1 if site == Site::TailGarbage => fill_with_rubbish(sector, draw.part(index)),
                    _ => old_bytes(inode, durable, at, sector),
                }
                at = end;
            }
        }
    }
}

fn fill_with_rubbish(sector: &mut [u8], draw: Draw) {
    for (offset, byte) in (0..).zip(sector.iter_mut()) {
        *byte = u8::try_from(draw.part(offset).below(256)).unwrap_or(0);
    }
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
