//! One simulated file: what its readers see, what a power cut would leave of it, and what is still undecided.
//!
//! It must not know names or chance. Files only grow at their end and are cut, so the durable image is the first `shared` bytes of
//! what readers see, then `old_tail`: durable bytes that a cut took away and no sync has confirmed.

use klamm::types::WallTime;

/// How large the parts are in which a disk keeps or loses what was not synced.
pub(crate) const SECTOR_BYTES: usize = 512;

/// What the medium shows instead of what was written.
#[derive(Clone, Debug)]
pub(crate) enum Shown {
    /// The byte, with these bits turned.
    Flipped(u8),
    /// Other bytes.
    Other(Vec<u8>),
    /// An error.
    Error,
}

/// A range of a file that the medium does not hold as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Blemish {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) shown: Shown,
}

/// A file.
#[derive(Debug, Default)]
pub(crate) struct Inode {
    /// The name by which chance knows it, from the path at which it was made.
    pub(crate) entity: u64,
    /// The disk on which it lies.
    pub(crate) volume: usize,
    pub(crate) data: Vec<u8>,
    /// How much of `data`, from its start, is durable.
    pub(crate) shared: usize,
    /// Durable bytes behind `shared` that the visible file no longer has.
    pub(crate) old_tail: Vec<u8>,
    /// Bytes that were cut before they were synced, and where they began: what a torn disk may show instead.
    pub(crate) ghost: Option<(usize, Vec<u8>)>,
    /// Ranges that a failed sync lost while calling them clean: durable in name, holes after a power cut.
    pub(crate) holes: Vec<(usize, usize)>,
    pub(crate) modified: WallTime,
    /// Directory entries that show it, and handles that hold it.
    pub(crate) links: u32,
    pub(crate) handles: u32,
    /// Whether a sync of it has failed in this process.
    pub(crate) poisoned: bool,
    /// It lies on a part of the disk that may lose what was synced.
    pub(crate) is_fragile: bool,
    /// The last read of it was wrong, so that the next one is right.
    pub(crate) was_misread: bool,
    /// Where the medium shows something else than `data`. Nothing that was written since.
    pub(crate) blemishes: Vec<Blemish>,
}

impl Inode {
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
    }

    pub(crate) fn truncate(&mut self, bytes: usize) {
        if bytes >= self.data.len() {
            // Growing by a cut makes zeroes, as on Linux.
            self.data.resize(bytes, 0);
            return;
        }
        let unsynced_from = bytes.max(self.shared);
        if unsynced_from < self.data.len() {
            self.ghost = Some((unsynced_from, self.data[unsynced_from..].to_vec()));
        }
        if bytes < self.shared {
            let mut tail = self.durable()[bytes..self.shared].to_vec();
            tail.append(&mut self.old_tail);
            self.old_tail = tail;
            self.shared = bytes;
        }
        // What is written where a hole was cut away is written anew.
        self.holes.iter_mut().for_each(|(_, to)| *to = (*to).min(bytes));
        self.holes.retain(|(from, to)| from < to);
        self.cut_blemishes(bytes);
        self.data.truncate(bytes);
    }

    /// Makes durable what a sync covered that began when the file was `covered` bytes long. `cut` says whether the file was cut
    /// since; `covered` is then the shortest that it has been.
    pub(crate) fn synced(&mut self, covered: usize, cut: bool) {
        if !cut || covered > self.shared {
            self.old_tail.clear();
            self.ghost = None;
        }
        self.shared = self.shared.max(covered.min(self.data.len()));
    }

    /// A sync failed and the pages are called clean all the same: later syncs will not write them.
    pub(crate) fn lost_as_clean(&mut self) {
        if self.shared < self.data.len() {
            self.holes.push((self.shared, self.data.len()));
        }
        self.synced(self.data.len(), false);
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.shared < self.data.len() || !self.old_tail.is_empty() || !self.holes.is_empty()
    }

    /// What the disk holds for sure, with `self.holes` already empty in it.
    pub(crate) fn durable(&self) -> Vec<u8> {
        let mut image = self.data[..self.shared].to_vec();
        image.extend_from_slice(&self.old_tail);
        for (from, to) in &self.holes {
            let to = (*to).min(self.shared);
            if let Some(hole) = image.get_mut(*from..to.max(*from)) {
                hole.fill(0);
            }
        }
        image
    }

    /// The cache drops pages that a failed sync called clean: readers see what the disk has.
    pub(crate) fn show_holes(&mut self) {
        if !self.holes.is_empty() {
            let image = self.durable();
            self.data[..self.shared].copy_from_slice(&image[..self.shared]);
            self.holes.clear();
        }
    }

    fn cut_blemishes(&mut self, bytes: usize) {
        self.blemishes.iter_mut().for_each(|blemish| blemish.to = blemish.to.min(bytes));
        self.blemishes.retain(|blemish| blemish.from < blemish.to);
    }

    /// Turns bytes that were read from `start` on into what the medium shows. Says whether they can be read at all.
    pub(crate) fn show(&self, start: usize, bytes: &mut [u8]) -> bool {
        let end = start.saturating_add(bytes.len());
        let mut is_readable = true;
        for Blemish { from, to, shown } in &self.blemishes {
            for at in start.max(*from)..end.min(*to) {
                match shown {
                    Shown::Flipped(bits) => bytes[at - start] ^= bits,
                    Shown::Other(other) => bytes[at - start] = other.get(at - from).copied().unwrap_or(0),
                    Shown::Error => is_readable = false,
                }
            }
        }
        is_readable
    }

    /// The file after a power cut that left this image.
    pub(crate) fn replace(&mut self, image: Vec<u8>) {
        self.shared = image.len();
        self.cut_blemishes(image.len());
        self.data = image;
        self.old_tail.clear();
        self.ghost = None;
        self.holes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inode(durable: &[u8], unsynced: &[u8]) -> Inode {
        let mut inode = Inode::default();
        inode.append(durable);
        inode.synced(durable.len(), false);
        inode.append(unsynced);
        inode
    }

    #[test]
    fn a_cut_that_is_not_synced_leaves_the_old_bytes_durable() {
        let mut inode = inode(b"abcdef", b"");
        inode.truncate(4);
        inode.truncate(2);
        inode.append(b"XY");
        assert_eq!(inode.data, b"abXY");
        assert_eq!(inode.durable(), b"abcdef");
        inode.synced(4, false);
        assert_eq!(inode.durable(), b"abXY");
    }

    #[test]
    fn a_sync_covers_only_what_was_there_when_it_began() {
        let mut inode = inode(b"ab", b"cd");
        let covered = inode.data.len();
        inode.append(b"ef");
        inode.synced(covered, false);
        assert_eq!(inode.durable(), b"abcd");
        assert!(inode.is_dirty());
    }

    #[test]
    fn a_blemish_is_shown_until_its_bytes_are_written_anew() {
        let mut inode = inode(b"abcdef", b"");
        inode.blemishes.push(Blemish { from: 1, to: 2, shown: Shown::Flipped(1) });
        inode.blemishes.push(Blemish { from: 4, to: 6, shown: Shown::Other(b"XY".to_vec()) });
        let shown = |inode: &Inode| {
            let mut bytes = inode.data.clone();
            assert!(inode.show(0, &mut bytes));
            bytes
        };
        assert_eq!(shown(&inode), b"accdXY");
        let mut part = *b"f";
        assert!(inode.show(5, &mut part) && part == *b"Y");
        inode.truncate(5);
        inode.append(b"f");
        assert_eq!(shown(&inode), b"accdXf");
        inode.blemishes.push(Blemish { from: 0, to: 1, shown: Shown::Error });
        assert!(!inode.show(0, &mut [0; 6]) && inode.show(1, &mut [0; 5]));
    }

    #[test]
    fn bytes_lost_as_clean_are_zero_after_a_power_cut_and_no_sync_brings_them_back() {
        let mut inode = inode(b"ab", b"cd");
        inode.lost_as_clean();
        inode.append(b"ef");
        inode.synced(6, false);
        assert_eq!(inode.data, b"abcdef");
        assert_eq!(inode.durable(), b"ab\0\0ef");
        inode.truncate(3);
        inode.append(b"XYZ");
        assert_eq!(inode.durable(), b"ab\0\0ef", "the cut is not durable yet");
        inode.synced(6, false);
        assert_eq!(inode.durable(), b"ab\0XYZ");
    }
}
