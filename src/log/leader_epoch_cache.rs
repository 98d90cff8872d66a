//! Which leader epoch began at which offset (KIP-101), in memory and in Kafka's `leader-epoch-checkpoint`.
//!
//! It must not know who leads. The file is written beside the old one first and takes its place once it is synced, so that no append
//! waits for it, unless a segment begins; what a crash loses, the recovery finds in the batches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::{Disk, DiskError, DiskFile};
use crate::log::checkpoint_file::{format_checkpoint, path_beside, read_checkpoint, write_text};
use crate::log::error::LogError;
use crate::marks::Mark;
use crate::types::{LeaderEpoch, Offset};
use crate::zoo::{self, Bug};

/// The file's name.
pub(super) const LEADER_EPOCH_CHECKPOINT: &str = "leader-epoch-checkpoint";

/// A file that waits beside the one that it will replace.
#[derive(Clone, Debug)]
pub(super) struct WrittenEpochs {
    /// To be synced.
    pub(super) file: Arc<dyn DiskFile>,
    /// What to give to [`LeaderEpochCache::replace`] after that.
    pub(super) changes: u64,
}

/// Where each leader epoch begins. Kafka's `LeaderEpochFileCache`.
#[derive(Debug)]
pub(super) struct LeaderEpochCache {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    starts: BTreeMap<LeaderEpoch, Offset>,
    /// Counts changes; `written` is the count that the file holds.
    changes: u64,
    written: u64,
    /// The latest epoch in the file.
    latest_written: Option<LeaderEpoch>,
    /// The file has taken its place, and nobody knows yet whether that is on the disk.
    has_new_name: bool,
    /// The file that waits for its sync.
    beside: Option<WrittenEpochs>,
}

impl LeaderEpochCache {
    /// Reads the file in `directory`. The second value says whether it could be trusted; if not, the batches have to be asked.
    pub(super) fn load(disk: Arc<dyn Disk>, directory: &Path) -> Result<(LeaderEpochCache, bool), LogError> {
        let path = directory.join(LEADER_EPOCH_CHECKPOINT);
        let read = match read_checkpoint(&*disk, &path) {
            Err(LogError::Malformed { .. }) => None,
            result => Some(result?.unwrap_or_default()),
        };
        let starts = read.as_deref().and_then(parse);
        let is_trusted = starts.is_some();
        let starts = starts.unwrap_or_default();
        let latest_written = starts.last_key_value().map(|(epoch, _)| *epoch);
        let (changes, written, beside, has_new_name) = (0, 0, None, false);
        let cache = LeaderEpochCache { disk, path, starts, changes, written, latest_written, has_new_name, beside };
        Ok((cache, is_trusted))
    }

    /// The latest epoch.
    pub(super) fn latest(&self) -> Option<LeaderEpoch> {
        self.starts.last_key_value().map(|(epoch, _)| *epoch)
    }

    /// Says that `epoch` begins at `start`, and that nothing that contradicts it ever was.
    pub(super) fn assign(&mut self, epoch: LeaderEpoch, start: Offset) {
        if epoch.0 < 0 || self.starts.last_key_value().is_some_and(|(latest, from)| *latest == epoch && *from <= start)
        {
            return;
        }
        let end = if zoo::is(Bug::EmptyEpochStays) { start.plus(1) } else { start };
        self.starts.retain(|other, from| *other < epoch && *from < end);
        self.starts.insert(epoch, start);
        self.changes += 1;
    }

    /// Takes the epoch of a batch that a recovery reads: only a newer one counts.
    pub(super) fn note_batch(&mut self, epoch: LeaderEpoch, base_offset: Offset) {
        if self.latest().is_none_or(|latest| epoch > latest && !zoo::is(Bug::LaterEpochsUnseen)) {
            self.assign(epoch, base_offset);
        }
    }

    /// Forgets epochs that begin above the log's end. One that begins there has no record yet.
    pub(super) fn truncate_from_end(&mut self, end: Offset) {
        let before = self.starts.len();
        self.starts.retain(|_, start| *start <= end);
        self.changes += u64::from(self.starts.len() != before);
    }

    /// Forgets epochs that end at or below the log's start; the one that covers it begins there.
    pub(super) fn truncate_from_start(&mut self, log_start: Offset) {
        let covering = self.starts.iter().take_while(|(_, start)| **start <= log_start).last();
        let Some((epoch, start)) = covering.map(|(epoch, start)| (*epoch, *start)) else { return };
        let before = self.starts.len();
        self.starts.retain(|other, _| *other >= epoch && !zoo::is(Bug::DeletionTakesEpochs));
        self.starts.insert(epoch, log_start);
        self.changes += u64::from(self.starts.len() != before || start != log_start);
    }

    /// Forgets everything. That counts as a change even if there was nothing, so that a new log has a file, too.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.changes += 1;
    }

    /// The largest epoch at or below `epoch`, and where the next one begins; `None` if `epoch` is newer than all.
    pub(super) fn end_offset_for(&self, epoch: LeaderEpoch, log_end: Offset) -> Option<(LeaderEpoch, Offset)> {
        if epoch.0 < 0 {
            return None;
        }
        if self.latest() == Some(epoch) {
            return Some((epoch, log_end));
        }
        Mark::EndOfOlderEpoch.reached();
        let (_, end) = self.starts.range(LeaderEpoch(epoch.0.checked_add(1)?)..).next()?;
        let (floor, start) =
            self.starts.range(..=epoch).next_back().map_or((epoch, *end), |(floor, start)| (*floor, *start));
        Some((floor, if zoo::is(Bug::EpochEndsAtStart) { start } else { *end }))
    }

    /// The epoch to which `offset` belongs.
    pub(super) fn epoch_for(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.starts.iter().take_while(|(_, start)| **start <= offset).last().map(|(epoch, _)| *epoch)
    }

    /// Where an epoch began, if that is known.
    pub(super) fn start_of(&self, epoch: LeaderEpoch) -> Option<Offset> {
        self.starts.get(&epoch).copied()
    }

    /// Whether the file is behind.
    pub(super) fn is_behind(&self) -> bool {
        self.changes != self.written
    }

    /// Whether the file does not know the latest epoch.
    pub(super) fn owes_latest(&self) -> bool {
        self.latest() != self.latest_written
    }

    /// Whether the file has taken its place since this was asked for the last time.
    pub(super) fn take_new_name(&mut self) -> bool {
        std::mem::take(&mut self.has_new_name)
    }

    /// If the file is behind: writes the new one beside it.
    pub(super) fn write_beside(&mut self) -> Result<Option<WrittenEpochs>, DiskError> {
        if !self.is_behind() {
            return Ok(None);
        }
        if let Some(beside) = self.beside.as_ref().filter(|beside| beside.changes == self.changes) {
            return Ok(Some(beside.clone()));
        }
        let file = write_text(&*self.disk, &path_beside(&self.path), &self.text())?;
        self.beside = Some(WrittenEpochs { file, changes: self.changes });
        Ok(self.beside.clone())
    }

    /// Puts the synced file in the place of the old one, unless a newer one is on its way. The folder is then owed a sync.
    pub(super) fn replace(&mut self, changes: u64) -> Result<bool, DiskError> {
        if changes != self.changes || changes == self.written {
            return Ok(false);
        }
        if !zoo::is(Bug::EpochFileStays) {
            self.disk.rename(&path_beside(&self.path), &self.path)?;
        }
        (self.written, self.latest_written, self.has_new_name) = (changes, self.latest(), true);
        self.beside = None;
        Ok(true)
    }

    /// Writes the file if it is behind, for a caller who syncs all that is written before anything depends on it.
    pub(super) fn write(&mut self) -> Result<(), DiskError> {
        if self.write_beside()?.is_some() {
            self.replace(self.changes)?;
        }
        Ok(())
    }

    /// Follows its folder to a new name.
    pub(super) fn move_to(&mut self, directory: &Path) {
        self.path = directory.join(LEADER_EPOCH_CHECKPOINT);
    }

    fn text(&self) -> String {
        let lines: Vec<String> = self.starts.iter().map(|(epoch, start)| format!("{epoch} {start}")).collect();
        format_checkpoint(&lines)
    }
}

/// Epochs and offsets must both rise.
fn parse(lines: &[String]) -> Option<BTreeMap<LeaderEpoch, Offset>> {
    let mut starts = BTreeMap::new();
    let mut last = None;
    for line in lines {
        let (epoch, start) = line.split_once(' ')?;
        let entry = (epoch.parse::<i32>().ok()?, start.parse::<i64>().ok()?);
        if entry.0 < 0 || entry.1 < 0 || last.is_some_and(|(epoch, start)| entry.0 <= epoch || entry.1 <= start) {
            return None;
        }
        last = Some(entry);
        starts.insert(LeaderEpoch(entry.0), Offset(entry.1));
    }
    Some(starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::tests::memory_disk::MemoryDisk;

    const DIRECTORY: &str = "/logs/topic-0";
    const PATH: &str = "/logs/topic-0/leader-epoch-checkpoint";

    fn disk() -> Arc<MemoryDisk> {
        let disk = MemoryDisk::new();
        disk.create_directory(Path::new(DIRECTORY)).unwrap();
        disk
    }

    fn load(disk: &Arc<MemoryDisk>) -> (LeaderEpochCache, bool) {
        LeaderEpochCache::load(disk.clone(), Path::new(DIRECTORY)).unwrap()
    }

    fn filled(disk: &Arc<MemoryDisk>) -> LeaderEpochCache {
        let mut cache = load(disk).0;
        for (epoch, start) in [(0, 0), (2, 10), (5, 20)] {
            cache.assign(LeaderEpoch(epoch), Offset(start));
        }
        cache
    }

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let cache = filled(&disk());
        let end = |epoch| cache.end_offset_for(LeaderEpoch(epoch), Offset(33)).map(|(epoch, end)| (epoch.0, end.0));
        assert_eq!(end(5), Some((5, 33)));
        assert_eq!(end(2), Some((2, 20)));
        assert_eq!(end(4), Some((2, 20)), "an epoch without records ends where its forerunner does");
        assert_eq!(end(6), None);
        assert_eq!(end(-1), None);
        let mut cache = cache;
        cache.truncate_from_start(Offset(12));
        assert_eq!(cache.end_offset_for(LeaderEpoch(1), Offset(33)), Some((LeaderEpoch(1), Offset(12))));
        assert_eq!(cache.epoch_for(Offset(19)), Some(LeaderEpoch(2)));
        assert_eq!(cache.epoch_for(Offset(11)), None);
    }

    #[test]
    fn a_new_epoch_removes_what_contradicts_it() {
        let mut cache = filled(&disk());
        cache.assign(LeaderEpoch(6), Offset(15));
        assert_eq!(cache.text(), "0\n3\n0 0\n2 10\n6 15\n");
        cache.assign(LeaderEpoch(6), Offset(18));
        assert_eq!(cache.text(), "0\n3\n0 0\n2 10\n6 15\n", "an epoch begins once");
        cache.truncate_from_end(Offset(10));
        assert_eq!(cache.text(), "0\n2\n0 0\n2 10\n", "one that begins at the end may get records yet");
        cache.truncate_from_end(Offset(9));
        assert_eq!(cache.text(), "0\n1\n0 0\n");
    }

    #[test]
    fn the_file_is_replaced_only_after_it_was_synced_and_by_the_newest_only() {
        let disk = disk();
        let mut cache = filled(&disk);
        let WrittenEpochs { file, changes } = cache.write_beside().unwrap().unwrap();
        assert!(disk.read(PATH).is_none());
        file.sync().unwrap();
        assert!(cache.replace(changes).unwrap());
        assert_eq!(disk.read(PATH).unwrap(), b"0\n3\n0 0\n2 10\n5 20\n");
        assert!(cache.write_beside().unwrap().is_none());

        cache.assign(LeaderEpoch(7), Offset(40));
        let WrittenEpochs { changes, .. } = cache.write_beside().unwrap().unwrap();
        cache.assign(LeaderEpoch(8), Offset(50));
        assert!(!cache.replace(changes).unwrap());
        let (cache, is_trusted) = load(&disk);
        assert_eq!((cache.latest(), is_trusted), (Some(LeaderEpoch(5)), true));
    }

    #[test]
    fn a_file_that_does_not_rise_is_not_trusted() {
        let disk = disk();
        for text in ["0\n2\n1 5\n1 6\n", "0\n2\n1 5\n2 5\n", "0\n1\n-1 5\n", "0\n1\nx\n", "0\n2\n0 0\n"] {
            disk.write(PATH, text.as_bytes());
            let (cache, is_trusted) = load(&disk);
            assert_eq!((cache.latest(), is_trusted), (None, false), "{text:?}");
        }
    }
}
