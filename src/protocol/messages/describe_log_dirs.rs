//! API 35, DescribeLogDirs: describes the log directories and the size of each replica in them.
//!
//! It must not know what a broker does with it.

use crate::protocol::declare::messages;

messages! {
    /// Asks for the log directories; null topics means all.
    pub struct DescribeLogDirsRequest<'a>: versions 1..=5, flexible 2.. {
        topics: Option<Vec<DescribableLogDirTopic<'a>>> = Some(Vec::new()) => 1..;
    }

    /// One topic asked about.
    pub struct DescribableLogDirTopic<'a> {
        topic: &'a str => 1..;
        partitions: Vec<i32> => 1..;
    }

    /// Each log directory with its replicas.
    pub struct DescribeLogDirsResponse<'a>: versions 1..=5, flexible 2.. {
        throttle_time_ms: i32 => 1..;
        error_code: i16 => 3..;
        results: Vec<DescribeLogDirsResult<'a>> => 1..;
    }

    /// One log directory.
    pub struct DescribeLogDirsResult<'a> {
        error_code: i16 => 1..;
        log_dir: &'a str => 1..;
        topics: Vec<DescribeLogDirsTopic<'a>> => 1..;
        total_bytes: i64 = -1 => 4..;
        usable_bytes: i64 = -1 => 4..;
        is_cordoned: bool => 5..;
    }

    /// One topic in the directory.
    pub struct DescribeLogDirsTopic<'a> {
        name: &'a str => 1..;
        partitions: Vec<DescribeLogDirsPartition> => 1..;
    }

    /// One replica in the directory.
    pub struct DescribeLogDirsPartition {
        partition_index: i32 => 1..;
        partition_size: i64 => 1..;
        offset_lag: i64 => 1..;
        is_future_key: bool => 1..;
    }
}
