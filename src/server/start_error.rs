//! Why a broker does not start: one sentence for the operator, with the key to change and the cure.
//!
//! It must not know how it is shown.

use std::io::ErrorKind;

use crate::apis::StartFailure;

/// A start that failed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener's address cannot be bound.
    #[error("cannot listen on {address} (listener {listener}): {source}; {}", cure(.source))]
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

/// What to do about an address that the system refuses.
fn cure(refusal: &std::io::Error) -> &'static str {
    match refusal.kind() {
        ErrorKind::AddrInUse => {
            "another broker or program listens there: end it, or choose another port in `listeners`"
        }
        ErrorKind::AddrNotAvailable => {
            "this machine has no such address: write one of its own into `listeners`, or none before the port for all of them, \
             and what clients are to be told into `advertised.listeners`"
        }
        ErrorKind::PermissionDenied => {
            "this user may not listen there, since low ports are reserved: choose a port from 1024 on in `listeners`, or grant \
             the capability CAP_NET_BIND_SERVICE"
        }
        _ => "look whether `listeners` names a host and a port of this machine",
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::StartError;

    #[test]
    fn each_refusal_of_an_address_has_its_own_cure() {
        let sentence = |source: Error| {
            let (listener, address) = ("PLAINTEXT".to_owned(), "10.0.0.1:80".to_owned());
            StartError::Listen { listener, address, source }.to_string()
        };
        let cases = [
            (ErrorKind::AddrInUse, "another port in `listeners`"),
            (ErrorKind::AddrNotAvailable, "`advertised.listeners`"),
            (ErrorKind::PermissionDenied, "from 1024 on"),
            (ErrorKind::InvalidInput, "names a host and a port of this machine"),
        ];
        for (kind, cure) in cases {
            let sentence = sentence(Error::from(kind));
            assert!(sentence.starts_with("cannot listen on 10.0.0.1:80 (listener PLAINTEXT): "), "{sentence}");
            assert!(sentence.contains(cure), "{sentence}");
            let others = cases.iter().filter(|(other, _)| *other != kind);
            others.for_each(|(_, other)| assert!(!sentence.contains(other), "{sentence}"));
        }
    }
}
