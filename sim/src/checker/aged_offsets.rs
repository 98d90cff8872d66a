//! Committed offsets that grow old: each is there until its time is over, and gone soon after.
//!
//! It must not know how offsets are committed. Ages are in milliseconds of the wall clock, which nobody sets any more when this is looked at.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Violation;

/// A coordinator that looks for old offsets every second has removed them by then.
const LATE_MS_MAX: i64 = 15_000;

/// One group's offset.
#[derive(Clone, Copy, Debug)]
struct Aged {
    offset: i64,
    /// How old it becomes.
    life_ms: i64,
    /// Its age is counted from a moment between these; it has none as long as a member holds it.
    since: Option<(i64, i64)>,
}

/// All of them, by group.
#[derive(Debug, Default)]
pub(crate) struct AgedOffsets {
    groups: BTreeMap<String, Aged>,
    /// Who holds one, until it leaves.
    member: Option<String>,
}

impl AgedOffsets {
    /// It was committed between these moments, by a member that holds it or by nobody.
    pub(crate) fn committed(&mut self, group: &str, (offset, life_ms): (i64, i64), since: Option<Range<i64>>) {
        let since = since.map(|since| (since.start, since.end));
        self.groups.insert(group.to_owned(), Aged { offset, life_ms, since });
    }

    /// Who holds an offset.
    pub(crate) fn holds(&mut self, member_id: &str) {
        self.member = Some(member_id.to_owned());
    }

    /// Who holds one.
    pub(crate) fn member(&self) -> Option<String> {
        self.member.clone()
    }

    /// Its member has left between these moments.
    pub(crate) fn let_go(&mut self, group: &str, since: Range<i64>) {
        self.member = None;
        if let Some(aged) = self.groups.get_mut(group) {
            aged.since = Some((since.start, since.end));
        }
    }

    /// Whether an offset of this group is known that may be there.
    pub(crate) fn is_any(&self, group: &str) -> bool {
        self.groups.contains_key(group)
    }

    /// The broker was asked between these moments and says what the offset is: -1 if there is none. Of one that is gone nothing more is expected.
    pub(crate) fn found(&mut self, group: &str, found: i64, asked: Range<i64>) -> Option<Violation> {
        let Aged { offset, life_ms, since } = *self.groups.get(group)?;
        let group = group.to_owned();
        // It may be gone from `earliest` on, and must be from `latest` on.
        let earliest = since.map_or(i64::MAX, |(from, _)| from + life_ms);
        let latest = since.map_or(i64::MAX, |(_, to)| to + life_ms + LATE_MS_MAX);
        if found == offset {
            return (asked.start >= latest).then(|| Violation::OffsetKept { group, late_ms: asked.start - latest });
        }
        self.groups.remove(&group);
        let is_too_early = asked.end < earliest;
        (is_too_early || found != -1).then_some(Violation::OffsetExpired { group, offset, found })
    }
}

#[cfg(test)]
mod tests {
    use super::AgedOffsets;

    #[test]
    fn an_offset_is_there_until_its_time_is_over_and_gone_soon_after() {
        let mut aged = AgedOffsets::default();
        aged.committed("a", (5, 60_000), Some(1_000..1_002));
        assert_eq!(aged.found("a", 5, 60_000..60_001), None);
        assert_eq!(aged.found("a", 5, 70_000..70_001), None);
        assert!(aged.found("a", 5, 76_002..76_003).is_some());
        assert_eq!(aged.found("a", -1, 70_000..70_001), None);
        assert!(!aged.is_any("a"));
        aged.committed("a", (5, 60_000), Some(1_000..1_002));
        assert!(aged.found("a", -1, 60_000..60_999).is_some());
    }

    #[test]
    fn an_offset_that_a_member_holds_does_not_age() {
        let mut aged = AgedOffsets::default();
        aged.committed("a", (5, 60_000), None);
        assert_eq!(aged.found("a", 5, 900_000..900_001), None);
        aged.let_go("a", 900_000..900_001);
        assert_eq!(aged.found("a", 5, 959_000..959_001), None);
        assert!(aged.found("a", 6, 959_000..959_001).is_some());
    }
}
