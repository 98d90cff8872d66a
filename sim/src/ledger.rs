//! What the simulated disk has destroyed of bytes that were synced: which file, which range, and how.
//!
//! It must not know segments or records; it keeps the file's bytes as they were, so that a checker can find out what lay there.

use std::path::PathBuf;
use std::sync::Arc;

use crate::keyed::Site;

/// Synced bytes that the disk does not give back as they were.
#[derive(Clone, Debug)]
pub struct Destroyed {
    /// The file, by the path at which it was made.
    pub path: PathBuf,
    /// The first byte that is wrong or gone.
    pub from: u64,
    /// The byte behind the last one.
    pub to: u64,
    /// What did it.
    pub how: Site,
    /// The whole file as it was before.
    pub bytes: Arc<[u8]>,
}

/// The list of all of them, in order.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Destroyed>,
}

impl Ledger {
    pub(crate) fn note(&mut self, destroyed: Destroyed) {
        if destroyed.from < destroyed.to {
            self.entries.push(destroyed);
        }
    }

    pub(crate) fn entries(&self) -> &[Destroyed] {
        &self.entries
    }
}
