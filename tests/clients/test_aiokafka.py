"""aiokafka, the newest release."""

import asyncio
import importlib.metadata

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from harness import files, group, member


async def create(broker, name, partitions=1):
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.address)
    await admin.start()
    await admin.create_topics([NewTopic(name=name, num_partitions=partitions, replication_factor=1)])
    await admin.close()


async def produce(broker, topic, values, partition=0, **config):
    producer = AIOKafkaProducer(bootstrap_servers=broker.address, linger_ms=5, **config)
    await producer.start()
    sent = [await producer.send(topic, value, key=b"%d" % n, partition=partition) for n, value in enumerate(values)]
    offsets = [(await acknowledged).offset for acknowledged in sent]
    await producer.stop()
    return offsets


async def read(broker, topic, count):
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.address, enable_auto_commit=False)
    await consumer.start()
    consumer.assign([TopicPartition(topic, 0)])
    await consumer.seek_to_beginning()
    records = [await asyncio.wait_for(consumer.getone(), 30) for _ in range(count)]
    await consumer.stop()
    return records


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_a_binary_file_comes_back_byte_for_byte(broker, name, binary_file, codec):
    async def scenario():
        data = binary_file.read_bytes()
        values = files.pieces(data)
        await create(broker, name)
        assert await produce(broker, name, values, compression_type=codec) == list(range(len(values)))
        records = await read(broker, name, len(values))
        assert files.sha256(b"".join(r.value for r in records)) == files.sha256(data)

    asyncio.run(scenario())


def test_an_idempotent_producer_delivers_once_and_in_order(broker, name):
    async def scenario():
        await create(broker, name)
        values = [b"%d" % n for n in range(2000)]
        await produce(broker, name, values, enable_idempotence=True, max_batch_size=500)
        assert [r.value for r in await read(broker, name, 2000)] == values

    asyncio.run(scenario())


class Member(member.Member):
    """Each has an event loop of its own. Assignments are asked for."""

    def __init__(self, broker, group, topic):
        self.loop = asyncio.Runner()
        super().__init__(self.loop.run(joined(broker, group, topic)))
        self.start()

    def read_some(self):
        for records in self.loop.run(self.consumer.getmany(timeout_ms=100)).values():
            self.values += [record.value for record in records]
        self.assigned = {partition.partition for partition in self.consumer.assignment()}

    def close(self):
        self.loop.run(self.consumer.stop())
        self.loop.close()


async def joined(broker, group, topic, **config):
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=broker.address, group_id=group, auto_offset_reset="earliest",
                                heartbeat_interval_ms=300, session_timeout_ms=10000, **config)
    await consumer.start()
    return consumer


def test_a_group_rebalances_with_two_and_three_members(broker, name):
    sent = [b"%d" % n for n in range(60)]
    asyncio.run(create(broker, name, 6))
    with group.of_three(lambda: Member(broker, name, name)) as members:
        for partition in range(6):
            asyncio.run(produce(broker, name, sent[partition::6], partition=partition))
        group.read_once(members, sent)


def test_a_group_goes_on_after_a_restart(own_broker, name, binary_file):
    data = binary_file.read_bytes()
    values = files.pieces(data)

    async def read_and_commit(count):
        consumer = await joined(own_broker, name, name, enable_auto_commit=False)
        records = [await asyncio.wait_for(consumer.getone(), 30) for _ in range(count)]
        await consumer.commit()
        assert await consumer.committed(TopicPartition(name, 0)) == records[-1].offset + 1
        await consumer.stop()
        return b"".join(record.value for record in records)

    asyncio.run(create(own_broker, name))
    asyncio.run(produce(own_broker, name, values))
    group.goes_on_after_a_restart(own_broker, data, len(values), lambda count: asyncio.run(read_and_commit(count)))


def test_the_release_under_test_is_the_one_that_was_asked_for(wanted_release):
    assert importlib.metadata.version("aiokafka") == wanted_release("aiokafka")
