//! A guided exploration is decided by its seed alone, and its runs are the parents' up to where they turn.
//!
//! In a build that notes no marks there is nothing to guide by; features stand in for them here.

use klamm_sim::explore::{Explorer, Feature};
use klamm_sim::keyed::Turn;
use klamm_sim::run::{run, run_with_events};
use klamm_sim::{Profile, Scenario};

use klamm::types::Instant;

const RUNS: u64 = 40;

/// The hashes of an exploration in which a run has the features that its own hash says.
fn hashes(seed: u64) -> Vec<u64> {
    let mut explorer = Explorer::new(Profile::Short, seed);
    let next = |_| {
        let scenario = explorer.next_scenario();
        let report = run(scenario.clone());
        let middle = Instant(report.chaos_ns / 2);
        let stages = (0..8).filter(|bit| report.hash >> bit & 1 == 1);
        explorer.learn(scenario, report.chaos_ns, stages.map(|stage| (Feature::Stage(stage), middle)));
        report.hash
    };
    (0..RUNS).map(next).collect()
}

#[test]
fn one_seed_is_one_exploration() {
    assert_eq!(hashes(5), hashes(5));
    assert_ne!(hashes(5), hashes(6));
}

#[test]
fn a_child_is_its_parent_up_to_its_turn_and_another_run_from_there() {
    let mut explorer = Explorer::new(Profile::Short, 3);
    let parent = explorer.next_scenario();
    let chaos_ns = run(parent.clone()).chaos_ns;
    let at = Instant(chaos_ns / 2);
    explorer.learn(parent.clone(), chaos_ns, [(Feature::Stage(0), at)]);
    let child = (0..RUNS).map(|_| explorer.next_scenario()).find(|child| !child.world.overrides.turns.is_empty());
    let child = child.expect("three runs of four have a parent");
    assert!(matches!(child.world.overrides.turns[..], [Turn { after_ns, .. }] if after_ns == at.0));
    let events = |scenario| run_with_events(scenario, 0..u64::MAX).1;
    let (parent, child) = (events(parent), events(child));
    let before = parent.iter().take_while(|event| event.at_ns <= at.0).count();
    assert!(before > 0 && parent[..before] == child[..before]);
    assert_ne!(parent[before..], child[before..]);
}

/// How many of the next runs go on from the run of each of these seeds.
fn children(explorer: &mut Explorer, parents: &[u64]) -> Vec<usize> {
    let children: Vec<u64> = (0..200)
        .map(|_| explorer.next_scenario())
        .filter(|child| !child.world.overrides.turns.is_empty())
        .map(|child| child.seed())
        .collect();
    parents.iter().map(|parent| children.iter().filter(|child| *child == parent).count()).collect()
}

#[test]
fn every_run_that_had_a_feature_is_gone_on_from_as_often() {
    let mut explorer = Explorer::new(Profile::Short, 4);
    let parents: Vec<_> = (0..3).map(|_| explorer.next_scenario()).collect();
    for parent in &parents {
        explorer.learn(parent.clone(), 10, [(Feature::Stage(0), Instant(5))]);
    }
    let seeds: Vec<u64> = parents.iter().map(Scenario::seed).collect();
    let children = children(&mut explorer, &seeds);
    let spread = children.iter().max().zip(children.iter().min()).map(|(most, fewest)| most - fewest);
    assert!(spread <= Some(1) && children[0] > 10, "{children:?}");
}

#[test]
fn the_last_stage_is_gone_on_from_most_and_those_before_it_too() {
    let mut explorer = Explorer::new(Profile::Short, 4);
    let parents: Vec<_> = (0..3).map(|_| explorer.next_scenario()).collect();
    for (stage, parent) in (0..).zip(&parents) {
        explorer.learn(parent.clone(), 10, [(Feature::Stage(stage), Instant(5))]);
    }
    let seeds: Vec<u64> = parents.iter().map(Scenario::seed).collect();
    let children = children(&mut explorer, &seeds);
    assert!(children[0] > 5 && children[1] > children[0] && children[2] > children[1], "{children:?}");
}

#[test]
fn a_turn_brings_along_those_who_are_a_nuisance() {
    let brings_garbage = |seed| {
        let mut scenario = Scenario::new(Profile::Short, 3);
        scenario.world.overrides.turns.push(Turn { after_ns: 1_000_000, seed });
        run(scenario).operations.contains_key(&1_150)
    };
    let bringing = (0..20).filter(|seed| brings_garbage(*seed)).count();
    assert!((3..20).contains(&bringing), "{bringing}");
}
