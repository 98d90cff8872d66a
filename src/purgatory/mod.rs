//! Room `purgatory`.
