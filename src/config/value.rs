//! A configuration value: its kinds, how each is read from text, and how it is shown.
//!
//! It must not know which key a value belongs to.

use std::fmt;

/// The kinds of value that Kafka's configuration has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`, in capitals or not.
    Boolean,
    /// Any text, without the white space around it.
    String,
    /// 32 bits.
    Int,
    /// 16 bits.
    Short,
    /// 64 bits.
    Long,
    /// A number with a fraction.
    Double,
    /// Texts separated by commas.
    List,
    /// The name of a Java class; Klamm loads none.
    Class,
    /// A text that is never shown.
    Password,
}

impl Kind {
    /// The number of this kind in DescribeConfigs (KIP-569).
    pub const fn code(self) -> i8 {
        match self {
            Kind::Boolean => 1,
            Kind::String => 2,
            Kind::Int => 3,
            Kind::Short => 4,
            Kind::Long => 5,
            Kind::Double => 6,
            Kind::List => 7,
            Kind::Class => 8,
            Kind::Password => 9,
        }
    }

    /// The word for documents.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::String => "string",
            Kind::Int => "int",
            Kind::Short => "short",
            Kind::Long => "long",
            Kind::Double => "double",
            Kind::List => "list",
            Kind::Class => "class",
            Kind::Password => "password",
        }
    }
}

/// A value that was read.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// A boolean.
    Boolean(bool),
    /// A text or the name of a class.
    String(String),
    /// A whole number; its kind bounds it.
    Number(i64),
    /// A number with a fraction.
    Double(f64),
    /// Texts.
    List(Vec<String>),
    /// A secret.
    Password(String),
}

impl Value {
    /// Reads `text`; the error is the rest of a sentence that begins with the key.
    pub fn parse(kind: Kind, text: &str) -> Result<Value, String> {
        let text = text.trim();
        match kind {
            Kind::Boolean if text.eq_ignore_ascii_case("true") => Ok(Value::Boolean(true)),
            Kind::Boolean if text.eq_ignore_ascii_case("false") => Ok(Value::Boolean(false)),
            Kind::Boolean => Err("must be true or false".to_owned()),
            Kind::String | Kind::Class => Ok(Value::String(text.to_owned())),
            Kind::Password => Ok(Value::Password(text.to_owned())),
            Kind::Short => number(text, i64::from(i16::MIN), i64::from(i16::MAX), "16"),
            Kind::Int => number(text, i64::from(i32::MIN), i64::from(i32::MAX), "32"),
            Kind::Long => number(text, i64::MIN, i64::MAX, "64"),
            Kind::Double => text.parse().map(Value::Double).map_err(|_| "must be a number".to_owned()),
            Kind::List if text.is_empty() => Ok(Value::List(Vec::new())),
            Kind::List => list(text),
        }
    }

    /// The number, if it is a whole one.
    pub fn as_number(&self) -> Option<i64> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }
}

fn number(text: &str, least: i64, most: i64, bits: &str) -> Result<Value, String> {
    match text.parse::<i64>() {
        Ok(number) if number >= least && number <= most => Ok(Value::Number(number)),
        _ => Err(format!("must be a whole number of {bits} bits")),
    }
}

fn list(text: &str) -> Result<Value, String> {
    let mut elements: Vec<String> = Vec::new();
    for element in text.split(',').map(str::trim) {
        if element.is_empty() {
            return Err("must not have an empty element between its commas".to_owned());
        }
        // KIP-1161: a list is a set in the order of its first appearances.
        if !elements.iter().any(|earlier| earlier == element) {
            elements.push(element.to_owned());
        }
    }
    Ok(Value::List(elements))
}

/// The text that Kafka shows; a secret shows as `[hidden]`.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Boolean(value) => value.fmt(formatter),
            Value::String(value) => value.fmt(formatter),
            Value::Number(value) => value.fmt(formatter),
            Value::Double(value) => formatter.write_str(&double(*value)),
            Value::List(list) => formatter.write_str(&list.join(",")),
            Value::Password(_) => formatter.write_str("[hidden]"),
        }
    }
}

/// As `Display`, so that no secret is printed by accident.
impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// A double as Java writes it: plain from a thousandth to ten million, else with an exponent and always with a point.
fn double(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() || (1e-3..1e7).contains(&size) {
        return format!("{value:?}");
    }
    let text = format!("{value:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Value};

    fn shown(kind: Kind, text: &str) -> String {
        Value::parse(kind, text).unwrap().to_string()
    }

    #[test]
    fn doubles_are_shown_as_java_shows_them() {
        assert_eq!(shown(Kind::Double, "0.50"), "0.5");
        assert_eq!(shown(Kind::Double, "1"), "1.0");
        assert_eq!(shown(Kind::Double, "1.7976931348623157E308"), "1.7976931348623157E308");
        assert_eq!(shown(Kind::Double, "10000000"), "1.0E7");
    }

    #[test]
    fn white_space_around_values_and_elements_is_dropped() {
        assert_eq!(shown(Kind::Long, " 5 "), "5");
        assert_eq!(shown(Kind::Int, "+5"), "5");
        assert_eq!(shown(Kind::List, " compact , delete,compact "), "compact,delete");
        assert_eq!(Value::parse(Kind::List, ""), Ok(Value::List(Vec::new())));
    }

    #[test]
    fn a_number_beyond_its_kind_is_refused() {
        assert!(Value::parse(Kind::Short, "32768").is_err());
        assert!(Value::parse(Kind::Int, "2147483648").is_err());
        assert!(Value::parse(Kind::Long, "99999999999999999999").is_err());
        assert!(Value::parse(Kind::Long, "1.5").is_err());
        assert!(Value::parse(Kind::Boolean, "yes").is_err());
        assert!(Value::parse(Kind::List, "a,,b").is_err());
    }

    #[test]
    fn a_secret_is_never_shown() {
        let secret = Value::parse(Kind::Password, "open sesame").unwrap();
        assert_eq!(format!("{secret} {secret:?}"), "[hidden] [hidden]");
    }
}
