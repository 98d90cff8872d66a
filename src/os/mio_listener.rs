//! The real listening socket.
//!
//! It must not know listener names or protocols. Built with socket2, since mio's own `bind` fixes the backlog at 128.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::env::Listener;
use crate::os::MioConnection;
use crate::os::descriptor_limit::is_kept_for_files;

/// Options of a listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// Connections that may wait to be accepted (Kafka: `socket.listen.backlog.size`); the kernel caps it at `somaxconn`.
    pub backlog: u32,
    /// `SO_RCVBUF`, which accepted connections inherit, or the kernel's tuning (Kafka: `socket.receive.buffer.bytes`).
    pub receive_buffer_bytes: Option<u32>,
}

/// A socket that accepts, never blocking.
#[derive(Debug)]
pub struct MioListener {
    listener: mio::net::TcpListener,
}

impl MioListener {
    /// Listens on `host` and `port`. An empty host means every address, of IPv6 and IPv4 where the machine has both; port 0 lets
    /// the kernel choose. A name is resolved, which may block, and its first address that this machine has is taken, one of IPv4 before one
    /// of IPv6.
    pub fn bind(host: &str, port: u16, options: &ListenOptions) -> io::Result<MioListener> {
        let mut outcome = Err(io::Error::new(io::ErrorKind::AddrNotAvailable, "the host has no address"));
        for address in candidates(host, port)? {
            outcome = bind_address(address, options);
            // A port that is taken for one family must not be served for the other one alone.
            if !matches!(&outcome, Err(error) if is_missing_family(error)) {
                break;
            }
        }
        outcome
    }

    pub(super) fn source(&mut self) -> &mut mio::net::TcpListener {
        &mut self.listener
    }
}

impl Listener for MioListener {
    type Connection = MioConnection;

    fn accept(&mut self) -> io::Result<(MioConnection, SocketAddr)> {
        let (stream, peer) = self.listener.accept()?;
        if is_kept_for_files(stream.as_raw_fd()) {
            return Err(Errno::MFILE.into());
        }
        Ok((MioConnection::new(stream), canonical(peer)))
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// An IPv4 peer of a socket that serves both families has an IPv6 form; people and access lists know the IPv4 one.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Whether the machine lacks the address or its whole family, so that another address may still do.
fn is_missing_family(error: &io::Error) -> bool {
    let unsupported = error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error());
    unsupported || error.kind() == io::ErrorKind::AddrNotAvailable
}

fn candidates(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() {
        let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        return Ok(vec![both, SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))]);
    }
    match host.parse::<IpAddr>() {
        Ok(address) => Ok(vec![SocketAddr::from((address, port))]),
        Err(_) => Ok(ipv4_first((host, port).to_socket_addrs()?.collect())),
    }
}

/// As Java orders them: `localhost` is 127.0.0.1 to most clients, whatever the machine prefers.
fn ipv4_first(mut addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses
}

fn bind_address(address: SocketAddr, options: &ListenOptions) -> io::Result<MioListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false)?;
    }
    // A restarted broker must not wait for the old connections' TIME_WAIT.
    socket.set_reuse_address(true)?;
    if let Some(bytes) = options.receive_buffer_bytes {
        socket.set_recv_buffer_size(bytes as usize)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(options.backlog).unwrap_or(i32::MAX))?;
    Ok(MioListener { listener: mio::net::TcpListener::from_std(socket.into()) })
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    const OPTIONS: ListenOptions = ListenOptions { backlog: 8, receive_buffer_bytes: Some(65_536) };

    fn accept(listener: &mut MioListener) -> (MioConnection, SocketAddr) {
        loop {
            match listener.accept() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome.unwrap(),
            }
        }
    }

    #[test]
    fn an_empty_host_serves_ipv4_and_shows_the_peer_as_ipv4() {
        let mut listener = MioListener::bind("", 0, &OPTIONS).unwrap();
        let port = listener.local_address().unwrap().port();
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (_connection, peer) = accept(&mut listener);
        assert_eq!(peer, client.local_addr().unwrap());
    }

    #[test]
    fn a_bracketed_ipv6_host_is_an_address() {
        assert_eq!(candidates("[::1]", 9092).unwrap(), vec!["[::1]:9092".parse::<SocketAddr>().unwrap()]);
        assert_eq!(candidates("127.0.0.1", 9092).unwrap(), vec!["127.0.0.1:9092".parse::<SocketAddr>().unwrap()]);
    }

    #[test]
    fn a_name_with_addresses_of_both_families_is_tried_with_ipv4_first() {
        let [six, four, other] = ["[::1]:9092", "127.0.0.1:9092", "127.0.0.2:9092"].map(|text| text.parse().unwrap());
        assert_eq!(ipv4_first(vec![six, four, other]), vec![four, other, six]);
        assert!(candidates("localhost", 9092).unwrap().is_sorted_by_key(SocketAddr::is_ipv6));
    }

    #[test]
    fn a_port_in_use_for_one_family_is_refused_for_every_address() {
        let first = MioListener::bind("::1", 0, &OPTIONS);
        let Ok(first) = first else { return };
        let port = first.local_address().unwrap().port();
        assert_eq!(MioListener::bind("", port, &OPTIONS).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        let error = MioListener::bind("192.0.2.1", 0, &OPTIONS).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn a_port_in_use_is_refused() {
        let first = MioListener::bind("127.0.0.1", 0, &OPTIONS).unwrap();
        let port = first.local_address().unwrap().port();
        let error = MioListener::bind("127.0.0.1", port, &OPTIONS).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }
}
