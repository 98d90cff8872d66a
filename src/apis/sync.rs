//! What the watch of deadlines is made of. A test of interleavings compiles it against another maker of this.
//!
//! It must not know what is watched.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
