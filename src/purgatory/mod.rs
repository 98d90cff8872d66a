//! Operations that wait for a key to be touched or for a deadline.
//!
//! It must not know what it delays, nor who answers: it calls nobody while it is locked, and completions are returned to the caller.

#[allow(clippy::module_inception, reason = "the file is named for its only noun, as the room is")]
mod purgatory;

pub use purgatory::{OperationId, Purgatory};
