//! Knobs of sockets, listeners and requests.
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{ONE_NODE, OWN_WAY};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "advertised.listeners": List = null, Any, ReadOnly, High
        => Honoured("The addresses that clients are told; without it, each client is told the one that it reached.");
    "connections.max.idle.ms": Long = "600000", Any, ReadOnly, Medium
        => Honoured("A connection without traffic for this long is closed; a negative value keeps it open.");
    "fetch.max.bytes": Int = "57671680", AtLeast(1024), ReadOnly, Medium
        => Honoured("The most that one answer to a fetch carries, whatever the client asks for.");
    "fetch.purgatory.purge.interval.requests": Int = "1000", Any, ReadOnly, Medium => Idle(OWN_WAY);
    "listener.security.protocol.map": String =
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        Any, ReadOnly, Low
        => Honoured("Which security protocol each listener name stands for; only PLAINTEXT is served.");
    "listeners": List = "PLAINTEXT://127.0.0.1:9092", Any, ReadOnly, High
        => Honoured("Where the broker listens, as NAME://host:port; an empty host means every address of the machine.");
    "max.connection.creation.rate": Int = "2147483647", AtLeast(0), ClusterWide, Medium
        => Honoured("New connections per second, for the broker or with its prefix for one listener.");
    "max.connections": Int = "2147483647", AtLeast(0), ClusterWide, Medium
        => Honoured("Connections that the broker, or with the prefix of a listener that listener, holds at most.");
    "max.connections.per.ip": Int = "2147483647", AtLeast(0), ClusterWide, Medium
        => Honoured("Connections from one address; 0 is allowed only when there are overrides.");
    "max.connections.per.ip.overrides": String = "", Any, ClusterWide, Medium
        => Honoured("Exceptions to max.connections.per.ip, as host:count separated by commas; at run time hosts are addresses, not names.");
    "max.incremental.fetch.session.cache.slots": Int = "1000", AtLeast(0), ReadOnly, Medium
        => Honoured("Incremental fetch sessions that are remembered at once.");
    "max.request.partition.size.limit": Int = "2000", AtLeast(1), ReadOnly, Medium
        => Honoured("Partitions that one answer to DescribeTopicPartitions carries.");
    "num.io.threads": Int = "8", AtLeast(1), ReadOnly, High => Honoured("Request handlers.");
    "num.network.threads": Int = "3", AtLeast(1), ReadOnly, High
        => Honoured("Processors, which read and write sockets, per listener.");
    "queued.max.request.bytes": Long = "-1", Any, ReadOnly, Medium
        => Honoured("Bytes of requests that may be in memory at once; -1 sets no bound.");
    "queued.max.requests": Int = "500", AtLeast(1), ReadOnly, High
        => Honoured("Requests that may wait for a handler before the network layer stops reading.");
    "request.timeout.ms": Int = "30000", Any, ReadOnly, High => Idle(ONE_NODE);
    "socket.connection.setup.timeout.max.ms": Long = "30000", Any, ReadOnly, Medium => Idle(ONE_NODE);
    "socket.connection.setup.timeout.ms": Long = "10000", Any, ReadOnly, Medium => Idle(ONE_NODE);
    "socket.listen.backlog.size": Int = "50", AtLeast(1), ReadOnly, Medium
        => Honoured("Connections that may wait to be accepted.");
    "socket.receive.buffer.bytes": Int = "-1", Any, ReadOnly, High
        => Honoured("Receive buffer of a connection; -1 leaves the choice to the operating system.");
    "socket.request.max.bytes": Int = "104857600", AtLeast(1), ReadOnly, High
        => Honoured("The largest request that is read; a larger one closes its connection.");
    "socket.send.buffer.bytes": Int = "102400", Any, ReadOnly, High
        => Honoured("Send buffer of a connection; -1 leaves the choice to the operating system.");
};
