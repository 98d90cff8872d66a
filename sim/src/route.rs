//! The way between the two ends of a connection: what it is like for good, and what will befall it.
//!
//! It must not know what travels on it.

use crate::keyed::{Draw, Site};
use crate::stream::Side;

const SECOND: u64 = 1_000_000_000;

/// Something that befalls a connection after so many pieces more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mishap {
    pub(crate) pieces_left: u64,
    pub(crate) site: Site,
    pub(crate) draw: Draw,
}

/// A way.
#[derive(Debug, Default)]
pub(crate) struct Route {
    /// What each piece takes beyond the drawn time, in nanoseconds.
    pub(crate) distance: u64,
    /// Bytes that pass in a second, if that is bounded.
    pub(crate) bandwidth: Option<u64>,
    /// How far apart the client's small pieces come, if it is slow, in nanoseconds.
    pub(crate) drip: Option<u64>,
    /// Reads of the broker that still bring one byte each.
    pub(crate) one_byte_reads: u64,
    /// Nothing protects its bits.
    pub(crate) is_unprotected: bool,
    /// What will befall it.
    mishaps: Vec<Mishap>,
}

impl Route {
    /// A way on which a piece takes so long more.
    pub(crate) fn of(distance: u64) -> Route {
        Route { distance, ..Route::default() }
    }

    pub(crate) fn expect(&mut self, mishap: Mishap) {
        self.mishaps.push(mishap);
    }

    /// Counts a piece. Says what befalls the way with it.
    pub(crate) fn mishap(&mut self) -> Option<Mishap> {
        self.mishaps.iter_mut().for_each(|mishap| mishap.pieces_left = mishap.pieces_left.saturating_sub(1));
        let due = self.mishaps.iter().position(|mishap| mishap.pieces_left == 0)?;
        Some(self.mishaps.swap_remove(due))
    }

    /// The longest piece of `bytes` that `side` sends at once.
    pub(crate) fn piece(&self, side: Side, bytes: u64) -> u64 {
        match self.drip {
            Some(_) if side == Side::Client => bytes.min((bytes / 32).max(1)),
            _ => bytes,
        }
    }

    /// How long the way is busy with a piece of `bytes` that `side` sends, in nanoseconds.
    pub(crate) fn busy(&self, side: Side, bytes: u64) -> u64 {
        let passing = self.bandwidth.map_or(0, |bandwidth| bytes.saturating_mul(SECOND) / bandwidth);
        passing + self.drip.filter(|_| side == Side::Client).unwrap_or(0)
    }

    /// Whether a piece takes longer than the drawn time.
    pub(crate) fn is_slow(&self) -> bool {
        self.distance > 0 || self.bandwidth.is_some() || self.drip.is_some()
    }

    /// It is a short, wide and safe way again.
    pub(crate) fn heal(&mut self) {
        *self = Route { is_unprotected: self.is_unprotected, ..Route::default() };
    }
}
