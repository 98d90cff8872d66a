//! Marks are reached, and what a campaign asks for is on the list once.
//!
//! Only a build with the feature `zoo` notes them.
#![cfg(feature = "zoo")]

use std::collections::BTreeSet;

use klamm::marks::Mark;
use klamm_sim::WorldOptions;
use klamm_sim::run::run;

#[test]
fn every_mark_has_a_name_and_a_sentence_of_its_own() {
    let names: BTreeSet<&str> = Mark::ALL.iter().map(|mark| mark.name()).collect();
    let sentences: BTreeSet<&str> = Mark::ALL.iter().map(|mark| mark.sentence()).collect();
    assert_eq!((names.len(), sentences.len()), (Mark::ALL.len(), Mark::ALL.len()));
    assert!(sentences.iter().all(|sentence| sentence.ends_with('.')));
}

#[test]
fn a_run_tells_the_marks_that_it_reached_and_no_other_runs() {
    let marks = |seed| run(WorldOptions::from_seed(seed)).marks;
    let first = marks(1);
    assert!(!first.is_empty());
    marks(2);
    assert_eq!(marks(1), first);
}
