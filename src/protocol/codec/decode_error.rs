//! Why bytes are not the message that they should be.
//!
//! It must not know any message, nor what happens to the peer that sent the bytes.

use thiserror::Error;

/// Why bytes are not the message that they should be. The peer's fault in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// A field reaches beyond the end of the bytes.
    #[error("a field of {needed} bytes where {remaining} remain")]
    EndOfInput {
        /// Bytes that the field takes.
        needed: usize,
        /// Bytes that were left.
        remaining: usize,
    },
    /// A variable-length integer does not fit into 32 bits.
    #[error("a variable-length integer of more than 32 bits")]
    VarintTooLong,
    /// Null where the version allows none.
    #[error("null in a field that is never null")]
    Null,
    /// A string is not UTF-8.
    #[error("a string that is not UTF-8")]
    InvalidUtf8,
    /// A string is longer than [`STRING_BYTES_MAX`](crate::limits::STRING_BYTES_MAX).
    #[error("a string of {bytes} bytes")]
    StringTooLong {
        /// Its declared length.
        bytes: usize,
    },
    /// An array declares more elements than the remaining bytes can hold.
    #[error("an array of {elements} elements where {remaining} bytes remain")]
    ArrayTooLong {
        /// The declared number of elements.
        elements: usize,
        /// Bytes that were left.
        remaining: usize,
    },
    /// The decoded structures would take far more memory than the frame itself.
    #[error("a message that takes more memory than its length allows")]
    BudgetExceeded,
    /// A tagged field that the message knows, in a version that lacks it.
    #[error("tag {tag} in a version that does not have it")]
    TagNotInVersion {
        /// The tag's number.
        tag: u32,
    },
    /// A tagged field is shorter or longer than its declared size.
    #[error("tag {tag} has another size than declared")]
    TagSize {
        /// The tag's number.
        tag: u32,
    },
    /// The message does not exist in this version.
    #[error("version {version} does not exist")]
    UnsupportedVersion {
        /// The version asked for.
        version: i16,
    },
}
