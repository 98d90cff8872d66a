//! The texts of the repository: which files there are, and what is code in them.
//!
//! It must not know any law.

use std::fs;
use std::path::{Path, PathBuf};

/// A text file.
pub(crate) struct Source {
    /// Its path from the root of the repository, with `/`.
    pub(crate) path: String,
    /// What is in it.
    pub(crate) text: String,
}

impl Source {
    /// The file's name without folder and extension.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".rs").unwrap_or(name)
    }

    /// The Rust code: comments, and what stands in string and character literals, are blanks.
    pub(crate) fn code(&self) -> String {
        code_of(&self.text)
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file of the project, sorted.
pub(crate) fn rust_files() -> Vec<Source> {
    texts().into_iter().filter(|source| source.path.ends_with(".rs")).collect()
}

/// Whether the file belongs to the broker or its simulator.
pub(crate) fn is_of_the_product(source: &Source) -> bool {
    source.path.starts_with("src/") || source.path.starts_with("sim/src/")
}

/// Every text file of the project, sorted. Folders that a build or a broker made are left out, as are files that are no UTF-8.
pub(crate) fn texts() -> Vec<Source> {
    let mut found = Vec::new();
    walk(&root(), "", &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(found.len() > 100, "the repository is not where tidy looks for it");
    found
}

/// The text of one file.
pub(crate) fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}; write it"))
}

/// Whether there is such a file or folder.
pub(crate) fn exists(path: &str) -> bool {
    root().join(path).exists()
}

const NOT_OURS: &[&str] =
    &[".git", "target", "klamm-data", "__pycache__", ".pytest_cache", "corpus", "artifacts", "coverage"];

fn walk(folder: &Path, prefix: &str, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository can be listed").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if NOT_OURS.contains(&name.as_str()) {
            continue;
        }
        let path = format!("{prefix}{name}");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), &format!("{path}/"), found),
            Ok(kind) if kind.is_file() => {
                if let Ok(text) = fs::read_to_string(entry.path()) {
                    found.push(Source { path, text });
                }
            }
            _ => {}
        }
    }
}

/// Blanks comments and literals, and keeps every line break.
fn code_of(text: &str) -> String {
    let bytes: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            '/' if bytes.get(at + 1) == Some(&'/') => end_of_line(&bytes, at),
            '/' if bytes.get(at + 1) == Some(&'*') => end_of_block(&bytes, at),
            '"' => end_of_string(&bytes, at + 1),
            'r' if is_raw_string(&bytes, at) => end_of_raw_string(&bytes, at),
            '\'' => end_of_character(&bytes, at),
            _ => at,
        };
        if end == at {
            code.push(bytes[at]);
            at += 1;
        } else {
            code.extend(bytes[at..end].iter().map(|symbol| if *symbol == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    code
}

fn end_of_line(symbols: &[char], from: usize) -> usize {
    (from..symbols.len()).find(|at| symbols[*at] == '\n').unwrap_or(symbols.len())
}

fn end_of_block(symbols: &[char], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at < symbols.len() {
        match (symbols[at], symbols.get(at + 1)) {
            ('/', Some('*')) => (at, depth) = (at + 2, depth + 1),
            ('*', Some('/')) if depth == 1 => return at + 2,
            ('*', Some('/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    symbols.len()
}

fn end_of_string(symbols: &[char], from: usize) -> usize {
    let mut at = from;
    while at < symbols.len() {
        match symbols[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    symbols.len()
}

fn is_raw_string(symbols: &[char], at: usize) -> bool {
    let is_own_word = at == 0 || !is_word(symbols[at - 1]) || symbols[at - 1] == 'b';
    let quote = (at + 1..symbols.len()).find(|next| symbols[*next] != '#');
    is_own_word && quote.is_some_and(|quote| symbols[quote] == '"')
}

fn end_of_raw_string(symbols: &[char], from: usize) -> usize {
    let hashes = symbols[from + 1..].iter().take_while(|symbol| **symbol == '#').count();
    let closes = |at: &usize| {
        symbols[*at] == '"' && symbols[at + 1..].iter().take(hashes).filter(|symbol| **symbol == '#').count() == hashes
    };
    (from + hashes + 2..symbols.len()).find(closes).map_or(symbols.len(), |at| at + 1 + hashes)
}

/// A character literal ends; a lifetime is not one.
fn end_of_character(symbols: &[char], from: usize) -> usize {
    match (symbols.get(from + 1), symbols.get(from + 2)) {
        (Some('\\'), _) => (from + 3..symbols.len()).find(|at| symbols[*at] == '\'').map_or(symbols.len(), |at| at + 1),
        (Some(_), Some('\'')) => from + 3,
        _ => from,
    }
}

/// Whether the symbol is part of a word of the language.
pub(crate) fn is_word(symbol: char) -> bool {
    symbol.is_alphanumeric() || symbol == '_'
}

/// Every place behind `prefix`, where `prefix` starts a word of its own, with the word that follows.
pub(crate) fn words_behind<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(prefix).filter(|(at, _)| !code[..*at].ends_with(is_word)).map(move |(at, _)| {
        let rest = &code[at + prefix.len()..];
        &rest[..rest.find(|symbol| !is_word(symbol)).unwrap_or(rest.len())]
    })
}

/// Whether the word stands somewhere, on its own.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word))
}

/// `UnifiedLog` as `unified_log`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (index, symbol) in name.chars().enumerate() {
        if symbol.is_uppercase() && index > 0 {
            snake.push('_');
        }
        snake.extend(symbol.to_lowercase());
    }
    snake
}

#[test]
fn comments_and_literals_are_no_code() {
    let text = "a /* b /* c */ d */ e \"f\\\"g\" h r#\"i\"j\"# k 'l' '\\'' m: &'n str // o\np";
    let code: String = code_of(text).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, "a e h k m: &'n str p");
}
