//! A small work, gone down at every effect on the disk, and at every effect of the recovery.

use klamm_sim::crash_points::crash_points;

#[test]
fn a_broker_that_goes_down_at_any_effect_keeps_its_promises() {
    let found = crash_points(SMALL, false);
    assert!(found.effects > 10 && found.recovery_effects > found.effects, "{found:?}");
    assert_eq!(found.runs, found.effects + found.recovery_effects);
    assert!(found.violations.is_empty(), "{:?}", found.violations.first());
}

/// A seed whose work is small.
const SMALL: u64 = 3;
