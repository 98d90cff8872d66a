//! Settings of sockets, listeners and requests.
//!
//! It must not know how a listener is opened.

use crate::config::layers::Layers;
use crate::config::listener::{
    Endpoint, SecurityProtocol, parse_advertised, parse_connection_overrides, parse_listeners, parse_protocol_map,
};

/// One place where the broker listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerSettings {
    /// Its name, host and port.
    pub endpoint: Endpoint,
    /// How it protects what it carries.
    pub security_protocol: SecurityProtocol,
    /// The address that clients of this listener are told; `None`, or an empty host in it, stands for the one that they
    /// reached.
    pub advertised: Option<Endpoint>,
    /// Processors (`num.network.threads`, which the listener's own prefix overrides).
    pub network_threads: usize,
    /// Connections of this listener alone (`listener.name.<l>.max.connections`).
    pub connections_max: Option<usize>,
    /// New connections of this listener per second (`listener.name.<l>.max.connection.creation.rate`).
    pub connection_creation_rate_max: Option<usize>,
}

/// Sockets and connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Where the broker listens, without the listeners of Kafka's controller.
    pub listeners: Vec<ListenerSettings>,
    /// `socket.listen.backlog.size`.
    pub listen_backlog: i32,
    /// `socket.send.buffer.bytes`; `None` leaves it to the operating system.
    pub send_buffer_bytes: Option<usize>,
    /// `socket.receive.buffer.bytes`; `None` leaves it to the operating system.
    pub receive_buffer_bytes: Option<usize>,
    /// `socket.request.max.bytes`.
    pub request_bytes_max: usize,
    /// `queued.max.requests`.
    pub queued_requests_max: usize,
    /// `queued.max.request.bytes`; `None` sets no bound.
    pub queued_request_bytes_max: Option<usize>,
    /// `connections.max.idle.ms`; `None` keeps idle connections for ever.
    pub connection_idle_ms_max: Option<i64>,
    /// `max.connections`, for the whole broker.
    pub connections_max: usize,
    /// `max.connections.per.ip`.
    pub connections_per_ip_max: usize,
    /// `max.connections.per.ip.overrides`: a host, as written, and its bound.
    pub connections_per_ip_overrides: Vec<(String, usize)>,
    /// `max.connection.creation.rate`, connections per second for the whole broker.
    pub connection_creation_rate_max: usize,
    /// `quota.window.num`: windows over which the rate of new connections is measured.
    pub quota_windows: usize,
    /// `quota.window.size.seconds`.
    pub quota_window_seconds: u64,
    /// `inter.broker.listener.name`, in capitals; without it, `PLAINTEXT`.
    pub inter_broker_listener: String,
}

impl NetworkSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> NetworkSettings {
        let overrides = layers.text("max.connections.per.ip.overrides").unwrap_or_default();
        NetworkSettings {
            listeners: listeners(layers),
            listen_backlog: layers.int("socket.listen.backlog.size"),
            send_buffer_bytes: layers.size_unless_negative("socket.send.buffer.bytes"),
            receive_buffer_bytes: layers.size_unless_negative("socket.receive.buffer.bytes"),
            request_bytes_max: layers.size("socket.request.max.bytes"),
            queued_requests_max: layers.size("queued.max.requests"),
            queued_request_bytes_max: layers
                .size_unless_negative("queued.max.request.bytes")
                .filter(|bytes| *bytes > 0),
            connection_idle_ms_max: Some(layers.long("connections.max.idle.ms")).filter(|idle_ms| *idle_ms >= 0),
            connections_max: layers.size("max.connections"),
            connections_per_ip_max: layers.size("max.connections.per.ip"),
            connections_per_ip_overrides: parse_connection_overrides(&overrides)
                .unwrap_or_default()
                .into_iter()
                .map(|(host, count)| (host, usize::try_from(count).unwrap_or(0)))
                .collect(),
            connection_creation_rate_max: layers.size("max.connection.creation.rate"),
            quota_windows: layers.size("quota.window.num"),
            quota_window_seconds: u64::try_from(layers.long("quota.window.size.seconds")).unwrap_or(1),
            inter_broker_listener: layers
                .text("inter.broker.listener.name")
                .map_or_else(|| "PLAINTEXT".to_owned(), |name| name.to_uppercase()),
        }
    }
}

/// The broker's listeners. What does not parse was refused at start, and is not let in at run time.
fn listeners(layers: Layers<'_>) -> Vec<ListenerSettings> {
    let endpoints = parse_listeners(&layers.list("listeners")).unwrap_or_default();
    let advertised = parse_advertised(&layers.list("advertised.listeners")).unwrap_or_default();
    endpoints
        .into_iter()
        .filter(|endpoint| !is_of_controller(layers, &endpoint.name))
        .map(|endpoint| {
            let of_listener = |name| layers.number_of_listener(&endpoint.name, name);
            let size_of_listener = |name| of_listener(name).map(|number| usize::try_from(number).unwrap_or(0));
            ListenerSettings {
                security_protocol: protocol_of(layers, &endpoint.name).unwrap_or(SecurityProtocol::Plaintext),
                advertised: advertised.iter().find(|advertised| advertised.name == endpoint.name).cloned(),
                network_threads: size_of_listener("num.network.threads")
                    .unwrap_or_else(|| layers.size("num.network.threads")),
                connections_max: size_of_listener("max.connections"),
                connection_creation_rate_max: size_of_listener("max.connection.creation.rate"),
                endpoint,
            }
        })
        .collect()
}

/// Whether a listener belongs to Kafka's controller.
pub(crate) fn is_of_controller(layers: Layers<'_>, listener: &str) -> bool {
    layers.list("controller.listener.names").iter().any(|name| name.eq_ignore_ascii_case(listener))
}

/// The protocol that a listener's name stands for, if the map has it.
pub(crate) fn protocol_of(layers: Layers<'_>, listener: &str) -> Option<SecurityProtocol> {
    let map = layers.text("listener.security.protocol.map").unwrap_or_default();
    parse_protocol_map(&map).ok()?.get(listener).copied()
}

/// Bounds of requests and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSettings {
    /// Request handlers (`num.io.threads`).
    pub io_threads: usize,
    /// `fetch.max.bytes`.
    pub fetch_bytes_max: usize,
    /// `max.incremental.fetch.session.cache.slots`.
    pub fetch_sessions_max: usize,
    /// `max.request.partition.size.limit`.
    pub described_partitions_max: usize,
}

impl RequestSettings {
    pub(super) fn resolve(layers: Layers<'_>) -> RequestSettings {
        RequestSettings {
            io_threads: layers.size("num.io.threads"),
            fetch_bytes_max: layers.size("fetch.max.bytes"),
            fetch_sessions_max: layers.size("max.incremental.fetch.session.cache.slots"),
            described_partitions_max: layers.size("max.request.partition.size.limit"),
        }
    }
}
