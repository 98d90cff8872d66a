//! Whether the settings that are resolved are read by anybody: a key that is documented as in force must be.
#![allow(clippy::disallowed_methods, reason = "it reads the tree itself")]

use std::fs;
use std::path::Path;

/// What is resolved and read by nobody is a promise that nobody keeps.
#[test]
fn every_field_of_the_settings_is_named_by_a_room_that_obeys_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut obeying = String::new();
    read_sources(&source, &source.join("config"), &mut obeying);
    let mut settings = String::new();
    read_sources(&source.join("config/settings"), Path::new(""), &mut settings);
    let fields: Vec<&str> = settings
        .lines()
        .filter_map(|line| line.strip_prefix("    pub ")?.split_once(": "))
        .map(|(name, _)| name)
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
        .collect();
    assert!(fields.len() > 60, "{}", fields.len());
    for field in fields {
        let is_named = obeying.match_indices(&format!(".{field}")).any(|(at, found)| {
            let next = obeying.as_bytes().get(at + found.len());
            !next.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        });
        assert!(is_named, "nobody reads {field}");
    }
}

/// All Rust text below a folder, but for one folder.
fn read_sources(folder: &Path, but: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of the tree") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && path != but {
            read_sources(&path, but, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).expect("Rust is text"));
        }
    }
}
