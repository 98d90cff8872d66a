//! An open file and a held lock of the simulated disk.
//!
//! It must not know segments or records. Both are dead when their process is.

use std::io::{self, IoSlice};
use std::path::PathBuf;

use klamm::env::{DiskError, DiskFile, DiskLock, FileSink};
use klamm::types::WallTime;

use crate::disk_calls::{dead, failure};
use crate::disk_state::NodeId;
use crate::errno;
use crate::flaw::Flaw;
use crate::kernel::{Kernel, Shared};
use crate::keyed::Site;

/// The most of a file that is copied for one send; a send may be short anyway.
const SEND_BYTES_MAX: usize = 128 * 1_024;

pub(crate) struct SimLock {
    pub(crate) shared: Shared,
    pub(crate) path: PathBuf,
    pub(crate) number: u64,
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
pub(crate) struct SimFile {
    pub(crate) shared: Shared,
    pub(crate) node: NodeId,
    pub(crate) boot: u32,
    pub(crate) path: PathBuf,
    pub(crate) writable: bool,
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
        if kernel.boot != self.boot {
            return;
        }
        kernel.descriptors.files -= 1;
        if let Some(inode) = kernel.disk.file(self.node) {
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
            kernel.check_disk("read", &self.path)?;
            let shift = u64::from(kernel.flawed(Flaw::ReadShifted));
            let entity = kernel.disk.file(self.node).expect("`with` has looked").entity;
            kernel.wait_for_disk(entity);
            let inode = kernel.disk.file(self.node).expect("`with` has looked");
            let start = usize::try_from(offset.saturating_add(shift)).unwrap_or(usize::MAX);
            let found = inode.data.get(start..).unwrap_or_default();
            let count = found.len().min(buffer.len());
            buffer[..count].copy_from_slice(&found[..count]);
            let is_readable = inode.show(start, &mut buffer[..count]);
            kernel.disk.bytes_read += count as u64;
            if !is_readable && !kernel.flawed(Flaw::BadSectorReads) {
                return Err(failure("read", &self.path, errno::EIO));
            }
            kernel.misread(self.node, entity, offset, &mut buffer[..count]);
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
            let entity = inode.entity;
            if kernel.check_disk("send", &self.path).is_err() || kernel.fault(Site::ReadFails, entity).is_some() {
                return Err(io::Error::from_raw_os_error(errno::EIO));
            }
            let inode = kernel.disk.file(self.node).expect("the file was there a moment ago");
            let start = usize::try_from(offset.saturating_add(shift)).unwrap_or(usize::MAX);
            let found = inode.data.get(start..).unwrap_or_default();
            if found.is_empty() && bytes > 0 && !lax {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut part = found[..found.len().min(bytes).min(SEND_BYTES_MAX)].to_vec();
            if !inode.show(start, &mut part) {
                return Err(io::Error::from_raw_os_error(errno::EIO));
            }
            if part.len() > 1
                && let Some(draw) = kernel.fault(Site::FileShortRead, entity)
            {
                part.truncate(usize::try_from(draw.between(1, part.len() as u64 - 1)).unwrap_or(1));
            }
            if padded {
                part.resize(bytes, 0);
            }
            part
        };
        sink.send_bytes(&part)
    }
}
