//! Room `log`.

pub mod log_validator;
