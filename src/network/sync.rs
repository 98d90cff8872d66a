//! What the queues between roles are made of. A test of interleavings compiles the queues against another maker of these.
//!
//! It must not know what is queued.

pub(super) use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard};

pub(super) use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, unbounded};
