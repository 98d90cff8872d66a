//! DescribeCluster: the cluster's id, its controller and its brokers (KIP-700).
//!
//! It must not know how the cluster came about.

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::authorized_operations::CLUSTER_OPERATIONS;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::protocol::DecodeError;
use crate::protocol::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};

/// Asks a broker for the brokers.
const BROKERS: i8 = 1;
/// Asks a controller for the controllers (KIP-919).
const CONTROLLERS: i8 = 2;

/// Answers for the brokers; there is no controller that a client could reach.
pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: DescribeClusterRequest = request.decode()?;
    if let Some((error, text)) = refusal(request.version(), message.endpoint_type) {
        let response =
            DescribeClusterResponse { error_code: error.code(), error_message: Some(&text), ..Default::default() };
        return Ok(request.respond(&response).into());
    }
    let (host, port) = apis.advertised(request);
    let settings = apis.settings();
    let image = apis.image();
    let default = DescribeClusterResponse::default();
    let broker = DescribeClusterBroker {
        broker_id: apis.broker_id().0,
        host: &host,
        port,
        rack: settings.node.rack.as_deref(),
        is_fenced: false,
    };
    let response = DescribeClusterResponse {
        cluster_id: image.cluster_id(),
        controller_id: apis.broker_id().0,
        brokers: vec![broker],
        cluster_authorized_operations: match message.include_cluster_authorized_operations {
            true => CLUSTER_OPERATIONS,
            false => default.cluster_authorized_operations,
        },
        ..default
    };
    Ok(request.respond(&response).into())
}

fn refusal(version: i16, endpoint_type: i8) -> Option<(ErrorCode, String)> {
    let (error, text) = match endpoint_type {
        BROKERS => return None,
        CONTROLLERS => (
            ErrorCode::MismatchedEndpointType,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
                .to_owned(),
        ),
        _ => (ErrorCode::UnsupportedEndpointType, format!("Unsupported endpoint type {endpoint_type}")),
    };
    Some((if version == 0 { ErrorCode::InvalidRequest } else { error }, text))
}
