//! How many connections the settings allow, at the start and after each change of them.
//!
//! It must not know who counts.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::start_error::StartError;
use crate::config::NetworkSettings;
use crate::env::Network;
use crate::network::{ConnectionLimits, ConnectionQuotas, ListenerLimits};

/// The limits at the start. A host of `max.connections.per.ip.overrides` without an address is an error: its bound would hold for nobody.
pub(super) fn connection_limits(
    settings: &NetworkSettings,
    network: &impl Network,
) -> Result<ConnectionLimits, StartError> {
    let mut per_ip_overrides: BTreeMap<IpAddr, u32> = BTreeMap::new();
    for (host, max) in &settings.connections_per_ip_overrides {
        let addresses = network.resolve(host);
        if addresses.is_empty() {
            return Err(StartError::UnknownHost { key: "max.connections.per.ip.overrides", host: host.clone() });
        }
        per_ip_overrides.extend(addresses.into_iter().map(|address| (address, count(*max))));
    }
    let broker = limits_of_broker(settings);
    Ok(ConnectionLimits {
        connections_max: broker.connections_max,
        connections_per_ip_max: unlimited(settings.connections_per_ip_max),
        per_ip_overrides,
        creation_rate_max: broker.creation_rate_max,
        windows: settings.quota_windows,
        window: Duration::from_secs(settings.quota_window_seconds),
        listeners: limits_of_listeners(settings),
        inter_broker_listener: settings
            .listeners
            .iter()
            .position(|listener| listener.endpoint.name == settings.inter_broker_listener),
    })
}

/// Lets the numbers that may change at run time be those of these settings.
pub(super) fn change_limits(quotas: &ConnectionQuotas, settings: &NetworkSettings) {
    let per_ip = unlimited(settings.connections_per_ip_max);
    quotas.set_limits(limits_of_broker(settings), per_ip, limits_of_listeners(settings));
}

fn limits_of_broker(settings: &NetworkSettings) -> ListenerLimits {
    ListenerLimits {
        connections_max: unlimited(settings.connections_max),
        creation_rate_max: unlimited(settings.connection_creation_rate_max),
    }
}

fn limits_of_listeners(settings: &NetworkSettings) -> Vec<ListenerLimits> {
    let limits = settings.listeners.iter().map(|listener| ListenerLimits {
        connections_max: listener.connections_max.map_or(u32::MAX, unlimited),
        creation_rate_max: listener.connection_creation_rate_max.map_or(u32::MAX, unlimited),
    });
    limits.collect()
}

/// Kafka's largest number stands for no bound.
fn unlimited(max: usize) -> u32 {
    if max >= i32::MAX as usize { u32::MAX } else { count(max) }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
