//! Decisions about groups and committed offsets, as records and answers.
//!
//! It must not know the log (it returns records and is told when they are durable), the network, or the wire version of any request.

pub mod group;
