//! The real selector: epoll through mio, edge-triggered.
//!
//! It must not know what is read or written. mio's own rules hold: register once, drain to `WouldBlock`, re-register to ask again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::env::{Event, Interest, Selector, Token, Wake};
use crate::os::{MioConnection, MioListener};

/// The waker's place among mio's tokens; no `Token` maps to it, since no slot has the index `u32::MAX`.
const WAKER_TOKEN: mio::Token = mio::Token(usize::MAX);

// A token carries an index and a generation of 32 bits each.
const _: () = assert!(usize::BITS >= 64);

/// Waits for readiness with epoll.
pub struct MioSelector {
    poll: mio::Poll,
    ready: mio::Events,
    waker: Arc<MioWaker>,
}

impl MioSelector {
    /// A selector that takes at most `events_max` events out of the kernel per poll.
    pub fn new(events_max: usize) -> io::Result<MioSelector> {
        let poll = mio::Poll::new()?;
        let waker = mio::Waker::new(poll.registry(), WAKER_TOKEN)?;
        let waker = Arc::new(MioWaker { waker, pending: AtomicBool::new(false) });
        Ok(MioSelector { poll, ready: mio::Events::with_capacity(events_max), waker })
    }
}

impl Selector for MioSelector {
    type Listener = MioListener;
    type Connection = MioConnection;

    fn poll(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        let outcome = self.poll.poll(&mut self.ready, timeout);
        // The caller looks at its queues after this call. A wake up to here is answered by that look, a later one writes again.
        self.waker.pending.swap(false, Ordering::AcqRel);
        outcome?;
        events.extend(self.ready.iter().filter(|event| event.token() != WAKER_TOKEN).map(translate));
        Ok(())
    }

    fn register_listener(&mut self, listener: &mut MioListener, token: Token) -> io::Result<()> {
        self.poll.registry().register(listener.source(), to_mio(token), mio::Interest::READABLE)
    }

    fn rearm_listener(&mut self, listener: &mut MioListener, token: Token) -> io::Result<()> {
        self.poll.registry().reregister(listener.source(), to_mio(token), mio::Interest::READABLE)
    }

    fn register(&mut self, connection: &mut MioConnection, token: Token, interest: Interest) -> io::Result<()> {
        self.poll.registry().register(connection.source(), to_mio(token), interest_to_mio(interest))
    }

    fn reregister(&mut self, connection: &mut MioConnection, token: Token, interest: Interest) -> io::Result<()> {
        self.poll.registry().reregister(connection.source(), to_mio(token), interest_to_mio(interest))
    }

    fn deregister(&mut self, connection: &mut MioConnection) -> io::Result<()> {
        self.poll.registry().deregister(connection.source())
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::clone(&self.waker) as Arc<dyn Wake>
    }
}

/// Writes to the selector's eventfd, once until the next return of `poll`.
struct MioWaker {
    waker: mio::Waker,
    pending: AtomicBool,
}

impl Wake for MioWaker {
    fn wake(&self) {
        if self.pending.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Err(error) = self.waker.wake() {
            self.pending.store(false, Ordering::Release);
            tracing::error!(%error, "could not wake a selector; it goes on at its next timeout");
        }
    }
}

fn translate(event: &mio::event::Event) -> Event {
    Event {
        token: from_mio(event.token()),
        readable: event.is_readable(),
        writable: event.is_writable(),
        read_closed: event.is_read_closed(),
        write_closed: event.is_write_closed(),
        error: event.is_error(),
    }
}

fn to_mio(token: Token) -> mio::Token {
    mio::Token(((token.generation as usize) << 32) | token.index as usize)
}

#[expect(clippy::cast_possible_truncation, reason = "each half is taken on its own")]
fn from_mio(token: mio::Token) -> Token {
    Token { index: token.0 as u32, generation: (token.0 >> 32) as u32 }
}

fn interest_to_mio(interest: Interest) -> mio::Interest {
    match interest {
        Interest::Readable => mio::Interest::READABLE,
        Interest::ReadableWritable => mio::Interest::READABLE | mio::Interest::WRITABLE,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;

    #[test]
    fn no_wake_is_lost_between_two_threads() {
        const ROUNDS: u64 = 20_000;
        /// Far longer than a woken poll takes: a lost wake shows as a poll that ran into it.
        const PATIENCE: Duration = Duration::from_secs(20);
        fn play(mut mine: MioSelector, others: &dyn Wake, turn: &AtomicU64, side: u64) {
            loop {
                let now = turn.load(Ordering::Acquire);
                if now >= ROUNDS {
                    return others.wake();
                }
                if now % 2 == side {
                    turn.store(now + 1, Ordering::Release);
                    others.wake();
                } else {
                    // Dawdles, so that a wake often comes between the look at the turn and the poll.
                    (0..now % 64 * 5).for_each(|_| std::hint::spin_loop());
                    mine.poll(&mut Vec::new(), Some(PATIENCE)).unwrap();
                }
            }
        }
        let sides = [MioSelector::new(8).unwrap(), MioSelector::new(8).unwrap()];
        let wakers = sides.each_ref().map(Selector::waker);
        let [first, second] = sides;
        let turn = Arc::new(AtomicU64::new(0));
        let start = std::time::Instant::now();
        let other = {
            let (turn, waker) = (Arc::clone(&turn), Arc::clone(&wakers[0]));
            thread::spawn(move || play(second, &*waker, &turn, 1))
        };
        play(first, &*wakers[1], &turn, 0);
        other.join().unwrap();
        assert!(start.elapsed() < PATIENCE, "a poll slept through a wake");
    }

    #[test]
    fn a_token_survives_mio() {
        for token in [
            Token { index: 0, generation: 0 },
            Token { index: 7, generation: u32::MAX },
            Token { index: u32::MAX - 1, generation: 3 },
        ] {
            assert_eq!(from_mio(to_mio(token)), token);
            assert_ne!(to_mio(token), WAKER_TOKEN);
        }
    }
}
