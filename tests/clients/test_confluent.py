"""confluent-kafka (librdkafka), the newest release and 2.3.0: this file runs once in each virtual environment."""

import importlib.metadata
import uuid

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (AdminClient, ConfigResource, NewPartitions, NewTopic)

from harness import files, group, member
from harness.waiting import until

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def create(broker, name, partitions=1, **config):
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic(name, num_partitions=partitions, replication_factor=1, config=config)])[name].result(30)
    return admin


def produce(broker, topic, values, **config):
    """Sends values in order to partition 0 and returns the offsets that were acknowledged."""
    offsets, failures = [], []

    def delivered(error, message):
        failures.append(error) if error else offsets.append(message.offset())

    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5, **config})
    for number, value in enumerate(values):
        while True:
            try:
                producer.produce(topic, value, key=str(number), partition=0, headers={"n": str(number)}, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(60) == 0
    assert failures == []
    return offsets


def read(broker, topic, count, **config):
    """Reads `count` messages of partition 0 from the beginning."""
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "reader-" + uuid.uuid4().hex[:8],
                         "enable.auto.commit": False, **config})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    messages = []

    def more():
        for message in consumer.consume(1000, 0.2):
            assert message.error() is None, message.error()
            messages.append(message)
        return len(messages) >= count

    until(f"{count} messages of {topic}", more, 60, pause=0)
    consumer.close()
    assert len(messages) == count
    return messages


def when_loaded(call):
    """The answer of a group coordinator that may still be loading: librdkafka passes that error on."""
    def answer():
        try:
            return call()
        except KafkaException as refused:
            if refused.args[0].name() not in ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"):
                raise
            return None

    return until("the coordinator answers", answer)


@pytest.mark.parametrize("codec", CODECS)
def test_a_binary_file_comes_back_byte_for_byte(broker, name, binary_file, codec):
    data = binary_file.read_bytes()
    values = files.pieces(data)
    create(broker, name)
    produce(broker, name, values, **{"compression.type": codec})
    messages = read(broker, name, len(values))
    assert files.sha256(b"".join(m.value() or b"" for m in messages)) == files.sha256(data)
    assert [m.offset() for m in messages] == list(range(len(values)))
    assert [m.key() for m in messages] == [str(n).encode() for n in range(len(values))]
    assert messages[7].headers() == [("n", b"7")]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_each_level_of_acknowledgement_delivers(broker, name, acks):
    create(broker, name)
    values = [b"%d" % n for n in range(500)]
    produce(broker, name, values, acks=acks)
    assert [m.value() for m in read(broker, name, 500)] == values


def test_an_idempotent_producer_delivers_once_and_in_order(broker, name):
    create(broker, name)
    values = [b"%d" % n for n in range(5000)]
    offsets = produce(broker, name, values, **{"enable.idempotence": True, "linger.ms": 1, "batch.num.messages": 50})
    assert offsets == list(range(5000))
    assert [m.value() for m in read(broker, name, 5000)] == values


def test_a_topic_is_created_by_producing_to_it(broker, name):
    produce(broker, name, [b"x"])
    assert read(broker, name, 1)[0].value() == b"x"


def test_read_committed_and_read_uncommitted_see_the_same_plain_records(broker, name):
    create(broker, name)
    produce(broker, name, [b"a", b"b"])
    for level in ("read_committed", "read_uncommitted"):
        assert [m.value() for m in read(broker, name, 2, **{"isolation.level": level})] == [b"a", b"b"]


def test_offsets_are_found_by_time_and_at_both_ends(broker, name):
    create(broker, name)
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": name})
    producer = Producer({"bootstrap.servers": broker.address})
    for stamp in (1_700_000_000_000, 1_700_000_001_000, 1_700_000_002_000):
        producer.produce(name, b"x", partition=0, timestamp=stamp)
        producer.flush(30)
    assert consumer.get_watermark_offsets(TopicPartition(name, 0), timeout=10) == (0, 3)
    found = consumer.offsets_for_times([TopicPartition(name, 0, 1_700_000_000_500)], timeout=10)
    assert [p.offset for p in found] == [1]
    consumer.close()


def test_a_record_that_is_too_large_is_refused_and_smaller_ones_still_pass(broker, name):
    create(broker, name, **{"max.message.bytes": "10000"})
    with pytest.raises(AssertionError, match="MSG_SIZE_TOO_LARGE"):
        produce(broker, name, [b"x" * 20_000])
    assert produce(broker, name, [b"y"]) == [0]


def test_admin_creates_describes_grows_and_deletes_a_topic(broker, name):
    admin = create(broker, name, 2, **{"retention.ms": "123456"})
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    config = admin.describe_configs([resource])[resource].result(30)
    assert config["retention.ms"].value == "123456"
    assert not config["retention.ms"].is_default
    assert config["cleanup.policy"].value == "delete"
    admin.create_partitions([NewPartitions(name, 5)])[name].result(30)
    until("five partitions", lambda: len(admin.list_topics(name, timeout=10).topics[name].partitions) == 5)
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])[name].result(30)
    admin.delete_topics([name])[name].result(30)
    until("the topic is gone", lambda: name not in admin.list_topics(timeout=10).topics)


def test_committed_offsets_are_where_the_next_member_goes_on(broker, name):
    create(broker, name)
    produce(broker, name, [b"%d" % n for n in range(10)])
    config = {"bootstrap.servers": broker.address, "group.id": name, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    first = Consumer(config)
    first.subscribe([name])
    got = until("four messages", lambda: (first.consume(4, 1.0)))
    while len(got) < 4:
        got += first.consume(4 - len(got), 1.0)
    first.commit(offsets=[TopicPartition(name, 0, 4)], asynchronous=False)
    first.close()
    second = Consumer(config)
    assert [p.offset for p in second.committed([TopicPartition(name, 0)], timeout=10)] == [4]
    second.subscribe([name])
    assert until("the fifth message", lambda: second.poll(1.0)).offset() == 4
    second.close()


class Member(member.Member):
    """Assignments come by callback."""

    def __init__(self, broker, group, topic, **config):
        super().__init__(Consumer({"bootstrap.servers": broker.address, "group.id": group, "auto.offset.reset": "earliest",
                                   "session.timeout.ms": 10000, "heartbeat.interval.ms": 300, **config}))
        eager = config.get("partition.assignment.strategy", "range") != "cooperative-sticky"

        def gained(_, partitions):
            self.assigned = (set() if eager else self.assigned) | {p.partition for p in partitions}

        def lost(_, partitions):
            self.assigned = self.assigned - {p.partition for p in partitions}

        self.consumer.subscribe([topic], on_assign=gained, on_revoke=lost)
        self.start()

    def read_some(self):
        message = self.consumer.poll(0.1)
        if message is not None and message.error() is None:
            self.values.append(message.value())


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_a_group_rebalances_with_two_and_three_members(broker, name, strategy):
    create(broker, name, 6)
    with group.of_three(lambda: Member(broker, name, name, **{"partition.assignment.strategy": strategy})) as members:
        producer = Producer({"bootstrap.servers": broker.address})
        sent = [b"%d" % n for n in range(60)]
        for number, value in enumerate(sent):
            producer.produce(name, value, partition=number % 6)
        producer.flush(30)
        group.read_once(members, sent)


def test_a_static_member_comes_back_without_a_rebalance(broker, name):
    create(broker, name, 4)
    stayed = Member(broker, name, name, **{"group.instance.id": "one"})
    until("all assigned", lambda: len(stayed.assigned) == 4)
    gone = Member(broker, name, name, **{"group.instance.id": "two"})
    until("shared", lambda: len(stayed.assigned) == 2 and len(gone.assigned) == 2)
    before = (stayed.assigned, gone.assigned)
    gone.leave()
    back = Member(broker, name, name, **{"group.instance.id": "two"})
    until("assigned again", lambda: len(back.assigned) == 2)
    assert (stayed.assigned, back.assigned) == before
    back.leave()
    stayed.leave()


def test_records_and_committed_offsets_survive_a_restart(own_broker, name, binary_file):
    values = files.pieces(binary_file.read_bytes())[:300]
    create(own_broker, name)
    produce(own_broker, name, values)
    consumer = Consumer({"bootstrap.servers": own_broker.address, "group.id": name})
    when_loaded(lambda: consumer.commit(offsets=[TopicPartition(name, 0, 123, metadata="half way")], asynchronous=False))
    consumer.close()
    own_broker.restart()
    assert [m.value() or b"" for m in read(own_broker, name, 300)] == values
    consumer = Consumer({"bootstrap.servers": own_broker.address, "group.id": name})
    committed = when_loaded(lambda: consumer.committed([TopicPartition(name, 0)], timeout=20))
    assert [p.offset for p in committed] == [123]
    consumer.close()
    assert produce(own_broker, name, [b"next"]) == [300]


def test_the_release_under_test_is_the_one_that_was_asked_for(wanted_release):
    assert importlib.metadata.version("confluent-kafka") == wanted_release("confluent-kafka")


def test_a_transactional_producer_is_refused_at_once_and_for_good(broker):
    if broker.kind != "klamm":
        pytest.skip("only Klamm has no transactions")
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": uuid.uuid4().hex})
    with pytest.raises(KafkaException, match="this broker has no transactions") as refused:
        producer.init_transactions(10)
    assert refused.value.args[0].fatal(), refused.value
