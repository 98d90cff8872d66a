//! The descriptors of the broker's process: one table for sockets and files, and who may have none.
//!
//! It must not know what a descriptor is for.

use crate::errno;

/// The table.
#[derive(Debug)]
pub(crate) struct Descriptors {
    pub(crate) sockets: u64,
    pub(crate) files: u64,
    /// How many sockets there may be, whatever the files are.
    pub(crate) sockets_max: u64,
    /// How many sockets and files there may be together, once somebody has said so.
    pub(crate) limit: Option<u64>,
    /// Whether it is decided already if this process has a limit.
    pub(crate) is_limit_drawn: bool,
    /// Until when there are none, and the error that says so.
    gone: Option<(u64, i32)>,
}

impl Descriptors {
    pub(crate) fn new() -> Descriptors {
        Descriptors { sockets: 0, files: 0, sockets_max: u64::MAX, limit: None, is_limit_drawn: false, gone: None }
    }

    /// Why no file can be opened at `now`, if so.
    pub(crate) fn shortage(&self, now: u64) -> Option<i32> {
        let gone = self.gone.filter(|(until, _)| now < *until).map(|(_, error)| error);
        let is_full = self.limit.is_some_and(|limit| self.sockets + self.files >= limit);
        gone.or_else(|| is_full.then_some(errno::EMFILE))
    }

    /// Why no connection can be accepted at `now`, if so.
    pub(crate) fn socket_shortage(&self, now: u64) -> Option<i32> {
        self.shortage(now).or_else(|| (self.sockets >= self.sockets_max).then_some(errno::EMFILE))
    }

    /// So many more than now, and not one beyond.
    pub(crate) fn leave_spare(&mut self, spare: u64) {
        self.limit = Some(self.sockets + self.files + spare);
    }

    /// None are to be had until then.
    pub(crate) fn run_out(&mut self, until: u64, error: i32) {
        self.gone = Some((until, error));
    }

    /// Descriptors are plenty again.
    pub(crate) fn heal(&mut self) {
        self.sockets_max = u64::MAX;
        self.limit = None;
        self.gone = None;
    }

    /// The process is gone, and with it all that it had.
    pub(crate) fn process_ends(&mut self) {
        *self = Descriptors { sockets_max: self.sockets_max, ..Descriptors::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_sockets_share_one_limit() {
        let mut descriptors = Descriptors::new();
        (descriptors.sockets, descriptors.files) = (2, 3);
        descriptors.leave_spare(1);
        assert_eq!(descriptors.shortage(0), None);
        descriptors.files += 1;
        assert_eq!(
            (descriptors.shortage(0), descriptors.socket_shortage(0)),
            (Some(errno::EMFILE), Some(errno::EMFILE))
        );
        descriptors.sockets -= 1;
        assert_eq!(descriptors.socket_shortage(0), None);
    }

    #[test]
    fn a_shortage_passes_with_time_and_with_the_process() {
        let mut descriptors = Descriptors::new();
        descriptors.run_out(10, errno::ENFILE);
        assert_eq!((descriptors.shortage(9), descriptors.shortage(10)), (Some(errno::ENFILE), None));
        descriptors.process_ends();
        assert_eq!(descriptors.shortage(9), None);
    }
}
