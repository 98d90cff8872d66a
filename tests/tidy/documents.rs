//! The documents tell the truth: paths and names in them exist, and their tables are those of the code.
//!
//! `KLAMM_UPDATE=1 cargo test --test tidy` writes the tables anew. It must not know what the prose says.

use std::fs;

use klamm::config;
use klamm::protocol::ApiKey;

use crate::assert_none;
use crate::rooms::{Knowledge, ROOMS};
use crate::tree::{exists, has_word, is_word, root, rust_files, text};

const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

/// The keys that the README shows; all others are in docs/configuration.md.
const KNOBS_OF_THE_README: &[&str] = &[
    "listeners",
    "advertised.listeners",
    "log.dirs",
    "num.partitions",
    "auto.create.topics.enable",
    "num.network.threads",
    "num.io.threads",
    "log.retention.hours",
    "message.max.bytes",
    "klamm.acks.all.fsync",
];

/// Holds the part of `path` between its marks against `expected`, or writes it.
fn generated(path: &str, name: &str, expected: &str) {
    let (begin, end) = (format!("<!-- {name}: made by tests/tidy.rs -->\n"), format!("<!-- end of {name} -->"));
    let whole = text(path);
    let found =
        whole.split_once(&begin).and_then(|(head, rest)| rest.split_once(&end).map(|(body, tail)| (head, body, tail)));
    let Some((head, body, tail)) = found else { panic!("{path}: write the marks `{}` and `{end}`", begin.trim()) };
    if body == expected {
        return;
    }
    assert!(wants_update(), "{path}: the part '{name}' is stale. KLAMM_UPDATE=1 cargo test --test tidy writes it");
    fs::write(root().join(path), format!("{head}{begin}{expected}{end}{tail}")).expect("the document can be written");
}

fn wants_update() -> bool {
    std::env::var_os("KLAMM_UPDATE").is_some_and(|value| value == "1")
}

#[test]
fn the_readme_shows_the_table_of_apis() {
    let cells = |key: &ApiKey| {
        let versions = key.advertised_versions();
        format!(" {} ({}) | {} to {} |", key.name(), key.code(), versions.start(), versions.end())
    };
    let mut table = String::from("| API (key) | versions | API (key) | versions |\n|---|---|---|---|\n");
    let (left, right) = ApiKey::ALL.split_at(ApiKey::ALL.len().div_ceil(2));
    for (index, key) in left.iter().enumerate() {
        let other = right.get(index).map_or(" | |".to_string(), cells);
        table += &format!("|{}{other}\n", cells(key));
    }
    generated("README.md", "apis", &table);
}

#[test]
fn the_readme_shows_the_knobs_that_matter() {
    let all = config::markdown_of_broker();
    let mut lines = all.lines();
    let mut table: String = lines.by_ref().take(2).map(|line| format!("{}\n", short(line))).collect();
    for key in KNOBS_OF_THE_README {
        let row = all.lines().find(|line| line.starts_with(&format!("| `{key}` |")));
        table += &format!("{}\n", short(row.unwrap_or_else(|| panic!("{key} is no honoured key"))));
    }
    generated("README.md", "knobs", &table);
}

/// Key, default and meaning of a row of six cells.
fn short(row: &str) -> String {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    match cells.as_slice() {
        [key, .., meaning] if cells.len() >= 6 => {
            if key.starts_with('-') {
                "|---|---|---|".to_string()
            } else {
                format!("| {key} | {} | {meaning} |", cells[2])
            }
        }
        _ => panic!("a row of the table of knobs has another shape: {row}"),
    }
}

#[test]
fn the_manual_of_settings_is_the_table_of_knobs() {
    let path = "docs/configuration.md";
    let expected = format!(
        "# Settings\n\n\
         Made from the table of knobs in `src/config/knobs`; `KLAMM_UPDATE=1 cargo test --test tidy` writes it anew.\n\n\
         A setting comes from a properties file, from `--override key=value`, or from the environment: `KAFKA_LOG_DIRS` is\n\
         `log.dirs` (`_` for `.`, `__` for `_`, `___` for `-`). What is changed at run time is kept in the metadata log and wins.\n\n\
         ## Of the broker\n\n{}\n## Of a topic\n\n{}\n## Of a group\n\n{}\n\
         ## Known, but without effect or refused\n\n{}",
        config::markdown_of_broker(),
        config::markdown_of_topics(),
        config::markdown_of_groups(),
        config::markdown_of_the_rest()
    );
    let is_current = exists(path) && text(path) == expected;
    if !is_current {
        assert!(wants_update(), "{path} is stale. KLAMM_UPDATE=1 cargo test --test tidy writes it");
        fs::create_dir_all(root().join("docs")).expect("the folder can be made");
        fs::write(root().join(path), expected).expect("the manual can be written");
    }
}

#[test]
fn the_architecture_shows_the_table_of_rooms() {
    let mut table = String::from("| room | may know | must not know |\n|---|---|---|\n");
    for room in ROOMS {
        let may_know = match room.may_know {
            Knowledge::These([]) => "–".to_string(),
            Knowledge::These(names) => names.join(", "),
            Knowledge::AllAbove => "all rooms above".to_string(),
        };
        table += &format!("| `{}` | {may_know} | {} |\n", room.name, room.must_not_know);
    }
    generated("ARCHITECTURE.md", "rooms", &table);
}

#[test]
fn every_room_has_its_paragraph() {
    let architecture = text("ARCHITECTURE.md");
    let missing = ROOMS.iter().filter(|room| !architecture.contains(&format!("**`{}`**", room.name)));
    assert_none(missing.map(|room| format!("ARCHITECTURE.md: write a paragraph on **`{}`**", room.name)).collect());
}

#[test]
fn documents_keep_to_their_length() {
    let lengths = [("README.md", 150), ("ARCHITECTURE.md", 500), ("CONTRIBUTING.md", 150)];
    let complaints = lengths.iter().filter_map(|(path, lines_max)| {
        let lines = text(path).lines().count();
        (lines > *lines_max).then(|| format!("{path}: {lines} lines; at most {lines_max}"))
    });
    assert_none(complaints.collect());
}

#[test]
fn every_path_in_a_document_exists() {
    let tops = [".ci/", "src/", "sim/", "fuzz/", "tests/", "docs/"];
    let mut complaints = Vec::new();
    for document in DOCUMENTS {
        for word in text(document).split(|symbol: char| symbol.is_whitespace() || "`()[]|,;\"'".contains(symbol)) {
            let word = word.trim_end_matches(['.', ':']).trim_end_matches('/');
            let is_path =
                tops.iter().any(|top| word.starts_with(top)) || word.ends_with(".md") && !word.contains("://");
            let is_pattern = word.contains(['*', '<', '{', '…', '$']);
            if is_path && !is_pattern && !word.is_empty() && !exists(word) {
                complaints.push(format!("{document}: {word} does not exist. Name what stands there now"));
            }
        }
    }
    assert_none(complaints);
}

/// Code that a document names: `Type::function`, `TypeName` of two words or more, `A_BOUND`.
#[test]
fn every_name_in_a_document_exists() {
    let code: String = rust_files().iter().map(|source| source.code()).collect::<Vec<_>>().join("\n");
    let mut complaints = Vec::new();
    for document in DOCUMENTS {
        let text = text(document);
        for span in spans(&text).filter(|span| is_name_of_code(span)) {
            let missing = span.split("::").filter(|name| !has_word(&code, name));
            complaints
                .extend(missing.map(|name| format!("{document}: `{span}`: no {name} in the code; name what is there")));
        }
    }
    assert_none(complaints);
}

/// Keys of Kafka's that a document names.
#[test]
fn every_key_in_a_document_is_in_the_table_of_knobs() {
    let manual = text("docs/configuration.md");
    let mut complaints = Vec::new();
    for document in DOCUMENTS {
        let text = text(document);
        let unknown = spans(&text).filter(|span| is_key(span) && !manual.contains(&format!("`{span}`")));
        complaints.extend(unknown.map(|key| format!("{document}: `{key}` is no key of the table of knobs")));
    }
    assert_none(complaints);
}

/// What stands between backticks, blocks of commands apart.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|prose| prose.split('`').skip(1).step_by(2))
}

fn is_name_of_code(span: &str) -> bool {
    let names: Vec<&str> = span.split("::").collect();
    let are_words = names.iter().all(|name| !name.is_empty() && name.chars().all(is_word));
    are_words && (names.len() > 1 || is_camel_case(span) || is_screaming_case(span))
}

/// Two words or more: one alone may be any word of the language.
fn is_camel_case(name: &str) -> bool {
    let humps = name.chars().zip(name.chars().skip(1)).filter(|(one, next)| one.is_uppercase() && next.is_lowercase());
    name.starts_with(char::is_uppercase) && !name.contains('_') && humps.count() > 1
}

fn is_screaming_case(name: &str) -> bool {
    name.contains('_') && name.chars().all(|symbol| !symbol.is_lowercase())
}

/// Words in lower case with dots between them, and no name of a file.
fn is_key(span: &str) -> bool {
    let words: Vec<&str> = span.split('.').collect();
    let is_plain = |word: &&str| !word.is_empty() && word.chars().all(|symbol| symbol.is_ascii_lowercase());
    let is_file = ["md", "rs", "toml", "py", "properties"].contains(&words[words.len() - 1]);
    words.len() > 1 && words.iter().all(is_plain) && !is_file
}

#[test]
fn names_and_keys_are_told_from_words() {
    for name in ["LogManager::load", "KafkaApis", "READ_BUDGET_BYTES"] {
        assert!(is_name_of_code(name), "{name}");
    }
    for word in ["Disk", "klamm", "TCP", "acks=all", "UTF-8", "sim run"] {
        assert!(!is_name_of_code(word), "{word}");
    }
    assert!(is_key("num.partitions") && !is_key("server.properties") && !is_key("sim") && !is_key("Cargo.toml"));
}
