//! The records about brokers and controllers, between the wire's borrowed messages and this room's types.
//!
//! It must not know the frame around a record.

use crate::protocol::records::metadata as wire;
use crate::protocol::records::metadata::broker::{BrokerEndpoint as WireEndpoint, BrokerFeature as WireFeature};
use crate::protocol::records::metadata::controller::{ControllerEndpoint, ControllerFeature};
use crate::types::{BrokerId, TopicId};

use super::broker_registration::{BrokerEndpoint, BrokerFeature, BrokerRegistration};
use super::record::MetadataRecord;

pub(super) fn registration_from_wire(record: wire::RegisterBrokerRecord<'_>) -> BrokerRegistration {
    let endpoint = |endpoint: WireEndpoint<'_>| BrokerEndpoint {
        name: endpoint.name.into(),
        host: endpoint.host.into(),
        port: endpoint.port,
        security_protocol: endpoint.security_protocol,
    };
    let feature = |feature: WireFeature<'_>| BrokerFeature {
        name: feature.name.into(),
        min_supported_version: feature.min_supported_version,
        max_supported_version: feature.max_supported_version,
    };
    BrokerRegistration {
        broker_id: BrokerId(record.broker_id),
        incarnation_id: record.incarnation_id,
        broker_epoch: record.broker_epoch,
        endpoints: record.end_points.into_iter().map(endpoint).collect(),
        features: record.features.into_iter().map(feature).collect(),
        rack: record.rack.map(Into::into),
        fenced: record.fenced,
        in_controlled_shutdown: record.in_controlled_shutdown,
        log_dirs: record.log_dirs,
        cordoned_log_dirs: record.cordoned_log_dirs.unwrap_or_default(),
    }
}

pub(super) fn registration_to_wire(registration: &BrokerRegistration) -> wire::RegisterBrokerRecord<'_> {
    wire::RegisterBrokerRecord {
        broker_id: registration.broker_id.0,
        is_migrating_zk_broker: false,
        incarnation_id: registration.incarnation_id,
        broker_epoch: registration.broker_epoch,
        end_points: registration
            .endpoints
            .iter()
            .map(|endpoint| WireEndpoint {
                name: &endpoint.name,
                host: &endpoint.host,
                port: endpoint.port,
                security_protocol: endpoint.security_protocol,
            })
            .collect(),
        features: registration
            .features
            .iter()
            .map(|feature| WireFeature {
                name: &feature.name,
                min_supported_version: feature.min_supported_version,
                max_supported_version: feature.max_supported_version,
            })
            .collect(),
        rack: registration.rack.as_deref(),
        fenced: registration.fenced,
        in_controlled_shutdown: registration.in_controlled_shutdown,
        log_dirs: registration.log_dirs.clone(),
        cordoned_log_dirs: (!registration.cordoned_log_dirs.is_empty()).then(|| registration.cordoned_log_dirs.clone()),
    }
}

pub(super) fn controller_from_wire(record: wire::RegisterControllerRecord<'_>) -> MetadataRecord {
    let endpoint = |endpoint: ControllerEndpoint<'_>| BrokerEndpoint {
        name: endpoint.name.into(),
        host: endpoint.host.into(),
        port: endpoint.port,
        security_protocol: endpoint.security_protocol,
    };
    let feature = |feature: ControllerFeature<'_>| BrokerFeature {
        name: feature.name.into(),
        min_supported_version: feature.min_supported_version,
        max_supported_version: feature.max_supported_version,
    };
    MetadataRecord::RegisterController {
        controller_id: record.controller_id,
        incarnation_id: record.incarnation_id,
        zk_migration_ready: record.zk_migration_ready,
        endpoints: record.end_points.into_iter().map(endpoint).collect(),
        features: record.features.into_iter().map(feature).collect(),
    }
}

pub(super) fn controller_to_wire<'a>(
    controller_id: i32,
    incarnation_id: TopicId,
    zk_migration_ready: bool,
    endpoints: &'a [BrokerEndpoint],
    features: &'a [BrokerFeature],
) -> wire::RegisterControllerRecord<'a> {
    wire::RegisterControllerRecord {
        controller_id,
        incarnation_id,
        zk_migration_ready,
        end_points: endpoints
            .iter()
            .map(|endpoint| ControllerEndpoint {
                name: &endpoint.name,
                host: &endpoint.host,
                port: endpoint.port,
                security_protocol: endpoint.security_protocol,
            })
            .collect(),
        features: features
            .iter()
            .map(|feature| ControllerFeature {
                name: &feature.name,
                min_supported_version: feature.min_supported_version,
                max_supported_version: feature.max_supported_version,
            })
            .collect(),
    }
}
