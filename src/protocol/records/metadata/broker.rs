//! Records of the metadata log about brokers.
//!
//! It must not know what replaying them does.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// A broker registered itself with an incarnation id and got an epoch.
    pub struct RegisterBrokerRecord<'a>: versions 0..=4, flexible 0.. {
        broker_id: i32 => 0..;
        is_migrating_zk_broker: bool => 2..;
        incarnation_id: TopicId => 0..;
        broker_epoch: i64 => 0..;
        end_points: Vec<BrokerEndpoint<'a>> => 0..;
        features: Vec<BrokerFeature<'a>> => 0..;
        rack: Option<&'a str> = Some("") => 0..;
        fenced: bool = true => 0..;
        in_controlled_shutdown: bool => 1..;
        log_dirs: Vec<TopicId> => 3.., tag 0;
        cordoned_log_dirs: Option<Vec<TopicId>> => 4.., tag 1;
    }

    /// A listener of the broker.
    pub struct BrokerEndpoint<'a> {
        name: &'a str => 0..;
        host: &'a str => 0..;
        port: u16 => 0..;
        security_protocol: i16 => 0..;
    }

    /// A feature and the levels that the broker supports.
    pub struct BrokerFeature<'a> {
        name: &'a str => 0..;
        min_supported_version: i16 => 0..;
        max_supported_version: i16 => 0..;
    }

    /// A broker left for good.
    pub struct UnregisterBrokerRecord: versions 0..=0, flexible 0.. {
        broker_id: i32 => 0..;
        broker_epoch: i64 => 0..;
    }

    /// A broker may not serve any more.
    pub struct FenceBrokerRecord: versions 0..=0, flexible 0.. {
        id: i32 => 0..;
        epoch: i64 => 0..;
    }

    /// A broker may serve again.
    pub struct UnfenceBrokerRecord: versions 0..=0, flexible 0.. {
        id: i32 => 0..;
        epoch: i64 => 0..;
    }

    /// Something about the registration of a broker changed.
    pub struct BrokerRegistrationChangeRecord: versions 0..=3, flexible 0.. {
        broker_id: i32 => 0..;
        broker_epoch: i64 => 0..;
        fenced: i8 => 0.., tag 0;
        in_controlled_shutdown: i8 => 1.., tag 1;
        log_dirs: Vec<TopicId> => 2.., tag 2;
        cordoned_log_dirs: Option<Vec<TopicId>> => 3.., tag 3;
    }
}
