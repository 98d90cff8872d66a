//! How many connections the settings allow, at the start and after each change of them.
//!
//! It must not know who counts.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::start_error::StartError;
use crate::config::{NetworkSettings, Settings};
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

/// Lets the limits that may change at run time follow the settings.
pub(crate) struct LimitFollower {
    quotas: Arc<ConnectionQuotas>,
    /// Those whose limits hold.
    settings: Arc<Settings>,
}

impl LimitFollower {
    /// The limits of these settings hold already.
    pub(super) fn new(quotas: Arc<ConnectionQuotas>, settings: Arc<Settings>) -> LimitFollower {
        LimitFollower { quotas, settings }
    }

    /// From now on the limits of these hold.
    pub(super) fn follow(&mut self, settings: Arc<Settings>) {
        if !Arc::ptr_eq(&settings, &self.settings) {
            let network = &settings.network;
            let per_ip = unlimited(network.connections_per_ip_max);
            self.quotas.set_limits(limits_of_broker(network), per_ip, limits_of_listeners(network));
            self.settings = settings;
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layers, Sources, StaticConfig};
    use crate::env::Wake;
    use crate::types::{Instant, Now};

    struct Nobody;

    impl Wake for Nobody {
        fn wake(&self) {}
    }

    fn settings(pairs: &[&str]) -> Arc<Settings> {
        let fixed = StaticConfig::from_sources(&Sources::new().with_overrides(pairs.iter().copied())).unwrap();
        Arc::new(Settings::resolve(Layers { fixed: &fixed, dynamic: &Default::default() }))
    }

    /// Limits that were wide at the start and have followed these settings.
    fn followed(pairs: &[&str]) -> Arc<ConnectionQuotas> {
        let wide = settings(&[]);
        let limits = ConnectionLimits {
            connections_max: u32::MAX,
            connections_per_ip_max: u32::MAX,
            per_ip_overrides: BTreeMap::new(),
            creation_rate_max: u32::MAX,
            windows: 11,
            window: Duration::from_secs(1),
            listeners: limits_of_listeners(&wide.network),
            inter_broker_listener: None,
        };
        let quotas = Arc::new(ConnectionQuotas::new(limits, vec![Arc::new(Nobody)]));
        LimitFollower::new(Arc::clone(&quotas), wide).follow(settings(pairs));
        quotas
    }

    /// How many of three connections from one address and one from another get in.
    fn admitted(quotas: &ConnectionQuotas) -> u32 {
        for last in [1, 1, 1, 2] {
            let _ = quotas.admit(0, IpAddr::from([127, 0, 0, last]));
        }
        quotas.total()
    }

    #[test]
    fn each_limit_that_changes_at_run_time_holds_from_then_on() {
        assert_eq!(admitted(&followed(&[])), 4);
        assert_eq!(admitted(&followed(&["max.connections=2"])), 2);
        assert_eq!(admitted(&followed(&["max.connections.per.ip=1"])), 2);
        let held_back = |pairs: &[&str]| {
            let quotas = followed(pairs);
            (1..100).any(|_| quotas.record_arrival(0, Now { instant: Instant(1), ..Now::default() }).is_some())
        };
        assert!(!held_back(&[]));
        assert!(held_back(&["max.connection.creation.rate=1"]));
    }
}
