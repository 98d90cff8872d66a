//! Two frames that do not come to their end hold all memory for requests: whoever asks meanwhile waits, and is answered when they are gone.
//!
//! It must not know which Processor serves whom: those who wait are so many that each Processor has one of them.

use klamm::error_code::ErrorCode;
use klamm::protocol::ApiKey;
use klamm::protocol::messages::api_versions::ApiVersionsResponse;
use klamm::protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};

use super::stage::{Played, Stage, put_versions, same, told};
use crate::client::versions::ANY;

/// One leaves some of the memory, two take more than there is.
const HOLDERS: [usize; 2] = [0, 1];
const NAME_BYTES: usize = 15_000;
/// Length and header, and no more.
const START_BYTES: usize = 30;
const WAITING: [usize; 3] = [2, 3, 4];
const MOMENT_MS: u64 = 500;

pub(super) async fn play(stage: Stage) -> Played {
    for holder in HOLDERS {
        stage.arrive(holder).await;
    }
    for holder in HOLDERS {
        stage.ask(holder, ApiKey::Metadata, ANY, |question| {
            let name = "n".repeat(NAME_BYTES);
            let topics = Some(vec![MetadataRequestTopic { name: Some(&name), ..Default::default() }]);
            question.put_start(&MetadataRequest { topics, ..Default::default() }, START_BYTES);
        });
    }
    stage.rest(MOMENT_MS).await;
    WAITING.into_iter().for_each(|role| stage.ask(role, ApiKey::ApiVersions, ANY, put_versions));
    stage.rest(MOMENT_MS).await;
    same("an answer without memory", WAITING.map(|role| stage.is_answered(role)), WAITING.map(|_| false))?;
    HOLDERS.into_iter().for_each(|holder| stage.leave(holder));
    for role in WAITING {
        let answer = stage.hear(role).await;
        told("an answer when there is memory", answer.read::<ApiVersionsResponse<'_>>()?.error_code, ErrorCode::None)?;
    }
    Ok(())
}
