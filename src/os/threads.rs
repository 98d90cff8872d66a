//! The production driver: gives each role a thread that steps it and waits for it.
//!
//! Waiting belongs here, working to the step. It must not know what a role does.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::parker::Parker;
use crate::env::{Clock, Disk, Role, Selector, Step, Wake};
use crate::limits::{ACCEPTOR_POLL_MS, PROCESSOR_POLL_MS};
use crate::network::{Acceptor, Processor};
use crate::server::RequestHandler;
use crate::types::{Instant, Now};

/// How the process ends when a role cannot go on.
const EXIT_MUST_STOP: i32 = 3;

/// Requests that a Processor's thread handles before it looks after its connections again.
const REQUESTS_IN_A_TURN: usize = 16;

const RUNNING: u8 = 0;
const DRAINING: u8 = 1;
const STOPPED: u8 = 2;

/// How far the broker is in its life, seen by all threads.
#[derive(Debug, Default)]
pub(crate) struct Phase(AtomicU8);

impl Phase {
    fn get(&self) -> u8 {
        self.0.load(Ordering::Acquire)
    }

    /// From now on nothing new is accepted or read.
    pub(crate) fn drain(&self) {
        self.0.fetch_max(DRAINING, Ordering::AcqRel);
    }

    /// From now on every thread ends.
    pub(crate) fn stop(&self) {
        self.0.fetch_max(STOPPED, Ordering::AcqRel);
    }
}

/// How long a role may wait after a step: not at all after work, else until its deadline or `longest`.
pub(crate) fn wait_after(step: &Step, now: Now, longest: Option<Duration>) -> Option<Duration> {
    let until = |until: &Instant| until.since(now.instant);
    match step {
        Step::Worked | Step::Job(_) | Step::Stopped => Some(Duration::ZERO),
        Step::Idle { until: deadline } => match (deadline.as_ref().map(until), longest) {
            (Some(left), Some(longest)) => Some(left.min(longest)),
            (left, longest) => left.or(longest),
        },
    }
}

/// Ends the process of a broker that cannot go on.
pub(crate) fn exit_at_once() -> ! {
    tracing::error!("the broker cannot go on; the process ends and its logs are checked at the next start");
    std::process::exit(EXIT_MUST_STOP);
}

/// Runs an Acceptor until the broker drains.
pub(crate) fn run_acceptor<S: Selector>(
    name: &str,
    mut acceptor: Acceptor<S>,
    clock: Arc<dyn Clock>,
    phase: Arc<Phase>,
) -> JoinHandle<()> {
    spawn(name, move || {
        let longest = Some(Duration::from_millis(ACCEPTOR_POLL_MS));
        let mut timeout = Some(Duration::ZERO);
        while phase.get() == RUNNING {
            if let Err(error) = acceptor.poll(timeout)
                && error.kind() != std::io::ErrorKind::Interrupted
            {
                tracing::error!(%error, "waiting for new connections failed");
            }
            let now = clock.now();
            timeout = wait_after(&acceptor.step(now), now, longest);
        }
    })
}

/// Runs a Processor, and beside it a handler, until the broker stops, or drains and nothing is in work.
pub(crate) fn run_processor<S: Selector>(
    name: &str,
    mut processor: Processor<S>,
    mut handler: RequestHandler,
    clock: Arc<dyn Clock>,
    phase: Arc<Phase>,
    begun: Begun,
) -> JoinHandle<()> {
    spawn(name, move || {
        let _begun = begun;
        let longest = Some(Duration::from_millis(PROCESSOR_POLL_MS));
        let mut timeout = Some(Duration::ZERO);
        loop {
            match phase.get() {
                RUNNING => {}
                DRAINING => {
                    processor.begin_drain();
                    if processor.is_drained() {
                        return;
                    }
                }
                _ => return,
            }
            if let Err(error) = processor.poll(timeout)
                && error.kind() != std::io::ErrorKind::Interrupted
            {
                tracing::error!(%error, "waiting for connections failed");
            }
            let now = clock.now();
            let step = processor.step(now);
            let handled = handle_some(|| handler.step(now));
            timeout = if handled > 0 { Some(Duration::ZERO) } else { wait_after(&step, now, longest) };
        }
    })
}

/// Steps the handler of a Processor until it has no work, and says how often it had. Bounded: the queue is everybody's, and neither the
/// Processor's connections nor the clock may wait for its end.
fn handle_some(mut step: impl FnMut() -> Step) -> usize {
    (0..REQUESTS_IN_A_TURN).take_while(|_| matches!(step(), Step::Worked)).count()
}

/// Runs a handler of the pool until the broker stops.
pub(crate) fn run_handler(
    name: &str,
    mut handler: RequestHandler,
    parker: Arc<Parker>,
    clock: Arc<dyn Clock>,
    phase: Arc<Phase>,
) -> JoinHandle<()> {
    spawn(name, move || {
        while phase.get() != STOPPED {
            let now = clock.now();
            let step = handler.step(now);
            match wait_after(&step, now, None) {
                Some(Duration::ZERO) => {}
                timeout => parker.sleep(timeout),
            }
        }
    })
}

/// Runs a background role until the broker stops; the syncs it asks for run here, on its thread.
pub(crate) fn run_role(
    mut role: Box<dyn Role>,
    parker: Arc<Parker>,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    phase: Arc<Phase>,
) -> JoinHandle<()> {
    let name = role.name();
    spawn(&name, move || {
        while phase.get() != STOPPED {
            let now = clock.now();
            let step = role.step(now);
            match &step {
                Step::Job(job) => {
                    let result = job.run(disk.as_ref());
                    role.job_done(clock.now(), result);
                }
                Step::Stopped => exit_at_once(),
                Step::Worked => {}
                Step::Idle { .. } => match wait_after(&step, now, None) {
                    Some(Duration::ZERO) => {}
                    timeout => parker.sleep(timeout),
                },
            }
        }
    })
}

/// Counts threads that have not ended, and wakes whoever waits for the last.
#[derive(Debug, Default)]
pub(crate) struct Countdown {
    left: AtomicUsize,
    bell: Parker,
}

impl Countdown {
    /// One more thread; it has ended when the returned value is dropped.
    pub(crate) fn begin(self: &Arc<Countdown>) -> Begun {
        self.left.fetch_add(1, Ordering::AcqRel);
        Begun(Arc::clone(self))
    }

    /// Waits until all have ended, or until `timeout`. One waiter only.
    pub(crate) fn wait(&self, timeout: Duration, now: impl Fn() -> Instant) -> bool {
        let deadline = now().after(timeout);
        while self.left.load(Ordering::Acquire) > 0 {
            let left = deadline.since(now());
            if left.is_zero() {
                return false;
            }
            self.bell.sleep(Some(left));
        }
        true
    }
}

/// A thread that has not ended.
pub(crate) struct Begun(Arc<Countdown>);

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.left.fetch_sub(1, Ordering::AcqRel);
        self.0.bell.wake();
    }
}

/// A thread whose panic ends the process: half-changed state is not worth guessing, the log is the truth.
fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let thread = name.to_string();
    Builder::new()
        .name(thread.clone())
        .spawn(move || {
            if panic::catch_unwind(panic::AssertUnwindSafe(body)).is_err() {
                tracing::error!(thread, "a bug in Klamm: this thread panicked; the process ends and its logs are recovered at the next start");
                std::process::abort();
            }
        })
        .expect("the system has threads left at start")
}

/// Wakes everybody, so that a change of phase is seen.
pub(crate) fn wake_all(wakers: &[Arc<dyn Wake>]) {
    wakers.iter().for_each(|waker| waker.wake());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_of_a_processor_handles_at_most_sixteen_requests_and_no_more_than_there_are() {
        for (waiting, expected) in [(0, 0), (3, 3), (16, 16), (1_000, 16)] {
            let mut left = waiting;
            let handled = handle_some(|| {
                let worked = left > 0;
                left -= usize::from(worked);
                if worked { Step::Worked } else { Step::Idle { until: None } }
            });
            assert_eq!((handled, waiting - left), (expected, expected));
        }
    }
}
