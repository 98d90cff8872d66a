//! The control record value for the two ends of a snapshot.
//!
//! It must not know what reading them does.

use crate::protocol::declare::messages;

messages! {
    /// Control record 3: the first record of a snapshot.
    pub struct SnapshotHeaderRecord: versions 0..=0, flexible 0.. {
        version: i16 => 0..;
        last_contained_log_timestamp: i64 => 0..;
    }

    /// Control record 4: the last record of a snapshot.
    pub struct SnapshotFooterRecord: versions 0..=0, flexible 0.. {
        version: i16 => 0..;
    }
}
