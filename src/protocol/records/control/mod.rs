//! The values of control records, which the broker writes among the records of a partition.
//!
//! It must not know the key of a control record, which names its type and belongs to room `record`.

pub mod kraft_version;
pub mod leader_change;
pub mod snapshot;
pub mod voters;

pub use kraft_version::KRaftVersionRecord;
pub use leader_change::LeaderChangeMessage;
pub use snapshot::{SnapshotFooterRecord, SnapshotHeaderRecord};
pub use voters::VotersRecord;
