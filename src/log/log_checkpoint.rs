//! The checkpoints of all log directories: up to where each log is on disk, and where it starts.
//!
//! New ones are written beside the old, synced, and put in their place. It must not run a sync itself where others wait for the caller: it
//! says what is to be synced next, and takes the outcome.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::{DiskError, SyncJob};
use crate::log::checkpoint_file::NextText;
use crate::log::error::LogError;
use crate::log::log_directory::LogDirectory;
use crate::log::log_manager::LogManager;
use crate::log::offset_checkpoint::Offsets;
use crate::log::unified_log::UnifiedLog;
use crate::marks::Mark;
use crate::types::{Offset, TopicPartition};

/// Checkpoints on their way to the disk. Its job is to be run, and the outcome to be handed to [`LogManager::checkpoint_synced`], until
/// that gives nothing back.
#[must_use]
#[derive(Debug)]
pub struct Checkpoint {
    stage: Stage,
    /// So many moves of deleted folders are on disk when it is.
    moves: usize,
    /// Of which partitions the checkpoints of each log directory tell.
    told: Vec<(Arc<Path>, BTreeSet<TopicPartition>)>,
    /// Logs of which it is the first to tell.
    new_logs: Vec<Arc<UnifiedLog>>,
    /// What kept the first of the directories from having one.
    error: Option<LogError>,
}

#[derive(Debug)]
enum Stage {
    /// They lie beside the old ones.
    Beside(Vec<NextText>),
    /// They have taken their place in these directories.
    InPlace(BTreeSet<PathBuf>),
    /// These folders are marked as newer than the checkpoints no more.
    Unmarked(Vec<PathBuf>),
}

impl Checkpoint {
    /// What is to be synced next.
    pub fn job(&self) -> SyncJob {
        match &self.stage {
            Stage::Beside(files) => SyncJob::Files {
                files: files.iter().map(|next| Arc::clone(&next.file)).collect(),
                directories: Vec::new(),
            },
            Stage::InPlace(directories) => {
                SyncJob::Files { files: Vec::new(), directories: directories.iter().cloned().collect() }
            }
            Stage::Unmarked(folders) => SyncJob::Files { files: Vec::new(), directories: folders.clone() },
        }
    }
}

/// What a checkpoint comes to when nothing of it is left to do.
fn ended(error: Option<LogError>) -> Result<Option<Checkpoint>, LogError> {
    match error {
        Some(error) => {
            Mark::CheckpointFails.reached();
            Err(error)
        }
        None => Ok(None),
    }
}

/// Says of these logs that the checkpoints are about them, and returns the folders that are owed a sync for that. What the disk refuses is tried again with the
/// next checkpoint.
fn unmark(new_logs: &[Arc<UnifiedLog>], error: &mut Option<LogError>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for log in new_logs {
        match log.note_checkpointed() {
            Ok(folder) => folders.extend(folder),
            Err(refusal) => *error = error.take().or(Some(refusal.into())),
        }
    }
    folders
}

impl LogManager {
    /// Begins to write recovery points and log starts of all directories, after a look whether the logs are still where they were.
    pub fn begin_checkpoint(&self) -> Checkpoint {
        self.logs().iter().for_each(|log| log.look_after_place());
        let online = self.directories.iter().filter(|directory| directory.is_online());
        self.begin_checkpoint_of(online, self.deleted.moves())
    }

    /// Takes the outcome of a checkpoint's sync, and gives it back if it needs another. What a directory refused is told at the end, when
    /// the others have theirs; a failed sync at once.
    pub fn checkpoint_synced(
        &self,
        checkpoint: Checkpoint,
        result: Result<(), DiskError>,
    ) -> Result<Option<Checkpoint>, LogError> {
        let Checkpoint { stage, moves, mut told, mut new_logs, mut error } = checkpoint;
        result.map_err(LogError::Sync)?;
        match stage {
            Stage::Beside(files) => {
                let mut directories = BTreeSet::new();
                for next in files {
                    match next.take_place(&*self.disk) {
                        Ok(directory) => drop(directories.insert(directory)),
                        Err(refusal) => {
                            told.retain(|(directory, _)| !next.is_in(directory));
                            error = error.or(Some(refusal.into()));
                        }
                    }
                }
                Ok(Some(Checkpoint { stage: Stage::InPlace(directories), moves, told, new_logs, error }))
            }
            Stage::InPlace(_) => {
                if error.is_none() {
                    self.deleted.synced(moves);
                }
                new_logs.retain(|log| told.iter().any(|(directory, _)| log.is_in(directory)));
                for (path, partitions) in told {
                    let directory = self.directories.iter().find(|directory| directory.path == path);
                    directory.into_iter().for_each(|directory| directory.note_checkpointed(partitions.clone()));
                }
                let folders = unmark(&new_logs, &mut error);
                if folders.is_empty() {
                    return ended(error);
                }
                let (stage, told, new_logs) = (Stage::Unmarked(folders), Vec::new(), Vec::new());
                Ok(Some(Checkpoint { stage, moves, told, new_logs, error }))
            }
            Stage::Unmarked(_) => ended(error),
        }
    }

    /// Writes recovery points and log starts of all directories, and waits until they are on disk.
    pub fn checkpoint(&self) -> Result<(), LogError> {
        self.complete_checkpoint(self.begin_checkpoint())
    }

    /// The same for one directory.
    pub(super) fn checkpoint_directory(&self, directory: &LogDirectory) -> Result<(), LogError> {
        self.complete_checkpoint(self.begin_checkpoint_of([directory], 0))
    }

    /// After a recovery everything is on disk: says so at once, or a broker that is killed within a minute of each start would read more
    /// and more of its logs. A checkpoint that cannot be written costs only that.
    pub(super) fn note_recovery(&self) -> Result<(), LogError> {
        if self.directories.iter().all(|directory| directory.was_clean) {
            return Ok(());
        }
        match self.checkpoint() {
            Err(error @ LogError::Sync(_)) => Err(error),
            Err(error) => {
                tracing::warn!(%error, "recovery points could not be written; the next recovery will take longer");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn complete_checkpoint(&self, checkpoint: Checkpoint) -> Result<(), LogError> {
        let mut unfinished = Some(checkpoint);
        while let Some(checkpoint) = unfinished {
            let result = checkpoint.job().run(&*self.disk);
            unfinished = self.checkpoint_synced(checkpoint, result)?;
        }
        Ok(())
    }

    fn begin_checkpoint_of<'a>(
        &self,
        directories: impl IntoIterator<Item = &'a LogDirectory>,
        moves: usize,
    ) -> Checkpoint {
        let (mut files, mut told, mut new_logs, mut error) = (Vec::new(), Vec::new(), Vec::new(), None);
        for directory in directories {
            let logs: Vec<_> = self.logs().into_iter().filter(|log| log.is_in(&directory.path)).collect();
            // Before any of them is asked: one that is deleted meanwhile is told of, and what takes its place has to know that.
            directory.note_next_checkpoint(logs.iter().map(|log| log.topic_partition()));
            new_logs.extend(logs.into_iter().filter(|log| log.is_new()));
            let (recovery_points, log_starts) = self.offsets_of(directory);
            match directory.write_checkpoints(&*self.disk, &recovery_points, &log_starts) {
                Ok(written) => {
                    files.extend(written);
                    told.push((Arc::clone(&directory.path), recovery_points.into_keys().collect()));
                }
                Err(refusal) => error = error.or(Some(refusal.into())),
            }
        }
        Checkpoint { stage: Stage::Beside(files), moves, told, new_logs, error }
    }

    fn offsets_of(&self, directory: &LogDirectory) -> (Offsets, Offsets) {
        let (mut recovery_points, mut log_starts) = (Offsets::new(), Offsets::new());
        for log in self.logs().iter().filter(|log| log.is_in(&directory.path)) {
            let Some((recovery_point, log_start)) = log.checkpoint() else { continue };
            recovery_points.insert(log.topic_partition().clone(), recovery_point);
            if let Some(log_start) = log_start {
                log_starts.insert(log.topic_partition().clone(), log_start);
            }
        }
        // What is not readable now may be so one day, and needs its lines then.
        for (partition, log) in self.unreadable.iter().filter(|(_, log)| log.log_directory == directory.path) {
            recovery_points.insert(partition.clone(), log.recovery_point);
            if log.log_start > Offset(0) {
                log_starts.insert(partition.clone(), log.log_start);
            }
        }
        (recovery_points, log_starts)
    }
}
