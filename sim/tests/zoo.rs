//! The tables of `ZOO.md` name every bug that can be planted, and none that cannot.

use klamm::zoo::Bug;

fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let page = include_str!("../ZOO.md");
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn the_table_of_the_zoo_names_every_bug_with_its_family() {
    let named: Vec<(&str, &str)> = rows("All of them").iter().map(|row| (row[0], row[1])).collect();
    let bugs: Vec<(&str, &str)> = Bug::ALL.iter().map(|bug| (bug.family().name(), bug.name())).collect();
    assert_eq!(named, bugs);
}

#[test]
fn the_bugs_of_others_are_planted_under_names_that_there_are() {
    let cases = rows("Bugs of other brokers");
    assert!(cases.len() >= 30, "{} cases", cases.len());
    for name in cases.iter().flat_map(|row| row[3].split(';')).map(str::trim).filter(|name| !name.is_empty()) {
        assert!(Bug::ALL.iter().any(|bug| bug.name() == name), "{name}");
    }
}

#[cfg(feature = "zoo")]
#[test]
fn a_walk_through_the_oracle_says_which_check_a_bug_needs() {
    let walk = ["zoo", "--oracle", "--json", "--bug", "acks=0 is answered", "--seeds", "25"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_klamm-sim")).args(walk).output().unwrap();
    let table: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let needed = serde_json::json!({ "needed_for": ["acks=0 is answered"], "also_finds": [] });
    assert_eq!(table["checks"]["UnaskedAnswer"], needed);
    assert_eq!(table["checks"]["Twice"]["needed_for"], serde_json::json!([]));
}
