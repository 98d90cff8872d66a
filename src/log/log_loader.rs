//! Makes a log of what lies in a partition's folder: finishes what a crash interrupted, recovers what may be torn.
//!
//! It must not know the folder above, nor whose partition it is.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::env::{Disk, EntryKind};
use crate::log::error::LogError;
use crate::log::lazy_file::SegmentPlace;
use crate::log::log_file_name::{LOG, OFFSET_INDEX, TIME_INDEX, parse_file_name};
use crate::log::log_segment::{LogSegment, SegmentBytes};
use crate::log::settings::LogSettings;
use crate::log::unified_log::{LoadedLog, LogOffsetMetadata};
use crate::types::{Offset, WallTime};

/// What a loader needs to know beside the folder.
#[derive(Debug)]
pub(super) struct LogLoader<'a> {
    /// The file system.
    pub(super) disk: &'a Arc<dyn Disk>,
    /// The partition's folder.
    pub(super) directory: &'a Arc<Path>,
    /// The log's settings.
    pub(super) settings: &'a LogSettings,
    /// The present.
    pub(super) now: WallTime,
    /// Whether the last shutdown of the directory was clean, so that nothing can be torn.
    pub(super) was_clean: bool,
    /// What the checkpoints say.
    pub(super) recovery_point: Offset,
    /// What the checkpoints say.
    pub(super) log_start: Offset,
}

impl LogLoader<'_> {
    /// Loads the log.
    pub(super) fn load(&self) -> Result<LoadedLog, LogError> {
        let mut segments = self.open_segments()?;
        if segments.is_empty() {
            let segment = LogSegment::create(self.place(self.log_start), self.now)?;
            segments.insert(self.log_start, segment);
        }
        for segment in segments.values_mut() {
            segment.recover(self.settings, |_, _| Ok(()))?;
        }
        let (base, active) = segments.iter_mut().next_back().expect("there is at least one");
        let offset =
            active.find_next_offset().map_err(|error| LogError::malformed(self.directory, error.to_string()))?;
        let end = LogOffsetMetadata { offset, segment: *base, position: active.bytes() };
        let log_start = self.log_start.max(*segments.keys().next().expect("there is at least one"));
        Ok(LoadedLog { segments, log_start, recovery_point: self.recovery_point, end })
    }

    fn place(&self, base_offset: Offset) -> SegmentPlace {
        SegmentPlace { disk: Arc::clone(self.disk), directory: Arc::clone(self.directory), base_offset }
    }

    fn open_segments(&self) -> Result<BTreeMap<Offset, LogSegment>, LogError> {
        let mut found: BTreeMap<Offset, (bool, SegmentBytes)> = BTreeMap::new();
        for entry in self.disk.list(self.directory)? {
            let Some((offset, suffix)) = parse_file_name(&entry.name) else { continue };
            if entry.kind != EntryKind::File {
                continue;
            }
            let (is_there, bytes) = found.entry(offset).or_default();
            match suffix {
                LOG => (*is_there, bytes.log) = (true, entry.bytes),
                OFFSET_INDEX => bytes.offset_index = entry.bytes,
                TIME_INDEX => bytes.time_index = entry.bytes,
                _ => {}
            }
        }
        let logs = found.into_iter().filter(|(_, (is_there, _))| *is_there);
        Ok(logs.map(|(base, (_, bytes))| (base, LogSegment::new(self.place(base), bytes, self.now))).collect())
    }
}
