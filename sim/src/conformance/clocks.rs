//! Clauses about the clock.
//!
//! It must not know who made it.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use klamm::env::Clock;
use klamm::types::{Instant, Now};

use crate::conformance::{Clause, Failure, Makers, Outcome, SimMakers, SimulatedClause, Worlds, ensure, table};
use crate::flaw::Flaw;

/// How long one wait is.
const WAIT: Duration = Duration::from_millis(20);
/// How far the two clocks may part while they are read, one after the other, on a busy machine.
const PARTED_MS_MAX: i64 = 5;
/// How many waits may go wrong: one may end early, and somebody may set the wall clock just then.
const WAITS: usize = 60;

pub(super) fn clauses<M: Makers>() -> Vec<Clause<M>> {
    table! { Clause:
        instant_never_goes_back, ClockGoesBack,
            "The instant never goes back, neither from one reading to the next nor over a wait.";
        wait_moves_the_instant, ClockRunsSlow,
            "A wait in a selector that nothing ends moves the instant by its timeout, or more.";
        wall_goes_with_the_instant, WallStandsStill,
            "While nobody sets it, the wall time goes on as far as the instant that is told with it.";
        stopwatch_reads_the_instant, StopwatchOfItsOwn,
            "The stopwatch reads what the instant reads.";
    }
}

pub(super) fn simulated_clauses() -> Vec<SimulatedClause> {
    table! { SimulatedClause:
        wall_jumps_alone, WallNeverJumps,
            "Setting the wall clock, forward or back, moves the wall time by as much and leaves the instant.";
    }
}

/// The clock under test, and the times before and after a wait that nothing should end.
fn wait<M: Makers>(makers: &mut M, selector: &mut M::Selector, clock: &Arc<dyn Clock>) -> Result<[Now; 2], Failure> {
    let before = clock.now();
    match makers.wait(selector, WAIT) {
        Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
        _ => {}
    }
    Ok([before, clock.now()])
}

fn instant_never_goes_back<M: Makers>(makers: &mut M) -> Outcome {
    let (clock, mut selector) = (makers.clock(), makers.selector()?);
    let mut last = Instant(0);
    for _ in 0..3 {
        for now in wait(makers, &mut selector, &clock)?.into_iter().chain((0..100).map(|_| clock.now())) {
            ensure!(now.instant >= last, "{:?} after {last:?}", now.instant);
            last = now.instant;
        }
    }
    Ok(())
}

fn wait_moves_the_instant<M: Makers>(makers: &mut M) -> Outcome {
    let (clock, mut selector) = (makers.clock(), makers.selector()?);
    for _ in 0..WAITS {
        let [before, after] = wait(makers, &mut selector, &clock)?;
        if u128::from(after.instant.0.saturating_sub(before.instant.0)) >= WAIT.as_nanos() {
            return Ok(());
        }
    }
    Err(format!("not one of {WAITS} waits took {WAIT:?}").into())
}

fn wall_goes_with_the_instant<M: Makers>(makers: &mut M) -> Outcome {
    let (clock, mut selector) = (makers.clock(), makers.selector()?);
    for _ in 0..WAITS {
        let [before, after] = wait(makers, &mut selector, &clock)?;
        let passed_ms = i64::try_from((after.instant.0 - before.instant.0) / 1_000_000).unwrap_or(i64::MAX);
        let parted_ms = (after.wall.0 - before.wall.0) - passed_ms;
        // A wait that ended at once would let a clock that stands still pass.
        if passed_ms > 2 * PARTED_MS_MAX && parted_ms.abs() <= PARTED_MS_MAX {
            return Ok(());
        }
    }
    Err(format!("the clocks part by more than {PARTED_MS_MAX} ms in each of {WAITS} waits").into())
}

fn stopwatch_reads_the_instant<M: Makers>(makers: &mut M) -> Outcome {
    let (clock, mut selector) = (makers.clock(), makers.selector()?);
    for _ in 0..3 {
        let before = clock.now().instant;
        let read = clock.stopwatch();
        let [after, _] = wait(makers, &mut selector, &clock)?;
        let after = after.instant;
        ensure!(before <= read && read <= after, "the stopwatch reads {read:?} between {before:?} and {after:?}");
    }
    Ok(())
}

fn wall_jumps_alone(worlds: &Worlds) -> Outcome {
    let makers = SimMakers::new(worlds.calm(0));
    let clock = makers.clock();
    for milliseconds in [3_600_000, -7_200_000] {
        let before = clock.now();
        makers.world().jump_wall(milliseconds);
        let after = clock.now();
        let moved_ms = after.wall.0 - before.wall.0;
        ensure!(moved_ms == milliseconds, "the wall time moves by {moved_ms} ms and not by {milliseconds}");
        ensure!(after.instant == before.instant, "the instant jumps along");
    }
    Ok(())
}
