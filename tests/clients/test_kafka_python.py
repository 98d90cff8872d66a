"""kafka-python, 3.0.x and 2.0.2: this file runs once in each virtual environment, so it uses only what both can do."""

import importlib.metadata

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError

from harness import files, group, member
from harness.waiting import until


def position(offset):
    """An offset to commit; 3.0 added the leader epoch."""
    return OffsetAndMetadata(*([offset, ""] + [-1] * (len(OffsetAndMetadata._fields) - 2)))


def create(broker, name, partitions=1):
    admin = KafkaAdminClient(bootstrap_servers=broker.address)
    admin.create_topics([NewTopic(name=name, num_partitions=partitions, replication_factor=1)])
    return admin


def produce(broker, topic, values, **config):
    producer = KafkaProducer(bootstrap_servers=broker.address, linger_ms=5, **config)
    futures = [producer.send(topic, value, key=b"%d" % n, partition=0, headers=[("n", b"%d" % n)])
               for n, value in enumerate(values)]
    producer.flush(60)
    offsets = [future.get(10).offset for future in futures]
    producer.close()
    return offsets


def read(broker, topic, count, **config):
    consumer = KafkaConsumer(bootstrap_servers=broker.address, enable_auto_commit=False, **config)
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    records = []

    def more():
        for batch in consumer.poll(200).values():
            records.extend(batch)
        return len(records) >= count

    until(f"{count} records of {topic}", more, 60, pause=0)
    consumer.close()
    assert len(records) == count
    return records


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_a_binary_file_comes_back_byte_for_byte(broker, name, binary_file, codec):
    data = binary_file.read_bytes()
    values = files.pieces(data)
    create(broker, name).close()
    produce(broker, name, values, compression_type=codec)
    records = read(broker, name, len(values))
    assert files.sha256(b"".join(r.value for r in records)) == files.sha256(data)
    assert [r.offset for r in records] == list(range(len(values)))
    assert records[7].key == b"7" and records[7].headers == [("n", b"7")]


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_each_level_of_acknowledgement_delivers(broker, name, acks):
    create(broker, name).close()
    values = [b"%d" % n for n in range(300)]
    produce(broker, name, values, acks=acks)
    assert [r.value for r in read(broker, name, 300)] == values


def test_a_topic_is_created_by_producing_to_it(broker, name):
    producer = KafkaProducer(bootstrap_servers=broker.address)
    assert producer.send(name, b"x").get(30).offset == 0
    producer.close()


def test_offsets_are_found_by_time_and_at_both_ends(broker, name):
    create(broker, name).close()
    producer = KafkaProducer(bootstrap_servers=broker.address)
    for stamp in (1_700_000_000_000, 1_700_000_001_000, 1_700_000_002_000):
        producer.send(name, b"x", partition=0, timestamp_ms=stamp).get(30)
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=broker.address)
    partition = TopicPartition(name, 0)
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 3}
    assert consumer.offsets_for_times({partition: 1_700_000_000_500})[partition].offset == 1
    assert consumer.offsets_for_times({partition: 1_800_000_000_000})[partition] is None
    consumer.close()


def test_admin_lists_describes_and_deletes(broker, name):
    admin = create(broker, name, 3)
    assert name in admin.list_topics()
    consumer = KafkaConsumer(bootstrap_servers=broker.address)
    assert consumer.partitions_for_topic(name) == {0, 1, 2}
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(name=name, num_partitions=1, replication_factor=1)])
    admin.delete_topics([name])
    until("the topic is gone", lambda: name not in admin.list_topics())
    consumer.close()
    admin.close()


class Member(member.Member):
    """Assignments are asked for."""

    def __init__(self, broker, group, topic):
        super().__init__(KafkaConsumer(topic, bootstrap_servers=broker.address, group_id=group, auto_offset_reset="earliest",
                                       session_timeout_ms=10000, heartbeat_interval_ms=300))
        self.start()

    def read_some(self):
        for records in self.consumer.poll(100).values():
            self.values += [record.value for record in records]
        self.assigned = {partition.partition for partition in self.consumer.assignment()}


def test_a_group_rebalances_with_two_and_three_members(broker, name):
    create(broker, name, 6).close()
    with group.of_three(lambda: Member(broker, name, name)) as members:
        producer = KafkaProducer(bootstrap_servers=broker.address)
        sent = [b"%d" % n for n in range(60)]
        for number, value in enumerate(sent):
            producer.send(name, value, partition=number % 6)
        producer.flush()
        producer.close()
        group.read_once(members, sent)


def test_records_and_committed_offsets_survive_a_restart(own_broker, name):
    create(own_broker, name).close()
    values = [b"%d" % n for n in range(200)]
    produce(own_broker, name, values)
    partition = TopicPartition(name, 0)
    consumer = KafkaConsumer(bootstrap_servers=own_broker.address, group_id=name, enable_auto_commit=False)
    consumer.assign([partition])
    consumer.commit({partition: position(77)})
    consumer.close()
    own_broker.restart()
    assert [r.value for r in read(own_broker, name, 200)] == values
    consumer = KafkaConsumer(bootstrap_servers=own_broker.address, group_id=name, enable_auto_commit=False)
    assert consumer.committed(partition) == 77
    consumer.close()


def test_the_release_under_test_is_the_one_that_was_asked_for(wanted_release):
    assert importlib.metadata.version("kafka-python") == wanted_release("kafka-python")
