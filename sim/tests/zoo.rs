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
