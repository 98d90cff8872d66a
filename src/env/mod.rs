//! The doors to the outside world, as traits: the list of files here is the list of what is not deterministic.
//!
//! They speak bytes, files, time and readiness; they must not know Kafka, nor who makes them (`os` for real, `sim` by a seed).

mod clock;
mod disk;
mod selector;
mod step;
mod wake;

pub use clock::Clock;
pub use disk::{Disk, DiskEntry, DiskError, DiskFile, DiskLock, EntryKind, FileSink, OpenMode, Piece, SyncJob};
pub use selector::{Connection, Event, Interest, Listener, Network, Selector, SocketOptions, Token};
pub use step::{Role, Step};
pub use wake::Wake;
