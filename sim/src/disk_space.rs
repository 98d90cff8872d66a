//! Whether the simulated disk takes a change: space, quotas, read-only mounts, and how long a call takes.
//!
//! It must not know what is written.

use std::path::Path;

use klamm::env::DiskError;
use klamm::types::Instant;

use crate::disk_calls::failure;
use crate::errno;
use crate::flaw::Flaw;
use crate::kernel::Kernel;
use crate::keyed::Site;

/// A disk that nobody can fill in a run.
pub(crate) const WIDE_BYTES: u64 = 1 << 40;
/// What somebody else leaves free at most when he fills the disk.
const LEFT_BYTES_MAX: u64 = 4_096;
const MILLISECOND: u64 = 1_000_000;

impl Kernel {
    /// Whether the file system may be changed at all.
    pub(crate) fn check_mount(&mut self, operation: &'static str, path: &Path) -> Result<(), DiskError> {
        self.check_changeable(operation, path)?;
        match self.disk.volumes[self.disk.volume_of(path)].read_only_until {
            Some(until) if self.now < until && !self.flawed(Flaw::ReadOnlyTakesChanges) => {
                Err(failure(operation, path, errno::EROFS))
            }
            _ => Ok(()),
        }
    }

    /// Whether there may be a new entry.
    pub(crate) fn check_entry(&mut self, path: &Path, entity: u64) -> Result<(), DiskError> {
        self.space_changes(path, entity);
        let volume = &self.disk.volumes[self.disk.volume_of(path)];
        let is_full = volume.used >= volume.capacity && !self.flawed(Flaw::SpaceNeverEnds);
        if is_full || self.fault(Site::EntryFull, entity).is_some() {
            return Err(DiskError::Full { path: path.to_path_buf() });
        }
        Ok(())
    }

    /// How many of `total` bytes an append takes, and why not all.
    pub(crate) fn take_append(&mut self, path: &Path, entity: u64, total: u64) -> (u64, Option<DiskError>) {
        self.space_changes(path, entity);
        let full = || DiskError::Full { path: path.to_path_buf() };
        let number = self.disk.volume_of(path);
        let room = self.disk.volumes[number].capacity.saturating_sub(self.disk.volumes[number].used);
        if let Some(draw) = self.fault(Site::AppendFull, entity) {
            return (draw.below(total), Some(full()));
        }
        if total > room && !self.flawed(Flaw::SpaceNeverEnds) {
            return (room, Some(full()));
        }
        if self.fault(Site::QuotaExceeded, entity).is_some() {
            return (0, Some(full()));
        }
        if let Some(draw) = self.fault(Site::AppendFails, entity) {
            return (draw.below(total), Some(failure("append", path, errno::EIO)));
        }
        if let Some(draw) = self.fault(Site::ShortAppend, entity) {
            let error = std::io::ErrorKind::WriteZero.into();
            let path = path.to_path_buf();
            return (draw.below(total), Some(DiskError::Io { operation: "append", path, source: error }));
        }
        if let Some(draw) = self.fault(Site::ReadOnlyRemount, entity) {
            let until = Instant(self.now.0 + draw.exponential(300 * MILLISECOND));
            self.disk.volumes[number].read_only_until = Some(until);
            return (draw.part(0).below(total), Some(failure("append", path, errno::EROFS)));
        }
        (total, None)
    }

    /// Others fill the disk, and make room.
    pub(crate) fn space_changes(&mut self, path: &Path, entity: u64) {
        let number = self.disk.volume_of(path);
        if self.disk.volumes[number].capacity == WIDE_BYTES {
            if let Some(draw) = self.fault(Site::SpaceEnds, entity) {
                let volume = &mut self.disk.volumes[number];
                volume.capacity = volume.used + draw.below(LEFT_BYTES_MAX);
            }
        } else if self.fault(Site::SpaceReturns, entity).is_some() {
            self.disk.volumes[number].capacity = WIDE_BYTES;
        }
    }

    /// A call waits for the disk.
    pub(crate) fn wait_for_disk(&mut self, entity: u64) {
        if let Some(draw) = self.fault(Site::DiskSlow, entity).filter(|_| !self.flawed(Flaw::SlowDiskIsFast)) {
            self.advance_to(Instant(self.now.0 + draw.exponential(20 * MILLISECOND)));
        }
    }
}
