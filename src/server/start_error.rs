//! Why a broker does not start: one sentence for the operator, with the key to change and the cure.
//!
//! It must not know how it is shown.

use crate::apis::StartFailure;

/// A start that failed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener's address cannot be bound.
    #[error(
        "cannot listen on {address} (listener {listener}): {source}; is another broker running, or is the port in use? change `listeners`"
    )]
    Listen {
        /// The listener's name.
        listener: String,
        /// Its address.
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A setting names a host that has no address.
    #[error("{key} names the host {host}, which has no address; mend the name, or write the address")]
    UnknownHost {
        /// The setting.
        key: &'static str,
        /// The host.
        host: String,
    },
    /// The system gave no selector.
    #[error("cannot wait for sockets: {source}; is the limit of open files too low?")]
    Selector {
        /// What the system said.
        source: std::io::Error,
    },
    /// The system refused something that every broker needs.
    #[error("the system refused what a broker needs: {source}")]
    System {
        /// What the system said.
        source: std::io::Error,
    },
    /// Logs or metadata cannot be loaded.
    #[error(transparent)]
    Load(#[from] StartFailure),
}
