//! The table of APIs: number, name, versions and the first flexible one, for those that Klamm serves; names for all others.
//!
//! It must not know messages, nor what an API does.

use std::fmt;
use std::ops::RangeInclusive;

use crate::protocol::declare::NEVER;

macro_rules! api_keys {
    ($($name:ident = $code:literal, versions $first:literal..=$last:literal, flexible $flexible:tt..;)+) => {
        /// An API that Klamm serves.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        #[allow(missing_docs, reason = "the names are the protocol's own")]
        pub enum ApiKey {
            $($name = $code,)+
        }

        impl ApiKey {
            /// Every API that Klamm serves, in ascending order.
            pub const ALL: &[ApiKey] = &[$(ApiKey::$name,)+];

            /// The API with this number, if Klamm serves it.
            pub const fn from_code(code: i16) -> Option<ApiKey> {
                match code {
                    $($code => Some(ApiKey::$name),)+
                    _ => None,
                }
            }

            /// The protocol's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(ApiKey::$name => stringify!($name),)+
                }
            }

            /// The versions that are accepted.
            pub const fn versions(self) -> RangeInclusive<i16> {
                match self {
                    $(ApiKey::$name => $first..=$last,)+
                }
            }

            /// The first version with compact lengths and tagged fields; no version reaches it if there is none.
            const fn flexible_from(self) -> i16 {
                match self {
                    $(ApiKey::$name => $flexible,)+
                }
            }
        }
    };
}

// The ranges are those of Kafka 4.4. InitProducerId ends at 5, since 6 is marked unstable there.
api_keys! {
    Produce = 0, versions 3..=13, flexible 9..;
    Fetch = 1, versions 4..=18, flexible 12..;
    ListOffsets = 2, versions 1..=11, flexible 6..;
    Metadata = 3, versions 0..=13, flexible 9..;
    OffsetCommit = 8, versions 2..=10, flexible 8..;
    OffsetFetch = 9, versions 1..=10, flexible 6..;
    FindCoordinator = 10, versions 0..=6, flexible 3..;
    JoinGroup = 11, versions 0..=9, flexible 6..;
    Heartbeat = 12, versions 0..=4, flexible 4..;
    LeaveGroup = 13, versions 0..=5, flexible 4..;
    SyncGroup = 14, versions 0..=5, flexible 4..;
    DescribeGroups = 15, versions 0..=6, flexible 5..;
    ListGroups = 16, versions 0..=5, flexible 3..;
    SaslHandshake = 17, versions 0..=1, flexible NEVER..;
    ApiVersions = 18, versions 0..=5, flexible 3..;
    CreateTopics = 19, versions 2..=7, flexible 5..;
    DeleteTopics = 20, versions 1..=6, flexible 4..;
    DeleteRecords = 21, versions 0..=2, flexible 2..;
    InitProducerId = 22, versions 0..=5, flexible 2..;
    OffsetForLeaderEpoch = 23, versions 2..=4, flexible 4..;
    DescribeConfigs = 32, versions 1..=4, flexible 4..;
    AlterConfigs = 33, versions 0..=2, flexible 2..;
    DescribeLogDirs = 35, versions 1..=5, flexible 2..;
    SaslAuthenticate = 36, versions 0..=2, flexible 2..;
    CreatePartitions = 37, versions 0..=3, flexible 2..;
    DeleteGroups = 42, versions 0..=3, flexible 2..;
    IncrementalAlterConfigs = 44, versions 0..=1, flexible 1..;
    OffsetDelete = 47, versions 0..=0, flexible NEVER..;
    DescribeCluster = 60, versions 0..=2, flexible 0..;
    DescribeTopicPartitions = 75, versions 0..=0, flexible 0..;
}

impl ApiKey {
    /// The number on the wire.
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// The versions that ApiVersions tells. Produce says 0 although only 3 and later are accepted, as in Kafka: older librdkafka
    /// takes its features from the overlap (KAFKA-18659).
    pub const fn advertised_versions(self) -> RangeInclusive<i16> {
        match self {
            ApiKey::Produce => 0..=*self.versions().end(),
            _ => self.versions(),
        }
    }

    /// Whether the version, known or not, has compact lengths and tagged fields.
    pub const fn is_flexible(self, version: i16) -> bool {
        version >= self.flexible_from()
    }

    /// The version of the request header: 2 has tagged fields, 1 has none.
    pub const fn request_header_version(self, version: i16) -> i16 {
        if self.is_flexible(version) { 2 } else { 1 }
    }

    /// The version of the response header: 1 has tagged fields, 0 has none. ApiVersions always has 0, since the client cannot know
    /// which version answers.
    pub const fn response_header_version(self, version: i16) -> i16 {
        if self.is_flexible(version) && !matches!(self, ApiKey::ApiVersions) { 1 } else { 0 }
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The name of an API that Kafka 4.4 knows, or has removed, and that Klamm does not serve.
pub const fn name_of_unserved(code: i16) -> Option<&'static str> {
    Some(match code {
        4 => "LeaderAndIsr",
        5 => "StopReplica",
        6 => "UpdateMetadata",
        7 => "ControlledShutdown",
        24 => "AddPartitionsToTxn",
        25 => "AddOffsetsToTxn",
        26 => "EndTxn",
        27 => "WriteTxnMarkers",
        28 => "TxnOffsetCommit",
        29 => "DescribeAcls",
        30 => "CreateAcls",
        31 => "DeleteAcls",
        34 => "AlterReplicaLogDirs",
        38 => "CreateDelegationToken",
        39 => "RenewDelegationToken",
        40 => "ExpireDelegationToken",
        41 => "DescribeDelegationToken",
        43 => "ElectLeaders",
        45 => "AlterPartitionReassignments",
        46 => "ListPartitionReassignments",
        48 => "DescribeClientQuotas",
        49 => "AlterClientQuotas",
        50 => "DescribeUserScramCredentials",
        51 => "AlterUserScramCredentials",
        52 => "Vote",
        53 => "BeginQuorumEpoch",
        54 => "EndQuorumEpoch",
        55 => "DescribeQuorum",
        56 => "AlterPartition",
        57 => "UpdateFeatures",
        58 => "Envelope",
        59 => "FetchSnapshot",
        61 => "DescribeProducers",
        62 => "BrokerRegistration",
        63 => "BrokerHeartbeat",
        64 => "UnregisterBroker",
        65 => "DescribeTransactions",
        66 => "ListTransactions",
        67 => "AllocateProducerIds",
        68 => "ConsumerGroupHeartbeat",
        69 => "ConsumerGroupDescribe",
        70 => "ControllerRegistration",
        71 => "GetTelemetrySubscriptions",
        72 => "PushTelemetry",
        73 => "AssignReplicasToDirs",
        74 => "ListConfigResources",
        76 => "ShareGroupHeartbeat",
        77 => "ShareGroupDescribe",
        78 => "ShareFetch",
        79 => "ShareAcknowledge",
        80 => "AddRaftVoter",
        81 => "RemoveRaftVoter",
        82 => "UpdateRaftVoter",
        83 => "InitializeShareGroupState",
        84 => "ReadShareGroupState",
        85 => "WriteShareGroupState",
        86 => "DeleteShareGroupState",
        87 => "ReadShareGroupStateSummary",
        88 => "StreamsGroupHeartbeat",
        89 => "StreamsGroupDescribe",
        90 => "DescribeShareGroupOffsets",
        91 => "AlterShareGroupOffsets",
        92 => "DeleteShareGroupOffsets",
        93 => "StreamsGroupTopologyDescriptionUpdate",
        94 => "UnregisterController",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{ApiKey, name_of_unserved};

    #[test]
    fn every_key_of_kafka_is_either_served_or_known_by_name() {
        for code in 0..=94 {
            assert_ne!(ApiKey::from_code(code).is_some(), name_of_unserved(code).is_some(), "key {code}");
        }
        for code in [-1, 95, i16::MAX, i16::MIN] {
            assert_eq!(ApiKey::from_code(code), None);
            assert_eq!(name_of_unserved(code), None);
        }
    }

    #[test]
    fn keys_are_found_by_their_number() {
        for key in ApiKey::ALL {
            assert_eq!(ApiKey::from_code(key.code()), Some(*key));
        }
    }

    #[test]
    fn produce_is_advertised_from_zero_but_accepted_from_three() {
        assert_eq!(ApiKey::Produce.versions(), 3..=13);
        assert_eq!(ApiKey::Produce.advertised_versions(), 0..=13);
        assert_eq!(ApiKey::Fetch.advertised_versions(), ApiKey::Fetch.versions());
    }

    #[test]
    fn header_versions_follow_the_flexible_versions_except_for_the_api_versions_response() {
        assert_eq!(ApiKey::Produce.request_header_version(8), 1);
        assert_eq!(ApiKey::Produce.request_header_version(9), 2);
        assert_eq!(ApiKey::Produce.response_header_version(9), 1);
        assert_eq!(ApiKey::OffsetDelete.request_header_version(0), 1);
        assert_eq!(ApiKey::ApiVersions.request_header_version(300), 2);
        assert_eq!(ApiKey::ApiVersions.request_header_version(-1), 1);
        assert_eq!(ApiKey::ApiVersions.response_header_version(3), 0);
    }
}
