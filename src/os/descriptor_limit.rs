//! How many files and sockets this process may hold open, and which of them are kept for files.
//!
//! It must not know who opens them.

use std::io;
use std::os::fd::RawFd;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of open file descriptors to the hard limit and says what it is now; `None` stands for no limit.
/// A broker holds one descriptor per connection and one per partition's active segment, so the usual soft limit of 1 024 is too low.
pub fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(getrlimit(Resource::Nofile).current)
}

/// The most descriptors that are kept for files.
const KEPT_FOR_FILES_MAX: u64 = 256;

/// Whether a socket has one of the last descriptors, which are kept for files: a quarter of all, or 256 if that is less. A log that cannot open its files
/// stops the broker, a connection too many is closed. The kernel gives the lowest number that is free, so a high one says how many are in use.
pub(super) fn is_kept_for_files(socket: RawFd) -> bool {
    let Some(limit) = getrlimit(Resource::Nofile).current else { return false };
    is_among_the_last(u64::try_from(socket).unwrap_or(0), limit)
}

fn is_among_the_last(descriptor: u64, limit: u64) -> bool {
    descriptor >= limit - (limit / 4).min(KEPT_FOR_FILES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_limit() {
        let hard = getrlimit(Resource::Nofile).maximum;
        assert_eq!(raise_descriptor_limit().unwrap(), hard);
        assert_eq!(raise_descriptor_limit().unwrap(), hard, "raising twice changes nothing");
    }

    #[test]
    fn the_last_descriptors_are_kept_for_files() {
        let first_kept = |limit| (0..limit).find(|descriptor| is_among_the_last(*descriptor, limit));
        assert_eq!(first_kept(100), Some(75));
        assert_eq!(first_kept(20_000), Some(19_744));
        assert_eq!(first_kept(0), None);
    }
}
