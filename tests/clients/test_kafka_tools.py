"""Apache Kafka 4.4's own programs, each run as itself."""

import json
import re
import subprocess
import uuid

import pytest

from harness import group
from harness import kafka_tools as tools
from harness import member
from harness.files import sha256
from harness.waiting import until

# What Kafka 4.4 prints for the APIs of a broker without transactions, ACLs, quotas and the newer group kinds.
API_RANGES = """
Produce(0): 0 to 13            Fetch(1): 4 to 18              ListOffsets(2): 1 to 11        Metadata(3): 0 to 13
OffsetCommit(8): 2 to 10       OffsetFetch(9): 1 to 10        FindCoordinator(10): 0 to 6    JoinGroup(11): 0 to 9
Heartbeat(12): 0 to 4          LeaveGroup(13): 0 to 5         SyncGroup(14): 0 to 5          DescribeGroups(15): 0 to 6
ListGroups(16): 0 to 5         ApiVersions(18): 0 to 5        CreateTopics(19): 2 to 7       DeleteTopics(20): 1 to 6
DeleteRecords(21): 0 to 2      InitProducerId(22): 0 to 5     OffsetForLeaderEpoch(23): 2 to 4
DescribeConfigs(32): 1 to 4    AlterConfigs(33): 0 to 2       DescribeLogDirs(35): 1 to 5    CreatePartitions(37): 0 to 3
DeleteGroups(42): 0 to 3       IncrementalAlterConfigs(44): 0 to 1                            OffsetDelete(47): 0
DescribeCluster(60): 0 to 2    DescribeTopicPartitions(75): 0
SaslHandshake(17): 0 to 1      SaslAuthenticate(36): 0 to 2
"""


@pytest.fixture
def at(broker):
    return ("--bootstrap-server", broker.address)


def create(at, name, partitions=1, *more):
    tools.run("topics", *at, "--create", "--topic", name, "--partitions", partitions, *more)


def events(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def test_every_api_has_the_version_range_of_kafka(at):
    printed = dict(re.findall(r"^\t(\w+\(\d+\)): ([\d to]+?) \[usable: \d+\]", tools.text("broker-api-versions", *at), re.M))
    wanted = dict(re.findall(r"(\w+\(\d+\)): (\d+(?: to \d+)?)", API_RANGES))
    assert len(wanted) == 30
    assert printed == wanted


def test_a_client_with_sasl_learns_at_once_that_the_listener_has_none(at, tmp_path):
    config = tmp_path / "sasl.properties"
    config.write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config="
                      "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"user\" password=\"secret\";\n")
    refused = tools.run("topics", *at, "--list", "--command-config", config, check=False, seconds=30)
    assert refused.returncode == 1
    assert b"client mechanism PLAIN, enabled mechanisms are []" in refused.stdout + refused.stderr


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_text_file_goes_through_the_console_programs(broker, at, name, text_file, codec):
    data = text_file.read_bytes()
    tools.run("console-producer", *at, "--topic", name, "--compression-codec", codec, stdin=data)
    back = tools.run("console-consumer", *at, "--topic", name, "--from-beginning", "--max-messages", len(data.splitlines()),
                     "--timeout-ms", 30000).stdout
    assert sha256(back) == sha256(data)


def test_the_console_consumer_shows_keys_headers_and_offsets(at, name):
    tools.run("console-producer", *at, "--topic", name, "--reader-property", "parse.key=true", "--reader-property",
              "parse.headers=true", stdin=b"h1:v1,h2:v2\tkey\tvalue\n")
    shown = tools.text("console-consumer", *at, "--topic", name, "--from-beginning", "--max-messages", 1, "--timeout-ms", 30000,
                       *(f"--formatter-property=print.{what}=true" for what in ("key", "headers", "offset", "partition")))
    assert shown == "Partition:0\tOffset:0\th1:v1,h2:v2\tkey\tvalue\n"


def test_topics_are_created_listed_described_altered_and_deleted(at, name):
    create(at, name, 2, "--config", "retention.ms=3600000", "--config", "max.message.bytes=2000000")
    assert name in tools.text("topics", *at, "--list").split()
    described = tools.text("topics", *at, "--describe", "--topic", name).splitlines()
    assert re.match(rf"Topic: {name}\tTopicId: [\w-]{{22}}\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: ", described[0])
    configs = dict(pair.split("=") for pair in described[0].split("Configs: ")[1].split(","))
    assert configs["retention.ms"] == "3600000" and configs["max.message.bytes"] == "2000000"
    assert len(described) == 3
    for number, line in enumerate(described[1:]):
        assert re.match(rf"\tTopic: {name}\tPartition: {number}\tLeader: (\d+)\tReplicas: \1\tIsr: \1\t", line), line
    tools.run("topics", *at, "--alter", "--topic", name, "--partitions", 4)
    assert "PartitionCount: 4" in tools.text("topics", *at, "--describe", "--topic", name)
    again = tools.run("topics", *at, "--create", "--topic", name, check=False)
    assert again.returncode == 1 and b"already exists" in again.stdout + again.stderr
    tools.run("topics", *at, "--delete", "--topic", name)
    until("the topic is gone", lambda: name not in tools.text("topics", *at, "--list").split())


def test_topic_and_broker_configs_are_altered_and_described(broker, at, name):
    create(at, name)

    def dynamic(*entity):
        return set(re.findall(r"^  (\S+=\S+) ", tools.text("configs", *at, "--describe", *entity), re.M))

    topic = ("--entity-type", "topics", "--entity-name", name)
    tools.run("configs", *at, "--alter", *topic, "--add-config", "retention.ms=123456,cleanup.policy=[compact,delete]")
    assert dynamic(*topic) == {"retention.ms=123456", "cleanup.policy=compact,delete"}
    tools.run("configs", *at, "--alter", *topic, "--delete-config", "cleanup.policy")
    assert dynamic(*topic) == {"retention.ms=123456"}
    everything = tools.text("configs", *at, "--describe", "--all", *topic)
    assert "  segment.bytes=1073741824 sensitive=false synonyms={DEFAULT_CONFIG:log.segment.bytes=1073741824}" in everything
    wrong = tools.run("configs", *at, "--alter", *topic, "--add-config", "retention.ms=soon", check=False)
    assert wrong.returncode == 1 and b"retention.ms" in wrong.stdout + wrong.stderr

    for entity in (("--entity-type", "brokers", "--entity-default"), ("--entity-type", "brokers", "--entity-name", "1")):
        tools.run("configs", *at, "--alter", *entity, "--add-config", "log.retention.ms=7200000")
        assert "log.retention.ms=7200000" in dynamic(*entity)
        tools.run("configs", *at, "--alter", *entity, "--delete-config", "log.retention.ms")
        assert "log.retention.ms=7200000" not in dynamic(*entity)


def test_groups_are_listed_described_reset_and_deleted(at, name):
    create(at, name)
    tools.run("console-producer", *at, "--topic", name, stdin=b"".join(b"%d\n" % n for n in range(20)))
    tools.run("console-consumer", *at, "--topic", name, "--group", name, "--from-beginning", "--max-messages", 20, "--timeout-ms", 30000)
    which = ("--group", name)

    def row():
        lines = tools.text("consumer-groups", *at, "--describe", *which).splitlines()
        return next(line.split()[1:6] for line in lines if line.startswith(name))

    assert name in tools.text("consumer-groups", *at, "--list").split()
    assert row() == [name, "0", "20", "20", "0"]
    state = tools.text("consumer-groups", *at, "--describe", *which, "--state")
    assert re.search(rf"^{name}\s+\S+ +\(1\)\s+.*\bEmpty\b", state, re.M), state
    tools.run("consumer-groups", *at, "--reset-offsets", *which, "--topic", name, "--to-offset", 5, "--execute")
    assert row() == [name, "0", "5", "20", "15"]
    rest = tools.run("console-consumer", *at, "--topic", name, *which, "--max-messages", 15, "--timeout-ms", 30000).stdout
    assert rest == b"".join(b"%d\n" % n for n in range(5, 20))
    tools.run("consumer-groups", *at, "--delete-offsets", *which, "--topic", name)
    tools.run("consumer-groups", *at, "--delete", *which)
    assert name not in tools.text("consumer-groups", *at, "--list").split()


def test_the_load_programs_send_and_read_every_record(at, name):
    create(at, name, 3)
    sent = tools.text("producer-perf-test", *at, "--topic", name, "--num-records", 100_000, "--record-size", 300, "--throughput", -1,
                      "--command-property", "acks=all", "compression.type=lz4")
    assert sent.splitlines()[-1].startswith("100000 records sent")
    read = tools.text("consumer-perf-test", *at, "--topic", name, "--num-records", 100_000, "--hide-header", "--timeout", 30000)
    assert float(read.splitlines()[-1].split(",")[4]) == 100_000


def test_verifiable_producer_and_consumer_agree_on_every_record(at, name):
    create(at, name, 2)
    sent = events(tools.text("verifiable-producer", *at, "--topic", name, "--max-messages", 2000, "--throughput", -1, "--acks", -1))
    acknowledged = [(e["partition"], e["offset"], e["value"]) for e in sent if e["name"] == "producer_send_success"]
    assert len(acknowledged) == 2000 and sent[-1]["acked"] == 2000
    consumer = tools.command("verifiable-consumer", *at, "--topic", name, "--group-id", name, "--verbose", "--max-messages", 2000,
                             "--reset-policy", "earliest")
    got = events(subprocess.run(consumer, capture_output=True, timeout=60).stdout.decode())
    records = [(e["partition"], e["offset"], e["value"]) for e in got if e["name"] == "record_data"]
    assert sorted(records) == sorted(acknowledged)
    assert {e["success"] for e in got if e["name"] == "offsets_committed"} == {True}


class VerifiableConsumer(member.Program):
    """A running verifiable-consumer."""

    def __init__(self, at, group, topic, folder):
        super().__init__(tools.command("verifiable-consumer", *at, "--topic", topic, "--group-id", group, "--session-timeout", 10000,
                                       "--verbose", "--reset-policy", "earliest"), folder, f"{group}-{uuid.uuid4().hex[:8]}")

    def events(self):
        return events(self.output.read_text())

    @property
    def assigned(self):
        now = []
        for event in self.events():
            if event["name"] == "partitions_assigned":
                now = [p["partition"] for p in event["partitions"]]
            elif event["name"] == "partitions_revoked":
                now = []
        return now

    @property
    def values(self):
        return [int(event["value"]) for event in self.events() if event["name"] == "record_data"]


def test_verifiable_consumers_rebalance_with_two_and_three_members(at, name, folder):
    create(at, name, 6)
    with group.of_three(lambda: VerifiableConsumer(at, name, name, folder)) as members:
        tools.run("verifiable-producer", *at, "--topic", name, "--max-messages", 600, "--throughput", -1)
        group.read_once(members, range(600))
        described = tools.text("consumer-groups", *at, "--describe", "--group", name, "--members", "--verbose")
        assert len(re.findall(rf"^{name} .* 2 ", described, re.M)) == 3, described


def test_a_group_of_console_consumers_goes_on_after_a_restart(own_broker, name, text_file):
    at = ("--bootstrap-server", own_broker.address)
    data = text_file.read_bytes()
    tools.run("console-producer", *at, "--topic", name, stdin=data)
    group.goes_on_after_a_restart(own_broker, data, len(data.splitlines()), lambda count: tools.run(
        "console-consumer", *at, "--topic", name, "--group", name, "--from-beginning", "--max-messages", count, "--timeout-ms", 30000).stdout)


def test_offsets_record_deletion_and_log_folders(broker, at, name, folder):
    create(at, name, 2)
    tools.run("verifiable-producer", *at, "--topic", name, "--max-messages", 100, "--throughput", -1)

    def offsets(*which):
        lines = tools.text("get-offsets", *at, "--topic", name, *which).split()
        return {int(line.split(":")[1]): int(line.split(":")[2]) for line in lines}

    ends = offsets()
    assert sum(ends.values()) == 100 and offsets("--time", "earliest") == {0: 0, 1: 0}
    fuller = max(ends, key=ends.get)
    plan = folder / f"{name}.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": fuller, "offset": ends[fuller] // 2}]}))
    deleted = tools.text("delete-records", *at, "--offset-json-file", plan)
    assert f"partition: {name}-{fuller}\tlow_watermark: {ends[fuller] // 2}" in deleted
    assert offsets("--time", "earliest")[fuller] == ends[fuller] // 2
    assert offsets() == ends

    shown = json.loads(tools.text("log-dirs", *at, "--describe", "--topic-list", name).splitlines()[-1])
    [where] = shown["brokers"][0]["logDirs"]
    assert where["error"] is None
    if broker.kind != "given":
        assert where["logDir"] == str(broker.data)
    sizes = {p["partition"]: p["size"] for p in where["partitions"]}
    assert set(sizes) == {f"{name}-0", f"{name}-1"} and sizes[f"{name}-{fuller}"] > 500


def test_the_cluster_has_an_id(at):
    assert re.fullmatch(r"Cluster ID: [\w-]{22}", tools.text("cluster", "cluster-id", *at).strip())


def test_a_transactional_producer_is_refused_at_once(broker, at, name):
    if broker.kind != "klamm":
        pytest.skip("only Klamm has no transactions")
    create(at, name)
    refused = tools.run("producer-perf-test", *at, "--topic", name, "--num-records", 1, "--record-size", 10, "--throughput", -1,
                        "--transactional-id", name, check=False, seconds=30)
    assert refused.returncode != 0 and b"TransactionalIdAuthorizationException" in refused.stdout + refused.stderr
