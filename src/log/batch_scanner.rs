//! Walks over the batches of a segment's file by their headers, reading small chunks, or whole batches when their checksum matters.
//!
//! It must not know indexes, nor what a damaged batch leads to.

use crate::env::{DiskError, DiskFile};
use crate::limits::BATCH_HEADER_BYTES;
use crate::record::{BatchError, BatchHeader, Crc32c, RecordBatch};
use crate::zoo::{self, Bug};

/// What a look-up reads at a time.
pub(super) const LOOKUP_CHUNK_BYTES: usize = 4096;
/// What a recovery reads at a time.
pub(super) const RECOVERY_CHUNK_BYTES: usize = 1 << 20;

/// So often a batch is read that looks damaged.
const LOOKS_MAX: u32 = 4;
/// A batch that claims to be longer becomes memory only after its checksum was found to hold.
const BATCH_BYTES_BELIEVED: usize = 16 << 20;

/// A batch and where it starts in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocatedBatch {
    /// Its header.
    pub(super) header: BatchHeader,
    /// Where it starts.
    pub(super) position: u64,
}

impl LocatedBatch {
    /// Where it ends.
    pub(super) fn end(&self) -> u64 {
        self.position + self.header.total_bytes() as u64
    }
}

/// What is wrong with the bytes where a batch should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    /// They are no batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The batch goes on behind the end.
    #[error("the batch is cut")]
    Cut,
    /// Its offsets are negative, backwards, or out of range.
    #[error("its offsets are out of range")]
    Offsets,
    /// The index says something else than the batches.
    #[error("the index does not fit the batches")]
    Index,
    /// The disk says now this, now that.
    #[error("it is read differently each time")]
    Unsteady,
    /// Its checksum does not match.
    #[error("its checksum does not match")]
    Checksum,
}

/// Why the walk ends before the end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScanError {
    /// The bytes at this position are no batch, or a cut one.
    #[error("at byte {position}: {reason}")]
    Damaged {
        /// Where.
        position: u64,
        /// Why.
        reason: Damage,
    },
    /// A disk error.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// A walk over the batches in a range of a file.
#[derive(Debug)]
pub(super) struct BatchScanner<'a> {
    file: &'a dyn DiskFile,
    position: u64,
    end: u64,
    chunk_bytes: usize,
    chunk: Vec<u8>,
    chunk_at: u64,
    /// Every header is read twice.
    is_careful: bool,
}

impl<'a> BatchScanner<'a> {
    /// A walk from `position`, where a batch starts, to `end`.
    pub(super) fn new(file: &'a dyn DiskFile, position: u64, end: u64, chunk_bytes: usize) -> BatchScanner<'a> {
        BatchScanner { file, position, end, chunk_bytes, chunk: Vec::new(), chunk_at: 0, is_careful: false }
    }

    /// Reads every header twice. No checksum covers a batch's base offset and epoch, and what a start believes of them it acts on: it cuts
    /// off what does not follow.
    pub(super) fn carefully(self) -> BatchScanner<'a> {
        BatchScanner { is_careful: true, ..self }
    }

    /// The next batch's header.
    pub(super) fn next_header(&mut self) -> Result<Option<LocatedBatch>, ScanError> {
        self.look_again(BatchScanner::read_header)
    }

    /// What looks damaged is read again before it is believed: a bit that flips on its way from the disk must cost nobody a record.
    fn look_again(
        &mut self,
        look: impl Fn(&mut Self) -> Result<Option<LocatedBatch>, ScanError>,
    ) -> Result<Option<LocatedBatch>, ScanError> {
        let position = self.position;
        for _ in 1..LOOKS_MAX {
            match look(self) {
                Err(ScanError::Damaged { .. }) if !zoo::is(Bug::DamageBelievedAtOnce) => {
                    self.position = position;
                    self.chunk.clear();
                }
                seen => return seen,
            }
        }
        look(self)
    }

    fn read_header(&mut self) -> Result<Option<LocatedBatch>, ScanError> {
        if self.position >= self.end {
            return Ok(None);
        }
        let position = self.position;
        let damaged = |reason| ScanError::Damaged { position, reason };
        let bytes = self.bytes(position, BATCH_HEADER_BYTES)?;
        let header = BatchHeader::parse(bytes).map_err(|error| damaged(error.into()))?;
        if self.is_careful && !self.is_read_alike(position)? {
            return Err(damaged(Damage::Unsteady));
        }
        let batch = LocatedBatch { header, position };
        if batch.end() > self.end {
            return Err(damaged(Damage::Cut));
        }
        let (base, last) = (header.base_offset(), header.last_offset());
        if base.0 < 0 || header.last_offset_delta() < 0 || last.0 == i64::MAX {
            return Err(damaged(Damage::Offsets));
        }
        self.position = batch.end();
        Ok(Some(batch))
    }

    /// The next batch with all its bytes, whose checksum holds.
    pub(super) fn next_batch(&mut self) -> Result<Option<(LocatedBatch, RecordBatch<'_>)>, ScanError> {
        let Some(batch) = self.look_again(BatchScanner::read_batch)? else { return Ok(None) };
        let bytes = self.bytes(batch.position, batch.header.total_bytes())?;
        match RecordBatch::parse(bytes) {
            Ok((whole, _)) => Ok(Some((batch, whole))),
            Err(error) => Err(ScanError::Damaged { position: batch.position, reason: error.into() }),
        }
    }

    /// Reads a batch and looks whether its checksum holds.
    fn read_batch(&mut self) -> Result<Option<LocatedBatch>, ScanError> {
        let Some(batch) = self.read_header()? else { return Ok(None) };
        let damaged = |reason| ScanError::Damaged { position: batch.position, reason };
        if batch.header.total_bytes() > BATCH_BYTES_BELIEVED && !self.has_valid_crc(&batch)? {
            return Err(damaged(Damage::Checksum));
        }
        let bytes = self.bytes(batch.position, batch.header.total_bytes())?;
        let (whole, _) = RecordBatch::parse(bytes).map_err(|error| damaged(error.into()))?;
        if !whole.crc_is_valid() && !zoo::is(Bug::RecoveryIgnoresCrc) {
            return Err(damaged(Damage::Checksum));
        }
        Ok(Some(batch))
    }

    /// Whether the disk says the same of a header when it is asked again.
    fn is_read_alike(&mut self, position: u64) -> Result<bool, DiskError> {
        let mut again = [0; BATCH_HEADER_BYTES];
        let read = self.file.read_at(position, &mut again)?;
        let first = self.bytes(position, BATCH_HEADER_BYTES)?;
        Ok(again.get(..read) == Some(first))
    }

    /// Whether the checksum of a batch holds, found in small pieces.
    fn has_valid_crc(&self, batch: &LocatedBatch) -> Result<bool, DiskError> {
        let mut crc = Crc32c::new();
        let mut buffer = vec![0; RECOVERY_CHUNK_BYTES];
        let mut position = batch.position + BatchHeader::CHECKED_FROM as u64;
        while position < batch.end() {
            let left = usize::try_from(batch.end() - position).unwrap_or(usize::MAX);
            let wanted = left.min(buffer.len());
            let chunk = buffer.get_mut(..wanted).unwrap_or_default();
            if self.file.read_at(position, chunk)? < wanted {
                return Ok(false);
            }
            crc.update(chunk);
            position += wanted as u64;
        }
        Ok(crc.finish() == batch.header.crc())
    }

    /// Bytes of the file from `position` on, `wanted` of them unless the range or the file ends first.
    fn bytes(&mut self, position: u64, wanted: usize) -> Result<&[u8], DiskError> {
        let left = usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX);
        let wanted = wanted.min(left);
        let held = position
            .checked_sub(self.chunk_at)
            .map(|skip| skip as usize)
            .filter(|skip| skip.checked_add(wanted).is_some_and(|end| end <= self.chunk.len()));
        let skip = match held {
            Some(skip) => skip,
            None => {
                let ahead = wanted.max(self.chunk_bytes).min(left);
                self.chunk.resize(ahead, 0);
                let mut read = self.file.read_at(position, &mut self.chunk);
                if read.is_err() && ahead > wanted {
                    // What cannot be read further on must not take along what can.
                    self.chunk.truncate(wanted);
                    read = self.file.read_at(position, &mut self.chunk);
                }
                self.chunk.truncate(read?);
                self.chunk_at = position;
                0
            }
        };
        Ok(self.chunk.get(skip..(skip + wanted).min(self.chunk.len())).unwrap_or_default())
    }
}
