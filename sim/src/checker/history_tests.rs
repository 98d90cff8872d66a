//! The oracle itself under test: a correct history passes, and each way of making it wrong is rejected.
//!
//! It must not know runs.

use klamm::record::RecordBatchBuilder;

use super::history::Lane;
use super::{Acks, History, Seen, Violation};
use crate::client::Value;
use crate::keyed::Site;
use crate::ledger::Destroyed;

const PARTITION: i32 = 0;

/// One thing that happens in a history.
#[derive(Clone, Copy, Debug)]
enum Event {
    Sent { sequence: u32, acks: Acks, lane: Lane },
    Acked { sequence: u32, offset: i64 },
    Refused { sequence: u32 },
    Read { sequence: u32, offset: i64 },
    Foreign { offset: i64 },
    ReadAbove { sequence: u32, offset: i64 },
    Lost,
    Final,
}

use Event::*;

fn value(sequence: u32) -> Value {
    Value { client: 1, sequence }
}

/// Five records with acks=all at offsets 0 to 4 by an idempotent producer, read twice; one refused; one with acks=1.
fn correct() -> Vec<Event> {
    let lane = Lane::Idempotent(1, 7);
    let mut events: Vec<Event> = (0..5).map(|sequence| Sent { sequence, acks: Acks::All, lane }).collect();
    events.push(Sent { sequence: 5, acks: Acks::All, lane: Lane::Connection(7) });
    events.push(Sent { sequence: 6, acks: Acks::Leader, lane: Lane::Connection(8) });
    events.extend((0..5).map(|sequence| Acked { sequence, offset: i64::from(sequence) }));
    events.push(Refused { sequence: 5 });
    events.push(Acked { sequence: 6, offset: 5 });
    events.extend((0..3).map(|sequence| Read { sequence, offset: i64::from(sequence) }));
    events.push(Final);
    events.extend((0..5).map(|sequence| Read { sequence, offset: i64::from(sequence) }));
    events.push(Read { sequence: 6, offset: 5 });
    events
}

fn judge(events: &[Event]) -> Vec<Violation> {
    let mut history = History::default();
    let mut sends = std::collections::BTreeMap::new();
    let mut next = 0;
    for event in events {
        let era = history.era();
        let seen = |offset| Seen {
            client: 9,
            partition: PARTITION,
            epoch: 0,
            offset,
            high_watermark: 6,
            era,
            start: 0,
            timestamp: 0,
        };
        match *event {
            Sent { sequence, acks, lane } => {
                sends.insert(sequence, history.sent(value(sequence), acks, PARTITION, lane));
            }
            Acked { sequence, offset } => history.acked(sends[&sequence], offset),
            Refused { sequence } => history.refused(sends[&sequence]),
            Read { sequence, offset } => {
                history.seen(seen(offset), next, Some(value(sequence)));
                next = offset + 1;
            }
            Foreign { offset } => {
                history.seen(seen(offset), next, None);
                next = offset + 1;
            }
            ReadAbove { sequence, offset } => {
                history.seen(Seen { high_watermark: offset, ..seen(offset) }, next, Some(value(sequence)));
                next = offset + 1;
            }
            Lost => history.unsynced_lost(),
            Final => {
                history.begin_final_reading();
                next = 0;
            }
        }
    }
    history.verdict()
}

/// Where in the correct history the final reading begins.
fn final_at() -> usize {
    correct().iter().position(|event| matches!(event, Final)).unwrap() + 1
}

fn changed(change: impl FnOnce(&mut Vec<Event>)) -> Vec<Violation> {
    let mut events = correct();
    change(&mut events);
    judge(&events)
}

#[test]
fn a_correct_history_passes() {
    assert_eq!(judge(&correct()), []);
}

#[test]
fn an_unsynced_record_may_be_lost_and_a_synced_one_may_not() {
    let last = correct().len() - 1;
    let without_leader = changed(|events| {
        events.insert(final_at() - 1, Lost);
        events.remove(last + 1);
    });
    assert_eq!(without_leader, []);
    let without_synced = changed(|events| {
        events.insert(final_at() - 1, Lost);
        events.truncate(last);
    });
    assert!(matches!(without_synced[..], [Violation::AcknowledgedLost { .. }, ..]), "{without_synced:?}");
}

#[test]
fn every_single_dropped_final_record_is_missed() {
    for index in final_at()..correct().len() {
        assert_ne!(
            changed(|events| {
                events.remove(index);
            }),
            [],
            "without event {index}"
        );
    }
}

#[test]
fn every_doubled_shifted_or_swapped_final_record_is_seen() {
    for index in final_at()..correct().len() {
        let Read { sequence, offset } = correct()[index] else { panic!("the final reading only reads") };
        let doubled = changed(|events| events.push(Read { sequence, offset: 6 }));
        assert_ne!(doubled, [], "{sequence} twice");
        let shifted = changed(|events| events[index] = Read { sequence, offset: offset + 100 });
        assert_ne!(shifted, [], "{sequence} shifted");
        let swapped = changed(|events| events[index] = Read { sequence: (sequence + 1) % 5, offset });
        assert_ne!(swapped, [], "{sequence} swapped");
        let foreign = changed(|events| events[index] = Foreign { offset });
        assert_ne!(foreign, [], "{sequence} foreign");
        let above = changed(|events| events[index] = ReadAbove { sequence, offset });
        assert_ne!(above, [], "{sequence} above the high watermark");
    }
}

#[test]
fn every_wrong_acknowledgement_is_seen() {
    for (index, event) in correct().into_iter().enumerate() {
        let Acked { sequence, offset } = event else { continue };
        let moved = changed(|events| events[index] = Acked { sequence, offset: offset + 1 });
        assert_ne!(moved, [], "{sequence} acknowledged elsewhere");
        let refused = changed(|events| events[index] = Refused { sequence });
        assert_ne!(refused, [], "{sequence} refused and there");
    }
}

#[test]
fn a_refused_record_that_is_there_is_seen() {
    assert_ne!(changed(|events| events.push(Read { sequence: 5, offset: 6 })), []);
}

#[test]
fn an_idempotent_record_without_an_acknowledgement_is_seen() {
    let index = correct().iter().position(|event| matches!(event, Acked { sequence: 3, .. })).unwrap();
    let violations = changed(|events| {
        events.remove(index);
    });
    assert_eq!(violations, [Violation::NeverAcknowledged { value: value(3) }]);
}

#[test]
fn an_acks_all_record_that_was_read_and_is_gone_is_seen_even_if_nobody_was_told() {
    let events = [
        Sent { sequence: 0, acks: Acks::All, lane: Lane::Connection(1) },
        Read { sequence: 0, offset: 0 },
        Lost,
        Final,
    ];
    assert!(matches!(judge(&events)[..], [Violation::ReadLost { .. }]));
    let with_leader = [
        Sent { sequence: 0, acks: Acks::Leader, lane: Lane::Connection(1) },
        Read { sequence: 0, offset: 0 },
        Lost,
        Final,
    ];
    assert_eq!(judge(&with_leader), []);
    let after_the_loss = [
        Sent { sequence: 0, acks: Acks::Leader, lane: Lane::Connection(1) },
        Lost,
        Read { sequence: 0, offset: 0 },
        Final,
    ];
    assert!(matches!(judge(&after_the_loss)[..], [Violation::ReadLost { .. }]), "a kill loses nothing that was read");
}

#[test]
fn records_whose_sends_were_never_answered_keep_their_order_too() {
    let lane = Lane::Connection(1);
    let sent = |sequence| Sent { sequence, acks: Acks::Leader, lane };
    let read = |sequence, offset| Read { sequence, offset };
    let events = [sent(0), sent(1), Final, read(1, 0), read(0, 1)];
    assert!(matches!(judge(&events)[..], [Violation::OutOfOrder { .. }]));
    let events = [sent(0), sent(1), Final, read(0, 0), read(1, 1)];
    assert_eq!(judge(&events), []);
}

#[test]
fn a_swapped_order_within_a_lane_is_seen() {
    let violations = changed(|events| {
        for event in events.iter_mut() {
            match event {
                Acked { sequence, offset } if *sequence < 2 => *offset = 1 - i64::from(*sequence),
                Read { sequence, offset } if *offset < 2 => *sequence = 1 - u32::try_from(*offset).unwrap(),
                _ => {}
            }
        }
    });
    assert!(violations.iter().any(|violation| matches!(violation, Violation::OutOfOrder { .. })), "{violations:?}");
}

#[test]
fn an_offset_that_changes_its_record_is_seen() {
    let violations = changed(|events| {
        let first = events.iter().position(|event| matches!(event, Read { sequence: 1, .. })).unwrap();
        events[first] = Read { sequence: 2, offset: 1 };
    });
    assert!(violations.iter().any(|violation| matches!(violation, Violation::OffsetChanged { .. })), "{violations:?}");
}

#[test]
fn only_a_record_whose_offset_was_destroyed_may_be_found_further_up() {
    for (from, is_seen) in [(0, false), (20, true)] {
        let mut builder = RecordBatchBuilder::new();
        builder.append(1, None, Some(b"a")).unwrap();
        let path = "/data/events-0/00000000000000000000.log".into();
        let bytes = builder.build().unwrap().into();
        let mut history = History::default();
        history.destroyed().take("events", &[Destroyed { path, from, to: from + 1, how: Site::BitRotAtRest, bytes }]);
        let era = history.era();
        for (sequence, offset) in [(0, 0), (1, 1), (0, 1)] {
            let (client, partition, epoch, high_watermark, start, timestamp) = (9, PARTITION, 0, 6, 0, 0);
            let seen = Seen { client, partition, epoch, offset, high_watermark, era, start, timestamp };
            history.seen(seen, offset, Some(value(sequence)));
        }
        assert_eq!(!history.into_violations().is_empty(), is_seen);
    }
}
