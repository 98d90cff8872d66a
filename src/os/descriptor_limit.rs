//! Raises the number of files and sockets that this process may hold open.
//!
//! It must not know who opens them.

use std::io;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_limit() {
        let hard = getrlimit(Resource::Nofile).maximum;
        assert_eq!(raise_descriptor_limit().unwrap(), hard);
        assert_eq!(raise_descriptor_limit().unwrap(), hard, "raising twice changes nothing");
    }
}
