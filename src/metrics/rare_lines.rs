//! When to write a line about what may happen a thousand times a second: one of each kind now and then, with how many were left out.
//!
//! It must not know what a line says, nor write it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::types::Instant;

/// One line of each kind in this time.
const QUIET: Duration = Duration::from_secs(10);

/// When which kind was told of.
#[derive(Debug, Default)]
pub struct RareLines {
    kinds: Mutex<BTreeMap<&'static str, Kind>>,
}

#[derive(Debug, Default)]
struct Kind {
    quiet_until: Instant,
    untold: u64,
}

impl RareLines {
    /// How many of this kind were not told of, if it is time to tell.
    pub fn due(&self, now: Instant, kind: &'static str) -> Option<u64> {
        let mut kinds = self.kinds.lock().expect("nobody panics while holding the kinds: panics abort the process");
        let kind = kinds.entry(kind).or_default();
        if now < kind.quiet_until {
            kind.untold += 1;
            return None;
        }
        kind.quiet_until = now.after(QUIET);
        Some(std::mem::take(&mut kind.untold))
    }

    /// The kinds that were told of so far.
    #[cfg(test)]
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.kinds.lock().expect("nobody panics while holding the kinds").keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::RareLines;
    use crate::types::Instant;

    #[test]
    fn each_class_is_told_of_once_in_ten_seconds_with_the_number_of_those_between() {
        let log = RareLines::default();
        let second = |seconds: u64| Instant(seconds * 1_000_000_000);
        assert_eq!(log.due(second(1), "TLS"), Some(0));
        assert_eq!(log.due(second(2), "TLS"), None);
        assert_eq!(log.due(second(3), "HTTP"), Some(0));
        assert_eq!(log.due(second(10), "TLS"), None);
        assert_eq!(log.due(second(11), "TLS"), Some(2));
        assert_eq!(log.due(second(21), "TLS"), Some(0));
    }
}
