//! The vocabulary of the table: what is known about one configuration key.
//!
//! It must not know any particular key (those are in `knobs/`), nor who obeys one.

use crate::config::value::{Kind, Value};

/// Which values a knob accepts beyond those of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    /// Every value of the kind.
    Any,
    /// A number that is not smaller.
    AtLeast(i64),
    /// A number from the first to the second, both included.
    Between(i64, i64),
    /// A number in the range of the first two, or the third.
    BetweenOr(i64, i64, i64),
    /// A double from 0 to the bound, which is written as text so that the table stays comparable.
    Ratio(&'static str),
    /// A text that is not empty.
    NotEmpty,
    /// One of these words; of a list, every element.
    OneOf(&'static [&'static str]),
    /// One of these words, in capitals or not.
    OneOfAnyCase(&'static [&'static str]),
    /// Kafka's lists of throttled replicas: `*`, or `partition:broker` pairs.
    ThrottledReplicas,
}

impl Check {
    /// Whether `value` passes, else the sentence that says what is wanted.
    pub fn test(self, value: &Value) -> Result<(), String> {
        match (self, value) {
            (Check::AtLeast(least), _) => number_in(value, least, i64::MAX, || format!("must be at least {least}")),
            (Check::Between(least, most), _) => {
                number_in(value, least, most, || format!("must be from {least} to {most}"))
            }
            (Check::BetweenOr(_, _, other), _) if value.as_number() == Some(other) => Ok(()),
            (Check::BetweenOr(least, most, other), _) => {
                number_in(value, least, most, || format!("must be from {least} to {most}, or {other}"))
            }
            (Check::Ratio(most), Value::Double(ratio)) => {
                let highest: f64 = most.parse().expect("the table's bounds are numbers, and a test parses each");
                // Kafka's comparison lets NaN through; a cleaner could do nothing with it.
                if *ratio >= 0.0 && *ratio <= highest { Ok(()) } else { Err(format!("must be from 0 to {most}")) }
            }
            (Check::NotEmpty, Value::String(text)) if text.is_empty() => Err("must not be empty".to_owned()),
            (Check::OneOf(words), Value::String(word)) => one_of(words, word, |known| known == word),
            (Check::OneOf(words), Value::List(list)) => {
                list.iter().try_for_each(|word| one_of(words, word, |known| known == word))
            }
            (Check::OneOfAnyCase(words), Value::String(word)) => {
                one_of(words, word, |known| known.eq_ignore_ascii_case(word))
            }
            (Check::ThrottledReplicas, Value::List(list)) => throttled_replicas(list),
            _ => Ok(()),
        }
    }
}

fn number_in(value: &Value, least: i64, most: i64, wanted: impl FnOnce() -> String) -> Result<(), String> {
    match value.as_number() {
        Some(number) if number >= least && number <= most => Ok(()),
        Some(_) => Err(wanted()),
        // A double of the table has a lower bound of 0 at most, which `Ratio` checks.
        None => Ok(()),
    }
}

fn one_of(words: &[&str], word: &str, is_same: impl Fn(&str) -> bool) -> Result<(), String> {
    if words.iter().any(|known| is_same(known)) {
        Ok(())
    } else {
        Err(format!("has `{word}`, which is none of {}", words.join(", ")))
    }
}

fn throttled_replicas(list: &[String]) -> Result<(), String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_pair = |text: &String| text.split_once(':').is_some_and(|(left, right)| is_number(left) && is_number(right));
    let is_star = matches!(list, [only] if only == "*");
    if is_star || list.iter().all(is_pair) {
        Ok(())
    } else {
        Err("must be `*` or a list of partition:broker pairs".to_owned())
    }
}

/// Whether a knob can be turned while the broker runs, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    /// Only by a restart.
    ReadOnly,
    /// At run time, for one broker.
    PerBroker,
    /// At run time, for one broker or for all.
    ClusterWide,
}

/// How much a knob matters to most operators, by Kafka's own grading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// Look at it before production.
    High,
    /// Look at it when tuning.
    Medium,
    /// Leave it alone.
    Low,
}

/// What Klamm does with a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It takes effect; the sentence documents it.
    Honoured(&'static str),
    /// It is accepted and means nothing here; the sentence says why.
    Idle(&'static str),
    /// It promises what is not there, so a value that would turn the promise on is refused; the sentence says why.
    Refused(&'static str),
}

/// One configuration key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knob {
    /// Kafka's name of the key.
    pub name: &'static str,
    /// How its text is read.
    pub kind: Kind,
    /// The text of the default; `None` if the key has no value until one is set.
    pub default: Option<&'static str>,
    /// Which values are accepted.
    pub check: Check,
    /// Whether it can change while the broker runs.
    pub update_mode: UpdateMode,
    /// Kafka's grading.
    pub importance: Importance,
    /// Left out of DescribeConfigs unless set, as in Kafka.
    pub is_internal: bool,
    /// What Klamm does with it.
    pub standing: Standing,
}

impl Knob {
    /// Reads and checks `text` as a value of this knob; the error is the rest of a sentence that begins with the key.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let value = Value::parse(self.kind, text)?;
        self.check.test(&value)?;
        Ok(value)
    }

    /// The default as a value.
    pub fn default_value(&self) -> Option<Value> {
        self.default.map(|text| Value::parse(self.kind, text).expect("a test parses every default"))
    }

    /// Whether the value must never be shown.
    pub fn is_sensitive(&self) -> bool {
        self.kind == Kind::Password
    }

    /// The sentence for documents and DescribeConfigs.
    pub fn documentation(&self) -> String {
        match self.standing {
            Standing::Honoured(sentence) => sentence.to_owned(),
            Standing::Idle(reason) => format!("Accepted without effect: {reason}."),
            Standing::Refused(reason) => format!("Refused unless it is left off: {reason}."),
        }
    }
}

/// Writes a slice of knobs as a table: `"name": Kind = default, Check, UpdateMode, Importance[, internal] =>
/// Standing(sentence);`
macro_rules! knobs {
    ($($name:literal: $kind:ident = $default:tt, $check:expr, $mode:ident, $importance:ident $(, $internal:ident)?
        => $standing:ident($sentence:expr);)*) => {{
        #[allow(unused_imports, reason = "not every table uses every check")]
        use $crate::config::knob::Check::{
            Any, AtLeast, Between, BetweenOr, NotEmpty, OneOf, OneOfAnyCase, Ratio, ThrottledReplicas,
        };
        &[$($crate::config::knob::Knob {
            name: $name,
            kind: $crate::config::value::Kind::$kind,
            default: $crate::config::knob::knobs!(@default $default),
            check: $check,
            update_mode: $crate::config::knob::UpdateMode::$mode,
            importance: $crate::config::knob::Importance::$importance,
            is_internal: $crate::config::knob::knobs!(@internal $($internal)?),
            standing: $crate::config::knob::Standing::$standing($sentence),
        }),*]
    }};
    (@default null) => { None };
    (@default $text:literal) => { Some($text) };
    (@internal) => { false };
    (@internal internal) => { true };
}
pub(crate) use knobs;
