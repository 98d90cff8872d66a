//! The simulated file system: directories, files, locks, space and syncs on their way.
//!
//! It must not know segments or records. What a power cut leaves is decided in `disk_crash`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::disk_medium::Backup;
use crate::disk_volumes::Volume;
use crate::inode::Inode;
use crate::ledger::Ledger;
use crate::node_table::NodeTable;

/// A file's or directory's number; never reused.
pub(crate) type NodeId = u64;

/// The root directory.
pub(crate) const ROOT: NodeId = 0;

/// A change of a directory that is not durable yet.
#[derive(Clone, Debug)]
pub(crate) enum EntryChange {
    Link {
        name: String,
        node: NodeId,
    },
    /// Taken away; if it was moved to another directory, that directory.
    Unlink {
        name: String,
        node: NodeId,
        moved_to: Option<NodeId>,
    },
    /// Renamed within the directory, which happens as a whole or not at all.
    Rename {
        from: String,
        to: String,
        node: NodeId,
    },
}

impl EntryChange {
    /// Whether it says where this file or directory is.
    pub(crate) fn is_about(&self, wanted: NodeId) -> bool {
        match self {
            EntryChange::Link { node, .. } | EntryChange::Unlink { node, .. } | EntryChange::Rename { node, .. } => {
                *node == wanted
            }
        }
    }
}

/// A directory: entries that are seen, entries that are durable, and the changes between them in order.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    pub(crate) entity: u64,
    pub(crate) entries: BTreeMap<String, NodeId>,
    pub(crate) durable: BTreeMap<String, NodeId>,
    pub(crate) pending: Vec<EntryChange>,
    /// It lies on a part of the disk that may lose what was synced.
    pub(crate) is_fragile: bool,
}

/// What a name stands for.
#[derive(Debug)]
pub(crate) enum Node {
    File(Inode),
    Directory(Directory),
}

/// A file that a sync on its way covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Covered {
    pub(crate) node: NodeId,
    pub(crate) bytes: usize,
    pub(crate) cut: bool,
    /// For a directory: how many of its pending changes.
    pub(crate) changes: usize,
}

/// The file system.
#[derive(Debug)]
pub(crate) struct DiskState {
    pub(crate) nodes: NodeTable,
    pub(crate) paths: BTreeMap<NodeId, PathBuf>,
    pub(crate) locks: BTreeMap<PathBuf, u64>,
    pub(crate) next_lock: u64,
    /// The disk of everything first, then those of log directories.
    pub(crate) volumes: Vec<Volume>,
    /// The log directories, as an operator names them.
    pub(crate) log_directories: Vec<PathBuf>,
    /// Whole disks may be gone: all of them are in use.
    pub(crate) may_go_missing: bool,
    /// Directories whose sync of everything below failed in this process.
    pub(crate) poisoned: BTreeSet<PathBuf>,
    pub(crate) deferred: BTreeMap<u64, Vec<Covered>>,
    pub(crate) next_deferred: u64,
    /// The sync that is being noted instead of done, if one is.
    pub(crate) noting: Option<u64>,
    /// How much longer than usual each sync takes.
    pub(crate) sync_ns: u64,
    /// Bytes that the broker has read, but for those that went straight to a connection.
    pub(crate) bytes_read: u64,
    /// Which paths lie on a part of the disk that may lose what was synced.
    pub(crate) is_fragile: fn(&Path) -> bool,
    pub(crate) backups: BTreeMap<NodeId, Backup>,
    pub(crate) ledger: Ledger,
}

impl Default for DiskState {
    fn default() -> DiskState {
        let mut nodes = NodeTable::default();
        nodes.add(Node::Directory(Directory::default()));
        DiskState {
            nodes,
            paths: BTreeMap::from([(ROOT, PathBuf::from("/"))]),
            locks: BTreeMap::new(),
            next_lock: 0,
            volumes: vec![Volume::at(Path::new("/"))],
            log_directories: Vec::new(),
            may_go_missing: false,
            poisoned: BTreeSet::new(),
            deferred: BTreeMap::new(),
            next_deferred: 0,
            noting: None,
            sync_ns: 0,
            bytes_read: 0,
            is_fragile: |_| false,
            backups: BTreeMap::new(),
            ledger: Ledger::default(),
        }
    }
}

/// A stable name for a path.
pub(crate) fn entity_of(path: &Path) -> u64 {
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("the broker names its files in UTF-8")
}

fn names(mut path: &str) -> impl Iterator<Item = &str> {
    // Names are short: looking at each byte is the quickest way to the next slash.
    let next = move || {
        let end = path.bytes().position(|byte| byte == b'/');
        let (name, rest) = end.map_or((path, ""), |end| (&path[..end], &path[end + 1..]));
        path = rest;
        (end.is_some() || !name.is_empty()).then_some(name)
    };
    std::iter::from_fn(next).filter(|name| !matches!(*name, "" | "."))
}

impl DiskState {
    pub(crate) fn lookup(&self, path: &Path) -> Option<NodeId> {
        self.lookup_text(text_of(path))
    }

    fn lookup_text(&self, path: &str) -> Option<NodeId> {
        names(path).try_fold(ROOT, |node, name| match self.nodes.get(node)? {
            Node::Directory(directory) => directory.entries.get(name).copied(),
            Node::File(_) => None,
        })
    }

    /// The directory that holds `path`, and the path's last name.
    pub(crate) fn parent(&self, path: &Path) -> Option<(NodeId, String)> {
        let text = text_of(path).trim_end_matches('/');
        let (parent, name) = text.rsplit_once('/').unwrap_or(("", text));
        let parent = self.lookup_text(parent).filter(|_| !name.is_empty())?;
        matches!(self.nodes.get(parent), Some(Node::Directory(_))).then(|| (parent, name.to_owned()))
    }

    pub(crate) fn directory(&mut self, node: NodeId) -> Option<&mut Directory> {
        match self.nodes.get_mut(node) {
            Some(Node::Directory(directory)) => Some(directory),
            _ => None,
        }
    }

    pub(crate) fn file(&mut self, node: NodeId) -> Option<&mut Inode> {
        match self.nodes.get_mut(node) {
            Some(Node::File(inode)) => Some(inode),
            _ => None,
        }
    }

    pub(crate) fn make(&mut self, parent: NodeId, name: &str, path: &Path, is_directory: bool) -> NodeId {
        let (entity, is_fragile, volume) = (entity_of(path), (self.is_fragile)(path), self.volume_of(path));
        let value = if is_directory {
            Node::Directory(Directory { entity, is_fragile, ..Directory::default() })
        } else {
            Node::File(Inode { entity, volume, is_fragile, links: 1, ..Inode::default() })
        };
        let node = self.nodes.add(value);
        self.paths.insert(node, path.to_path_buf());
        if let Some(directory) = self.directory(parent) {
            directory.entries.insert(name.to_owned(), node);
            directory.pending.push(EntryChange::Link { name: name.to_owned(), node });
        }
        node
    }

    /// One entry less shows the node.
    pub(crate) fn unlinked(&mut self, node: NodeId) {
        if let Some(inode) = self.file(node) {
            inode.links = inode.links.saturating_sub(1);
        }
        self.release(node);
    }

    /// Gives back the space of a file that nobody can reach any more. Its bytes stay while a power cut may bring it back.
    pub(crate) fn release(&mut self, node: NodeId) {
        if let Some(inode) = self.file(node)
            && inode.links == 0
            && inode.handles == 0
        {
            let (volume, bytes) = (inode.volume, inode.data.len() as u64);
            self.volumes[volume].used = self.volumes[volume].used.saturating_sub(bytes);
            self.forget_if_gone(node);
        }
    }

    /// Forgets a file that neither a name, nor a handle, nor a durable entry reaches.
    fn forget_if_gone(&mut self, node: NodeId) {
        let durable = self.nodes.iter().any(|(_, other)| match other {
            Node::Directory(directory) => {
                directory.durable.values().any(|entry| *entry == node)
                    || directory.pending.iter().any(|change| matches!(change, EntryChange::Link { node: linked, .. } | EntryChange::Rename { node: linked, .. } if *linked == node))
            }
            Node::File(_) => false,
        });
        if !durable {
            self.nodes.remove(node);
            self.paths.remove(&node);
        }
    }

    /// Makes the first `changes` pending changes of a directory durable.
    pub(crate) fn sync_entries(&mut self, node: NodeId, changes: usize) {
        let Some(directory) = self.directory(node) else { return };
        let changes = changes.min(directory.pending.len());
        let done: Vec<EntryChange> = directory.pending.drain(..changes).collect();
        let mut gone = Vec::new();
        for change in done {
            gone.extend(directory.apply(&change));
        }
        for node in gone {
            if self.file(node).is_some_and(|inode| inode.links == 0 && inode.handles == 0) {
                self.forget_if_gone(node);
            }
        }
    }

    /// What the broker has named as deleted in a log directory and not removed so far.
    pub(crate) fn marked_as_deleted(&self) -> Option<String> {
        let entries = |node: NodeId| match self.nodes.get(node) {
            Some(Node::Directory(directory)) => directory.entries.iter(),
            _ => Default::default(),
        };
        let folders = self.log_directories.iter().filter_map(|path| self.lookup(path)).flat_map(entries);
        folders.into_iter().find_map(|(folder, node)| {
            let mut files = entries(*node).filter(|(name, _)| name.ends_with(".deleted"));
            let is_deleted = folder.ends_with("-delete");
            is_deleted.then(|| folder.clone()).or_else(|| files.next().map(|(name, _)| format!("{folder}/{name}")))
        })
    }

    /// The files and directories at and below a node.
    pub(crate) fn below(&self, root: NodeId) -> Vec<NodeId> {
        let mut found = vec![root];
        let mut next = 0;
        while let Some(node) = found.get(next) {
            if let Some(Node::Directory(directory)) = self.nodes.get(*node) {
                found.extend(directory.entries.values().copied());
            }
            next += 1;
        }
        found
    }

    pub(crate) fn is_poisoned(&self, path: &Path) -> bool {
        !self.poisoned.is_empty() && path.ancestors().any(|ancestor| self.poisoned.contains(ancestor))
    }
}

impl Directory {
    /// Does a change to the durable entries; names what lost its entry.
    pub(crate) fn apply(&mut self, change: &EntryChange) -> Option<NodeId> {
        match change {
            EntryChange::Link { name, node } => self.durable.insert(name.clone(), *node).filter(|old| old != node),
            EntryChange::Unlink { name, node, .. } => {
                if self.durable.get(name) == Some(node) {
                    self.durable.remove(name)
                } else {
                    None
                }
            }
            EntryChange::Rename { from, to, node } => {
                if self.durable.get(from) == Some(node) {
                    self.durable.remove(from);
                }
                self.durable.insert(to.clone(), *node).filter(|old| old != node)
            }
        }
    }
}
