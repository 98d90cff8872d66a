//! Configurations of a topic that are set, added to, taken back and replaced: each change is told of, and only what was asked for is changed; and what they say of batches holds at once.
//!
//! It must not know what any of them means but one.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::alter_configs::{self, AlterConfigsRequest, AlterConfigsResponse};
use klamm::protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};

use super::stage::{Played, Stage, same, told};
use super::topics::{self, DEFAULT, OWN, RESOURCE};
use crate::client::versions::ANY;

const NAME: &str = "settings";
const ASKER: usize = 0;
const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;
const POLICY: &str = "cleanup.policy";
const BYTES_MAX: &str = "max.message.bytes";
const SEGMENT: &str = "segment.ms";

pub(super) async fn play(stage: Stage) -> Played {
    topics::create_with(&stage, NAME, 1, [(SEGMENT, "50000")]).await?;
    altered(&stage, &[(BYTES_MAX, SET, Some("200")), (POLICY, APPEND, Some("compact"))], ErrorCode::None).await?;
    is(&stage, &[(BYTES_MAX, "200", OWN), (POLICY, "delete,compact", OWN), (SEGMENT, "50000", OWN)]).await?;
    topics::ask_produce(&stage, ASKER, NAME, -1, vec![b'v'; 300]);
    let refused = topics::produced(&stage.hear(ASKER).await)?.0;
    // A compacted topic would want a key, but the size comes first.
    same("a batch that is too large now", refused, ErrorCode::MessageTooLarge)?;

    // Of one request all is done, or nothing.
    altered(&stage, &[(SEGMENT, SET, Some("1")), (BYTES_MAX, SET, Some("many"))], ErrorCode::InvalidConfig).await?;
    is(&stage, &[(BYTES_MAX, "200", OWN), (SEGMENT, "50000", OWN)]).await?;
    altered(&stage, &[(POLICY, SUBTRACT, Some("delete")), (SEGMENT, DELETE, None)], ErrorCode::None).await?;
    is(&stage, &[(BYTES_MAX, "200", OWN), (POLICY, "compact", OWN)]).await?;
    let (_, source) = topics::config(&stage, ASKER, NAME, SEGMENT).await?;
    same("whose a value is that was taken back", source == OWN, false)?;

    // Whoever replaces them names all.
    replaced(&stage, &[(SEGMENT, "60000")]).await?;
    is(&stage, &[(BYTES_MAX, "1048588", DEFAULT), (POLICY, "delete", DEFAULT), (SEGMENT, "60000", OWN)]).await?;
    topics::ask_produce(&stage, ASKER, NAME, -1, vec![b'v'; 300]);
    same("a batch that is no longer too large", topics::produced(&stage.hear(ASKER).await)?, (ErrorCode::None, 0))
}

/// Each of these keys has this value, which comes from there.
async fn is(stage: &Stage, expected: &[(&'static str, &'static str, i8)]) -> Played {
    for (key, value, source) in expected {
        let found = topics::config(stage, ASKER, NAME, key).await?;
        same(key, found, ((*value).to_owned(), *source))?;
    }
    Ok(())
}

async fn altered(stage: &Stage, changes: &[(&'static str, i8, Option<&'static str>)], expected: ErrorCode) -> Played {
    let changes = changes.to_vec();
    let answer = stage.call(ASKER, ApiKey::IncrementalAlterConfigs, ANY, move |question| {
        let change = |(name, config_operation, value)| AlterableConfig { name, config_operation, value };
        let configs = changes.into_iter().map(change).collect();
        let resource = AlterConfigsResource { resource_type: RESOURCE, resource_name: NAME, configs };
        question.put(&IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false });
    });
    let answer = answer.await;
    let response = answer.read::<IncrementalAlterConfigsResponse<'_>>()?;
    told("a change", response.responses.first().map_or(-1, |result| result.error_code), expected)
}

async fn replaced(stage: &Stage, configs: &[(&'static str, &'static str)]) -> Played {
    let configs = configs.to_vec();
    let answer = stage.call(ASKER, ApiKey::AlterConfigs, ANY, move |question| {
        let config = |(name, value)| alter_configs::AlterableConfig { name, value: Some(value) };
        let configs = configs.into_iter().map(config).collect();
        let resource = alter_configs::AlterConfigsResource { resource_type: RESOURCE, resource_name: NAME, configs };
        question.put(&AlterConfigsRequest { resources: vec![resource], validate_only: false });
    });
    let answer = answer.await;
    let response = answer.read::<AlterConfigsResponse<'_>>()?;
    told("a replacement", response.responses.first().map_or(-1, |result| result.error_code), ErrorCode::None)
}
