//! Clauses of the simulated machine that a real one can be asked in a way of its own: a process is killed, a sync fails, a disk is full.
//!
//! It must not cut the power: what that leaves, only a simulated machine can show.

use std::io::{BufRead, BufReader, ErrorKind, IoSlice, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use klamm::env::{Disk, DiskError, Listener, OpenMode};
use klamm::os::{FileDisk, ListenOptions, MioListener};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::LONG;

/// Each clause under the name that it has among the simulated ones, with its check in an empty directory.
pub(super) const CLAUSES: &[(&str, fn(&Path))] = &[
    ("kill_keeps_what_was_written", kill_keeps_what_was_written),
    ("lock_ends_with_the_process", lock_ends_with_the_process),
    ("killed_process_ends_its_connections", killed_process_ends_its_connections),
    ("failed_sync_poisons", failed_sync_poisons),
    ("full_disk_says_full", full_disk_says_full),
];

/// The variable that makes this program a `Victim`'s process, and names the directory that it works in.
const VICTIM: &str = "KLAMM_CONFORMANCE_VICTIM";

/// Becomes the process to be killed, if this one was started as such: it writes, locks and accepts, says so, and waits for its end.
pub(super) fn be_killed_if_asked() {
    let Some(directory) = std::env::var_os(VICTIM) else { return };
    let (disk, directory) = (FileDisk::new(), Path::new(&directory));
    let file = disk.open(&directory.join("a"), OpenMode::Create).unwrap();
    file.append(&[IoSlice::new(b"written")]).unwrap();
    let _lock = disk.lock(&directory.join(".lock")).unwrap();
    let options = ListenOptions { backlog: 16, receive_buffer_bytes: None };
    let mut listener = MioListener::bind("127.0.0.1", 0, &options).unwrap();
    println!("\nlistening {}", listener.local_address().unwrap());
    let accepted = std::iter::repeat_with(|| listener.accept()).find(|accepted| {
        std::thread::yield_now();
        !matches!(accepted, Err(error) if error.kind() == ErrorKind::WouldBlock)
    });
    let _connection = accepted.unwrap().unwrap();
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
    fn start(directory: &Path) -> Victim {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["real_makers_keep_every_clause", "--exact", "--nocapture"])
            .env(VICTIM, directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let address: SocketAddr = said(&mut output, "listening ").parse().unwrap();
        let peer = TcpStream::connect(address).unwrap();
        peer.set_read_timeout(Some(LONG)).unwrap();
        said(&mut output, "accepted");
        Victim { process, peer }
    }

    /// SIGKILL; returns when the process is gone.
    fn kill(mut self) -> TcpStream {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.peer
    }
}

/// What follows this word on the first line that starts with it.
fn said(output: &mut BufReader<ChildStdout>, word: &str) -> String {
    let mut lines = output.lines().map(|line| line.expect("the victim writes text"));
    lines.find_map(|line| line.strip_prefix(word).map(str::to_owned)).expect("the victim lives until it is killed")
}

fn kill_keeps_what_was_written(directory: &Path) {
    Victim::start(directory).kill();
    let file = FileDisk::new().open(&directory.join("a"), OpenMode::Read).unwrap();
    let mut left = [0; 16];
    let count = file.read_at(0, &mut left).unwrap();
    assert_eq!(&left[..count], b"written");
}

fn lock_ends_with_the_process(directory: &Path) {
    let (disk, path) = (FileDisk::new(), directory.join(".lock"));
    let victim = Victim::start(directory);
    let refused = disk.lock(&path).err();
    assert!(matches!(refused, Some(DiskError::Locked { .. })), "the lock of a living process: {refused:?}");
    victim.kill();
    let again = disk.lock(&path).err();
    assert!(again.is_none(), "the lock of a dead process: {again:?}");
}

fn killed_process_ends_its_connections(directory: &Path) {
    let victim = Victim::start(directory);
    let mut peer = victim.peer.try_clone().unwrap();
    peer.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let early = peer.read(&mut [0; 16]).map_err(|error| error.kind());
    assert_eq!(early, Err(ErrorKind::WouldBlock), "the peer of a living process");
    peer.set_read_timeout(Some(LONG)).unwrap();
    victim.kill();
    assert_eq!(peer.read(&mut [0; 16]).map_err(|error| error.kind()), Ok(0), "the peer of a dead process");
}

/// The kernel refuses to sync a pipe, which is the one failing sync that a test can have without a broken disk.
fn failed_sync_poisons(directory: &Path) {
    let (disk, path) = (FileDisk::new(), directory.join("pipe"));
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let file = disk.open(&path, OpenMode::Write).unwrap();
    let other = disk.open(&path, OpenMode::Write).unwrap();
    let append = |file: &dyn klamm::env::DiskFile| file.append(&[IoSlice::new(b"x")]);
    append(&*file).unwrap();
    assert!(matches!(file.sync(), Err(DiskError::Io { operation: "sync", .. })));
    for outcome in [file.sync(), append(&*file), other.sync(), append(&*other)] {
        assert!(matches!(outcome, Err(DiskError::Poisoned { .. })), "after a failed sync: {outcome:?}");
    }
}

/// The device that is always full; that space comes back, it cannot show.
fn full_disk_says_full(_: &Path) {
    let file = FileDisk::new().open(Path::new("/dev/full"), OpenMode::Write).unwrap();
    let outcome = file.append(&[IoSlice::new(b"x")]);
    assert!(matches!(outcome, Err(DiskError::Full { .. })), "appending to a full disk: {outcome:?}");
}
