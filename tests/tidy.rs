//! The law of the house, kept by a machine: who may know whom, what every file says of itself, how large it may be, and that the
//! documents tell the truth. Each complaint names the file and the cure.
//!
//! It must not know what the code does: it reads text.
#![expect(clippy::disallowed_methods, reason = "the law is read from the files of the repository")]

#[path = "tidy/dependencies.rs"]
mod dependencies;
#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/files.rs"]
mod files;
#[path = "tidy/rooms.rs"]
mod rooms;
#[path = "tidy/tree.rs"]
mod tree;
#[path = "tidy/words.rs"]
mod words;

/// Fails with every complaint, one a line.
fn assert_none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
