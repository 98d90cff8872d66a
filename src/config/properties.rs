//! Reads the text of a Java properties file, as `server.properties` is one.
//!
//! It must not know which keys exist, nor where the text came from.

use std::iter::Peekable;
use std::str::Chars;

/// One entry of a properties file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Property {
    /// The key, without its escapes.
    pub(crate) key: String,
    /// The value, without its escapes.
    pub(crate) value: String,
    /// Whether the value looks like UTF-8, and was read as other characters than its author meant.
    pub(crate) is_in_utf8: bool,
    /// The line on which the entry begins, from 1.
    pub(crate) line: usize,
}

/// An escape that no properties file can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadEscape {
    /// The line on which the entry begins, from 1.
    pub(crate) line: usize,
}

/// The text of a file's bytes, one character for each as ISO-8859-1 has it: so Java reads them, whatever their author meant. The mark
/// that some editors put before UTF-8 is left out. `None` if it is UTF-16.
pub(crate) fn decode(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return None;
    }
    Some(bytes.iter().map(|byte| char::from(*byte)).collect())
}

/// The first line, from 1, that is no comment and looks like UTF-8 with characters that ISO-8859-1 reads as others.
pub(crate) fn line_in_utf8(bytes: &[u8]) -> Option<usize> {
    let is_utf8 = |line: &[u8]| {
        let line = line.trim_ascii_start();
        !line.starts_with(b"#") && !line.starts_with(b"!") && !line.is_ascii() && std::str::from_utf8(line).is_ok()
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.split(|byte| *byte == b'\n').zip(1..).find_map(|(line, number)| is_utf8(line).then_some(number))
}

/// Whether a text that was read as ISO-8859-1 is UTF-8 with characters beyond ASCII.
fn is_in_utf8(text: &str) -> bool {
    let bytes = || text.chars().map(u8::try_from).collect::<Result<Vec<u8>, _>>();
    !text.is_ascii() && bytes().is_ok_and(|bytes| String::from_utf8(bytes).is_ok())
}

/// Every entry in the order of the file; of two with the same key, both, and the later one counts.
pub(crate) fn parse(text: &str) -> Result<Vec<Property>, BadEscape> {
    let mut properties = Vec::new();
    let mut lines = natural_lines(text).zip(1..);
    while let Some((first, line)) = lines.next() {
        let first = first.trim_start_matches(WHITE_SPACE);
        // A line of nothing but a continuation begins nothing, so that what follows it may still be a comment.
        if first.is_empty() || first == "\\" || first.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = first.to_owned();
        while is_continued(&logical) {
            logical.pop();
            match lines.next() {
                Some((next, _)) => logical.push_str(next.trim_start_matches(WHITE_SPACE)),
                None => break,
            }
        }
        let (key, value) = split(&logical);
        let key = unescape(key).ok_or(BadEscape { line })?;
        let is_in_utf8 = is_in_utf8(value);
        let value = unescape(value).ok_or(BadEscape { line })?;
        properties.push(Property { key, value, is_in_utf8, line });
    }
    Ok(properties)
}

const WHITE_SPACE: [char; 3] = [' ', '\t', '\x0c'];

/// Lines that end with `\n`, `\r` or both.
fn natural_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.split('\r')
    })
}

/// Whether the line ends with an odd number of backslashes, so that the last one is not itself escaped.
fn is_continued(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Cuts a logical line at the first separator that is not escaped: `=`, `:` or white space.
fn split(line: &str) -> (&str, &str) {
    let mut is_escaped = false;
    for (at, character) in line.char_indices() {
        if !is_escaped && (matches!(character, '=' | ':') || WHITE_SPACE.contains(&character)) {
            let (key, rest) = line.split_at(at);
            let rest = rest.trim_start_matches(WHITE_SPACE);
            let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
            return (key, rest.trim_start_matches(WHITE_SPACE));
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    (line, "")
}

/// The text of a value, as Java writes it.
pub(crate) fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '\\' | '=' | ':' | '#' | '!' => escaped.extend(['\\', character]),
            ' ' if escaped.is_empty() => escaped.push_str("\\ "),
            ' '..='~' => escaped.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    escaped.push_str(&format!("\\u{unit:04X}"));
                }
            }
        }
    }
    escaped
}

fn unescape(text: &str) -> Option<String> {
    let mut unescaped = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            unescaped.push(character);
            continue;
        }
        match characters.next() {
            Some('t') => unescaped.push('\t'),
            Some('n') => unescaped.push('\n'),
            Some('r') => unescaped.push('\r'),
            Some('f') => unescaped.push('\x0c'),
            Some('u') => unescaped.push(unicode(&mut characters)?),
            Some(other) => unescaped.push(other),
            // The file ends inside a continuation.
            None => {}
        }
    }
    Some(unescaped)
}

/// The character of `\uXXXX`, or of two of them that form a surrogate pair.
fn unicode(characters: &mut Peekable<Chars<'_>>) -> Option<char> {
    let first = four_digits(characters)?;
    let mut units = vec![first];
    if (0xd800..0xdc00).contains(&first) {
        let has_second = characters.next() == Some('\\') && characters.next() == Some('u');
        units.push(four_digits(characters).filter(|_| has_second)?);
    }
    let mut decoded = char::decode_utf16(units);
    decoded.next()?.ok()
}

fn four_digits(characters: &mut Peekable<Chars<'_>>) -> Option<u16> {
    let mut unit = 0u16;
    for _ in 0..4 {
        let digit = characters.next()?.to_digit(16)?;
        unit = (unit << 4) | u16::try_from(digit).ok()?;
    }
    Some(unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_assume, proptest};

    use super::{BadEscape, Property, decode, escape, line_in_utf8, natural_lines, parse};

    #[test]
    fn bytes_are_read_as_java_reads_them_without_the_mark_of_utf_8() {
        assert_eq!(decode(b"a=\xfc").unwrap(), "a=\u{fc}");
        assert_eq!(decode("a=ü".as_bytes()).unwrap(), "a=\u{c3}\u{bc}");
        assert_eq!(decode(b"\xef\xbb\xbfa=1").unwrap(), "a=1");
        for utf_16 in [b"\xff\xfea\0", b"\xfe\xff\0a"] {
            assert_eq!(decode(utf_16), None);
        }
    }

    #[test]
    fn a_line_that_looks_like_utf_8_is_found_unless_it_is_a_comment() {
        assert_eq!(line_in_utf8("\u{feff}# ü\n ! ü\na=1\nb=ü\n".as_bytes()), Some(4));
        assert_eq!(line_in_utf8(b"a=\xfc\nb=\\u00fc"), None);
    }

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap().into_iter().map(|Property { key, value, .. }| (key, value)).collect()
    }

    fn one(text: &str) -> (String, String) {
        let mut pairs = pairs(text);
        assert_eq!(pairs.len(), 1, "{text:?}");
        pairs.remove(0)
    }

    #[test]
    fn every_separator_parts_the_key_from_its_value() {
        for text in ["key=value", "key:value", "key value", "  key \t= value", "key\t:\x0cvalue", "key=value\r\n"] {
            assert_eq!(one(text), ("key".to_owned(), "value".to_owned()), "{text:?}");
        }
        assert_eq!(one("key"), ("key".to_owned(), String::new()));
        assert_eq!(one("key==value"), ("key".to_owned(), "=value".to_owned()));
        assert_eq!(one("a\\ b\\==c "), ("a b=".to_owned(), "c ".to_owned()));
    }

    #[test]
    fn comments_and_empty_lines_are_skipped_and_lines_are_counted() {
        let properties = parse("# a=1\n\n  ! b=2 \\\nc=3\rd=4\r\n\\\n e=5").unwrap();
        let seen: Vec<_> = properties.iter().map(|property| (property.key.as_str(), property.line)).collect();
        assert_eq!(seen, [("c", 4), ("d", 5), ("e", 7)]);
    }

    #[test]
    fn a_line_goes_on_after_an_unescaped_backslash() {
        assert_eq!(one("log.dirs=/a,\\\n    /b").1, "/a,/b");
        assert_eq!(one("a=1\\\n# no comment").1, "1# no comment");
        assert_eq!(pairs("path=C\\\\\nnext=1").len(), 2);
        assert_eq!(one("a=end\\").1, "end");
        assert_eq!(pairs("a\\\r\r\nb=1").len(), 2);
        assert_eq!(one("\\\n\\\nb").0, "b");
        assert_eq!(one("\\\n# comment\nb").0, "b");
        assert_eq!(one("a=\\\n\\\n#1").1, "#1");
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(one("a=\\t\\n\\r\\f\\\\\\q\\u00e9\\uD83D\\uDE00").1, "\t\n\r\x0c\\qé😀");
        assert_eq!(parse("ok=1\nbad=\\u12"), Err(BadEscape { line: 2 }));
        assert_eq!(parse("bad=\\uD83Dx"), Err(BadEscape { line: 1 }));
        assert_eq!(parse("bad=\\uDE00"), Err(BadEscape { line: 1 }));
    }

    proptest! {
        #[test]
        fn a_file_reads_as_another_parser_reads_it(text in "([a-c#!=: \t\\\\\\r\n]|\\\\u00e9){0,40}") {
            // The other parser differs from Java in two points: it loses a line that the file's end leaves unfinished, and a
            // comment behind a line of nothing but a continuation goes on.
            let text = format!("{text}\nlast=1\n");
            prop_assume!(!natural_lines(&text).any(|line| line.trim() == "\\"));
            let mut others = Vec::new();
            let outcome = java_properties::PropertiesIter::new(text.as_bytes())
                .read_into(|key, value| others.push((key, value)));
            if outcome.is_ok() {
                prop_assert_eq!(pairs(&text), others);
            }
        }

        #[test]
        fn a_value_that_is_escaped_is_read_as_it_was(value in any::<String>()) {
            let text = format!("key={}\nlast=1\n", escape(&value));
            prop_assert!(text.is_ascii());
            prop_assert_eq!(&pairs(&text)[0].1, &value);
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = parse(&text);
        }
    }
}
