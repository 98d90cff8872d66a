//! How a client treats its connection: how long it waits, how often it is slow, leaves in the middle, or says that it is done writing.
//!
//! It must not know what is sent. In a calm run nobody has bad habits.

use klamm::types::Instant;

use super::{ClientConnection, ClientContext};
use crate::keyed::{Draw, Site};

const MILLISECOND: u64 = 1_000_000;
const MILLION: u32 = 1_000_000;

/// What one client is like in one run. Probabilities are parts in a million, asked at each step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// It resets its connection.
    pub(crate) resets: u32,
    /// It closes its connection.
    pub(crate) closes: u32,
    /// It says that it will write no more, and waits for what is open.
    pub(crate) half_closes: u32,
    /// It does not read for a while.
    pub(crate) is_slow: u32,
    /// It resets its connection right behind a request.
    pub(crate) runs_away: u32,
    /// How long it waits for an answer before it gives the connection up.
    pub(crate) patience_ns: u64,
}

/// What a client does beside its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whim {
    Work,
    Reset,
    Close,
    HalfClose,
    Sleep(u64),
}

impl Habits {
    /// What a seed draws: in half of the runs a client has none of a habit.
    pub(crate) fn draw(draw: Draw) -> Habits {
        let often = |part: u64, parts: [u32; 4]| parts[usize::try_from(draw.part(part).below(4)).unwrap_or(0)];
        Habits {
            resets: often(40, [0, 0, 2_000, 30_000]),
            closes: often(41, [0, 0, 2_000, 30_000]),
            half_closes: often(42, [0, 0, 5_000, 50_000]),
            is_slow: often(43, [0, 0, 20_000, 200_000]),
            runs_away: often(45, [0, 0, 10_000, 50_000]),
            patience_ns: draw.part(44).between(200, 3_000) * MILLISECOND,
        }
    }

    /// Those of a client that only works.
    pub(crate) fn none() -> Habits {
        Habits { resets: 0, closes: 0, half_closes: 0, is_slow: 0, runs_away: 0, patience_ns: 3_000 * MILLISECOND }
    }

    /// What it feels like now. There is only work in a calm run.
    pub(crate) fn whim(&self, context: &ClientContext<'_>, client: u32) -> Whim {
        let total = self.resets + self.closes + self.half_closes + self.is_slow;
        if context.is_calm || total == 0 {
            return Whim::Work;
        }
        let draw = context.world.value(Site::ClientHabit, u64::from(client));
        let mut left = u32::try_from(draw.below(u64::from(MILLION))).unwrap_or(MILLION);
        let whims = [
            (self.resets, Whim::Reset),
            (self.closes, Whim::Close),
            (self.half_closes, Whim::HalfClose),
            (self.is_slow, Whim::Sleep(draw.part(0).exponential(20 * MILLISECOND))),
        ];
        for (parts, whim) in whims {
            if left < parts {
                return whim;
            }
            left -= parts;
        }
        Whim::Work
    }

    /// Whether it runs away from the request that it has just sent.
    pub(crate) fn runs_away(&self, context: &ClientContext<'_>, client: u32) -> bool {
        let may = !context.is_calm && self.runs_away > 0;
        may && context.world.value(Site::RunsAway, u64::from(client)).happens(self.runs_away)
    }

    /// When it gives the connection up, if nothing comes. In a calm run it waits for ever: the scheduler looks whether that is too long.
    pub(crate) fn gives_up_at(&self, context: &ClientContext<'_>, connection: &ClientConnection) -> Option<Instant> {
        let since = connection.waits_since().filter(|_| !context.is_calm)?;
        Some(Instant(since.0.saturating_add(self.patience_ns)))
    }
}
