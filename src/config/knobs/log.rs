//! Knobs of the logs on disk: segments, retention, flushing.
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{NO_CORDONS, OWN_WAY};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "cordoned.log.dirs": List = "", Any, PerBroker, Medium => Refused(NO_CORDONS);
    "log.cleanup.policy": List = "delete", OneOf(&["compact", "delete"]), ClusterWide, Medium
        => Honoured("What happens to old records: delete them by age and size, or keep all with compact or if empty; no cleaner runs.");
    "log.dir": List = "./klamm-data", Any, ReadOnly, High => Honoured("The folder of the data if log.dirs is not set.");
    "log.dir.failure.timeout.ms": Long = "30000", AtLeast(1), ReadOnly, Low => Idle(OWN_WAY);
    "log.dirs": List = null, Any, ReadOnly, High
        => Honoured("The folders of the data, separated by commas; takes precedence over log.dir.");
    "log.flush.interval.messages": Long = "9223372036854775807", AtLeast(1), ClusterWide, High
        => Honoured("Records after which a partition is synced to the disk, whatever producers ask for.");
    "log.flush.interval.ms": Long = null, Any, ClusterWide, High
        => Honoured("Age of unsynced records after which a partition is synced; else log.flush.scheduler.interval.ms.");
    "log.flush.offset.checkpoint.interval.ms": Int = "60000", AtLeast(0), ReadOnly, High
        => Honoured("How often the recovery points are written down.");
    "log.flush.scheduler.interval.ms": Long = "9223372036854775807", Any, ReadOnly, High
        => Honoured("Age of unsynced records after which a partition is synced, if log.flush.interval.ms is not set.");
    "log.flush.start.offset.checkpoint.interval.ms": Int = "60000", AtLeast(0), ReadOnly, High
        => Honoured("How often the start offsets of the logs are written down.");
    "log.index.interval.bytes": Int = "4096", AtLeast(0), ClusterWide, Medium
        => Honoured("Bytes of records between two entries of an offset index.");
    "log.index.size.max.bytes": Int = "10485760", AtLeast(4), ClusterWide, Medium
        => Honoured("Largest offset or time index of a segment.");
    "log.initial.task.delay.ms": Long = "30000", AtLeast(0), ReadOnly, Low, internal
        => Honoured("Delay before the background work on logs begins.");
    "log.message.timestamp.after.max.ms": Long = "3600000", AtLeast(0), ClusterWide, Medium
        => Honoured("How far a record's time may lie after the broker's clock.");
    "log.message.timestamp.before.max.ms": Long = "9223372036854775807", AtLeast(0), ClusterWide, Medium
        => Honoured("How far a record's time may lie before the broker's clock.");
    "log.message.timestamp.type": String = "CreateTime", OneOf(&["CreateTime", "LogAppendTime"]), ClusterWide, Medium
        => Honoured("Whether a record carries the producer's time (CreateTime) or the broker's (LogAppendTime).");
    "log.preallocate": Boolean = "false", Any, ClusterWide, Medium
        => Idle(OWN_WAY);
    "log.retention.bytes": Long = "-1", Any, ClusterWide, High
        => Honoured("Bytes that a partition keeps; -1 sets no bound.");
    "log.retention.check.interval.ms": Long = "300000", AtLeast(1), ReadOnly, Medium
        => Honoured("How often expired segments are looked for.");
    "log.retention.hours": Int = "168", Any, ReadOnly, High => Honoured("How long records are kept, in hours.");
    "log.retention.minutes": Int = null, Any, ReadOnly, High
        => Honoured("How long records are kept, in minutes; takes precedence over hours.");
    "log.retention.ms": Long = null, Any, ClusterWide, High
        => Honoured("How long records are kept, -1 for ever; takes precedence over minutes and hours.");
    "log.roll.hours": Int = "168", AtLeast(1), ReadOnly, High
        => Honoured("Age in hours at which a segment is closed even if it is not full.");
    "log.roll.jitter.hours": Int = "0", AtLeast(0), ReadOnly, High
        => Honoured("The most, in hours, that is subtracted at random from the rolling age.");
    "log.roll.jitter.ms": Long = null, Any, ClusterWide, High
        => Honoured("The most that is subtracted at random from the rolling age; precedes log.roll.jitter.hours.");
    "log.roll.ms": Long = null, Any, ClusterWide, High
        => Honoured("Age at which a segment is closed even if it is not full; takes precedence over log.roll.hours.");
    "log.segment.bytes": Int = "1073741824", AtLeast(1_048_576), ClusterWide, High
        => Honoured("Size at which a partition starts a new segment file.");
    "log.segment.delete.delay.ms": Long = "60000", AtLeast(0), ClusterWide, High
        => Honoured("How long a deleted segment's file stays on the disk, so that readers can end.");
    "num.recovery.threads.per.data.dir": Int = "2", AtLeast(1), ClusterWide, High
        => Idle(OWN_WAY);
};
