//! Metadata tmp.
use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::protocol::DecodeError;
use crate::protocol::messages::metadata::*;
use crate::types::*;

pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: MetadataRequest<'_> = request.decode()?;
    let (host, port) = apis.advertised(request);
    let mut topics = vec![];
    for t in message.topics.iter().flatten() {
        let name = t.name.unwrap_or("");
        if apis.replica_manager().find(name, PartitionIndex(0)).is_none() {
            apis.create_topic_tmp(now, name);
        }
        let key = apis.replica_manager().find(name, PartitionIndex(0)).expect("made").key;
        topics.push(MetadataResponseTopic {
            name: Some(name),
            topic_id: key.topic_id,
            partitions: vec![MetadataResponsePartition {
                leader_id: 1,
                leader_epoch: 0,
                replica_nodes: vec![1],
                isr_nodes: vec![1],
                ..Default::default()
            }],
            ..Default::default()
        });
    }
    let response = MetadataResponse {
        brokers: vec![MetadataResponseBroker { node_id: 1, host: &host, port, rack: None }],
        cluster_id: Some("tmp"),
        controller_id: 1,
        topics,
        ..Default::default()
    };
    Ok(request.respond(&response).into())
}
