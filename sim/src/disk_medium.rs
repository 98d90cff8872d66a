//! What a disk does to bytes that were synced: rot, bad sectors, writes that went elsewhere or nowhere, directories that are gone or old.
//!
//! It shows when the process has ended, since until then the page cache hides the medium. Everything goes into the ledger. It must not
//! know segments or records.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::disk_state::{Node, NodeId};
use crate::flaw::Flaw;
use crate::inode::{Blemish, Inode, SECTOR_BYTES, Shown};
use crate::kernel::Kernel;
use crate::keyed::{Draw, Site};
use crate::ledger::Destroyed;
use crate::trace::TraceKind;
use crate::world::Crash;

/// What strikes a file at rest.
const AT_REST: [Site; 5] =
    [Site::BitRotAtRest, Site::SectorUnreadable, Site::WritePhantom, Site::WriteMisdirected, Site::CacheLies];

/// A copy of a directory's files: name and synced bytes.
pub(crate) type Backup = BTreeMap<String, Vec<u8>>;

impl Kernel {
    /// The page cache is gone, and the medium shows what it holds.
    pub(crate) fn medium_shows(&mut self, crash: Crash) {
        if self.chance.is_calm() {
            return;
        }
        let breaks = self.flawed(Flaw::MirrorBreaks);
        let nodes: Vec<NodeId> = self.disk.nodes.numbers();
        for node in &nodes {
            match self.disk.nodes.get(*node) {
                Some(Node::File(inode)) if (inode.is_fragile || breaks) && inode.shared > 0 => {
                    self.strike_file(*node, crash)
                }
                Some(Node::Directory(directory)) if directory.is_fragile => self.strike_directory(*node),
                _ => {}
            }
        }
    }

    fn strike_file(&mut self, node: NodeId, crash: Crash) {
        for site in AT_REST {
            let Some(inode) = self.disk.file(node) else { return };
            let (entity, shared) = (inode.entity, inode.shared);
            // Only a power cut empties the disk's own cache.
            if (site == Site::CacheLies && crash != Crash::Power) || shared == 0 {
                continue;
            }
            if let Some(draw) = self.fault(site, entity) {
                self.strike(node, site, draw);
            }
        }
    }

    fn strike(&mut self, node: NodeId, site: Site, draw: Draw) {
        let inode = self.disk.file(node).expect("it was there a moment ago");
        let shared = inode.shared;
        let at = usize::try_from(draw.below(shared as u64)).unwrap_or(0);
        let sector = at / SECTOR_BYTES * SECTOR_BYTES;
        let sector_end = (sector + SECTOR_BYTES).min(shared);
        let (from, to, shown) = match site {
            Site::BitRotAtRest => (at, at + 1, Shown::Flipped(1 << draw.part(0).below(8))),
            Site::SectorUnreadable => (sector, sector_end, Shown::Error),
            // What a cache held and lost is the newest of the file, and its length is journaled elsewhere.
            Site::CacheLies => (sector, shared, Shown::Other(Vec::new())),
            _ => (sector, sector_end, Shown::Other(Vec::new())),
        };
        let stray = inode.data[sector..sector_end].to_vec();
        self.blemish(node, site, Blemish { from, to, shown });
        if site == Site::WriteMisdirected {
            self.write_elsewhere(node, draw.part(1), sector, stray);
        }
    }

    /// A sector that was meant for one file lies in another, at another place: Kafka's batches do not say to which partition they belong, so that
    /// nobody could tell a batch from one of the same offset elsewhere.
    fn write_elsewhere(&mut self, node: NodeId, draw: Draw, sector: usize, stray: Vec<u8>) {
        let is_other = |(id, other): &(NodeId, &Node)| match other {
            Node::File(inode) => *id != node && inode.is_fragile && inode.shared > 0,
            Node::Directory(_) => false,
        };
        let others: Vec<NodeId> = self.disk.nodes.iter().filter(is_other).map(|(id, _)| id).collect();
        let Some(other) = others.get(usize::try_from(draw.below(others.len() as u64)).unwrap_or(0)) else { return };
        let shared = self.disk.file(*other).map_or(0, |inode| inode.shared);
        let from = usize::try_from(draw.part(0).below(shared as u64)).unwrap_or(0) / SECTOR_BYTES * SECTOR_BYTES;
        let to = (from + stray.len()).min(shared);
        if from == sector {
            return;
        }
        self.blemish(*other, Site::WriteMisdirected, Blemish { from, to, shown: Shown::Other(stray) });
    }

    fn blemish(&mut self, node: NodeId, how: Site, blemish: Blemish) {
        self.destroy(node, how, blemish.from, blemish.to);
        if let Some(inode) = self.disk.file(node) {
            inode.blemishes.push(blemish);
        }
    }

    /// Notes that bytes of a file are not what was synced.
    pub(crate) fn destroy(&mut self, node: NodeId, how: Site, from: usize, to: usize) {
        let path = self.disk.paths.get(&node).cloned().unwrap_or_default();
        let Some(inode) = self.disk.file(node) else { return };
        let (entity, bytes) = (inode.entity, Arc::from(inode.data.as_slice()));
        self.note(TraceKind::Left, entity, (from as u64) << 32 | to as u64);
        if self.flawed(Flaw::LedgerForgets) {
            return;
        }
        self.disk.ledger.note(Destroyed { path, from: from as u64, to: to as u64, how, bytes });
    }

    /// A whole directory is gone, or what it was when somebody made a copy of it.
    fn strike_directory(&mut self, node: NodeId) {
        let Some(directory) = self.disk.directory(node) else { return };
        let (entity, entries) = (directory.entity, directory.entries.clone());
        let path = self.disk.paths.get(&node).cloned().unwrap_or_default();
        // One that is on its way out under another name is nobody's loss.
        if self.disk.lookup(&path) != Some(node) {
            return;
        }
        let files: Vec<(String, NodeId)> =
            entries.into_iter().filter(|(_, id)| self.disk.file(*id).is_some()).collect();
        if self.fault(Site::DirectoryVanished, entity).is_some() {
            for (_, file) in &files {
                // What was only written goes with it, also where the process alone has ended.
                let bytes = self.disk.file(*file).map_or(0, |inode| inode.data.len());
                self.destroy(*file, Site::DirectoryVanished, 0, bytes);
                self.let_go(*file);
            }
            if let Some(directory) = self.disk.directory(node) {
                directory.is_fragile = false;
            }
            let (parent, name) = self.disk.parent(&path).expect("the path was found a moment ago");
            if let Some(parent) = self.disk.directory(parent) {
                parent.entries.remove(&name);
                parent.durable.remove(&name);
                parent.pending.retain(|change| !change.is_about(node));
            }
        } else if let Some(backup) = self.disk.backups.get(&node).cloned() {
            if self.fault(Site::DirectoryStale, entity).is_some() {
                self.restore(node, &path, &files, backup);
            }
        } else if self.chance.may_fire(Site::DirectoryStale) {
            let copy = files.iter().filter_map(|(name, id)| Some((name.clone(), synced(self.disk.file(*id)?))));
            let copy: Backup = copy.collect();
            self.disk.backups.insert(node, copy);
        }
    }

    /// What lies on a mirror has no use for a copy, and stays as it is.
    fn restore(&mut self, node: NodeId, path: &Path, files: &[(String, NodeId)], backup: Backup) {
        let (is_fragile, wall) = (self.disk.is_fragile, self.clocks().wall);
        let is_lost = |name: &str| is_fragile(&path.join(name));
        for (name, id) in files.iter().filter(|(name, _)| is_lost(name)) {
            let now = self.disk.file(*id).map(|inode| inode.data.clone()).unwrap_or_default();
            let old = backup.get(name).map(Vec::as_slice).unwrap_or_default();
            let same = now.iter().zip(old).take_while(|(now, old)| now == old).count();
            self.destroy(*id, Site::DirectoryStale, same, now.len());
            self.let_go(*id);
        }
        if let Some(directory) = self.disk.directory(node) {
            directory.entries.retain(|name, _| !is_lost(name));
            directory.durable.clear();
            directory.pending.clear();
        }
        for (name, bytes) in backup.into_iter().filter(|(name, _)| is_lost(name)) {
            let file = self.disk.make(node, &name, &path.join(&name), false);
            let inode = self.disk.file(file).expect("it was just made");
            inode.replace(bytes);
            // Whoever copies files back writes them now, or keeps their times; no copy is of 1970, and so older than what retention keeps.
            inode.modified = wall;
        }
        if let Some(directory) = self.disk.directory(node) {
            directory.pending.clear();
            directory.durable = directory.entries.clone();
        }
    }

    /// A file that no name shows any more: nothing can happen to it.
    fn let_go(&mut self, file: NodeId) {
        if let Some(inode) = self.disk.file(file) {
            (inode.links, inode.is_fragile) = (0, false);
        }
    }

    /// Bytes on their way from the medium come wrong, once.
    pub(crate) fn misread(&mut self, node: NodeId, entity: u64, offset: u64, bytes: &mut [u8]) {
        let Some(inode) = self.disk.file(node).filter(|inode| inode.is_fragile && !bytes.is_empty()) else { return };
        let was_misread = std::mem::take(&mut inode.was_misread);
        if was_misread && !self.flawed(Flaw::MisreadRepeats) {
            return;
        }
        let count = bytes.len() as u64;
        if let Some(draw) = self.fault(Site::BitRotOnRead, entity) {
            bytes[usize::try_from(draw.below(count)).unwrap_or(0)] ^= 1 << draw.part(0).below(8);
        } else if let Some(draw) = self.fault(Site::ReadMisdirected, entity) {
            let Some(inode) = self.disk.file(node) else { return };
            let sectors = (inode.data.len() / SECTOR_BYTES) as u64 + 1;
            let other = usize::try_from(draw.below(sectors)).unwrap_or(0) * SECTOR_BYTES;
            // What is at the wrong place is a whole sector: the buffer begins somewhere in one of its own.
            let into_sector = usize::try_from(offset % SECTOR_BYTES as u64).unwrap_or(0);
            let sectors_read = (into_sector as u64 + count).div_ceil(SECTOR_BYTES as u64);
            let sector = usize::try_from(draw.part(0).below(sectors_read)).unwrap_or(0) * SECTOR_BYTES;
            let (at, skipped) = (sector.saturating_sub(into_sector), into_sector.saturating_sub(sector));
            // What lies at the other place is seen as it is there by now.
            let mut stray: Vec<u8> =
                inode.data.get(other..).unwrap_or_default().iter().take(SECTOR_BYTES).copied().collect();
            inode.show(other, &mut stray);
            let strays = stray.iter().skip(skipped);
            bytes[at..].iter_mut().zip(strays).for_each(|(byte, stray)| *byte = *stray);
        } else {
            return;
        }
        if let Some(inode) = self.disk.file(node) {
            inode.was_misread = true;
        }
    }

    /// An operator puts new sectors in the place of bad ones: they can be read, and hold nothing.
    pub(crate) fn remap_sectors(&mut self) -> bool {
        let mut has_remapped = false;
        for (_, node) in self.disk.nodes.iter_mut() {
            let Node::File(inode) = node else { continue };
            for blemish in inode.blemishes.iter_mut().filter(|blemish| matches!(blemish.shown, Shown::Error)) {
                blemish.shown = Shown::Other(Vec::new());
                has_remapped = true;
            }
        }
        has_remapped
    }
}

fn synced(inode: &Inode) -> Vec<u8> {
    inode.data[..inode.shared].to_vec()
}
