//! How many connections the settings allow, at the start and after each change of them.
//!
//! It must not know who counts.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::start_error::StartError;
use crate::config::{DynamicConfig, Layers, NetworkSettings, Settings, StaticConfig};
use crate::env::Wake;
use crate::network::{ConnectionLimits, ConnectionQuotas, ListenerLimits};

/// The addresses of the hosts that `max.connections.per.ip.overrides` names in the properties, be they in force or hidden by what was set at run time, which
/// are addresses (`config::validate` sees to it). Names are looked up before the start and never again, since a look-up may take seconds.
#[derive(Default)]
pub(super) struct OverrideHosts(BTreeMap<String, Vec<IpAddr>>);

impl OverrideHosts {
    /// Looks all of them up. A host without an address is an error: its bound would hold for nobody.
    pub(super) fn look_up(
        fixed: &StaticConfig,
        resolve: impl Fn(&str) -> Vec<IpAddr>,
    ) -> Result<OverrideHosts, StartError> {
        let settings = Settings::resolve(Layers { fixed, dynamic: &DynamicConfig::default() });
        let mut known = BTreeMap::new();
        for (host, _) in &settings.network.connections_per_ip_overrides {
            let addresses = resolve(host);
            if addresses.is_empty() {
                return Err(StartError::UnknownHost { key: "max.connections.per.ip.overrides", host: host.clone() });
            }
            known.insert(host.clone(), addresses);
        }
        Ok(OverrideHosts(known))
    }

    fn overrides(&self, settings: &NetworkSettings) -> BTreeMap<IpAddr, u32> {
        let overrides = settings.connections_per_ip_overrides.iter().flat_map(|(host, max)| {
            let addresses = self.0.get(host).cloned().unwrap_or_else(|| host.parse().into_iter().collect());
            // As a connection's own address is written.
            addresses.into_iter().map(|address| (address.to_canonical(), count(*max)))
        });
        overrides.collect()
    }
}

/// The limits at the start.
pub(super) fn connection_limits(settings: &NetworkSettings, hosts: &OverrideHosts) -> ConnectionLimits {
    let broker = limits_of_broker(settings);
    ConnectionLimits {
        connections_max: broker.connections_max,
        connections_per_ip_max: unlimited(settings.connections_per_ip_max),
        per_ip_overrides: hosts.overrides(settings),
        creation_rate_max: broker.creation_rate_max,
        windows: settings.quota_windows,
        window: Duration::from_secs(settings.quota_window_seconds),
        listeners: limits_of_listeners(settings),
        inter_broker_listener: settings
            .listeners
            .iter()
            .position(|listener| listener.endpoint.name == settings.inter_broker_listener),
    }
}

/// Lets the numbers that may change at run time be those of the newest settings.
pub(crate) struct LimitsInForce {
    quotas: Arc<ConnectionQuotas>,
    hosts: OverrideHosts,
    /// Who closes what is too many.
    processors: Vec<Arc<dyn Wake>>,
    /// Whose limits hold.
    settings: Arc<Settings>,
}

impl LimitsInForce {
    /// The limits of these settings hold already.
    pub(super) fn new(
        quotas: Arc<ConnectionQuotas>,
        hosts: OverrideHosts,
        processors: Vec<Arc<dyn Wake>>,
        settings: Arc<Settings>,
    ) -> LimitsInForce {
        LimitsInForce { quotas, hosts, processors, settings }
    }

    /// From now on those of `settings` hold, for what is there and for what comes.
    pub(super) fn follow(&mut self, settings: Arc<Settings>) {
        if !Arc::ptr_eq(&settings, &self.settings) {
            let network = &settings.network;
            let per_ip = unlimited(network.connections_per_ip_max);
            self.quotas.set_overrides(self.hosts.overrides(network));
            self.quotas.set_limits(limits_of_broker(network), per_ip, limits_of_listeners(network));
            self.processors.iter().for_each(|processor| processor.wake());
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
    use crate::config::Sources;
    use crate::env::Wake;
    use crate::types::Now;

    struct Nobody;

    impl Wake for Nobody {
        fn wake(&self) {}
    }

    fn settings(changed: &[(&str, &str)]) -> Arc<Settings> {
        let cluster = changed.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let dynamic = DynamicConfig { cluster, ..DynamicConfig::default() };
        Arc::new(Settings::resolve(Layers { fixed: &StaticConfig::default(), dynamic: &dynamic }))
    }

    fn at_start(settings: &Settings) -> (Arc<ConnectionQuotas>, LimitsInForce) {
        let limits = connection_limits(&settings.network, &OverrideHosts::default());
        let quotas = Arc::new(ConnectionQuotas::new(limits, vec![Arc::new(Nobody)]));
        (
            Arc::clone(&quotas),
            LimitsInForce::new(quotas, OverrideHosts::default(), Vec::new(), Arc::new(settings.clone())),
        )
    }

    /// Of `arrivals` connections to the only listener at once: how many are held back, and what became of them.
    fn arrive(quotas: &ConnectionQuotas, arrivals: u32) -> (usize, Vec<String>) {
        let here = IpAddr::from([127, 0, 0, 1]);
        let held = (0..arrivals).filter(|_| quotas.record_arrival(0, Now::default()).is_some()).count();
        let name = |admission: String| admission.split('(').next().unwrap_or_default().to_owned();
        (held, (0..arrivals).map(|_| name(format!("{:?}", quotas.admit(0, here)))).collect())
    }

    #[test]
    fn a_name_of_the_properties_has_its_limit_also_after_a_value_of_run_time_has_hidden_it() {
        const KEY: &str = "max.connections.per.ip.overrides";
        let properties = Sources::new().with_overrides([format!("{KEY}=some.host:5").as_str()]);
        let fixed = StaticConfig::from_sources(&properties).unwrap();
        let hosts = OverrideHosts::look_up(&fixed, |_| vec![IpAddr::from([10, 0, 0, 7])]).unwrap();
        let overrides = |set: &[&str]| {
            let cluster = set.iter().map(|value| (KEY.to_owned(), (*value).to_owned())).collect();
            let dynamic = DynamicConfig { cluster, ..DynamicConfig::default() };
            hosts.overrides(&Settings::resolve(Layers { fixed: &fixed, dynamic: &dynamic }).network)
        };
        assert_eq!(overrides(&["::ffff:10.0.0.1:2"]), BTreeMap::from([(IpAddr::from([10, 0, 0, 1]), 2)]));
        assert_eq!(overrides(&[]), BTreeMap::from([(IpAddr::from([10, 0, 0, 7]), 5)]));
        assert!(matches!(OverrideHosts::look_up(&fixed, |_| Vec::new()), Err(StartError::UnknownHost { .. })));
    }

    #[test]
    fn each_limit_that_changes_at_run_time_counts_as_it_says_when_the_new_settings_are_followed() {
        let cases = [
            ("max.connections", "2", "Full"),
            ("listener.name.plaintext.max.connections", "2", "Full"),
            ("max.connections.per.ip", "2", "TooManyFromAddress"),
            ("max.connections.per.ip.overrides", "127.0.0.1:2", "TooManyFromAddress"),
        ];
        for (key, limit, refused) in cases {
            let (quotas, mut limits) = at_start(&settings(&[]));
            limits.follow(settings(&[(key, limit)]));
            let admissions = ["Admitted", "Admitted", refused].map(str::to_owned).to_vec();
            assert_eq!(arrive(&quotas, 3), (0, admissions), "{key}");
            limits.follow(settings(&[]));
            assert_eq!(arrive(&quotas, 1).1, ["Admitted"], "{key} is lifted again");
        }
        for key in ["max.connection.creation.rate", "listener.name.plaintext.max.connection.creation.rate"] {
            let (quotas, mut limits) = at_start(&settings(&[]));
            assert_eq!(arrive(&quotas, 100).0, 0, "{key}");
            limits.follow(settings(&[(key, "1")]));
            assert_eq!(arrive(&quotas, 3).0, 3, "{key} counts what came before it");
        }
    }
}
