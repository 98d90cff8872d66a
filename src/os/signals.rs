//! What the operator can wish by a signal: SIGTERM, SIGINT and SIGHUP end the broker in order, SIGUSR1 has it say where requests spend their time.
//!
//! It must not know how a wish is fulfilled. A second signal to end changes nothing, as with Kafka: supervisors send it twice, and an end in the
//! middle would cost a recovery. SIGKILL is for whoever cannot wait.

use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
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
    /// Takes these signals over for this process.
    pub fn install() -> io::Result<Signals> {
        let (end, request_times) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (bell, ringer) = UnixStream::pair()?;
        // Who started the broker so that it outlives the terminal (nohup) has said that a hang-up is to be ignored.
        let hang_up = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGTERM, SIGINT].into_iter().chain(hang_up) {
            // The order matters: handlers run in order of registration, and whoever hears the bell looks at the flag.
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

/// Whether this process was started with a signal ignored, as the system tells it.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_is_told_once_and_the_end_for_ever() {
        let mut signals = Signals::install().unwrap();
        low_level::raise(SIGUSR1).unwrap();
        assert_eq!(signals.wait().unwrap(), Wish::RequestTimes);
        for end in [SIGTERM, SIGTERM, SIGHUP, SIGINT] {
            low_level::raise(end).unwrap();
            assert_eq!(signals.wait().unwrap(), Wish::End);
        }
        assert_eq!(signals.wait().unwrap(), Wish::End);
    }
}
