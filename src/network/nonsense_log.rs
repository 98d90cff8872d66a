//! Tells the operator of peers that send no Kafka requests, in few lines however many there are.
//!
//! It must not know connections, nor what is nonsense.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::sync::{Mutex, MutexGuard};
use crate::types::Instant;

/// One line of each class in this time.
const QUIET: Duration = Duration::from_secs(10);

/// When which class of nonsense was told of, for one listener.
#[derive(Debug, Default)]
pub(crate) struct NonsenseLog {
    classes: Mutex<BTreeMap<&'static str, Class>>,
}

#[derive(Debug, Default)]
struct Class {
    quiet_until: Instant,
    untold: u64,
}

impl NonsenseLog {
    /// Writes a warning with the likely cause, unless there was one of this class just now: then the next one tells how many there were.
    pub(crate) fn tell(&self, now: Instant, listener: &str, peer: SocketAddr, class: &'static str, detail: &str) {
        if let Some(untold) = self.due(now, class) {
            let cause = if detail.is_empty() { class.to_owned() } else { format!("{class} ({detail})") };
            let others_before = (untold > 0).then_some(untold);
            tracing::warn!(%peer, listener, others_before, "connection closed: {cause}");
        }
    }

    /// What was told of so far.
    #[cfg(test)]
    pub(crate) fn classes(&self) -> Vec<&'static str> {
        self.table().keys().copied().collect()
    }

    /// How many of this class were not told of, if it is time to tell.
    fn due(&self, now: Instant, class: &'static str) -> Option<u64> {
        let mut classes = self.table();
        let class = classes.entry(class).or_default();
        if now < class.quiet_until {
            class.untold += 1;
            return None;
        }
        class.quiet_until = now.after(QUIET);
        Some(std::mem::take(&mut class.untold))
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<&'static str, Class>> {
        self.classes.lock().expect("nobody panics while holding the classes: panics abort the process")
    }
}

#[cfg(test)]
mod tests {
    use super::NonsenseLog;
    use crate::types::Instant;

    #[test]
    fn each_class_is_told_of_once_in_ten_seconds_with_the_number_of_those_between() {
        let log = NonsenseLog::default();
        let second = |seconds: u64| Instant(seconds * 1_000_000_000);
        assert_eq!(log.due(second(1), "TLS"), Some(0));
        assert_eq!(log.due(second(2), "TLS"), None);
        assert_eq!(log.due(second(3), "HTTP"), Some(0));
        assert_eq!(log.due(second(10), "TLS"), None);
        assert_eq!(log.due(second(11), "TLS"), Some(2));
        assert_eq!(log.due(second(21), "TLS"), Some(0));
    }
}
