//! What must be true of every run: the history of what clients did and saw, and the verdict on it.
//!
//! It must not look into the broker: it judges by what clients were told.

mod history;
mod violation;

pub use history::{Acks, History, Seen, SendId};
pub use violation::Violation;
