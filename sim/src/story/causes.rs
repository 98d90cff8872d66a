//! What led to what: a step contains what it does, bytes that are read were sent before, a sync covers appends, a power cut leaves what
//! was synced. The slice is what led to the end.
//!
//! It must not know words or pages. Links are those that the trace shows; a hand-over inside the broker is taken to be the latest.

use std::collections::BTreeMap;

use super::{Cast, Moment};
use crate::checker::Violation;
use crate::trace::TraceKind;

/// The most moments that a slice holds: what lies further back is left out.
const SLICE_MOMENTS_MAX: usize = 60;

/// What has happened last, by whom or to what.
#[derive(Default)]
struct Latest {
    step: Option<usize>,
    /// By connection: what the client sent, what the broker read and wrote.
    sent: BTreeMap<u64, usize>,
    read: BTreeMap<u64, usize>,
    written: BTreeMap<u64, usize>,
    any_read: Option<usize>,
    /// By file: appends since the last sync, and that sync.
    unsynced: BTreeMap<u64, Vec<usize>>,
    synced: BTreeMap<u64, usize>,
    any_sync: Option<usize>,
    fault: Option<usize>,
}

/// Links every moment to those that led to it.
pub(super) fn link(moments: &mut [Moment], cast: &Cast) {
    let mut latest = Latest::default();
    for index in 0..moments.len() {
        let event = moments[index].event;
        let entity = event.entity;
        let mut causes: Vec<usize> = Vec::new();
        match event.kind {
            TraceKind::Step => latest.step = Some(index),
            TraceKind::Client => {
                latest.sent.insert(entity, index);
            }
            TraceKind::Accept | TraceKind::Read => {
                causes.extend(latest.sent.get(&entity));
                latest.read.insert(entity, index);
                latest.any_read = Some(index);
            }
            TraceKind::Write => {
                let request = latest.read.get(&entity).copied();
                // An answer that waited for a sync came after it; an older one has nothing to do with it.
                causes.extend(latest.any_sync.filter(|sync| request.is_some_and(|request| request < *sync)));
                causes.extend(request);
                latest.written.insert(entity, index);
            }
            TraceKind::ClientRead => causes.extend(latest.written.get(&entity)),
            TraceKind::Append | TraceKind::Truncate => {
                causes.extend(latest.any_read);
                latest.unsynced.entry(entity).or_default().push(index);
            }
            TraceKind::Sync => {
                causes.extend(latest.unsynced.remove(&entity).unwrap_or_default());
                latest.synced.insert(entity, index);
                latest.any_sync = Some(index);
            }
            TraceKind::Left => {
                causes.extend(latest.unsynced.remove(&entity).unwrap_or_default());
                causes.extend(latest.synced.get(&entity));
            }
            TraceKind::Fault => latest.fault = Some(index),
            _ => {}
        }
        // A fault belongs to what is done right after it.
        causes.extend(
            latest
                .fault
                .take_if(|fault| *fault != index)
                .filter(|fault| moments[*fault].lane == moments[index].lane || moments[index].lane == cast.disk_lane()),
        );
        if event.kind != TraceKind::Step && moments[index].lane != cast.network_lane() {
            causes.extend(latest.step);
        }
        causes.sort_unstable();
        causes.dedup();
        moments[index].causes = causes;
    }
}

/// Marks what led to the violation: from the end backwards, the causes of its client's last news, and every crash and fault near it.
pub(super) fn mark_slice(moments: &mut [Moment], violation: Option<&Violation>) {
    let Some(violation) = violation else { return };
    let client = violation.client().map(u64::from);
    let is_news = |moment: &Moment| matches!(moment.event.kind, TraceKind::ClientRead | TraceKind::Client);
    let is_of_client = |moment: &&mut Moment| client.is_none_or(|client| moment.event.entity >> 32 == client);
    let end =
        moments.iter_mut().rev().filter(|moment| is_news(moment)).find(is_of_client).map(|moment| moment.event.number);
    let end = end.and_then(|number| moments.iter().position(|moment| moment.event.number == number));
    let crashes =
        moments.iter().enumerate().filter(|(_, moment)| moment.event.kind == TraceKind::Crash).map(|(index, _)| index);
    let mut open: Vec<usize> = crashes.chain(end).collect();
    let mut count = 0;
    while let Some(index) = open.pop() {
        if moments[index].is_in_slice || count >= SLICE_MOMENTS_MAX {
            continue;
        }
        moments[index].is_in_slice = true;
        count += 1;
        open.extend(moments[index].causes.iter().copied());
    }
}
