//! The disks of the simulated machine: one for everything, and log directories that are disks of their own. Each of those may fail or be nowhere to be seen,
//! as a whole, until an operator mends it; no two at the same time.
//!
//! It must not know what lies on them.

use std::path::{Path, PathBuf};

use klamm::env::DiskError;
use klamm::types::Instant;

use crate::disk_calls::failure;
use crate::disk_space::WIDE_BYTES;
use crate::disk_state::{DiskState, Node, NodeId, entity_of};
use crate::errno;
use crate::kernel::Kernel;
use crate::keyed::Site;

/// The disk that holds all that lies on no other.
pub(crate) const MAIN: usize = 0;
/// In how many of a million deaths of the broker an operator mends what is wrong with a disk.
const MENDED_PARTS: u32 = 400_000;

/// A disk.
#[derive(Debug)]
pub(crate) struct Volume {
    /// Where it was mounted first.
    home: PathBuf,
    /// Where it is mounted.
    path: PathBuf,
    pub(crate) capacity: u64,
    pub(crate) used: u64,
    /// Until when nothing can be changed.
    pub(crate) read_only_until: Option<Instant>,
    trouble: Option<Trouble>,
    /// Something has been wrong with it as a whole.
    was_struck: bool,
}

/// What is wrong with a whole disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// Every call fails.
    Fails,
    /// Nothing can be changed.
    ReadOnly,
    /// Nothing lies at its place: only open files lead to it.
    Away { root: NodeId, since: Instant },
}

/// A folder by its name, with a file in it that ends so and is not empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filled<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: &'a str,
}

impl Volume {
    pub(crate) fn at(path: &Path) -> Volume {
        Volume {
            home: path.to_path_buf(),
            path: path.to_path_buf(),
            capacity: WIDE_BYTES,
            used: 0,
            read_only_until: None,
            trouble: None,
            was_struck: false,
        }
    }

    /// The top of what lies on it, if that is not to be seen.
    pub(crate) fn away(&self) -> Option<NodeId> {
        match self.trouble {
            Some(Trouble::Away { root, .. }) => Some(root),
            Some(Trouble::Fails | Trouble::ReadOnly) | None => None,
        }
    }
}

impl DiskState {
    /// On which disk a path lies.
    pub(crate) fn volume_of(&self, path: &Path) -> usize {
        let is_on = |volume: &Volume| volume.away().is_none() && path.starts_with(&volume.path);
        if self.volumes.len() == 1 { MAIN } else { self.volumes.iter().rposition(is_on).unwrap_or(MAIN) }
    }

    fn troubled(&self) -> Option<usize> {
        self.volumes.iter().position(|volume| volume.trouble.is_some())
    }

    /// Whether something is wrong with a whole disk.
    pub(crate) fn has_trouble(&self) -> bool {
        self.troubled().is_some()
    }

    /// Whether something is wrong with the disk that was mounted here first.
    pub(crate) fn is_in_trouble(&self, home: &Path) -> bool {
        self.volumes.iter().any(|volume| volume.home == home && volume.trouble.is_some())
    }

    /// The disk that was mounted here first, wherever it is now.
    pub(crate) fn at_home(&self, home: &Path) -> &Volume {
        let number = self.volumes.iter().position(|volume| volume.home == home);
        &self.volumes[number.unwrap_or(MAIN)]
    }

    /// The directory that was mounted here and can no longer be seen.
    pub(crate) fn unseen(&self, path: &Path) -> Option<NodeId> {
        self.volumes.iter().filter(|volume| volume.path == path).find_map(Volume::away)
    }

    /// Since when the disk with this folder on top is nowhere to be seen.
    pub(crate) fn unseen_since(&self, folder: Filled<'_>) -> Option<Instant> {
        self.volumes.iter().find_map(|volume| match volume.trouble {
            Some(Trouble::Away { root, since }) if self.has(root, folder) => Some(since),
            _ => None,
        })
    }

    /// Whether this folder lies on a disk with which nothing was ever wrong as a whole.
    pub(crate) fn is_sound(&self, folder: Filled<'_>) -> bool {
        self.log_directories.iter().any(|directory| {
            let was_struck = self.volumes.get(self.volume_of(directory)).is_some_and(|volume| volume.was_struck);
            !was_struck && self.lookup(directory).is_some_and(|root| self.has(root, folder))
        })
    }

    fn has(&self, root: NodeId, folder: Filled<'_>) -> bool {
        let entries = |node: NodeId| match self.nodes.get(node) {
            Some(Node::Directory(directory)) => Some(&directory.entries),
            _ => None,
        };
        let is_filled = |node: NodeId| matches!(self.nodes.get(node), Some(Node::File(file)) if !file.data.is_empty());
        let found = entries(root).and_then(|entries| entries.get(folder.name)).and_then(|node| entries(*node));
        found.is_some_and(|files| files.iter().any(|(name, node)| name.ends_with(folder.kind) && is_filled(*node)))
    }
}

impl Kernel {
    /// Fails if every call on the disk of this path does.
    pub(crate) fn check_disk(&self, operation: &'static str, path: &Path) -> Result<(), DiskError> {
        match self.disk.volumes.get(self.disk.volume_of(path)).and_then(|volume| volume.trouble) {
            Some(Trouble::Fails) => Err(failure(operation, path, errno::EIO)),
            Some(Trouble::ReadOnly | Trouble::Away { .. }) | None => Ok(()),
        }
    }

    /// Fails if nothing on the disk of this path can be changed for good.
    pub(crate) fn check_changeable(&self, operation: &'static str, path: &Path) -> Result<(), DiskError> {
        match self.disk.volumes.get(self.disk.volume_of(path)).and_then(|volume| volume.trouble) {
            Some(Trouble::ReadOnly) => Err(failure(operation, path, errno::EROFS)),
            Some(Trouble::Fails | Trouble::Away { .. }) | None => self.check_disk(operation, path),
        }
    }

    /// What befalls the disk of this path while it is in use.
    pub(crate) fn strike_disk(&mut self, path: &Path) {
        let number = self.disk.volume_of(path);
        if number == MAIN || self.disk.has_trouble() {
            return;
        }
        let entity = entity_of(&self.disk.volumes[number].home);
        if self.fault(Site::DiskFails, entity).is_some() {
            self.disk.volumes[number].strike(Trouble::Fails);
        } else if self.fault(Site::DiskReadOnly, entity).is_some() {
            self.disk.volumes[number].strike(Trouble::ReadOnly);
        } else if self.disk.may_go_missing && self.fault(Site::DirectoryRemoved, entity).is_some() {
            self.take_away(number);
        }
    }

    /// While the broker is down, disks are mended, or are not there any more.
    pub(crate) fn disks_come_and_go(&mut self) {
        if self.disk.volumes.len() == 1 || self.chance.is_calm() {
            return;
        }
        if let Some(number) = self.disk.troubled() {
            let entity = entity_of(&self.disk.volumes[number].home);
            if self.value(Site::DiskMended, entity).happens(MENDED_PARTS) {
                self.mend(number);
            }
            return;
        }
        for number in MAIN + 1..self.disk.volumes.len() {
            let entity = entity_of(&self.disk.volumes[number].home);
            if self.disk.may_go_missing && self.fault(Site::DiskMissing, entity).is_some() {
                return self.take_away(number);
            }
        }
    }

    /// An operator mends whatever is wrong with a whole disk.
    pub(crate) fn mend_disks(&mut self) {
        while let Some(number) = self.disk.troubled() {
            self.mend(number);
        }
    }

    fn take_away(&mut self, number: usize) {
        let path = self.disk.volumes[number].path.clone();
        let (Some(root), Some((parent, name))) = (self.disk.lookup(&path), self.disk.parent(&path)) else { return };
        if let Some(parent) = self.disk.directory(parent) {
            parent.entries.remove(&name);
            parent.durable.remove(&name);
            parent.pending.retain(|change| !change.is_about(root));
        }
        let since = self.now;
        self.disk.volumes[number].strike(Trouble::Away { root, since });
    }

    /// A disk that was away is mounted where it was or, if a broker has made a directory there meanwhile, beside that, so that nothing is hidden.
    fn mend(&mut self, number: usize) {
        let Some(Trouble::Away { root, .. }) = self.disk.volumes[number].trouble.take() else { return };
        let mut path = self.disk.volumes[number].path.clone();
        while self.disk.lookup(&path).is_some() {
            path.as_mut_os_string().push("-back");
        }
        let Some((parent, name)) = self.disk.parent(&path) else { return };
        if let Some(parent) = self.disk.directory(parent) {
            parent.entries.insert(name.clone(), root);
            parent.durable.insert(name, root);
        }
        if self.disk.volumes[number].path != path {
            self.disk.log_directories.push(path.clone());
            self.disk.volumes[number].path = path;
        }
    }
}

impl Volume {
    fn strike(&mut self, trouble: Trouble) {
        (self.trouble, self.was_struck) = (Some(trouble), true);
    }
}
