//! Chance that is a function of names: a decision is `hash(root seed, site, entity, ordinal)`, never the next number of a stream.
//!
//! So one fault can be taken away and every other decision stays where it was, and an old seed survives a change elsewhere.
//! It must not know what is decided. No floats, no `usize`, no crate's idea of a range.

mod chance;
mod draw;
mod overrides;
mod site;
mod swarm;

pub use chance::{Chance, Fired};
pub use draw::Draw;
pub(crate) use draw::mix;
pub use overrides::{Key, Overrides, Select, Turn};
pub use site::{Site, SiteKind};
pub(crate) use swarm::draw_config;
pub use swarm::{Mode, Swarm};
