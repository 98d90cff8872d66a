//! Room record: batches.
