//! The page of a story: one HTML text with its data, its style and its script inside, so that it can be sent as a file.
//!
//! It must not know how a story came about.

use serde::Serialize;

use super::{Moment, Story};
use crate::trace::TraceKind;

const TEMPLATE: &str = include_str!("page.html");

#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    violations: Vec<String>,
    capsule: &'a str,
    lanes: &'a [String],
    moments: Vec<Entry<'a>>,
}

/// One moment, in few letters, since there are many.
#[derive(Serialize)]
struct Entry<'a> {
    /// Number of the event.
    n: u64,
    /// When, in nanoseconds.
    t: u64,
    /// Lane.
    l: usize,
    /// What kind.
    k: &'static str,
    /// In words.
    w: &'a str,
    /// Causes.
    c: &'a [usize],
    /// In the slice.
    s: bool,
    /// Whom it is about, and what there is to say: what the state is counted from.
    e: String,
    v: u64,
}

/// The page.
pub(super) fn render(story: &Story, title: &str, capsule: &str) -> String {
    let data = Data {
        title,
        violations: story.report.violations.iter().map(ToString::to_string).collect(),
        capsule,
        lanes: &story.lanes,
        moments: story.moments.iter().map(entry).collect(),
    };
    let json = serde_json::to_string(&data).expect("plain numbers and names are JSON");
    // A closing tag inside the data must not end the script.
    TEMPLATE.replace("{{DATA}}", &json.replace("</", "<\\/"))
}

fn entry(moment: &Moment) -> Entry<'_> {
    Entry {
        n: moment.event.number,
        t: moment.event.at_ns,
        l: moment.lane,
        k: kind(moment.event.kind),
        w: &moment.words,
        c: &moment.causes,
        s: moment.is_in_slice,
        e: format!("{:x}", moment.event.entity),
        v: moment.event.value,
    }
}

fn kind(kind: TraceKind) -> &'static str {
    match kind {
        TraceKind::Fault => "fault",
        TraceKind::Crash => "crash",
        TraceKind::Step => "step",
        TraceKind::Accept => "accept",
        TraceKind::Close => "close",
        TraceKind::Read => "read",
        TraceKind::Write => "write",
        TraceKind::Client => "send",
        TraceKind::ClientRead => "receive",
        TraceKind::Append | TraceKind::Truncate => "append",
        TraceKind::Sync => "sync",
        TraceKind::Left => "left",
        TraceKind::Reset => "reset",
        TraceKind::Event | TraceKind::Wake => "event",
        TraceKind::Time | TraceKind::Block | TraceKind::Entry | TraceKind::WallJump => "other",
    }
}
