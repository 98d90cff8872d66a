//! Records that are messages themselves: of the metadata log, of `__consumer_offsets`, and the values of control records.
//!
//! It must not know batches, which carry records, nor what replaying one does.

pub mod control;
pub mod group;
pub mod metadata;
