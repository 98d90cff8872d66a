//! The zoo's table names every bug that can be planted.

use klamm::zoo::Bug;

#[test]
fn the_table_of_the_zoo_names_every_bug() {
    let found = include_str!("../FOUND.md");
    let rows = found.split("## The zoo").nth(1).unwrap_or_default().lines().filter(|line| line.starts_with("| "));
    let named: Vec<&str> = rows.skip(1).filter_map(|row| row.split('|').nth(1)).map(str::trim).collect();
    let bugs: Vec<&str> = Bug::ALL.iter().map(|bug| bug.name()).collect();
    assert_eq!(named, bugs);
}
