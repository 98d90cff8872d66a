//! A file of sorted entries of one fixed length: appended in chunks, searched by bisection, without a map into memory.
//!
//! It must not know what an entry means.

use std::io::IoSlice;
use std::sync::Arc;

use crate::env::{DiskError, DiskFile};
use crate::log::error::LogError;
use crate::log::lazy_file::LazyFile;
use crate::marks::Mark;

/// Entries are written when this many bytes of them wait, and on roll, flush and close.
const CHUNK_BYTES: usize = 4096;

/// A file of sorted entries of `N` bytes. The last entries may wait in memory. The descriptor is held only while it is used: an
/// open costs a microsecond, and a broker has more index files than descriptors.
#[derive(Debug)]
pub(super) struct IndexFile<const N: usize> {
    file: LazyFile,
    written: usize,
    waiting: Vec<[u8; N]>,
    /// Whether all entries wait, to take the place of the file together.
    is_built_beside: bool,
}

impl<const N: usize> IndexFile<N> {
    /// An index whose file has `bytes` bytes now (0 if it is not there); a torn last entry is not counted.
    pub(super) fn new(file: LazyFile, bytes: u64) -> IndexFile<N> {
        let written = usize::try_from(bytes).unwrap_or(usize::MAX) / N;
        IndexFile { file, written, waiting: Vec::new(), is_built_beside: false }
    }

    /// How many entries there are.
    pub(super) fn entries(&self) -> usize {
        self.written + self.waiting.len()
    }

    /// The entry with this number, counted from 0; `None` beyond the last.
    pub(super) fn entry(&mut self, number: usize) -> Result<Option<[u8; N]>, DiskError> {
        let entry = self.read_entry(number);
        self.file.close();
        entry
    }

    fn read_entry(&mut self, number: usize) -> Result<Option<[u8; N]>, DiskError> {
        if number >= self.written {
            return Ok(self.waiting.get(number - self.written).copied());
        }
        let mut entry = [0; N];
        let read = self.file.open()?.read_at((number * N) as u64, &mut entry)?;
        Ok((read == N).then_some(entry))
    }

    /// The last entry.
    pub(super) fn last(&mut self) -> Result<Option<[u8; N]>, DiskError> {
        match self.entries().checked_sub(1) {
            Some(number) => self.entry(number),
            None => Ok(None),
        }
    }

    /// The last entry for which `is_before` holds, if it holds for a prefix of all entries.
    pub(super) fn last_before(&mut self, is_before: impl Fn(&[u8; N]) -> bool) -> Result<Option<[u8; N]>, DiskError> {
        let waiting = self.waiting.partition_point(&is_before);
        match waiting.checked_sub(1) {
            Some(last) => Ok(self.waiting.get(last).copied()),
            None => Ok(self.search_written(is_before)?.1),
        }
    }

    /// Some entries from number `from` on; none only beyond the last.
    pub(super) fn chunk(&mut self, from: usize) -> Result<Vec<[u8; N]>, DiskError> {
        if from >= self.written {
            return Ok(self.waiting.get(from - self.written..).unwrap_or_default().to_vec());
        }
        let count = (self.written - from).min(CHUNK_BYTES / N);
        let mut chunk = vec![0; count * N];
        let read = self.file.open()?.read_at((from * N) as u64, &mut chunk);
        self.file.close();
        Ok(chunk.get(..read?).unwrap_or_default().as_chunks::<N>().0.to_vec())
    }

    /// How many entries, counted from the first, satisfy `is_before`.
    pub(super) fn count_before(&mut self, is_before: impl Fn(&[u8; N]) -> bool) -> Result<usize, DiskError> {
        match self.waiting.partition_point(&is_before) {
            0 => Ok(self.search_written(is_before)?.0),
            waiting => Ok(self.written + waiting),
        }
    }

    /// How many entries of the file satisfy `is_before`, and the last of them.
    fn search_written(&mut self, is_before: impl Fn(&[u8; N]) -> bool) -> Result<(usize, Option<[u8; N]>), DiskError> {
        if self.written == 0 {
            return Ok((0, None));
        }
        let found = self.bisect(is_before);
        self.file.close();
        found
    }

    fn bisect(&mut self, is_before: impl Fn(&[u8; N]) -> bool) -> Result<(usize, Option<[u8; N]>), DiskError> {
        let (mut low, mut high) = (0, self.written);
        let mut last = None;
        while high - low > CHUNK_BYTES / N {
            let middle = low + (high - low) / 2;
            match self.read_entry(middle)? {
                Some(entry) if is_before(&entry) => (low, last) = (middle + 1, Some(entry)),
                _ => high = middle,
            }
        }
        let mut buffer = [0; CHUNK_BYTES];
        let chunk = buffer.get_mut(..(high - low) * N).expect("the loop went on until it fits");
        let read = self.file.open()?.read_at((low * N) as u64, chunk)?;
        let (entries, _) = chunk.get(..read).unwrap_or_default().as_chunks::<N>();
        let before = entries.partition_point(is_before);
        Ok((low + before, before.checked_sub(1).and_then(|at| entries.get(at)).copied().or(last)))
    }

    /// Adds an entry. It is on disk after [`IndexFile::write`]; a chunk that could not be written waits for the next try.
    pub(super) fn append(&mut self, entry: [u8; N]) {
        self.waiting.push(entry);
        if self.waiting.len() * N >= CHUNK_BYTES && !self.is_built_beside {
            // The index is a help, never the truth: if the disk is full now, the roll or flush that needs it on disk says so.
            let _ = self.write();
        }
    }

    /// Writes what waits.
    pub(super) fn write(&mut self) -> Result<(), DiskError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let bytes = (self.written * N) as u64;
        let file = self.file.open()?;
        if let Err(error) = file.append(&[IoSlice::new(self.waiting.as_flattened())]) {
            Mark::IndexWriteFails.reached();
            file.truncate(bytes)?;
            return Err(error);
        }
        self.written += self.waiting.len();
        self.waiting.clear();
        self.file.close();
        Ok(())
    }

    /// The open file, made if it is not there, with all entries written: to be synced.
    pub(super) fn settle(&mut self) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.write()?;
        let file = self.file.open().cloned();
        self.file.close();
        file
    }

    /// Empties it.
    pub(super) fn reset(&mut self) -> Result<(), DiskError> {
        self.waiting.clear();
        self.written = 0;
        let result = self.file.open()?.truncate(0);
        self.file.close();
        result
    }

    /// Begins without an entry, beside the file, which stays as it is until [`IndexFile::replace`].
    pub(super) fn begin_beside(&mut self) {
        self.waiting.clear();
        (self.written, self.is_built_beside) = (0, true);
    }

    /// Puts the entries that were built beside the file in its place. A power cut leaves the old file, or none, or the whole new one: a part
    /// of it could pass for all.
    pub(super) fn replace(&mut self) -> Result<(), LogError> {
        self.file.replace(self.waiting.as_flattened())?;
        self.written = self.waiting.len();
        (self.waiting, self.is_built_beside) = (Vec::new(), false);
        Ok(())
    }

    /// The file, to be closed, moved or renamed.
    pub(super) fn file(&mut self) -> &mut LazyFile {
        &mut self.file
    }
}
