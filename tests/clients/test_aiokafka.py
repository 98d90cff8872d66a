"""aiokafka, the newest release."""

import asyncio
import importlib.metadata

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from harness import files


async def create(broker, name, partitions=1):
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.address)
    await admin.start()
    await admin.create_topics([NewTopic(name=name, num_partitions=partitions, replication_factor=1)])
    await admin.close()


async def produce(broker, topic, values, **config):
    producer = AIOKafkaProducer(bootstrap_servers=broker.address, linger_ms=5, **config)
    await producer.start()
    sent = [await producer.send(topic, value, key=b"%d" % n, partition=0) for n, value in enumerate(values)]
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


def test_a_group_rebalances_with_two_members_and_its_offsets_stay(broker, name):
    async def member():
        consumer = AIOKafkaConsumer(name, bootstrap_servers=broker.address, group_id=name, auto_offset_reset="earliest",
                                    heartbeat_interval_ms=300, session_timeout_ms=10000)
        await consumer.start()
        return consumer

    async def shared(consumers, sizes):
        async with asyncio.timeout(30):
            while sorted(len(c.assignment()) for c in consumers) != sizes:
                await asyncio.gather(*(c.getmany(timeout_ms=100) for c in consumers))

    async def scenario():
        await create(broker, name, 4)
        await produce(broker, name, [b"%d" % n for n in range(100)])
        first = await member()
        await shared([first], [4])
        second = await member()
        await shared([first, second], [2, 2])
        await second.stop()
        await shared([first], [4])
        await first.seek_to_beginning()
        seen = 0
        async with asyncio.timeout(30):
            while seen < 100:
                seen += sum(len(records) for records in (await first.getmany(timeout_ms=200)).values())
        await first.commit()
        assert await first.committed(TopicPartition(name, 0)) == 100
        await first.stop()

    asyncio.run(scenario())


def test_the_release_under_test_is_the_one_that_was_asked_for(wanted_release):
    assert importlib.metadata.version("aiokafka") == wanted_release("aiokafka")
