//! Where a panic came from: the broker's are findings, told with their place; all others are the simulator's own, and shout.
//!
//! It must not know who runs.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

thread_local! {
    /// Somebody waits for a panic of this thread.
    static IS_AWAITED: Cell<bool> = const { Cell::new(false) };
    /// Where the last one was that somebody waited for.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on a panic that is awaited prints nothing and leaves its place; every other one is told as usual.
pub fn listen_for_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if IS_AWAITED.get() {
            let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
            PLACE.set(place.unwrap_or_default());
        } else {
            usual(info);
        }
    }));
}

/// A panic that was awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Panic {
    /// What it said.
    pub(crate) message: String,
    /// File and line; empty if nobody listens.
    pub(crate) place: String,
}

/// What `run` returns, or its panic.
pub(crate) fn unless_panicked<T>(run: impl FnOnce() -> T) -> Result<T, Panic> {
    let was_awaited = IS_AWAITED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    IS_AWAITED.set(was_awaited);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Panic { message, place: PLACE.take() }
    })
}
