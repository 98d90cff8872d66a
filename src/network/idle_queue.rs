//! Finds the channel that was unused the longest, in constant time per use.
//!
//! Kafka moves a channel to the end of a list on every use. Here a use only writes the channel's own time; the queue looks at a channel
//! when its old deadline comes and puts it back with the new one. It must not know channels, only tokens.

use std::collections::VecDeque;
use std::time::Duration;

use crate::env::Token;
use crate::types::Instant;

/// Tokens with the instant at which each is to be looked at next, in that order.
#[derive(Debug)]
pub(crate) struct IdleQueue {
    idle_max: Option<Duration>,
    queue: VecDeque<(Instant, Token)>,
}

impl IdleQueue {
    /// A queue for channels that may be idle for `idle_max`, or for ever.
    pub(crate) fn new(idle_max: Option<Duration>) -> IdleQueue {
        IdleQueue { idle_max, queue: VecDeque::new() }
    }

    /// Starts to watch a channel that was used just now.
    pub(crate) fn watch(&mut self, token: Token, now: Instant) {
        if let Some(idle_max) = self.idle_max {
            self.queue.push_back((now.after(idle_max), token));
        }
    }

    /// When to look next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.queue.front().map(|(deadline, _)| *deadline)
    }

    /// The next token whose idle time is over. `last_used` tells when a channel was used last, `None` if it is gone.
    pub(crate) fn expired(&mut self, now: Instant, last_used: impl Fn(Token) -> Option<Instant>) -> Option<Token> {
        let idle_max = self.idle_max?;
        while let Some((deadline, token)) = self.queue.front().copied() {
            if deadline > now {
                return None;
            }
            self.queue.pop_front();
            match last_used(token).map(|used| used.after(idle_max)) {
                None => {}
                Some(deadline) if deadline <= now => return Some(token),
                // Deadlines of looks are in order because each is at most now + idle_max, and now only grows; a channel that
                // was used a while ago goes where its own deadline belongs.
                Some(deadline) => {
                    let place = self.queue.partition_point(|(other, _)| *other <= deadline);
                    self.queue.insert(place, (deadline, token));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::IdleQueue;
    use crate::env::Token;
    use crate::types::Instant;
    use std::time::Duration;

    #[test]
    fn a_channel_expires_idle_max_after_its_last_use_and_not_before() {
        let token = Token { index: 0, generation: 1 };
        let mut queue = IdleQueue::new(Some(Duration::from_nanos(10)));
        queue.watch(token, Instant(0));
        assert_eq!(queue.expired(Instant(9), |_| Some(Instant(0))), None);
        assert_eq!(queue.expired(Instant(10), |_| Some(Instant(7))), None, "it was used at 7");
        assert_eq!(queue.deadline(), Some(Instant(17)));
        assert_eq!(queue.expired(Instant(17), |_| Some(Instant(7))), Some(token));
        assert_eq!(queue.deadline(), None);
    }

    #[test]
    fn a_channel_that_is_gone_is_forgotten() {
        let mut queue = IdleQueue::new(Some(Duration::from_nanos(10)));
        queue.watch(Token { index: 0, generation: 1 }, Instant(0));
        assert_eq!(queue.expired(Instant(100), |_| None), None);
        assert_eq!(queue.deadline(), None);
    }

    #[test]
    fn without_a_limit_nothing_expires() {
        let mut queue = IdleQueue::new(None);
        queue.watch(Token { index: 0, generation: 1 }, Instant(0));
        assert_eq!(queue.deadline(), None);
        assert_eq!(queue.expired(Instant(u64::MAX), |_| Some(Instant(0))), None);
    }
}
