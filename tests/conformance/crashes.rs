//! Clauses of the simulated machine that a real one can be asked in a way of its own: a process is killed, a sync fails, a disk is full.
//!
//! It must not cut the power: what that leaves, only a simulated machine can show.

use std::io::{self, BufRead, BufReader, ErrorKind, IoSlice, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use klamm::env::{Disk, DiskError, DiskFile, Listener, OpenMode};
use klamm::os::{FileDisk, ListenOptions, MioListener};
use klamm_sim::conformance::{Failure, Outcome};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::LONG;

/// Checks a clause in an empty directory.
pub(super) type Check = fn(&Path) -> Outcome;

/// Each clause under the name that it has among the simulated ones.
pub(super) const CLAUSES: &[(&str, Check)] = &[
    ("kill_keeps_what_was_written", kill_keeps_what_was_written),
    ("lock_ends_with_the_process", lock_ends_with_the_process),
    ("killed_process_ends_its_connections", killed_process_ends_its_connections),
    ("failed_sync_poisons", failed_sync_poisons),
    ("full_disk_says_full", full_disk_says_full),
];

/// The variable that makes this program a `Victim`'s process, and names the directory that it works in.
const VICTIM: &str = "KLAMM_CONFORMANCE_VICTIM";

/// Becomes the process to be killed, if this one was started as such.
pub(super) fn be_killed_if_asked() {
    if let Some(directory) = std::env::var_os(VICTIM) {
        let outcome = be_killed(Path::new(&directory));
        panic!("the victim lived on: {outcome:?}");
    }
}

/// Writes, locks and accepts, says so, and waits for its end.
fn be_killed(directory: &Path) -> Outcome {
    let disk = FileDisk::new();
    let file = disk.open(&directory.join("a"), OpenMode::Create)?;
    file.append(&[IoSlice::new(b"written")])?;
    let _lock = disk.lock(&directory.join(".lock"))?;
    let options = ListenOptions { backlog: 16, receive_buffer_bytes: None };
    let mut listener = MioListener::bind("127.0.0.1", 0, &options)?;
    println!("\nlistening {}", listener.local_address()?);
    let _connection = loop {
        match listener.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
            accepted => break accepted?,
        }
    };
    println!("\naccepted");
    loop {
        std::thread::park();
    }
}

/// A process of its own that holds a file, a lock and a connection.
struct Victim {
    process: Child,
    peer: TcpStream,
}

impl Victim {
    fn start(directory: &Path) -> Result<Victim, Failure> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["real_makers_keep_every_clause", "--exact", "--nocapture"])
            .env(VICTIM, directory)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut output = BufReader::new(process.stdout.take().ok_or("no pipe to the victim")?);
        let address = said(&mut output, "listening ")?;
        let address: SocketAddr = address.parse().map_err(|_| format!("the victim listens on {address}"))?;
        let peer = TcpStream::connect(address)?;
        said(&mut output, "accepted")?;
        Ok(Victim { process, peer })
    }

    /// SIGKILL; returns when the process is gone.
    fn kill(mut self) -> io::Result<TcpStream> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(self.peer)
    }
}

/// What follows this word on the first line that starts with it.
fn said(output: &mut BufReader<ChildStdout>, word: &str) -> Result<String, Failure> {
    let mut lines = output.lines().map_while(Result::ok);
    let line = lines.find_map(|line| line.strip_prefix(word).map(str::to_owned));
    Ok(line.ok_or(format!("the victim ended before it said '{word}'"))?)
}

fn ensure(condition: bool, sentence: String) -> Outcome {
    if condition { Ok(()) } else { Err(sentence.into()) }
}

fn kill_keeps_what_was_written(directory: &Path) -> Outcome {
    Victim::start(directory)?.kill()?;
    let left = std::fs::read(directory.join("a"))?;
    ensure(left == b"written", format!("{left:?} is left"))
}

fn lock_ends_with_the_process(directory: &Path) -> Outcome {
    let (disk, path) = (FileDisk::new(), directory.join(".lock"));
    let victim = Victim::start(directory)?;
    let refused = disk.lock(&path).err();
    ensure(matches!(refused, Some(DiskError::Locked { .. })), format!("the lock of a living process: {refused:?}"))?;
    victim.kill()?;
    disk.lock(&path)?;
    Ok(())
}

fn killed_process_ends_its_connections(directory: &Path) -> Outcome {
    let victim = Victim::start(directory)?;
    victim.peer.set_read_timeout(Some(Duration::from_millis(1)))?;
    let early = (&victim.peer).read(&mut [0; 16]).map_err(|error| error.kind());
    ensure(early == Err(ErrorKind::WouldBlock), format!("the peer of a living process reads {early:?}"))?;
    let mut peer = victim.kill()?;
    peer.set_read_timeout(Some(LONG))?;
    let end = peer.read(&mut [0; 16]);
    ensure(matches!(end, Ok(0)), format!("the peer of a killed process reads {end:?}"))
}

/// The kernel refuses to sync a pipe, which is the one failing sync that a test can have without a broken disk.
fn failed_sync_poisons(directory: &Path) -> Outcome {
    let (disk, path) = (FileDisk::new(), directory.join("pipe"));
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).map_err(io::Error::from)?;
    let file = disk.open(&path, OpenMode::Write)?;
    let other = disk.open(&path, OpenMode::Write)?;
    let append = |file: &dyn DiskFile| file.append(&[IoSlice::new(b"x")]);
    append(&*file)?;
    let failed = file.sync();
    ensure(matches!(failed, Err(DiskError::Io { .. })), format!("a failing sync: {failed:?}"))?;
    for outcome in [file.sync(), append(&*file), other.sync(), append(&*other)] {
        ensure(matches!(outcome, Err(DiskError::Poisoned { .. })), format!("after a failed sync: {outcome:?}"))?;
    }
    Ok(())
}

/// The device that is always full; that space comes back, it cannot show.
fn full_disk_says_full(_: &Path) -> Outcome {
    let file = FileDisk::new().open(Path::new("/dev/full"), OpenMode::Write)?;
    let outcome = file.append(&[IoSlice::new(b"x")]);
    ensure(matches!(outcome, Err(DiskError::Full { .. })), format!("appending to a full disk: {outcome:?}"))
}
