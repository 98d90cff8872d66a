//! Room `metadata`.
