//! Every failure that was ever kept runs again, and is one no more.
//!
//! It must not know what was wrong: the capsule says it.

#![expect(clippy::unwrap_used, reason = "a test may panic where it cannot go on")]

use std::fs;
use std::path::{Path, PathBuf};

use klamm_sim::capsule::Capsule;
use klamm_sim::run::run;

#[expect(clippy::disallowed_methods, reason = "a test reads the files of the repository")]
fn capsules() -> Vec<(PathBuf, Capsule)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "capsule"));
    paths.sort();
    let load = |path: PathBuf| {
        let capsule = Capsule::from_text(&fs::read_to_string(&path).unwrap());
        (path.clone(), capsule.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    };
    paths.into_iter().map(load).collect()
}

#[test]
fn what_was_fixed_stays_fixed() {
    for (path, capsule) in capsules() {
        let report = run(capsule.scenario.clone());
        assert!(report.violations.is_empty(), "{}: {:?}", path.display(), report.violations);
        assert!(!capsule.cause.is_empty(), "{}: says no cause", path.display());
        let (stale, faults) = (capsule.stale_faults(&report), capsule.faults().count());
        assert!(
            faults == 0 || stale < faults,
            "{}: stale, none of its faults fires any more: retire it",
            path.display()
        );
    }
}
