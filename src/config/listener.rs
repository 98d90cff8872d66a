//! Listeners: `NAME://host:port`, how it is read, and which sets of them are possible.
//!
//! It must not open a socket or resolve a name.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// How a listener protects what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityProtocol {
    /// Not at all.
    Plaintext,
    /// TLS.
    Ssl,
    /// SASL without TLS.
    SaslPlaintext,
    /// SASL within TLS.
    SaslSsl,
}

impl SecurityProtocol {
    /// The protocol with Kafka's name, in capitals or not.
    pub fn from_name(name: &str) -> Option<SecurityProtocol> {
        match name.to_ascii_uppercase().as_str() {
            "PLAINTEXT" => Some(SecurityProtocol::Plaintext),
            "SSL" => Some(SecurityProtocol::Ssl),
            "SASL_PLAINTEXT" => Some(SecurityProtocol::SaslPlaintext),
            "SASL_SSL" => Some(SecurityProtocol::SaslSsl),
            _ => None,
        }
    }
}

/// A listener's name and an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name, in capitals.
    pub name: String,
    /// A host name or an address without brackets; empty for every address.
    pub host: String,
    /// The port; 0 lets the operating system choose.
    pub port: u16,
}

impl Endpoint {
    /// Reads `NAME://host:port`; an IPv6 address stands in brackets. The error is the rest of a sentence.
    pub fn parse(text: &str) -> Result<Endpoint, String> {
        let wanted = || format!("has `{text}`, which is not NAME://host:port");
        let (name, address) = text.split_once("://").ok_or_else(wanted)?;
        let (host, port) = address.rsplit_once(':').ok_or_else(wanted)?;
        let is_name = !name.is_empty() && name.chars().all(|character| !character.is_whitespace() && character != ',');
        let port: u16 =
            port.parse().map_err(|_| format!("has `{text}`, whose port is not a number from 0 to 65535"))?;
        let host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inside) => {
                let address = inside.split('%').next().unwrap_or(inside);
                address
                    .parse::<Ipv6Addr>()
                    .map_err(|_| format!("has `{text}`, whose brackets hold no IPv6 address"))?;
                inside
            }
            None if host.contains(':') => return Err(format!("has `{text}`; write an IPv6 address in brackets")),
            None => host,
        };
        let is_host = host.chars().all(|character| character.is_ascii_alphanumeric() || "-_.%:".contains(character));
        if is_name && is_host {
            Ok(Endpoint { name: name.to_uppercase(), host: host.to_owned(), port })
        } else {
            Err(wanted())
        }
    }

    /// Whether the host stands for every address of the machine.
    pub fn is_wildcard(&self) -> bool {
        self.host.is_empty()
            || self.host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_unspecified())
            || self.host.parse::<Ipv6Addr>().is_ok_and(|address| address.is_unspecified())
    }
}

/// Reads what `listeners` holds: at least one, no name twice, and no port twice unless for one IPv4 and one IPv6
/// address.
pub(crate) fn parse_listeners(texts: &[String]) -> Result<Vec<Endpoint>, String> {
    let endpoints = parse_all(texts)?;
    for (at, endpoint) in endpoints.iter().enumerate() {
        for earlier in endpoints.iter().take(at) {
            if earlier.port == endpoint.port && endpoint.port != 0 && !is_pair_of_families(earlier, endpoint) {
                return Err(format!("gives the port {} to both {} and {}", endpoint.port, earlier.name, endpoint.name));
            }
        }
    }
    Ok(endpoints)
}

/// Reads what `advertised.listeners` holds: at least one, no name twice, no address that stands for all; an empty host
/// stands for the address that a client reached.
pub(crate) fn parse_advertised(texts: &[String]) -> Result<Vec<Endpoint>, String> {
    let endpoints = parse_all(texts)?;
    match endpoints.iter().find(|endpoint| endpoint.is_wildcard() && !endpoint.host.is_empty()) {
        Some(endpoint) => Err(format!("has the host {}, which no client can connect to", endpoint.host)),
        None => Ok(endpoints),
    }
}

fn parse_all(texts: &[String]) -> Result<Vec<Endpoint>, String> {
    let endpoints = texts.iter().map(|text| Endpoint::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if endpoints.is_empty() {
        return Err("must name at least one listener".to_owned());
    }
    for (at, endpoint) in endpoints.iter().enumerate() {
        if endpoints.iter().take(at).any(|earlier| earlier.name == endpoint.name) {
            return Err(format!("names the listener {} twice", endpoint.name));
        }
    }
    Ok(endpoints)
}

fn is_pair_of_families(left: &Endpoint, right: &Endpoint) -> bool {
    let is_v4 = |endpoint: &Endpoint| endpoint.host.parse::<Ipv4Addr>().is_ok();
    let is_v6 = |endpoint: &Endpoint| endpoint.host.parse::<Ipv6Addr>().is_ok();
    (is_v4(left) && is_v6(right)) || (is_v6(left) && is_v4(right))
}

/// Reads what `listener.security.protocol.map` holds: `NAME:PROTOCOL` separated by commas.
pub(crate) fn parse_protocol_map(text: &str) -> Result<BTreeMap<String, SecurityProtocol>, String> {
    let mut protocols = BTreeMap::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let wanted = || format!("has `{pair}`, which is not NAME:PROTOCOL");
        let (name, protocol) = pair.rsplit_once(':').ok_or_else(wanted)?;
        let known = SecurityProtocol::from_name(protocol.trim());
        let protocol = known.ok_or_else(|| {
            format!("has `{pair}`, whose protocol is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL")
        })?;
        if protocols.insert(name.trim().to_uppercase(), protocol).is_some() {
            return Err(format!("names the listener {} twice", name.trim()));
        }
    }
    Ok(protocols)
}

/// Reads what `max.connections.per.ip.overrides` holds: `host:count` separated by commas; an IPv6 address needs no
/// brackets.
pub(crate) fn parse_connection_overrides(text: &str) -> Result<Vec<(String, i32)>, String> {
    text.split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (host, count) =
                pair.rsplit_once(':').ok_or_else(|| format!("has `{pair}`, which is not host:count"))?;
            let count: i32 = count
                .trim()
                .parse()
                .ok()
                .filter(|count| *count >= 0)
                .ok_or_else(|| format!("has `{pair}`, whose count is not a whole number of 32 bits from 0 on"))?;
            Ok((host.trim().trim_start_matches('[').trim_end_matches(']').to_owned(), count))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, parse_advertised, parse_connection_overrides, parse_listeners, parse_protocol_map};

    fn listeners(text: &str) -> Result<Vec<Endpoint>, String> {
        parse_listeners(&text.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn an_endpoint_may_have_a_name_an_address_or_nothing_as_host() {
        for (text, host, port) in [
            ("PLAINTEXT://:9092", "", 9092),
            ("plaintext://kafka_1.example-host:1", "kafka_1.example-host", 1),
            ("A.B-C://[::1]:65535", "::1", 65535),
            ("A://[fe80::1%eth0]:0", "fe80::1%eth0", 0),
        ] {
            let endpoint = Endpoint::parse(text).unwrap();
            assert_eq!((endpoint.host.as_str(), endpoint.port), (host, port), "{text}");
        }
        assert_eq!(Endpoint::parse("plaintext://:1").unwrap().name, "PLAINTEXT");
    }

    #[test]
    fn nonsense_is_no_endpoint() {
        for text in [
            "",
            "9092",
            "localhost:9092",
            "://:1",
            "A://:",
            "A://:65536",
            "A://:-1",
            "A://::1:9092",
            "A://[x]:1",
            "A://h/p:1",
        ] {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_and_ports_are_unique_but_for_a_pair_of_address_families() {
        assert!(listeners("A://:1,B://:2").is_ok());
        assert!(listeners("A://:0,B://:0").is_ok());
        assert!(listeners("A://127.0.0.1:1,B://[::1]:1").is_ok());
        assert_eq!(listeners("A://:1,a://:2").unwrap_err(), "names the listener A twice");
        assert_eq!(listeners("A://:1,B://:1").unwrap_err(), "gives the port 1 to both A and B");
        assert!(listeners("A://127.0.0.1:1,B://[::1]:1,C://10.0.0.1:1").is_err());
        assert!(parse_listeners(&[]).is_err());
    }

    #[test]
    fn no_client_can_be_told_an_address_that_stands_for_all() {
        for host in ["0.0.0.0", "[::]"] {
            assert!(parse_advertised(&[format!("A://{host}:1")]).is_err(), "{host}");
        }
        assert!(parse_advertised(&["A://h:1".to_owned(), "B://h:1".to_owned()]).is_ok());
    }

    #[test]
    fn protocols_and_overrides_are_read() {
        assert_eq!(parse_protocol_map("a:PLAINTEXT, B : ssl").unwrap().len(), 2);
        assert!(parse_protocol_map("A:TLS").is_err() && parse_protocol_map("A").is_err());
        let overrides = parse_connection_overrides("10.0.0.1:5, [::1]:6 ,host:0").unwrap();
        assert_eq!(overrides, [("10.0.0.1".to_owned(), 5), ("::1".to_owned(), 6), ("host".to_owned(), 0)]);
        assert_eq!(parse_connection_overrides(""), Ok(Vec::new()));
        assert!(parse_connection_overrides("host").is_err() && parse_connection_overrides("host:-1").is_err());
    }
}
