//! Room `os`.
