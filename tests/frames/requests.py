"""Sound requests of every API in an old and a flexible form, and legal but impossible ones that Kafka answers with an error."""

import batches
from catalogue import SOURCE, topic_uuid


def bases(c):
    """(api, version, values): small but with every array filled, so that every length has a place."""
    def produce(topic):
        return {"acks": -1, "timeout_ms": 5000, "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": batches.batch()}]}]}

    partition = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "log_start_offset": -1, "partition_max_bytes": 100000}
    fetch = {"max_wait_ms": 100, "min_bytes": 1, "max_bytes": 100000}
    offsets = {"replica_id": -1, "topics": [{"name": SOURCE, "partitions": [{"partition_index": 0, "timestamp": -2}]}]}
    epochs = {"replica_id": -1, "topics": [{"topic": SOURCE, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}]}
    commit = {"group_id": "frames-group", "generation_id_or_member_epoch": -1,
              "topics": [{"name": SOURCE, "partitions": [{"partition_index": 0, "committed_offset": 2, "committed_metadata": "m"}]}]}
    later = {**commit, "topics": [{"name": SOURCE, "partitions": [{**commit["topics"][0]["partitions"][0], "committed_leader_epoch": -1}]}]}
    fetched = {"name": SOURCE, "partition_indexes": [0]}
    join = {"group_id": "frames-nobody", "session_timeout_ms": 10000, "member_id": "stranger", "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"\0\1\2"}]}
    sync = {"group_id": "frames-nobody", "generation_id": 1, "member_id": "stranger", "assignments": [{"member_id": "stranger", "assignment": b"\0\1"}]}
    config = {"resource_type": 2, "resource_name": SOURCE}
    describe = {"resources": [{**config, "configuration_keys": ["retention.ms"]}]}
    new = {"name": "frames.new", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": [{"name": "retention.ms", "value": "1000"}]}
    assigned = {"name": "frames.assigned", "num_partitions": -1, "replication_factor": -1, "assignments": [{"partition_index": 0, "broker_ids": [1]}]}
    return [
        ("Produce", 3, produce(c.topic())),
        ("Produce", 9, produce(c.topic())),
        ("Fetch", 4, {"replica_id": -1, **fetch, "topics": [{"topic": SOURCE, "partitions": [{k: partition[k] for k in ("partition", "fetch_offset", "partition_max_bytes")}]}]}),
        ("Fetch", 11, {"replica_id": -1, **fetch, "session_epoch": -1, "topics": [{"topic": SOURCE, "partitions": [partition]}], "forgotten_topics_data": [{"topic": SOURCE, "partitions": [0]}], "rack_id": "r"}),
        ("Fetch", 12, {"replica_id": -1, **fetch, "session_epoch": -1, "topics": [{"topic": SOURCE, "partitions": [{**partition, "last_fetched_epoch": -1}]}], "forgotten_topics_data": [], "rack_id": "r"}),
        ("Fetch", 18, {**fetch, "session_epoch": -1, "topics": [{"topic_id": topic_uuid(SOURCE), "partitions": [{**partition, "last_fetched_epoch": -1}]}], "forgotten_topics_data": [], "rack_id": ""}),
        ("ListOffsets", 1, offsets),
        ("ListOffsets", 11, {**offsets, "topics": [{"name": SOURCE, "partitions": [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -2}]}], "timeout_ms": 1000}),
        ("Metadata", 1, {"topics": [{"name": SOURCE}]}),
        ("Metadata", 13, {"topics": [{"name": SOURCE}, {"topic_id": topic_uuid(SOURCE)}]}),
        ("OffsetCommit", 2, commit),
        ("OffsetCommit", 8, {**later, "group_instance_id": None}),
        ("OffsetCommit", 10, {**later, "topics": [{"topic_id": topic_uuid(SOURCE), "partitions": later["topics"][0]["partitions"]}]}),
        ("OffsetFetch", 1, {"group_id": "frames-group", "topics": [fetched]}),
        ("OffsetFetch", 6, {"group_id": "frames-group", "topics": [fetched]}),
        ("OffsetFetch", 8, {"groups": [{"group_id": "frames-group", "topics": [fetched]}]}),
        ("OffsetFetch", 10, {"groups": [{"group_id": "frames-group", "member_epoch": -1, "topics": [{"topic_id": topic_uuid(SOURCE), "partition_indexes": [0]}]}]}),
        ("FindCoordinator", 0, {"key": "frames-group"}),
        ("FindCoordinator", 3, {"key": "frames-group"}),
        ("FindCoordinator", 6, {"coordinator_keys": ["frames-group", "other"]}),
        ("JoinGroup", 0, join),
        ("JoinGroup", 5, {**join, "rebalance_timeout_ms": 10000, "group_instance_id": "i"}),
        ("JoinGroup", 9, {**join, "rebalance_timeout_ms": 10000, "reason": "because"}),
        ("SyncGroup", 0, sync),
        ("SyncGroup", 5, {**sync, "protocol_type": "consumer", "protocol_name": "range"}),
        ("Heartbeat", 0, {"group_id": "frames-nobody", "generation_id": 1, "member_id": "stranger"}),
        ("Heartbeat", 4, {"group_id": "frames-nobody", "generation_id": 1, "member_id": "stranger"}),
        ("LeaveGroup", 0, {"group_id": "frames-nobody", "member_id": "stranger"}),
        ("LeaveGroup", 5, {"group_id": "frames-nobody", "members": [{"member_id": "stranger", "reason": "because"}]}),
        ("DescribeGroups", 0, {"groups": ["frames-nobody"]}),
        ("DescribeGroups", 6, {"groups": ["frames-nobody"]}),
        ("ListGroups", 5, {"states_filter": ["Dead"], "types_filter": ["classic"]}),
        ("ApiVersions", 3, {"client_software_name": "frames", "client_software_version": "1.0"}),
        ("ApiVersions", 5, {"client_software_name": "frames", "client_software_version": "1.0", "node_id": -1}),
        ("CreateTopics", 2, {"topics": [{**new, "name": "frames.old"}], "timeout_ms": 5000, "validate_only": True}),
        ("CreateTopics", 7, {"topics": [new, assigned], "timeout_ms": 5000, "validate_only": True}),
        ("DeleteTopics", 1, {"topic_names": ["frames.nothing"], "timeout_ms": 5000}),
        ("DeleteTopics", 6, {"topics": [{"name": "frames.nothing"}], "timeout_ms": 5000}),
        ("DeleteRecords", 0, {"topics": [{"name": SOURCE, "partitions": [{"partition_index": 0, "offset": 0}]}], "timeout_ms": 5000}),
        ("DeleteRecords", 2, {"topics": [{"name": SOURCE, "partitions": [{"partition_index": 0, "offset": 0}]}], "timeout_ms": 5000}),
        ("InitProducerId", 0, {"transaction_timeout_ms": 1000}),
        ("InitProducerId", 5, {"transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1}),
        ("OffsetForLeaderEpoch", 2, {"topics": [{"topic": SOURCE, "partitions": epochs["topics"][0]["partitions"]}]}),
        ("OffsetForLeaderEpoch", 4, epochs),
        ("DescribeConfigs", 1, describe),
        ("DescribeConfigs", 4, {**describe, "include_synonyms": True}),
        ("AlterConfigs", 0, {"resources": [{**config, "configs": [{"name": "retention.ms", "value": "1000"}]}], "validate_only": True}),
        ("AlterConfigs", 2, {"resources": [{**config, "configs": [{"name": "retention.ms", "value": "1000"}]}], "validate_only": True}),
        ("IncrementalAlterConfigs", 0, {"resources": [{**config, "configs": [{"name": "retention.ms", "value": "1000"}]}], "validate_only": True}),
        ("IncrementalAlterConfigs", 1, {"resources": [{**config, "configs": [{"name": "retention.ms", "value": "1000"}]}], "validate_only": True}),
        ("DescribeLogDirs", 1, {"topics": [{"topic": SOURCE, "partitions": [0]}]}),
        ("DescribeLogDirs", 4, {"topics": [{"topic": SOURCE, "partitions": [0]}]}),
        ("CreatePartitions", 0, {"topics": [{"name": SOURCE, "count": 2, "assignments": [{"broker_ids": [1]}]}], "timeout_ms": 5000, "validate_only": True}),
        ("CreatePartitions", 3, {"topics": [{"name": SOURCE, "count": 2, "assignments": [{"broker_ids": [1]}]}], "timeout_ms": 5000, "validate_only": True}),
        ("DeleteGroups", 0, {"groups_names": ["frames-nobody"]}),
        ("DeleteGroups", 2, {"groups_names": ["frames-nobody"]}),
        ("OffsetDelete", 0, {"group_id": "frames-nobody", "topics": [{"name": SOURCE, "partitions": [{"partition_index": 0}]}]}),
        ("DescribeCluster", 0, {"include_cluster_authorized_operations": False}),
        ("DescribeCluster", 2, {"endpoint_type": 1}),
        ("DescribeTopicPartitions", 0, {"topics": [{"name": SOURCE}], "response_partition_limit": 10, "cursor": {"topic_name": SOURCE, "partition_index": 0}}),
        ("SaslHandshake", 0, {"mechanism": "PLAIN"}),
        ("SaslHandshake", 1, {"mechanism": "PLAIN"}),
        ("SaslAuthenticate", 0, {"auth_bytes": b"\0user\0secret"}),
        ("SaslAuthenticate", 2, {"auth_bytes": b"\0user\0secret"}),
    ]


def chapter(c):
    def add(api, version, name, says, /, **values):
        c.add("impossible", f"{api} v{version}: {name}", says, c.request(api, version, **values))

    fetching(c, add)
    offsets(add)
    topics(add)
    configs(add)
    groups(add)
    add("InitProducerId", 4, "empty transactional id", "A transactional id must not be empty.", transactional_id="", transaction_timeout_ms=1000, producer_id=-1, producer_epoch=-1)
    add("InitProducerId", 4, "epoch without id", "A producer id and its epoch come together.", transaction_timeout_ms=1000, producer_id=-1, producer_epoch=3)
    add("InitProducerId", 4, "id without epoch", "A producer id and its epoch come together.", transaction_timeout_ms=1000, producer_id=3, producer_epoch=-1)
    add("DescribeCluster", 1, "controllers asked of a broker", "A broker endpoint cannot list controllers.", endpoint_type=2)
    add("DescribeCluster", 1, "unknown endpoint type", "There is no endpoint type 9.", endpoint_type=9)
    add("DescribeTopicPartitions", 0, "unknown topic", "An unknown topic has its own error.", topics=[{"name": "frames.nothing"}], response_partition_limit=10)
    add("DescribeTopicPartitions", 0, "invalid topic", "A topic name has rules.", topics=[{"name": "a b"}], response_partition_limit=10)
    add("DescribeTopicPartitions", 0, "cursor beyond the partitions", "A cursor may point at nothing.", topics=[{"name": SOURCE}], response_partition_limit=10, cursor={"topic_name": SOURCE, "partition_index": 9})
    add("DescribeTopicPartitions", 0, "cursor below zero", "A cursor's partition must not be negative.", topics=[{"name": SOURCE}], response_partition_limit=10, cursor={"topic_name": SOURCE, "partition_index": -1})
    add("DescribeTopicPartitions", 0, "no room", "A limit of no partitions.", topics=[{"name": SOURCE}], response_partition_limit=0)
    for version in (4, 9, 12):
        add("Metadata", version, "unknown topic", "An unknown topic is not created unless it is allowed.", topics=[{"name": "frames.nothing"}], allow_auto_topic_creation=False)
    for bad in ("", ".", "..", "a b", "a/b", "x" * 250):
        add("Metadata", 9, f"topic {bad[:6]!r}", "A topic name has rules.", topics=[{"name": bad}], allow_auto_topic_creation=True)
    add("Metadata", 12, "unknown topic id", "An id that no topic has.", topics=[{"topic_id": bytes(range(16)), "name": None}])
    add("Metadata", 12, "topic id and no name, id zero", "Neither a name nor an id.", topics=[{"name": None}])
    add("Metadata", 10, "topic id before ids were read", "Version 10 carries ids but must not use them.", topics=[{"topic_id": bytes(range(16)), "name": None}])
    add("Metadata", 12, "the same topic twice", "A topic may be asked for twice.", topics=[{"name": SOURCE}, {"name": SOURCE}])
    add("Metadata", 9, "no topics", "An empty list asks for no topic.", topics=[])


def fetching(c, add):
    def fetch(name, says, version=11, offset=0, topic=SOURCE, index=0, most=100000, epoch=-1, wait=100, least=1, session=0, session_epoch=-1, total=100000, **more):
        partition = {"partition": index, "current_leader_epoch": epoch, "fetch_offset": offset, "log_start_offset": -1, "partition_max_bytes": most}
        if version >= 12:
            partition["last_fetched_epoch"] = -1
        named = {"topic_id": topic} if version >= 13 else {"topic": topic}
        values = {"max_wait_ms": wait, "min_bytes": least, "max_bytes": total, "session_id": session, "session_epoch": session_epoch,
                  "topics": [{**named, "partitions": [partition]}], **({"replica_id": -1} if version < 15 else {}), **more}
        add("Fetch", version, name, says, **values)

    fetch("at the end", "Nothing is there; the wait ends by time.", offset=9)
    fetch("one beyond the end", "An offset beyond the end is out of range at once.", offset=10, wait=5000)
    fetch("offset -1", "A negative offset is out of range.", offset=-1, wait=5000)
    fetch("inside a batch", "An offset inside a batch returns the whole batch.", offset=4)
    fetch("one byte allowed", "The first batch is whole, however small the limit.", most=1, total=1)
    fetch("zero bytes allowed for the partition", "The first batch is whole, however small the limit.", most=0)
    fetch("negative limit for the partition", "A negative limit.", most=-1, wait=100)
    fetch("a limit that fits one batch and a half", "The second batch is cut or left out.", most=150)
    fetch("unknown topic", "An unknown topic.", topic="frames.nothing", wait=100)
    fetch("unknown partition", "A partition that the topic does not have.", index=7, wait=100)
    fetch("negative partition", "A partition below zero.", index=-1, wait=100)
    fetch("newer leader epoch", "A client that knows a newer epoch than the broker.", epoch=99, wait=100)
    fetch("unknown session", "A session that nobody opened.", session=12345, session_epoch=1)
    fetch("session epoch without session", "An epoch above zero needs a session.", session=0, session_epoch=5)
    fetch("min_bytes 0", "Nothing has to be there, so the answer comes at once.", offset=9, least=0, wait=5000)
    fetch("max_wait 0", "No time to wait, so the answer comes at once.", offset=9, wait=0)
    fetch("max_wait below zero", "A negative wait is no wait.", offset=9, wait=-5)
    fetch("isolation level 1", "Read committed sees all plain records.", isolation_level=1)
    fetch("unknown topic id", "An id that no topic has.", version=13, topic=bytes(range(16)), wait=100)
    fetch("topic id zero", "The zero id is no topic's.", version=13, topic=bytes(16), wait=100)
    fetch("by topic id", "The same bytes as by name.", version=16, topic=topic_uuid(SOURCE))
    fetch("as a replica that is none", "A replica id that no broker has.", replica_id=5, wait=100)
    fetch("no topics", "A fetch of nothing.", topics=[], wait=100)


def offsets(add):
    def ask(name, says, version=5, stamp=-1, index=0, topic=SOURCE, epoch=-1, **more):
        partition = {"partition_index": index, "timestamp": stamp, **({"current_leader_epoch": epoch} if version >= 4 else {})}
        add("ListOffsets", version, name, says, **{"replica_id": -1, "topics": [{"name": topic, "partitions": [partition]}], **more})

    for stamp, name in ((-1, "latest"), (-2, "earliest"), (-3, "largest timestamp"), (-4, "earliest local"), (-5, "latest tiered"), (-6, "earliest pending upload"), (-7, "no such kind")):
        ask(name, "A special timestamp.", version=11, stamp=stamp, timeout_ms=1000)
    ask("largest timestamp in an old version", "A special timestamp that this version does not know.", version=5, stamp=-3)
    for stamp, name in ((batches.STAMP, "exact"), (batches.STAMP + 1, "between"), (batches.STAMP + 2000, "last"), (batches.STAMP + 2001, "after the last"), (0, "before the first")):
        ask(f"time {name}", "The first offset at or after a time.", stamp=stamp)
    ask("unknown topic", "An unknown topic.", topic="frames.nothing")
    ask("unknown partition", "A partition that the topic does not have.", index=9)
    ask("newer leader epoch", "A client that knows a newer epoch than the broker.", epoch=99)
    ask("isolation level 1", "Read committed.", isolation_level=1)
    ask("the same partition twice", "A partition asked for twice.", topics=[{"name": SOURCE, "partitions": [
        {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}, {"partition_index": 0, "timestamp": -2, "current_leader_epoch": -1}]}])
    for epoch in (-1, 0, 5):
        add("OffsetForLeaderEpoch", 4, f"epoch {epoch}", "Where an epoch ends.", replica_id=-1, topics=[{"topic": SOURCE, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": epoch}]}])
    add("OffsetForLeaderEpoch", 4, "unknown topic", "An unknown topic.", replica_id=-1, topics=[{"topic": "frames.nothing", "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}])
    for offset in (-2, 10):
        add("DeleteRecords", 1, f"offset {offset}", "An offset outside the log.", topics=[{"name": SOURCE, "partitions": [{"partition_index": 0, "offset": offset}]}], timeout_ms=5000)
    add("DeleteRecords", 1, "unknown topic", "An unknown topic.", topics=[{"name": "frames.nothing", "partitions": [{"partition_index": 0, "offset": 0}]}], timeout_ms=5000)


def topics(add):
    def create(label, says, /, **topic):
        add("CreateTopics", 5, label, says, topics=[{"name": "frames.made", "num_partitions": 1, "replication_factor": 1, **topic}], timeout_ms=5000, validate_only=True)

    for bad in ("", ".", "..", "a b", "a/b", "ü", "x" * 250):
        create(f"name {bad[:6]!r}", "A topic name has rules.", name=bad)
    create("no partitions", "A topic needs a partition.", num_partitions=0)
    create("negative partitions", "Only -1 means the default.", num_partitions=-2)
    create("default counts", "-1 means the broker's default.", num_partitions=-1)
    create("no replicas", "A topic needs a replica.", replication_factor=0)
    create("three replicas", "One broker cannot hold three replicas.", replication_factor=3)
    create("unknown config", "A config that nobody knows.", configs=[{"name": "no.such.config", "value": "1"}])
    create("bad config", "A number that is none.", configs=[{"name": "retention.ms", "value": "soon"}])
    create("config out of range", "A number below its range.", configs=[{"name": "segment.bytes", "value": "-1"}])
    create("null config", "A config without value.", configs=[{"name": "retention.ms", "value": None}])
    create("assignment and counts", "An assignment allows no counts beside it.", assignments=[{"partition_index": 0, "broker_ids": [1]}])
    create("assignment to nobody", "A broker that does not exist.", num_partitions=-1, replication_factor=-1, assignments=[{"partition_index": 0, "broker_ids": [99]}])
    create("assignment with a gap", "Partition numbers start at 0 and have no gap.", num_partitions=-1, replication_factor=-1, assignments=[{"partition_index": 1, "broker_ids": [1]}])
    create("existing topic", "The name is taken.", name=SOURCE)
    create("colliding name", "Dot and underscore collide in metric names.", name="frames_source".replace("_", "."))
    twice = {"name": "frames.twice", "num_partitions": 1, "replication_factor": 1}
    add("CreateTopics", 5, "the same topic twice", "A name must not repeat in a request.", topics=[twice, twice], timeout_ms=5000, validate_only=True)
    add("CreateTopics", 5, "no topics", "An empty list.", topics=[], timeout_ms=5000)
    for count in (0, 1, -1):
        add("CreatePartitions", 1, f"count {count}", "A topic only grows.", topics=[{"name": SOURCE, "count": count, "assignments": None}], timeout_ms=5000, validate_only=True)
    add("CreatePartitions", 1, "unknown topic", "An unknown topic.", topics=[{"name": "frames.nothing", "count": 3, "assignments": None}], timeout_ms=5000, validate_only=True)
    add("CreatePartitions", 1, "wrong assignment", "An assignment for another number of partitions.", topics=[{"name": SOURCE, "count": 3, "assignments": [{"broker_ids": [1]}]}], timeout_ms=5000, validate_only=True)
    add("DeleteTopics", 5, "unknown topic", "An unknown topic.", topic_names=["frames.nothing"], timeout_ms=5000)
    add("DeleteTopics", 6, "unknown topic id", "An id that no topic has.", topics=[{"name": None, "topic_id": bytes(range(16))}], timeout_ms=5000)
    add("DeleteTopics", 6, "name and id", "Either a name or an id.", topics=[{"name": SOURCE, "topic_id": bytes(range(16))}], timeout_ms=5000)


def configs(add):
    def describe(name, says, kind, resource, keys=("retention.ms",)):
        add("DescribeConfigs", 4, name, says, resources=[{"resource_type": kind, "resource_name": resource, "configuration_keys": list(keys)}], include_synonyms=True)

    describe("unknown topic", "An unknown topic.", 2, "frames.nothing")
    describe("invalid topic", "A topic name has rules.", 2, "a b")
    describe("unknown key", "A key that nobody knows is left out.", 2, SOURCE, ("no.such.config",))
    describe("another broker", "A broker answers for itself only.", 4, "99")
    describe("broker that is no number", "A broker's name is its number.", 4, "one")
    describe("broker key", "A broker's config with its synonyms.", 4, "1", ("log.retention.ms",))
    describe("unknown kind of resource", "There is no resource type 99.", 99, "x")

    def change(name, says, changes, resource=SOURCE, kind=2):
        add("IncrementalAlterConfigs", 1, name, says, resources=[{"resource_type": kind, "resource_name": resource, "configs": changes}], validate_only=True)

    change("unknown operation", "There is no operation 9.", [{"name": "retention.ms", "config_operation": 9, "value": "1"}])
    change("the same key twice", "A key must not repeat.", [{"name": "retention.ms", "value": "1"}, {"name": "retention.ms", "value": "2"}])
    change("null to set", "To set needs a value.", [{"name": "retention.ms", "value": None}])
    change("append to no list", "Only a list can be appended to.", [{"name": "retention.ms", "config_operation": 2, "value": "1"}])
    change("unknown key", "A config that nobody knows.", [{"name": "no.such.config", "value": "1"}])
    change("bad value", "A number that is none.", [{"name": "retention.ms", "value": "soon"}])
    change("unknown topic", "An unknown topic.", [{"name": "retention.ms", "value": "1"}], "frames.nothing")
    change("unknown kind of resource", "There is no resource type 99.", [{"name": "retention.ms", "value": "1"}], kind=99)
    add("AlterConfigs", 1, "unknown topic", "An unknown topic.", resources=[{"resource_type": 2, "resource_name": "frames.nothing", "configs": [{"name": "retention.ms", "value": "1"}]}], validate_only=True)
    add("AlterConfigs", 1, "bad value", "A number that is none.", resources=[{"resource_type": 2, "resource_name": SOURCE, "configs": [{"name": "retention.ms", "value": "soon"}]}], validate_only=True)


def groups(add):
    number = iter(range(1000))
    join = {"session_timeout_ms": 10000, "rebalance_timeout_ms": 10000, "member_id": "", "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}]}

    def joining(name, says, version=5, **values):
        add("JoinGroup", version, name, says, **{"group_id": f"frames-join-{next(number)}", **join, **values})

    joining("first member", "A new member is told its id first.")
    joining("empty group", "A group needs a name.", group_id="")
    joining("no protocols", "A member needs a protocol.", protocols=[])
    joining("empty protocol type", "A member needs a protocol type.", protocol_type="")
    joining("session too short", "A session timeout below the least.", session_timeout_ms=1)
    joining("session too long", "A session timeout above the most.", session_timeout_ms=2147483647)
    joining("session negative", "A session timeout below zero.", session_timeout_ms=-1)
    joining("unknown member", "A member id that the group does not know.", member_id="stranger")
    joining("empty instance id", "A static member needs a name.", group_instance_id="")
    joining("instance id with a space", "A static member's name has rules.", group_instance_id="a b")
    joining("instance id too long", "A static member's name has rules.", group_instance_id="x" * 300)
    joining("old version, new member", "Before version 4 a new member is taken at once.", version=3)
    add("SyncGroup", 3, "empty group", "A group needs a name.", group_id="", generation_id=1, member_id="m", assignments=[])
    add("SyncGroup", 5, "no protocol", "From version 5 on the protocol is named.", group_id="frames-group", generation_id=1, member_id="m", assignments=[])
    add("Heartbeat", 3, "empty group", "A group needs a name.", group_id="", generation_id=1, member_id="m")
    add("Heartbeat", 3, "empty group's member", "A group that has offsets but no members.", group_id="frames-group", generation_id=1, member_id="m")
    add("LeaveGroup", 3, "no members", "Nobody leaves.", group_id="frames-group", members=[])
    add("LeaveGroup", 3, "unknown instance", "A static member that nobody knows.", group_id="frames-group", members=[{"member_id": "", "group_instance_id": "nobody"}])
    add("LeaveGroup", 0, "empty group", "A group needs a name.", group_id="", member_id="m")

    def commit(name, says, topic=SOURCE, index=0, **values):
        partition = {"partition_index": index, "committed_offset": values.pop("offset", 2), "committed_leader_epoch": -1, "committed_metadata": values.pop("metadata", "m")}
        add("OffsetCommit", 7, name, says, **{"group_id": "frames-commit", "generation_id_or_member_epoch": -1, "topics": [{"name": topic, "partitions": [partition]}], **values})

    commit("empty group", "An empty name is legal for a lone consumer.", group_id="")
    commit("unknown topic", "An unknown topic.", topic="frames.nothing")
    commit("unknown partition", "A partition that the topic does not have.", index=9)
    commit("negative offset", "An offset below zero.", offset=-5)
    commit("metadata too large", "More than offset.metadata.max.bytes.", metadata="x" * 5000)
    commit("generation of a group without members", "A generation that does not exist.", generation_id_or_member_epoch=3, member_id="m")
    commit("generation without member", "A generation needs a member.", generation_id_or_member_epoch=3)
    commit("no topics", "Nothing to commit.", topics=[])
    add("OffsetFetch", 5, "unknown group", "A group that nobody knows has no offsets.", group_id="frames-nobody", topics=[{"name": SOURCE, "partition_indexes": [0, 9]}])
    add("OffsetFetch", 5, "all topics", "Null asks for everything that was committed.", group_id="frames-group", topics=None)
    add("OffsetFetch", 5, "empty group", "An empty name is no group.", group_id="", topics=[{"name": SOURCE, "partition_indexes": [0]}])
    add("OffsetFetch", 8, "two groups", "Each group answers for itself.", groups=[{"group_id": "frames-group", "topics": None}, {"group_id": "frames-nobody", "topics": None}])
    add("OffsetFetch", 8, "no groups", "An empty list.", groups=[])
    add("FindCoordinator", 2, "empty key", "An empty key.", key="", key_type=0)
    add("FindCoordinator", 2, "unknown kind", "There is no coordinator of kind 9.", key="x", key_type=9)
    add("FindCoordinator", 4, "no keys", "An empty list.", coordinator_keys=[])
    add("FindCoordinator", 4, "unknown kind", "There is no coordinator of kind 9.", key_type=9, coordinator_keys=["x"])
    add("DescribeGroups", 5, "known and unknown", "Groups with and without offsets.", groups=["frames-group", "frames-nobody", ""])
    add("DescribeGroups", 5, "no groups", "An empty list.", groups=[])
    add("DeleteGroups", 1, "empty name", "A group needs a name.", groups_names=[""])
    add("OffsetDelete", 0, "a group's other topic", "Offsets that were never committed.", group_id="frames-group", topics=[{"name": "frames.nothing", "partitions": [{"partition_index": 0}]}])
    add("ListGroups", 4, "unknown state", "A state that does not exist filters everything out.", states_filter=["Nonsense"])
