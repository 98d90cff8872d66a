//! Room `apis`.
