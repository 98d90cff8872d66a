//! Records of the metadata log about controllers.
//!
//! It must not know what replaying them does.

use crate::protocol::declare::messages;
use crate::types::TopicId;

messages! {
    /// A controller registered itself.
    pub struct RegisterControllerRecord<'a>: versions 0..=0, flexible 0.. {
        controller_id: i32 => 0..;
        incarnation_id: TopicId => 0..;
        zk_migration_ready: bool => 0..;
        end_points: Vec<ControllerEndpoint<'a>> => 0..;
        features: Vec<ControllerFeature<'a>> => 0..;
    }

    /// A controller left for good.
    pub struct UnregisterControllerRecord: versions 0..=0, flexible 0.. {
        controller_id: i32 => 0..;
    }

    /// A listener of the controller.
    pub struct ControllerEndpoint<'a> {
        name: &'a str => 0..;
        host: &'a str => 0..;
        port: u16 => 0..;
        security_protocol: i16 => 0..;
    }

    /// A feature and the levels that the controller supports.
    pub struct ControllerFeature<'a> {
        name: &'a str => 0..;
        min_supported_version: i16 => 0..;
        max_supported_version: i16 => 0..;
    }
}
