//! The table of knobs as text for people: Markdown for the manual.
//!
//! It must not know where the text is shown.

use std::fmt::Write;

use crate::config::knob::{Check, Knob, Standing, UpdateMode};
use crate::config::knobs::{self, GROUP_KNOBS, TOPIC_KNOBS};

/// The knobs of a broker that take effect, theme by theme.
pub fn markdown_of_broker() -> String {
    table(knobs::all())
}

/// The knobs of a topic: those that take effect, and the others.
pub fn markdown_of_topics() -> String {
    table(TOPIC_KNOBS.iter()) + "\n" + &rest(TOPIC_KNOBS.iter())
}

/// The knobs of a group, none of which takes effect: classic groups have none in Kafka either.
pub fn markdown_of_groups() -> String {
    rest(GROUP_KNOBS.iter())
}

/// Kafka's knobs of a broker that have no effect or are refused, one line for each reason.
pub fn markdown_of_the_rest() -> String {
    rest(knobs::all())
}

fn rest<'a>(knobs: impl Iterator<Item = &'a Knob>) -> String {
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for knob in knobs {
        let (what, reason) = match knob.standing {
            Standing::Honoured(_) => continue,
            Standing::Idle(reason) => ("no effect", reason),
            Standing::Refused(reason) => ("refused", reason),
        };
        let name = format!("`{}`", knob.name);
        match reasons.iter_mut().find(|(known, why, _)| *known == what && *why == reason) {
            Some((_, _, names)) => names.push(name),
            None => reasons.push((what, reason, vec![name])),
        }
    }
    reasons.sort_by_key(|(what, _, _)| *what != "refused");
    let mut text = String::from("| standing | why | keys |\n|---|---|---|\n");
    for (what, reason, names) in reasons {
        let _ = writeln!(text, "| {what} | {reason} | {} |", names.join(", "));
    }
    text
}

fn table<'a>(knobs: impl Iterator<Item = &'a Knob>) -> String {
    let mut text =
        String::from("| key | type | default | valid | at run time | meaning |\n|---|---|---|---|---|---|\n");
    for knob in knobs.filter(|knob| !knob.is_internal) {
        let Standing::Honoured(sentence) = knob.standing else { continue };
        let default = match knob.default {
            None => "none".to_owned(),
            Some("") => "empty".to_owned(),
            Some(default) => format!("`{default}`"),
        };
        let update = match knob.update_mode {
            UpdateMode::ReadOnly => "no",
            UpdateMode::PerBroker => "per broker",
            UpdateMode::ClusterWide => "yes",
        };
        let (name, kind, valid) = (knob.name, knob.kind.word(), valid_values(knob.check));
        let _ = writeln!(text, "| `{name}` | {kind} | {default} | {valid} | {update} | {sentence} |");
    }
    text
}

fn valid_values(check: Check) -> String {
    match check {
        Check::Any => String::new(),
        Check::AtLeast(least) => format!("from {least} on"),
        Check::Between(least, most) => format!("{least} to {most}"),
        Check::BetweenOr(least, most, other) => format!("{least} to {most}, or {other}"),
        Check::Ratio(most) => format!("0 to {most}"),
        Check::NotEmpty => "not empty".to_owned(),
        Check::OneOf(words) | Check::OneOfAnyCase(words) => words.join(", "),
        Check::ThrottledReplicas => "`*` or partition:broker pairs".to_owned(),
    }
}
