//! Records of the metadata log about transactions of the metadata log, and what only moves its offset.
//!
//! It must not know what replaying them does.

use crate::protocol::declare::messages;

messages! {
    /// The records that follow take effect together (KIP-868).
    pub struct BeginTransactionRecord<'a>: versions 0..=0, flexible 0.. {
        name: Option<&'a str> => 0.., tag 0;
    }

    /// The records of the transaction take effect.
    pub struct EndTransactionRecord: versions 0..=0, flexible 0.. {}

    /// The records of the transaction never take effect.
    pub struct AbortTransactionRecord<'a>: versions 0..=0, flexible 0.. {
        reason: Option<&'a str> => 0.., tag 0;
    }

    /// Nothing changed; written so that the offset moves.
    pub struct NoOpRecord: versions 0..=0, flexible 0.. {}

    /// How far the migration from ZooKeeper is; written by clusters that never knew it, too.
    pub struct ZkMigrationStateRecord: versions 0..=0, flexible 0.. {
        zk_migration_state: i8 => 0..;
    }
}
