//! What must be true of every run: the history of what clients did and saw, and the verdict on it.
//!
//! It must not look into the broker: it judges by what clients were told.

mod admin_history; // what admins were told of their topics
mod connection_limits; // how many connections there may be
mod aged_offsets; // which committed offsets are too old
mod deleted_records; // which records clients have had deleted
mod destroyed_records; // which records lay in bytes that the disk has destroyed
mod group_history;
mod history;
#[cfg(test)]
mod history_tests;
mod leader_epochs; // where epochs end, as far as records say
mod oracle; // how it judges: as a whole, or bent in one place
mod readable_records; // up to where readers see, and since when
mod read_ahead; // how much is read behind a request that is in work
mod refused_batches; // what became of batches that are wrong, and of sound ones beside them
mod retained_records; // what retention may take, and must
mod sessions; // who may be unknown to a group, and when
mod violation;

pub(crate) use admin_history::AdminHistory;
pub(crate) use connection_limits::Limited;
pub(crate) use group_history::{CommitId, INSTANCE_PREFIX};
pub(crate) use history::Lane;
pub use history::{Acks, Era, History, Seen, SendId};
pub use oracle::{Excuse, Oracle};
pub(crate) use read_ahead::ReadAhead;
pub(crate) use refused_batches::{RefusedBatches, refused};
pub use retained_records::Wrong;
pub(crate) use retained_records::{Found, RetainedRecords, Retention};
pub(crate) use sessions::Patience;
pub use violation::{Violation, ViolationClass};
