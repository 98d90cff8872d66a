//! What every Rust file owes its reader: a header, a size that fits a head, a name that says what is in it, and a place in the tree.
//!
//! It must not know what a file is for.

use crate::assert_none;
use crate::tree::{Source, has_word, is_of_the_product, is_word, rust_files, snake_case};

/// Lines that no file may exceed, and what the files together keep to.
const LINES_MAX: usize = 1_000;
const LINES_MEDIAN_MAX: usize = 200;
const LINES_MOST_MAX: usize = 500;

/// Lines that a function may have, its signature and closing brace among them.
const FUNCTION_LINES_MAX: usize = 60;

/// Functions that were longer when this law was made. The list only shrinks: a name that is not needed any more must go.
const LONGER_FUNCTIONS: &[(&str, &str)] =
    &[("src/protocol/api_key.rs", "name_of_unserved"), ("src/server/broker.rs", "around")];

/// Files whose one public type is not what they are named for, with the reason.
const NAMED_OTHERWISE: &[(&str, &str)] = &[
    ("src/os/threads.rs", "its noun is what it starts; Phase is what the threads share"),
    ("src/config/knobs/topic.rs", "a table of knobs; Synonym is the type of one column"),
    ("src/log/log_file_name.rs", "functions over names; FolderKind is what one of them finds"),
];

fn is_test_module(source: &Source) -> bool {
    source.path.contains("test")
}

/// The `//!` lines at the top, as one text.
fn header(source: &Source) -> String {
    let lines = source.text.lines().take_while(|line| line.starts_with("//!"));
    lines.map(|line| line.trim_start_matches("//!").trim()).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_file_says_what_it_does() {
    let silent = rust_files().into_iter().filter(|source| header(source).len() < 20);
    assert_none(
        silent.map(|source| format!("{}: open it with `//!` and a sentence on what it does", source.path)).collect(),
    );
}

#[test]
fn every_file_says_what_it_must_not_know() {
    let says = |source: &Source| {
        let header = header(source);
        ["must not", "not know", "never ", "knows no", "know nothing"].iter().any(|words| header.contains(words))
    };
    let owing = rust_files().into_iter().filter(|source| is_of_the_product(source) && !is_test_module(source));
    assert_none(
        owing
            .filter(|source| !says(source))
            .map(|source| format!("{}: let its header say what it must not know", source.path))
            .collect(),
    );
}

#[test]
fn files_fit_a_head() {
    let mut complaints = Vec::new();
    let mut lines: Vec<usize> = Vec::new();
    for source in rust_files() {
        let count = source.text.lines().count();
        if count > LINES_MAX {
            complaints.push(format!("{}: {count} lines; split it by noun, at most {LINES_MAX}", source.path));
        }
        lines.push(count);
    }
    lines.sort_unstable();
    let at = |percent: usize| lines[lines.len() * percent / 100];
    if at(50) > LINES_MEDIAN_MAX || at(90) > LINES_MOST_MAX {
        complaints.push(format!(
            "half of the files have {} lines or more (at most {LINES_MEDIAN_MAX}), a tenth {} (at most {LINES_MOST_MAX}); split some",
            at(50),
            at(90)
        ));
    }
    assert_none(complaints);
}

#[test]
fn functions_fit_a_screen() {
    let sources = rust_files();
    let longer: Vec<(&str, String, usize)> = sources
        .iter()
        .filter(|source| is_of_the_product(source))
        .flat_map(|source| {
            functions(&source.code()).into_iter().map(|(name, lines)| (source.path.as_str(), name, lines))
        })
        .filter(|(_, _, lines)| *lines > FUNCTION_LINES_MAX)
        .collect();
    let is_listed = |path: &str, name: &str| LONGER_FUNCTIONS.contains(&(path, name));
    let grown = longer.iter().filter(|(path, name, _)| !is_listed(path, name));
    let mut complaints: Vec<String> = grown
        .map(|(path, name, lines)| format!("{path}: {name} has {lines} lines; split it, at most {FUNCTION_LINES_MAX}"))
        .collect();
    let is_longer =
        |path: &str, name: &str| longer.iter().any(|(place, function, _)| *place == path && function == name);
    let shrunk = LONGER_FUNCTIONS.iter().filter(|(path, name)| !is_longer(path, name));
    complaints.extend(
        shrunk.map(|(path, name)| format!("{path}: {name} is short enough; take it off the list of exceptions")),
    );
    assert_none(complaints);
}

/// Name and lines of every function with a body: from its `fn` to the brace that closes it, as rustfmt indents both.
fn functions(code: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some((before, rest)) = line.split_once("fn ") else { continue };
        let is_declaration = before.split_whitespace().all(|word| FUNCTION_MODIFIERS.contains(&word));
        let name: String = rest.chars().take_while(|symbol| is_word(*symbol)).collect();
        let indent = &line[..line.len() - line.trim_start().len()];
        let is_end = |line: &&str| {
            let is_declared = |rest: &str| rest.starts_with(')') && rest.trim_end().ends_with(';');
            line.strip_prefix(indent).is_some_and(|rest| rest.starts_with('}') || is_declared(rest))
        };
        if !is_declaration || name.is_empty() || line.trim_end().ends_with(['}', ';']) {
            continue;
        }
        if let Some(length) = lines[start + 1..].iter().position(is_end) {
            found.push((name, length + 2));
        }
    }
    found
}

const FUNCTION_MODIFIERS: &[&str] = &["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe"];

#[test]
fn a_function_is_measured_from_its_name_to_its_brace() {
    let code = "impl A {\n    pub fn short(&self) {}\n    fn long(\n        &self,\n    ) {\n        if x {\n        }\n    }\n}\n";
    assert_eq!(functions(code), [("long".to_string(), 6)]);
}

/// The compiler is silent about a file that no `mod` names.
#[test]
fn every_file_is_part_of_a_crate() {
    let sources = rust_files();
    let mut complaints = Vec::new();
    for source in &sources {
        if is_crate_root(&source.path) {
            continue;
        }
        let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
        let (parent_folder, module) = match name {
            "mod.rs" => folder.rsplit_once('/').unwrap_or(("", folder)),
            _ => (folder, source.stem()),
        };
        let beside = [
            format!("{parent_folder}/mod.rs"),
            format!("{parent_folder}/lib.rs"),
            format!("{parent_folder}/main.rs"),
            format!("{parent_folder}.rs"),
        ];
        let mut parents = sources.iter().filter(|parent| beside.contains(&parent.path));
        if !parents.any(|parent| declares(parent, module)) {
            complaints
                .push(format!("{}: no `mod {module};` names it. Name it in its parent, or delete it", source.path));
        }
    }
    assert_none(complaints);
}

fn is_crate_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["src" | "tests", name] => *name != "mod.rs" && (parts[0] == "tests" || ["lib.rs", "main.rs"].contains(name)),
        ["sim", "src", "lib.rs" | "main.rs"]
        | ["sim", "schemata", "src", "main.rs"]
        | ["sim", "tests", _]
        | ["tests", _, "main.rs"] => true,
        ["fuzz", "fuzz_targets" | "examples", _] => true,
        _ => false,
    }
}

fn declares(parent: &Source, module: &str) -> bool {
    let code = parent.code();
    let declared = code.lines().map(str::trim).any(|line| {
        let declaration = line.strip_suffix(';').or_else(|| line.split(';').next()).unwrap_or(line);
        declaration.strip_suffix(module).is_some_and(|rest| rest.ends_with("mod "))
    });
    // A table of a macro may declare modules, one a line.
    declared
        || (code.contains("macro_rules!") || code.contains('!')) && has_word(&code, module) && code.contains("mod $")
}

#[test]
fn a_file_with_one_public_type_is_named_for_it() {
    let mut complaints = Vec::new();
    for source in rust_files().iter().filter(|source| is_of_the_product(source)) {
        let stem = source.stem();
        if ["mod", "lib", "main"].contains(&stem) || NAMED_OTHERWISE.iter().any(|(path, _)| *path == source.path) {
            continue;
        }
        let code = source.code();
        let [only] = &types(&code, &["pub ", "pub(crate) "])[..] else { continue };
        if types(&code, &["pub(super) ", "struct ", "enum "]).iter().any(|inner| snake_case(inner) == stem) {
            continue;
        }
        if !is_test_module(source)
            && !share_a_word(stem, &snake_case(only))
            && !source.code().contains(&format!("fn {stem}("))
        {
            complaints.push(format!(
                "{}: its one public type is {only}; name the file {}.rs, or the type for the file",
                source.path,
                snake_case(only)
            ));
        }
    }
    assert_none(complaints);
}

/// The types whose declaration starts a line with one of these.
fn types(code: &str, openings: &[&str]) -> Vec<String> {
    let visible = code.lines().filter(|line| openings.iter().any(|opening| line.starts_with(opening)));
    let named = visible.filter_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| !["struct", "enum", "trait"].contains(word));
        words.next()?;
        let name = words.next()?;
        Some(name[..name.find(|symbol: char| !symbol.is_alphanumeric()).unwrap_or(name.len())].to_string())
    });
    named.collect()
}

fn share_a_word(one: &str, other: &str) -> bool {
    let words = |name: &str| name.split('_').map(|word| word[..word.len().min(5)].to_string()).collect::<Vec<_>>();
    words(one).iter().any(|word| words(other).iter().any(|second| word.starts_with(second) || second.starts_with(word)))
}
