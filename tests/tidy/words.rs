//! Words that must not stand in the repository: half-done work, a workplace's paths, and ways around the law.
//!
//! It must not know why somebody would write them.

use crate::assert_none;
use crate::tree::{Source, has_word, is_of_the_product, rust_files, texts};

/// Marks of half-done work; written in pieces, so that this file does not hold them itself.
const UNFINISHED: &[&str] = &[concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")];

/// Macros that belong on a desk.
const DESK_MACROS: &[&str] = &[concat!("dbg", "!"), concat!("to", "do!"), concat!("unimple", "mented!")];

/// Paths and names of a machine somebody worked on.
const WORKPLACE: &[&str] = &[concat!("/wo", "rk/"), concat!("/fa", "rm"), concat!("bash", "_jobs")];

/// What only the outermost room may do, and where else it is allowed.
const OUTERMOST: &[&str] = &[
    "src/os/",
    "src/cli/",
    "src/main.rs",
    "sim/src/command/host.rs",
    "sim/schemata/",
    "tests/",
    "sim/tests/",
    "fuzz/",
];

/// Files whose notes belong to a thread: what they note decides nothing.
const NOTES_OF_A_THREAD: &[&str] = &["sim/src/panics.rs", "src/marks/noted.rs"];

/// The files whose hash maps cannot be iterated from outside, and do not iterate inside.
const KEEPERS_OF_HASHES: &[&str] = &["src/lookup_map.rs", "sim/src/keyed/chance.rs"];

fn find(sources: &[Source], words: &[&str], cure: &str, in_code: bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let text = if in_code { source.code() } else { source.text.clone() };
        for (number, line) in text.lines().enumerate() {
            for word in words.iter().filter(|word| has_word(line, word)) {
                complaints.push(format!("{}:{}: {word}: {cure}", source.path, number + 1));
            }
        }
    }
    complaints
}

#[test]
fn nothing_half_done_is_committed() {
    let mut sources = texts();
    // Escapes such as \uXXXX in a comment on Unicode are no mark.
    for source in &mut sources {
        source.text = source.text.replace(concat!("\\uXX", "XX"), "");
    }
    let mut complaints = find(&sources, UNFINISHED, "finish it, or open an issue and name that", false);
    complaints.extend(find(&rust_files(), DESK_MACROS, "take it out", true));
    assert_none(complaints);
}

#[test]
fn nothing_tells_of_the_machine_it_was_written_on() {
    let plain = |source: &Source, word: &str| source.text.contains(word);
    let mut complaints = Vec::new();
    for source in texts() {
        for word in WORKPLACE.iter().filter(|word| plain(&source, word)) {
            complaints.push(format!("{}: names {word}; write a path inside the repository, or none", source.path));
        }
    }
    assert_none(complaints);
}

#[test]
fn nothing_is_unsafe_outside_the_outermost_room() {
    let inner: Vec<Source> = rust_files().into_iter().filter(|source| !source.path.starts_with("src/os/")).collect();
    assert_none(find(
        &inner,
        &["unsafe"],
        "find a safe way, or move it into src/os with a comment on why it holds",
        true,
    ));
}

#[test]
fn no_order_depends_on_a_hash() {
    let elsewhere: Vec<Source> = rust_files()
        .into_iter()
        .filter(|source| is_of_the_product(source) && !KEEPERS_OF_HASHES.contains(&source.path.as_str()))
        .collect();
    let mut complaints = find(
        &elsewhere,
        &["hashbrown", "foldhash", "HashMap", "HashSet"],
        "use crate::lookup_map, which cannot be iterated, or a BTreeMap",
        true,
    );
    let cure = "its value or order differs from run to run; keep state in a struct, hash with a function of your own";
    complaints.extend(find(&elsewhere, &["DefaultHasher"], cure, true));
    let deciding: Vec<Source> =
        elsewhere.into_iter().filter(|source| !NOTES_OF_A_THREAD.contains(&source.path.as_str())).collect();
    complaints.extend(find(&deciding, &["thread_local"], cure, true));
    assert_none(complaints);
}

/// An exception from `clippy.toml` is the outermost room's; an inner room that makes one opens a door of its own.
#[test]
fn no_inner_room_excuses_itself_from_the_doors() {
    let excuses = |line: &str| line.contains("clippy::disallowed");
    let mut complaints = Vec::new();
    for source in rust_files() {
        if OUTERMOST.iter().any(|place| source.path.starts_with(place)) {
            continue;
        }
        for (number, _) in source.text.lines().enumerate().filter(|(_, line)| excuses(line)) {
            complaints.push(format!(
                "{}:{}: take `now`, a generator or an env door as an argument instead of an exception from clippy.toml",
                source.path,
                number + 1
            ));
        }
    }
    assert_none(complaints);
}

/// A lint that is silenced says why.
#[test]
fn every_exception_has_its_reason() {
    let mut complaints = Vec::new();
    for source in rust_files() {
        let code: Vec<char> = source.text.chars().collect();
        let text: String = code.into_iter().collect();
        for opening in ["#[allow(", "#![allow(", "#[expect(", "#![expect("] {
            for (at, _) in text.match_indices(opening) {
                let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
                if !text[line_start..at].trim().is_empty() {
                    continue;
                }
                let end = text[at..].find(")]").map_or(text.len(), |end| at + end);
                if !text[at..end].contains("reason =") {
                    let number = text[..at].matches('\n').count() + 1;
                    complaints
                        .push(format!("{}:{number}: add `reason = \"…\"`, or mend what the lint says", source.path));
                }
            }
        }
    }
    assert_none(complaints);
}
