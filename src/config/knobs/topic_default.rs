//! Knobs that shape new topics and the batches they accept.
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{NO_PLUGINS, ONE_LZ4_LEVEL, ONE_REPLICA};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "alter.config.policy.class.name": Class = null, Any, ReadOnly, Low => Refused(NO_PLUGINS);
    "auto.create.topics.enable": Boolean = "true", Any, ReadOnly, High
        => Honoured("Whether a topic that a client asks for is created on the spot.");
    "compression.gzip.level": Int = "-1", BetweenOr(1, 9, -1), ClusterWide, Medium
        => Honoured("Level of gzip when compression.type is gzip.");
    "compression.lz4.level": Int = "9", Between(1, 17), ClusterWide, Medium => Idle(ONE_LZ4_LEVEL);
    "compression.type": String = "producer",
        OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), ClusterWide, High
        => Honoured("Codec of stored batches; producer keeps what the producer chose.");
    "compression.zstd.level": Int = "3", Between(-131_072, 22), ClusterWide, Medium
        => Honoured("Level of zstd when compression.type is zstd.");
    "create.topic.policy.class.name": Class = null, Any, ReadOnly, Low => Refused(NO_PLUGINS);
    "default.replication.factor": Int = "1", Any, ReadOnly, Medium
        => Honoured("Copies of a topic that is created without a number; creating more than one copy is refused.");
    "delete.topic.enable": Boolean = "true", Any, ReadOnly, High => Honoured("Whether topics can be deleted.");
    "max.decompressed.message.bytes": Int = "2147483639", Between(1, 2_147_483_639), ClusterWide, Medium
        => Honoured("The largest record that may come out of a compressed batch.");
    "message.max.bytes": Int = "1048588", AtLeast(0), ClusterWide, High
        => Honoured("The largest record batch that is accepted.");
    "min.insync.replicas": Int = "1", AtLeast(1), ClusterWide, High => Idle(ONE_REPLICA);
    "num.partitions": Int = "1", AtLeast(1), ReadOnly, Medium
        => Honoured("Partitions of a topic that is created without a number.");
};
