//! Operations that wait for a key to be touched or for a deadline, as plain values.
//!
//! It must not know what it delays, nor who answers: nothing here calls back, and completions are returned to the caller.

mod delayed_operation_purgatory;

pub use delayed_operation_purgatory::{OperationId, Purgatory};
