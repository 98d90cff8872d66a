//! What the operator can wish by a signal: SIGTERM and SIGINT end the broker, SIGUSR1 has it say where requests spend their time.
//!
//! It must not know how a wish is fulfilled. A second signal to end ends the process at once, for whoever cannot wait.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::{flag, low_level};

/// What the operator wishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// An orderly end.
    End,
    /// A line for each API in the log: where its requests have spent their time so far.
    RequestTimes,
}

/// Tells what the operator wishes.
#[derive(Debug)]
pub struct Signals {
    end: Arc<AtomicBool>,
    request_times: Arc<AtomicBool>,
    bell: UnixStream,
}

impl Signals {
    /// Takes over SIGTERM, SIGINT and SIGUSR1 for this process. From the second signal to end on, the process exits with 128 plus its number.
    pub fn install() -> io::Result<Signals> {
        let (end, request_times) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (bell, ringer) = UnixStream::pair()?;
        for signal in [SIGTERM, SIGINT] {
            // The order matters: handlers run in order of registration, so the first signal finds the flag still down.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&end))?;
            flag::register(signal, Arc::clone(&end))?;
            low_level::pipe::register(signal, ringer.try_clone()?)?;
        }
        flag::register(SIGUSR1, Arc::clone(&request_times))?;
        low_level::pipe::register(SIGUSR1, ringer)?;
        Ok(Signals { end, request_times, bell })
    }

    /// Waits for the next wish. The end is wished for ever.
    pub fn wait(&mut self) -> io::Result<Wish> {
        loop {
            if self.end.load(Ordering::Acquire) {
                return Ok(Wish::End);
            }
            if self.request_times.swap(false, Ordering::AcqRel) {
                return Ok(Wish::RequestTimes);
            }
            match self.bell.read(&mut [0]) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_is_told_once_and_the_end_for_ever() {
        let mut signals = Signals::install().unwrap();
        low_level::raise(SIGUSR1).unwrap();
        assert_eq!(signals.wait().unwrap(), Wish::RequestTimes);
        low_level::raise(SIGTERM).unwrap();
        assert_eq!(signals.wait().unwrap(), Wish::End);
        assert_eq!(signals.wait().unwrap(), Wish::End);
    }
}
