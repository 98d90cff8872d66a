"""Files go both ways: Kafka's dump-log accepts every file that the broker wrote, and the broker serves what Kafka wrote."""

import re
import shutil
import struct

import batches
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from harness import broker as brokers
from harness import files, kafka_tools
from harness.waiting import until

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
RECORDS = 1500
# Every kind of line that dump-log prints of a sound file, whole; any other line is a complaint. A batch that is not valid, bytes behind
# the last batch and an index that does not fit have lines of their own, or none of these.
SOUND = re.compile("|".join(f"(?:{line})" for line in (
    r"Dumping \S+",
    r"Log starting offset: \d+",
    r"baseOffset: \d+ lastOffset: \d+ .* isvalid: true",
    r"\| offset: \d+ \w+: -?\d+ keySize: -?\d+ valueSize: -?\d+ sequence: .*",
    r"offset: \d+ position: \d+",
    r"timestamp: -?\d+ offset: \d+",
    r"producerId: \d+ .*",
    r"version: \d+ producerId: \d+ .*",
    r"\S+ passed sanity check\.",
    r"\S+ is empty\.",
)))
# What a decoder says in the place of a record that it cannot read: dump-log itself goes on and ends well.
UNREADABLE = re.compile(r"(?:key|payload): (?:Error at|Unknown record type|unknown)")


def fill(broker):
    """Topics of every compression kind over several segments, an idempotent producer, deleted records, a group, altered configs."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    topics = {f"files-{codec}": codec for codec in CODECS}
    made = admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1, config={"segment.bytes": "1048576", "retention.ms": "-1"}) for name in topics])
    for future in made.values():
        future.result(30)
    expected = {}
    for name, codec in topics.items():
        producer = Producer({"bootstrap.servers": broker.address, "compression.type": codec, "enable.idempotence": codec in ("none", "lz4"),
                             "linger.ms": 5, "batch.num.messages": 100})
        chunk = files.binary_file(broker.folder, f"{name}.bin", 3 << 20, seed=len(name)).read_bytes()
        expected[name] = [chunk[n * 2000:n * 2000 + 1 + n * 7 % 2000] for n in range(RECORDS)]
        for number, value in enumerate(expected[name]):
            producer.produce(name, value, key=str(number), headers={"n": str(number)}, timestamp=1_700_000_000_000 + number * 1000)
            producer.poll(0)
        assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "files-group", "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe(list(topics))
    until("the group has read something", lambda: consumer.poll(1.0))
    consumer.commit(offsets=[TopicPartition(name, 0, 1000 + n) for n, name in enumerate(topics)], asynchronous=False)
    consumer.close()
    resource = ConfigResource(ConfigResource.Type.TOPIC, "files-none", set_config={"max.message.bytes": "2000000", "segment.bytes": "1048576", "retention.ms": "-1"})
    admin.alter_configs([resource])[resource].result(30)
    admin.create_topics([NewTopic("files-deleted", num_partitions=2, replication_factor=1)])["files-deleted"].result(30)
    admin.delete_topics(["files-deleted"])["files-deleted"].result(30)
    return expected


def read(broker, name, count, start=0):
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "files-reader", "enable.auto.commit": False})
    until(f"{name} has a leader", lambda: name in (topics := consumer.list_topics(timeout=10).topics) and topics[name].partitions)
    consumer.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
    messages = []

    def more():
        for message in consumer.consume(1000, 0.2):
            assert message.error() is None, message.error()
            messages.append(message)
        return len(messages) >= count

    until(f"{count} records of {name}", more, 60, pause=0)
    consumer.close()
    assert [m.offset() for m in messages] == list(range(start, start + count))
    return messages


def check(broker, expected):
    """Every record with key, header, timestamp and value, and the committed offsets."""
    for name, values in expected.items():
        messages = read(broker, name, RECORDS)
        assert files.sha256(b"".join(m.value() for m in messages)) == files.sha256(b"".join(values)), name
        assert [m.key() for m in messages] == [str(n).encode() for n in range(RECORDS)]
        assert [m.timestamp()[1] for m in messages] == [1_700_000_000_000 + n * 1000 for n in range(RECORDS)]
        assert messages[5].headers() == [("n", b"5")]


def committed(broker, names):
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "files-group"})
    offsets = [p.offset for p in consumer.committed([TopicPartition(name, 0) for name in names], timeout=30)]
    consumer.close()
    return offsets


def record_bytes(folder):
    """The bytes of all segments of a partition, one behind the other."""
    return b"".join(segment.read_bytes() for segment in sorted(folder.glob("*.log")))


# For a segment that does not begin at offset 0 dump-log counts from -1; that is the tool's way, not a gap.
NOT_FROM_ZERO = re.compile(r"Non-consecutive offsets in \S+\n  -1 is followed by \d+\n")


def dump(*paths, options=()):
    done = kafka_tools.run("dump-log", *options, "--files", ",".join(map(str, paths)), check=False, seconds=180)
    output = done.stdout.decode(errors="replace")
    complaints = [line for line in output.splitlines() if not SOUND.fullmatch(line) or UNREADABLE.search(line)]
    errors = NOT_FROM_ZERO.sub("", done.stderr.decode(errors="replace"))
    assert done.returncode == 0 and not errors and not complaints, f"{options}: {complaints[:10]}\n{errors[:2000]}"
    return output


def accepted_by_dump_log(broker):
    """Every file of a stopped broker's data folder goes through dump-log in the way that is made for it."""
    data = broker.data
    def found(pattern, *without):
        return [path for path in sorted(data.glob(f"*-*/{pattern}"))
                if not path.parent.name.startswith(without) and not path.parent.name.endswith("-delete")]

    internal = ("__consumer_offsets", "__cluster_metadata", "__transaction_state")
    logs = found("*.log", *internal)
    assert len([path for path in logs if path.parent.name == "files-none-0"]) >= 2, "the test wants several segments"
    output = dump(*logs, options=["--deep-iteration"])
    assert len(re.findall(r"^\| offset: ", output, re.M)) == RECORDS * len(CODECS)
    sections = output.split("Dumping ")[1:]
    for section in sections:
        starts = [int(n) for n in re.findall(r"^baseOffset: (\d+) ", section, re.M)]
        ends = [int(n) for n in re.findall(r"^baseOffset: \d+ lastOffset: (\d+) ", section, re.M)]
        assert all(end + 1 == start for end, start in zip(ends, starts[1:])), section.splitlines()[0]
    untrimmed = ("__cluster_metadata",) if broker.kind == "kafka" else ()  # Kafka leaves these as large as it made them
    indexes = found("*.index", *untrimmed) + found("*.timeindex", *untrimmed)
    sane = dump(*indexes, options=["--index-sanity-check"])
    silent = [path for path in indexes if path.suffix == ".index" and path.stat().st_size == 0]  # passed without a word
    assert sane.count("passed sanity check") == len(indexes) - len(silent), sane
    dump(*indexes, options=["--verify-index-only"])
    dump(*indexes)
    if snapshots := found("*.snapshot", *internal):
        assert "producerId: " in dump(*snapshots)
    if aborted := found("*.txnindex"):
        dump(*aborted)
    offsets = dump(*data.glob("__consumer_offsets-*/*.log"), options=["--deep-iteration", "--offsets-decoder"])
    for number, codec in enumerate(CODECS):
        assert re.search(rf'"group":"files-group","topic":"files-{codec}","partition":0.*payload: .*"version":"4".*"offset":{1000 + number}\b', offsets), f"the commit of files-{codec}"
    assert re.search(r'"type":"2","data":.*"group":"files-group".*payload: .*"version":"3".*"protocolType":"consumer"', offsets), "the group's own record"
    assert '"subscription":{' in offsets and '"subscription":"' not in offsets, "a subscription that dump-log could not decode stays as bytes"
    metadata = dump(*data.glob("__cluster_metadata-0/*.log"), options=["--deep-iteration", "--cluster-metadata-decoder"])
    for kind in ("TOPIC_RECORD", "PARTITION_RECORD", "CONFIG_RECORD", "REMOVE_TOPIC_RECORD"):
        assert f'"type":"{kind}"' in metadata, kind


def test_dump_log_accepts_every_file_after_a_clean_stop_and_after_a_kill(own_broker):
    expected = fill(own_broker)
    own_broker.stop()
    accepted_by_dump_log(own_broker)
    own_broker.start()
    check(own_broker, expected)
    own_broker.kill()
    own_broker.start()
    check(own_broker, expected)
    own_broker.stop()
    accepted_by_dump_log(own_broker)
    own_broker.start()


def flipped(path, folder, at):
    """A copy of a file, under its own name, in which one byte is another."""
    folder.mkdir(exist_ok=True)
    content = bytearray(path.read_bytes())
    content[at] ^= 0x01
    (folder / path.name).write_bytes(content)
    return folder / path.name


def resealed(path):
    """Gives the first batch of a file the checksum of its present bytes, so that only its records are wrong."""
    content = bytearray(path.read_bytes())
    end = 12 + int.from_bytes(content[8:12], "big")
    content[17:21] = batches.crc32c(bytes(content[21:end])).to_bytes(4, "big")
    path.write_bytes(content)
    return path


def test_the_check_by_dump_log_fails_for_a_file_with_a_flipped_byte(own_broker, tmp_path):
    with_topics(own_broker, ["flipped"])
    producer = Producer({"bootstrap.servers": own_broker.address})
    for number in range(10):
        producer.produce("flipped", b"x" * 100)
        assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": own_broker.address, "group.id": "flipped-group"})
    consumer.commit(offsets=[TopicPartition("flipped", 0, 5)], asynchronous=False)
    consumer.close()
    own_broker.stop()
    [log] = own_broker.partition_folder("flipped").glob("*.log")
    [metadata] = own_broker.partition_folder("__cluster_metadata").glob("*.log")
    [offsets] = [path for path in own_broker.data.glob("__consumer_offsets-*/*.log") if b"flipped-group" in path.read_bytes()]
    for options, path in (([], log), (["--cluster-metadata-decoder"], metadata), (["--offsets-decoder"], offsets)):
        dump(path, options=["--deep-iteration", *options])
    body = log.read_bytes().index(b"xxx")
    with pytest.raises(AssertionError, match="isvalid: false"):
        dump(flipped(log, tmp_path / "record", body), options=["--deep-iteration"])
    with pytest.raises(AssertionError, match="isvalid: false"):
        dump(flipped(log, tmp_path / "shallow", body))
    with pytest.raises(AssertionError, match="invalid bytes at the end|exception"):
        dump(flipped(log, tmp_path / "length", 9))
    first_value = 61 + 6  # behind the batch's header: length, attributes, two deltas, key's and value's length
    with pytest.raises(AssertionError, match=r"Error at \d+, skipping"):
        dump(resealed(flipped(metadata, tmp_path / "metadata", first_value)), options=["--deep-iteration", "--cluster-metadata-decoder"])
    key = offsets.read_bytes().index(b"flipped-group") - 4  # the version, in front of the group's length
    kinds = r"Unknown record type|Error at offset \d+, skipping"
    with pytest.raises(AssertionError, match=kinds):
        dump(resealed(flipped(offsets, tmp_path / "offsets", key)), options=["--deep-iteration", "--offsets-decoder"])


@pytest.fixture(scope="module")
def kafka():
    """Kafka 4.4's data folder, stopped cleanly, and what it holds."""
    original = brokers.Broker("kafka", kind="kafka")
    with original:
        expected = fill(original)
        original.stop()
        yield original, expected


def test_a_broker_starts_on_the_whole_folder_that_kafka_wrote(kafka):
    original, expected = kafka
    moved = brokers.Broker("moved")
    if moved.kind == "kafka":
        moved.port, moved.controller_port = original.port, original.controller_port  # its own address is in its metadata
    shutil.copytree(original.data, moved.data)
    with moved:
        check(moved, expected)
        assert committed(moved, expected) == [1000 + n for n in range(len(expected))]
        for name in expected:
            assert record_bytes(moved.partition_folder(name)) == record_bytes(original.partition_folder(name)), f"{name} was rewritten"


def test_a_broker_adopts_the_partitions_that_kafka_wrote_when_nothing_else_is_there(kafka):
    original, expected = kafka
    alone = brokers.Broker("alone")
    if alone.kind != "klamm":
        pytest.skip("Kafka serves no partition that its metadata do not know")
    alone.data.mkdir()
    # Not in the partitions: the retention that the topics had, which is for ever.
    alone.properties["log.retention.ms"] = "-1"
    for folder in original.data.glob("*-*"):
        if (folder / "partition.metadata").exists() and not folder.name.startswith("__cluster_metadata"):
            shutil.copytree(folder, alone.data / folder.name)
    with alone:
        check(alone, expected)
        assert committed(alone, expected) == [1000 + n for n in range(len(expected))]
        for name in expected:
            assert record_bytes(alone.partition_folder(name)) == record_bytes(original.partition_folder(name)), f"{name} was rewritten"
        alone.restart()
        check(alone, expected)


def test_a_broker_starts_from_a_snapshot_where_kafka_has_removed_the_metadata_before_it():
    """A Kafka that is older than a week has only a snapshot of its first metadata; here it is made to hurry."""
    impatient = {"metadata.log.max.snapshot.interval.ms": "1000", "metadata.log.segment.ms": "1000", "metadata.max.retention.ms": "1000"}
    original = brokers.Broker("kafka", kind="kafka", properties=impatient)
    with original:
        with_topics(original, ["snapshot"])
        producer = Producer({"bootstrap.servers": original.address})
        for number in range(10):
            producer.produce("snapshot", str(number))
        assert producer.flush(30) == 0
        metadata = original.partition_folder("__cluster_metadata")
        begin = lambda: min(int(segment.stem) for segment in metadata.glob("*.log"))
        until("Kafka has removed the beginning of its metadata log", lambda: begin() > 0, 120, pause=0.5)
        with_topics(original, ["behind-snapshot"])
        original.stop()
        moved = brokers.Broker("moved")
        if moved.kind == "kafka":
            moved.port, moved.controller_port = original.port, original.controller_port
        shutil.copytree(original.data, moved.data)
        with moved:
            assert [m.value() for m in read(moved, "snapshot", 10)] == [str(n).encode() for n in range(10)]
            assert read(moved, "behind-snapshot", 0) == []
            moved.restart()
            assert len(read(moved, "snapshot", 10)) == 10


def contents(broker, name):
    """Every record of a partition that may have gaps: offset, key and value."""
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "contents", "enable.auto.commit": False, "enable.partition.eof": True})
    until(f"{name} has a leader", lambda: name in (topics := consumer.list_topics(timeout=10).topics) and topics[name].partitions)
    consumer.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
    messages = []

    def at_end():
        for message in consumer.consume(1000, 0.2):
            if message.error():
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                return True
            messages.append((message.offset(), message.key(), message.value()))
        return False

    until(f"the end of {name}", at_end, 60, pause=0)
    consumer.close()
    return messages


def produced(broker, name, records):
    """Produces each record in a batch of its own, idempotently, and returns the offsets."""
    producer = Producer({"bootstrap.servers": broker.address, "enable.idempotence": True, "batch.num.messages": 1})
    offsets = []
    for key, value in records:
        producer.produce(name, value, key=key, on_delivery=lambda error, message: offsets.append(error or message.offset()))
        producer.poll(0)
    assert producer.flush(60) == 0
    return offsets


def ends(folder):
    """Base offset of each segment, and the offset behind its last batch."""
    found = []
    for path in sorted(folder.glob("*.log")):
        content, at, end = path.read_bytes(), 0, int(path.stem)
        while at < len(content):
            base, length = struct.unpack_from(">qi", content, at)
            end = base + struct.unpack_from(">i", content, at + 23)[0] + 1
            at += 12 + length
        found.append((int(path.stem), end))
    return found


def left_open(broker, name):
    """A committed record, one whose transaction is never ended, and one behind it."""
    produced(broker, name, [("before", "1")])
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": "open"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(name, "2", key="open")
    assert producer.flush(60) == 0
    produced(broker, name, [("behind", "3")])
    assert contents(broker, name) == [(0, b"before", b"1")]


def test_a_broker_adopts_what_kafka_has_compacted_and_ends_its_open_transactions():
    """Segments that end early, since the last of their records are gone, and behind them others: nothing of that was torn."""
    hurried = {"log.cleaner.backoff.ms": "100", "transaction.state.log.num.partitions": "1"}
    original = brokers.Broker("kafka", kind="kafka", properties=hurried)
    name = "compacted"
    with original:
        admin = AdminClient({"bootstrap.servers": original.address})
        configs = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"}
        admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1, config=configs)])[name].result(30)
        # One large record that stays and three small ones that do not, so that most segments end with what goes, and none is joined to another.
        keys = [f"stays-{number}" if number % 4 == 0 else f"goes-{number % 4}" for number in range(1600)]
        produced(original, name, [(key, key * 1000 if key.startswith("stays") else key) for key in keys])
        with_topics(original, ["open"])
        left_open(original, "open")
        folder = original.partition_folder(name)
        until("Kafka has compacted all but the last segment", lambda: all(
            segment.read_bytes().count(b"goes-1") < 10 for segment in sorted(folder.glob("*.log"))[:-1]), 60, pause=0.2)
        expected = contents(original, name)
        original.stop()
        segments = ends(folder)
        assert any(end < following for (_, end), (following, _) in zip(segments, segments[1:])), f"no segment ends early: {segments}"
        alone = brokers.Broker("alone")
        if alone.kind != "klamm":
            pytest.skip("Kafka serves no partition that its metadata do not know")
        alone.data.mkdir()
        for found in (folder, original.partition_folder("open")):
            shutil.copytree(found, alone.data / found.name)
        with alone:
            assert contents(alone, "open") == [(0, b"before", b"1"), (2, b"behind", b"3")]
            assert contents(alone, name) == expected
            assert ends(alone.partition_folder(name))[:len(segments)] == segments
            assert produced(alone, name, [("new", "producer")]) == [segments[-1][1]], "its id is that of no producer of Kafka's"
            alone.kill()
            alone.start()
            assert contents(alone, name) == [*expected, (segments[-1][1], b"new", b"producer")]


def transplant(source, target, names):
    """Puts the partitions of one stopped broker in the place of the other's empty ones, which keep their topic ids."""
    for name in names:
        kept = (target.partition_folder(name) / "partition.metadata").read_bytes()
        shutil.rmtree(target.partition_folder(name))
        shutil.copytree(source.partition_folder(name), target.partition_folder(name))
        (target.partition_folder(name) / "partition.metadata").write_bytes(kept)


def with_topics(broker, names):
    admin = AdminClient({"bootstrap.servers": broker.address})
    for future in admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1, config={"retention.ms": "-1"}) for name in names]).values():
        future.result(30)


@pytest.mark.parametrize("ending", ["clean", "killed"])
def test_a_broker_serves_the_partitions_that_kafka_wrote(kafka, own_broker, ending):
    original, expected = kafka
    with_topics(own_broker, expected)
    own_broker.stop()
    transplant(original, own_broker, expected)
    if ending == "killed":
        (own_broker.data / ".kafka_cleanshutdown").unlink()
    own_broker.start()
    check(own_broker, expected)
    for name in expected:
        assert record_bytes(own_broker.partition_folder(name)) == record_bytes(original.partition_folder(name)), f"{name} was rewritten"
    producer = Producer({"bootstrap.servers": own_broker.address})
    appended = []
    producer.produce("files-none", b"one more", on_delivery=lambda error, message: appended.append((error, message.offset())))
    producer.flush(30)
    assert appended == [(None, RECORDS)]


def test_kafka_serves_the_partitions_that_the_broker_wrote(own_broker):
    expected = fill(own_broker)
    own_broker.stop()
    with brokers.Broker("kafka", kind="kafka") as kafka:
        with_topics(kafka, expected)
        kafka.stop()
        transplant(own_broker, kafka, expected)
        kafka.start()
        check(kafka, expected)
