//! The operator's wish to end: SIGTERM and SIGINT.
//!
//! It must not know how the broker ends. A second signal ends the process at once, for whoever cannot wait.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// Tells when the operator asked to end.
#[derive(Debug)]
pub struct Termination {
    asked: Arc<AtomicBool>,
    bell: UnixStream,
}

impl Termination {
    /// Takes over SIGTERM and SIGINT for this process. From the second signal on, the process exits with 128 plus its number.
    pub fn install() -> io::Result<Termination> {
        let asked = Arc::new(AtomicBool::new(false));
        let (bell, ringer) = UnixStream::pair()?;
        for signal in [SIGTERM, SIGINT] {
            // The order matters: handlers run in order of registration, so the first signal finds the flag still down.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
            low_level::pipe::register(signal, ringer.try_clone()?)?;
        }
        Ok(Termination { asked, bell })
    }

    /// Whether the operator has asked to end.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Waits until the operator asks to end, at most `timeout` (for ever if `None`), and says whether they did.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        if self.is_asked() {
            return Ok(true);
        }
        // A zero read timeout is refused by the system; the shortest one means the same here.
        self.bell.set_read_timeout(timeout.map(|timeout| timeout.max(Duration::from_millis(1))))?;
        match self.bell.read(&mut [0]) {
            Ok(_) => Ok(self.is_asked()),
            Err(error) if is_patience(&error) => Ok(self.is_asked()),
            Err(error) => Err(error),
        }
    }
}

fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_ends_the_wait() {
        let mut termination = Termination::install().unwrap();
        assert!(!termination.wait(Some(Duration::ZERO)).unwrap());
        low_level::raise(SIGTERM).unwrap();
        assert!(termination.wait(None).unwrap());
        assert!(termination.is_asked());
    }
}
