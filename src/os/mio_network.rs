//! Makes real selectors and listeners.
//!
//! It must not know who waits or listens.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

use crate::env::Network;
use crate::os::{ListenOptions, MioListener, MioSelector};

/// Events that one poll takes out of the kernel.
const EVENTS_MAX: usize = 256;

/// The machine's network.
#[derive(Clone, Copy, Debug, Default)]
pub struct MioNetwork;

impl Network for MioNetwork {
    type Selector = MioSelector;

    fn selector(&self) -> io::Result<MioSelector> {
        MioSelector::new(EVENTS_MAX)
    }

    fn listen(
        &self,
        host: &str,
        port: u16,
        backlog: u32,
        receive_buffer_bytes: Option<u32>,
    ) -> io::Result<MioListener> {
        MioListener::bind(host, port, &ListenOptions { backlog, receive_buffer_bytes })
    }

    fn resolve(&self, host: &str) -> Vec<IpAddr> {
        (host, 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect()).unwrap_or_default()
    }
}
