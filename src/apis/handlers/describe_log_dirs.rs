//! DescribeLogDirs: the log directories, how full they are, and the size of each log in them (KIP-113, KIP-827).
//!
//! It must not know how logs are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::log::{LogDirectoryInfo, UnifiedLog};
use crate::metadata::CLUSTER_METADATA_TOPIC_NAME;
use crate::protocol::DecodeError;
use crate::protocol::messages::describe_log_dirs::{
    DescribableLogDirTopic, DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeLogDirsResult, DescribeLogDirsTopic,
};

/// What stands for a number of bytes that is not known.
const UNKNOWN_BYTES: i64 = -1;

/// Answers with every directory; null topics ask for all.
pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let message: DescribeLogDirsRequest<'_> = request.decode()?;
    let asked = message.topics.as_deref().map(asked_partitions);
    let mut logs = apis.logs();
    logs.retain(|log| is_asked(asked.as_ref(), log));
    let directories = apis.log_directories();
    let paths: Vec<String> = directories.iter().map(|directory| directory.path.display().to_string()).collect();
    let results = directories.iter().zip(&paths).map(|(directory, path)| describe(apis, directory, path, &logs));
    Ok(request.respond(&DescribeLogDirsResponse { results: results.collect(), ..Default::default() }).into())
}

fn asked_partitions<'a>(topics: &[DescribableLogDirTopic<'a>]) -> BTreeSet<(&'a str, i32)> {
    let named = topics.iter().flat_map(|topic| topic.partitions.iter().map(|partition| (topic.topic, *partition)));
    named.collect()
}

/// The log of the metadata is no topic of clients.
fn is_asked(asked: Option<&BTreeSet<(&str, i32)>>, log: &UnifiedLog) -> bool {
    let name = log.topic_partition();
    let is_among = |asked: &BTreeSet<(&str, i32)>| asked.contains(&(&*name.topic, name.partition.0));
    &*name.topic != CLUSTER_METADATA_TOPIC_NAME && asked.is_none_or(is_among)
}

fn describe<'a>(
    apis: &KafkaApis,
    directory: &LogDirectoryInfo,
    path: &'a str,
    logs: &'a [Arc<UnifiedLog>],
) -> DescribeLogDirsResult<'a> {
    if !directory.is_online {
        let error_code = ErrorCode::KafkaStorageError.code();
        return DescribeLogDirsResult { error_code, log_dir: path, ..Default::default() };
    }
    let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let of_disk = |result: Result<u64, _>| result.map_or(UNKNOWN_BYTES, bytes);
    let mut topics: BTreeMap<&str, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
    for log in logs.iter().filter(|log| log.directory().parent() == Some(&directory.path)) {
        let name = log.topic_partition();
        topics.entry(&name.topic).or_default().push(DescribeLogDirsPartition {
            partition_index: name.partition.0,
            partition_size: bytes(log.bytes()),
            // There is one replica, which is never behind itself nor on its way to another directory.
            offset_lag: 0,
            is_future_key: false,
        });
    }
    DescribeLogDirsResult {
        log_dir: path,
        topics: topics.into_iter().map(|(name, partitions)| DescribeLogDirsTopic { name, partitions }).collect(),
        total_bytes: of_disk(apis.disk().total_bytes(&directory.path)),
        usable_bytes: of_disk(apis.disk().free_bytes(&directory.path)),
        ..Default::default()
    }
}
