//! A small work, gone down at effects on the disk all over it, and at effects of each recovery.

use klamm_sim::crash_points::crash_points;

#[test]
fn a_broker_that_goes_down_at_any_effect_keeps_its_promises() {
    let found = crash_points(3, true, 12);
    assert!(found.effects > 10 && found.recovery_effects > 10, "{found:?}");
    assert!(found.runs > found.effects / 12, "{found:?}");
    assert_eq!(found.missed, 0, "it goes down wherever it should");
    assert!(found.violations.is_empty(), "{:?}", found.violations.first());
}
