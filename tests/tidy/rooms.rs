//! Who may know whom. The table is the one that ARCHITECTURE.md shows.
//!
//! It must not know what is in a room.

use std::collections::BTreeSet;

use crate::assert_none;
use crate::tree::{Source, exists, is_word, root, rust_files, words_behind};

/// A room, what it may know, and what it must not know and why that matters.
pub(crate) struct Room {
    pub(crate) name: &'static str,
    pub(crate) may_know: Knowledge,
    pub(crate) must_not_know: &'static str,
}

/// The rooms that a room may know.
pub(crate) enum Knowledge {
    These(&'static [&'static str]),
    /// Every room whose row stands above.
    AllAbove,
}

impl Knowledge {
    fn allows(&self, own: &str, other: &str) -> bool {
        match self {
            Knowledge::These(names) => names.contains(&other),
            Knowledge::AllAbove => ROOMS.iter().take_while(|room| room.name != own).any(|room| room.name == other),
        }
    }
}

const fn room(name: &'static str, may_know: &'static [&'static str], must_not_know: &'static str) -> Room {
    Room { name, may_know: Knowledge::These(may_know), must_not_know }
}

/// The law, from the rooms that know nothing to those that know all.
pub(crate) const ROOMS: &[Room] = &[
    room("types", &[], "anything"),
    room("error_code", &[], "who chooses one"),
    room("limits", &[], "who obeys one"),
    room("lookup_map", &[], "anything; it has no order to depend on"),
    room("marks", &[], "who asks which were reached"),
    room("zoo", &[], "how a bug is found"),
    room("env", &["types"], "makers, mio, files, Kafka"),
    room("metrics", &["types"], "who counts"),
    room("config", &["types", "limits", "lookup_map"], "who uses a setting"),
    room("protocol", &["types", "error_code", "limits"], "clock, disk, sockets, what an API means"),
    room("record", &["types", "limits"], "wire messages around it"),
    room(
        "log",
        &["marks", "zoo", "env", "record", "types", "limits", "lookup_map", "config", "metrics"],
        "protocol messages, who asks",
    ),
    room(
        "metadata",
        &["marks", "zoo", "env", "types", "error_code", "limits", "lookup_map", "config", "record", "protocol"],
        "network, log (the broker joins them)",
    ),
    room("purgatory", &["types", "env", "lookup_map"], "what it delays"),
    room(
        "coordinator",
        &[
            "marks",
            "zoo",
            "types",
            "env",
            "error_code",
            "limits",
            "lookup_map",
            "protocol",
            "record",
            "purgatory",
            "config",
        ],
        "log (it returns records), network",
    ),
    room(
        "network",
        &["marks", "zoo", "env", "protocol", "types", "limits", "lookup_map", "config", "metrics"],
        "apis, log, coordinator",
    ),
    room(
        "apis",
        &[
            "marks",
            "zoo",
            "types",
            "error_code",
            "limits",
            "lookup_map",
            "env",
            "metrics",
            "config",
            "protocol",
            "record",
            "log",
            "metadata",
            "purgatory",
            "coordinator",
        ],
        "network, os",
    ),
    Room { name: "server", may_know: Knowledge::AllAbove, must_not_know: "os, cli; threads and the clock" },
    Room {
        name: "os",
        may_know: Knowledge::AllAbove,
        must_not_know: "nothing is hidden from it; only `main` and `cli` know it",
    },
    Room {
        name: "cli",
        may_know: Knowledge::AllAbove,
        must_not_know: "nothing is hidden from it; only `main` knows it; sockets it reaches through `os`",
    },
];

/// What the simulator may know of the broker. `network` for the Acceptor and the Processor, which it steps as any driver does.
const SIM_MAY_KNOW: Knowledge = Knowledge::These(&[
    "env",
    "protocol",
    "record",
    "server",
    "config",
    "types",
    "error_code",
    "limits",
    "lookup_map",
    "network",
    "marks",
    "zoo",
]);

/// The room that a path of `src` lies in; none for the map and the binary.
fn room_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?;
    let name = inside.split('/').next()?.trim_end_matches(".rs");
    (name != "lib" && name != "main").then_some(name)
}

/// The words that follow `crate::`, those in braces included.
fn rooms_named<'a>(code: &'a str, prefix: &'a str) -> BTreeSet<&'a str> {
    let direct = words_behind(code, prefix).filter(|word| !word.is_empty());
    let grouped = code.match_indices(prefix).flat_map(move |(at, _)| {
        let rest = &code[at + prefix.len()..];
        let inside = rest.strip_prefix('{').map(|rest| top_level_items(rest)).unwrap_or_default();
        inside.into_iter()
    });
    direct.chain(grouped).collect()
}

/// The first word of each item of a group in braces, whose inside starts at `rest`.
fn top_level_items(rest: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, symbol) in rest.char_indices() {
        match symbol {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&rest[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&rest[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    let first_word = |item: &'_ str| -> usize { item.find(|symbol| !is_word(symbol)).unwrap_or(item.len()) };
    items.into_iter().map(str::trim).map(|item| &item[..first_word(item)]).filter(|item| !item.is_empty()).collect()
}

fn trespasses(source: &Source, own: &str, may_know: &Knowledge, prefix: &str, complaints: &mut Vec<String>) {
    let code = source.code();
    let known = ROOMS.iter().map(|room| room.name).collect::<BTreeSet<_>>();
    for name in rooms_named(&code, prefix) {
        if known.contains(name) && name != own && !may_know.allows(own, name) {
            complaints.push(format!(
                "{}: {own} must not know {name}. Move the line to a room that may, or hand the value in as an argument",
                source.path
            ));
        }
    }
}

#[test]
fn no_room_knows_what_it_must_not_know() {
    let mut complaints = Vec::new();
    for source in rust_files() {
        if let Some(name) = room_of(&source.path) {
            match ROOMS.iter().find(|room| room.name == name) {
                Some(room) => trespasses(&source, name, &room.may_know, "crate::", &mut complaints),
                None => complaints.push(format!(
                    "{}: the room {name} has no row in tests/tidy/rooms.rs. Say there what it may know",
                    source.path
                )),
            }
        }
        if source.path.starts_with("sim/src/") {
            trespasses(&source, "sim", &SIM_MAY_KNOW, "klamm::", &mut complaints);
        }
    }
    assert_none(complaints);
}

#[test]
fn every_row_of_the_table_is_a_room() {
    let stands = |name: &str| exists(&format!("src/{name}")) || exists(&format!("src/{name}.rs"));
    let gone = ROOMS.iter().filter(|room| !stands(room.name));
    assert_none(
        gone.map(|room| format!("src/{} is gone: take its row out of tests/tidy/rooms.rs", room.name)).collect(),
    );
    let map = std::fs::read_to_string(root().join("src/lib.rs")).expect("the map exists");
    let missing = ROOMS.iter().filter(|room| !map.contains(&format!("pub mod {}; //", room.name)));
    assert_none(
        missing.map(|room| format!("src/lib.rs: say in one line what the room {} is for", room.name)).collect(),
    );
}

/// `super` may climb inside its room and no higher, since the table sees only `crate::` paths.
#[test]
fn nobody_leaves_a_room_through_super() {
    let mut complaints = Vec::new();
    for source in rust_files() {
        let Some(_) = room_of(&source.path) else { continue };
        let folders = source.path.matches('/').count();
        let own_depth = folders - usize::from(source.stem() == "mod");
        for (number, line) in source.code().lines().enumerate() {
            let climbs = line.split("super::").count() - 1;
            let inline = usize::from(line.starts_with(' '));
            let has_chain = line.contains(&"super::".repeat(climbs.max(1)));
            if climbs > 0 && has_chain && climbs >= own_depth + inline {
                complaints.push(format!(
                    "{}:{}: write `crate::room::…` instead of climbing out of the room with `super`",
                    source.path,
                    number + 1
                ));
            }
        }
    }
    assert_none(complaints);
}

#[test]
fn groups_and_paths_in_the_code_are_seen() {
    let code = "use crate::{log::{a, b}, apis};\nfn f() { crate::os::run() }\npub(in crate::record) use mycrate::cli;";
    let found: Vec<&str> = rooms_named(code, "crate::").into_iter().collect();
    assert_eq!(found, ["apis", "log", "os", "record"]);
}
