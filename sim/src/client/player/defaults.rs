//! Topics that are made because somebody asks for them: those of clients are as the broker's defaults have them, that of committed offsets is as it must be, and what is the broker's own
//! is told to be that, whether it is there or not.
//!
//! It must not know who decides what a default is.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, TopicRequest,
};
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};

use super::groups;
use super::stage::{Otherwise, Played, Stage, same};
use super::topics::{self, DEFAULT, OWN};
use crate::client::versions::ANY;

const MADE: &str = "defaults";
const OFFSETS: &str = "__consumer_offsets";
/// The broker has no transactions, and no topic for them.
const TRANSACTIONS: &str = "__transaction_state";
const ASKER: usize = 0;
/// As the scene's settings have it, and as every run has it.
const PARTITIONS: i32 = 2;
const OFFSETS_PARTITIONS: i32 = 2;
const MAY_CREATE: std::ops::RangeInclusive<i16> = 4..=i16::MAX;

pub(super) async fn play(stage: Stage) -> Played {
    let _ = described(&stage, MADE, true).await?;
    topics::appeared(&stage, MADE, PARTITIONS).await?;
    let made = (ErrorCode::None, false, PARTITIONS);
    same("a topic that was asked for", described(&stage, MADE, false).await?, made)?;
    for (key, value) in
        [("cleanup.policy", "delete"), ("compression.type", "producer"), ("max.message.bytes", "1048588")]
    {
        same(
            &format!("{key} of that topic"),
            topics::config(&stage, ASKER, MADE, key).await?,
            (value.to_string(), DEFAULT),
        )?;
    }
    groups::find(&stage, ASKER, MADE).await?;
    let offsets = (ErrorCode::None, true, OFFSETS_PARTITIONS);
    same("the topic of offsets", described(&stage, OFFSETS, false).await?, offsets)?;
    for (key, value) in
        [("cleanup.policy", "compact"), ("compression.type", "producer"), ("segment.bytes", "104857600")]
    {
        same(
            &format!("{key} of offsets"),
            topics::config(&stage, ASKER, OFFSETS, key).await?,
            (value.to_string(), OWN),
        )?;
    }
    let missing = (ErrorCode::UnknownTopicOrPartition, true, 0);
    same("a topic of the broker that is not there", described(&stage, TRANSACTIONS, false).await?, missing)?;
    for (name, expected) in [(MADE, made), (OFFSETS, offsets), (TRANSACTIONS, missing)] {
        same(&format!("a page about {name}"), page(&stage, name).await?, expected)?;
    }
    Ok(())
}

/// Error, whether it is the broker's own, and partitions of a topic, which is made if it `may_be_made`.
async fn described(stage: &Stage, name: &'static str, may_be_made: bool) -> Played<(ErrorCode, bool, i32)> {
    let answer = stage.call(ASKER, ApiKey::Metadata, MAY_CREATE, move |question| {
        let topics = Some(vec![MetadataRequestTopic { name: Some(name), ..Default::default() }]);
        question.put(&MetadataRequest { topics, allow_auto_topic_creation: may_be_made, ..Default::default() });
    });
    let answer = answer.await;
    let response = answer.read::<MetadataResponse<'_>>()?;
    let told = response.topics.iter().find(|topic| topic.name == Some(name));
    let told = told.map(|topic| (topic.error_code, topic.is_internal, topic.partitions.len()));
    known(name, told)
}

/// The same, as another API tells it.
async fn page(stage: &Stage, name: &'static str) -> Played<(ErrorCode, bool, i32)> {
    let answer = stage.call(ASKER, ApiKey::DescribeTopicPartitions, ANY, move |question| {
        let topics = vec![TopicRequest { name }];
        question.put(&DescribeTopicPartitionsRequest { topics, response_partition_limit: 100, cursor: None });
    });
    let answer = answer.await;
    let response = answer.read::<DescribeTopicPartitionsResponse<'_>>()?;
    let told = response.topics.iter().find(|topic| topic.name == Some(name));
    let told = told.map(|topic| (topic.error_code, topic.is_internal, topic.partitions.len()));
    known(name, told)
}

fn known(name: &str, told: Option<(i16, bool, usize)>) -> Played<(ErrorCode, bool, i32)> {
    let (error, is_internal, partitions) = told.ok_or_else(|| Otherwise(format!("nothing is told of {name}")))?;
    Ok((ErrorCode::from_code(error), is_internal, i32::try_from(partitions).unwrap_or(i32::MAX)))
}
