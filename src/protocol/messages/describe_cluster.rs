//! API 60, DescribeCluster: describes the brokers or controllers of the cluster (KIP-700).
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks for the nodes of the cluster.
    pub struct DescribeClusterRequest: versions 0..=2, flexible 0.. {
        include_cluster_authorized_operations: bool => 0..;
        endpoint_type: i8 = 1 => 1..;
        include_fenced_brokers: bool => 2..;
    }

    /// Cluster id, controller and nodes.
    pub struct DescribeClusterResponse<'a>: versions 0..=2, flexible 0.. {
        throttle_time_ms: i32 => 0..;
        error_code: i16 => 0..;
        error_message: Option<&'a str> => 0..;
        endpoint_type: i8 = 1 => 1..;
        cluster_id: &'a str => 0..;
        controller_id: i32 = -1 => 0..;
        brokers: Vec<DescribeClusterBroker<'a>> => 0..;
        cluster_authorized_operations: i32 = i32::MIN => 0..;
    }

    /// One node and its address.
    pub struct DescribeClusterBroker<'a> {
        broker_id: i32 => 0..;
        host: &'a str => 0..;
        port: i32 => 0..;
        rack: Option<&'a str> => 0..;
        is_fenced: bool => 2..;
    }
}
