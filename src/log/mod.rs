//! Room `log`.
