//! Files that are replaced as a whole: Kafka's checkpoints, which are small texts, and what else is written that way.
//!
//! It must not know what the lines mean; the files over it (offset checkpoints, leader epochs) do.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::{Disk, DiskError, DiskFile, OpenMode};
use crate::log::error::LogError;

/// The only version of a checkpoint's format.
const VERSION: &str = "0";
/// Longest text file that is read: a damaged length must not become memory.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// Reads a whole small file; `None` if it is not there.
pub(super) fn read_text(disk: &dyn Disk, path: &Path) -> Result<Option<String>, LogError> {
    let file = match disk.open(path, OpenMode::Read) {
        Err(error) if error.is_not_found() => return Ok(None),
        result => result?,
    };
    let bytes = file.bytes()?;
    if bytes > TEXT_BYTES_MAX {
        return Err(LogError::malformed(path, "it is too large"));
    }
    let mut buffer = vec![0; usize::try_from(bytes).unwrap_or(0)];
    let read = file.read_at(0, &mut buffer)?;
    buffer.truncate(read);
    String::from_utf8(buffer).map(Some).map_err(|_| LogError::malformed(path, "it is not UTF-8"))
}

/// Replaces a small file by this text: see [`replace_file`].
pub(super) fn replace_text(disk: &dyn Disk, path: &Path, text: &str) -> Result<(), LogError> {
    replace_file(disk, path, text.as_bytes())
}

/// Replaces a file so that a crash leaves the old or the new one: written beside it, synced, renamed. Waits for two syncs.
pub(super) fn replace_file(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<(), LogError> {
    let next = NextText { path: path.to_path_buf(), file: write_file(disk, &path_beside(path), content)? };
    next.file.sync().map_err(LogError::Sync)?;
    let directory = next.take_place(disk)?;
    disk.sync_directory(&directory).map_err(LogError::Sync)
}

/// The next content of a file, written beside it.
#[derive(Debug)]
pub(super) struct NextText {
    /// Where it will be.
    path: PathBuf,
    /// What is owed a sync before.
    pub(super) file: Arc<dyn DiskFile>,
}

impl NextText {
    /// Whether it will be in this directory.
    pub(super) fn is_in(&self, directory: &Path) -> bool {
        self.path.parent() == Some(directory)
    }

    /// Lets it take its place, which is owed a sync of the directory. Returns that.
    pub(super) fn take_place(&self, disk: &dyn Disk) -> Result<PathBuf, DiskError> {
        disk.rename(&path_beside(&self.path), &self.path)?;
        Ok(self.path.parent().expect("a file lies in a directory").to_path_buf())
    }
}

/// Writes what is to take the place of the small file at `path`.
pub(super) fn write_beside(disk: &dyn Disk, path: &Path, text: &str) -> Result<NextText, DiskError> {
    Ok(NextText { path: path.to_path_buf(), file: write_text(disk, &path_beside(path), text)? })
}

/// Writes a small file, which is owed a sync.
pub(super) fn write_text(disk: &dyn Disk, path: &Path, text: &str) -> Result<Arc<dyn DiskFile>, DiskError> {
    write_file(disk, path, text.as_bytes())
}

fn write_file(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<Arc<dyn DiskFile>, DiskError> {
    let file = disk.open(path, OpenMode::CreateEmpty)?;
    file.append(&[IoSlice::new(content)])?;
    Ok(file)
}

/// Where the next content of a file is written before it replaces it.
pub(super) fn path_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// The text of a checkpoint with these lines.
pub(super) fn format_checkpoint(lines: &[String]) -> String {
    let mut text = format!("{VERSION}\n{}\n", lines.len());
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The lines of a checkpoint; `None` if the file is not there. A wrong version or count is an error.
pub(super) fn read_checkpoint(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<String>>, LogError> {
    let text = read_text(disk, path)?;
    text.map(|text| checkpoint_lines(path, &text)).transpose()
}

/// The lines of the checkpoint at `path` that has this text.
pub(super) fn checkpoint_lines(path: &Path, text: &str) -> Result<Vec<String>, LogError> {
    let mut lines = text.lines();
    if lines.next() != Some(VERSION) {
        return Err(LogError::malformed(path, "its version is not 0"));
    }
    let count: Option<usize> = lines.next().and_then(|count| count.parse().ok());
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    if count != Some(lines.len()) {
        return Err(LogError::malformed(path, "the number of its lines is not what its second line says"));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::log::tests::memory_disk::MemoryDisk;

    const PATH: &str = "/logs/checkpoint";

    #[test]
    fn a_checkpoint_survives_and_keeps_nothing_beside_it() {
        let disk = MemoryDisk::new();
        disk.create_directory(Path::new("/logs")).unwrap();
        let lines = ["topic 0 5".to_owned(), "topic 1 7".to_owned()];
        replace_text(&*disk, Path::new(PATH), &format_checkpoint(&lines)).unwrap();
        assert_eq!(disk.read(PATH).unwrap(), b"0\n2\ntopic 0 5\ntopic 1 7\n");
        assert_eq!(read_checkpoint(&*disk, Path::new(PATH)).unwrap().unwrap(), lines);
        assert_eq!(disk.paths(), [PATH]);
    }

    #[test]
    fn a_failed_sync_leaves_the_old_checkpoint() {
        let disk = MemoryDisk::new();
        disk.create_directory(Path::new("/logs")).unwrap();
        replace_text(&*disk, Path::new(PATH), "0\n0\n").unwrap();
        disk.faults.fails_sync.store(true, Ordering::Relaxed);
        replace_text(&*disk, Path::new(PATH), "0\n1\nx\n").unwrap_err();
        assert_eq!(disk.read(PATH).unwrap(), b"0\n0\n");
    }

    #[test]
    fn a_wrong_version_or_count_is_an_error_and_a_missing_file_is_none() {
        let disk = MemoryDisk::new();
        assert!(read_checkpoint(&*disk, Path::new(PATH)).unwrap().is_none());
        for text in ["", "1\n0\n", "0\n", "0\nx\n", "0\n2\na\n", "0\n1\na\nb\n", "0\n-1\n"] {
            disk.write(PATH, text.as_bytes());
            assert!(read_checkpoint(&*disk, Path::new(PATH)).is_err(), "{text:?}");
        }
        disk.write(PATH, &[0xff, 0xfe]);
        assert!(read_checkpoint(&*disk, Path::new(PATH)).is_err());
    }
}
