//! Room `network`.
