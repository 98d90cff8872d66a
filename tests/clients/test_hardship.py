"""What a broker comes through: a log that nobody can write, no descriptor left, and an end in the middle of work."""

import collections
import contextlib
import itertools
import os
import socket
import threading

import pytest
from confluent_kafka import Consumer, Producer

from harness import broker as brokers
from harness import member, wire
from harness.waiting import until

pytestmark = pytest.mark.skipif(brokers.chosen() != "klamm", reason="what another broker comes through is not under test")

# The standard output and error of the command that follows: a full disk; a pipe whose only reader has gone.
NOWHERE = {
    "disk": ["sh", "-c", 'exec "$@" > /dev/full 2>&1', "sh"],
    "pipe": ["sh", "-c", 'pipe=$(mktemp -u) && mkfifo "$pipe" && exec 3<> "$pipe" > "$pipe" 2>&1 && rm "$pipe" && exec "$@" 3<&-', "sh"],
}


@pytest.mark.parametrize("where", NOWHERE)
def test_log_lines_that_cannot_be_written_do_no_harm(name, where):
    with brokers.Broker("silent", wrap=NOWHERE[where]) as broker:
        with wire.Connection(broker.port) as connection:
            connection.create(name)
            assert [connection.produce(name, b"%d" % n) for n in range(3)] == [0, 1, 2]
        assert broker.stop() == 0
        assert (broker.data / ".kafka_cleanshutdown").exists()


def test_more_connections_than_descriptors_leave_those_that_are_there_at_work(name):
    crowded = brokers.Broker("crowd", properties={"socket.listen.backlog.size": "500"}, wrap=["prlimit", "--nofile=100:220"])
    with crowded as broker, wire.Connection(broker.port) as early:
        early.create("before")
        in_use = collections.deque(maxlen=10)

        def takes_no_more():
            in_use.append(len(os.listdir(f"/proc/{broker.pid}/fd")))
            return len(in_use) == 10 and min(in_use) > 150 and max(in_use) - min(in_use) <= 1

        with contextlib.ExitStack() as crowd:
            for _ in range(400):
                one = crowd.enter_context(socket.socket())
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", broker.port))
            until("the broker takes no more connections", takes_no_more)
            early.create(name)
            assert early.produce(name, b"meanwhile") == 0
        until("a new connection is answered", lambda: brokers.answers(broker.port))
        with wire.Connection(broker.port) as late:
            assert late.read(name) == {0: b"meanwhile"}
        assert broker.stop() == 0


class Member(member.Member):
    """A confluent-kafka consumer."""

    def __init__(self, broker, group, topic):
        super().__init__(Consumer({"bootstrap.servers": broker.address, "group.id": group, "auto.offset.reset": "earliest",
                                   "heartbeat.interval.ms": 300, "auto.commit.interval.ms": 100}))
        self.consumer.subscribe([topic])
        self.start()

    def read_some(self):
        message = self.consumer.poll(0.1)
        if message is not None and message.error() is None:
            self.values.append(message.value())
        self.assigned = {partition.partition for partition in self.consumer.assignment()}


class Work(threading.Thread):
    """A producer that keeps sending to partition 0 with acks=all, and what was acknowledged, by offset."""

    def __init__(self, broker, topic):
        super().__init__(daemon=True)
        self.producer = Producer({"bootstrap.servers": broker.address, "acks": "all", "linger.ms": 1, "log_level": 0,
                                  "queue.buffering.max.messages": 1000})
        self.topic, self.acknowledged, self.stopping = topic, {}, threading.Event()

    def delivered(self, error, message):
        if error is None:
            self.acknowledged[message.offset()] = message.value()

    def run(self):
        for number in itertools.count():
            while not self.stopping.is_set():
                try:
                    self.producer.produce(self.topic, b"%d" % number, partition=0, on_delivery=self.delivered)
                    break
                except BufferError:
                    self.producer.poll(0.1)
            if self.stopping.is_set():
                return self.producer.purge()
            self.producer.poll(0)

    def stop(self):
        self.stopping.set()
        self.join(30)


def test_sigterm_in_the_middle_of_work_answers_what_waits_and_keeps_what_was_acknowledged(name):
    with brokers.Broker("work") as broker, wire.Connection(broker.port) as waiting:
        waiting.create(name, partitions=2)
        waiting.create("quiet")
        work = Work(broker, name)
        work.start()
        members = [Member(broker, name, name) for _ in range(2)]
        try:
            until("the group reads", lambda: any(one.values for one in members) and all(len(one.assigned) == 1 for one in members))
            waiting.begin_fetch("quiet", 0, wait_ms=300_000)
            before = len(work.acknowledged)
            until("there is work behind the fetch", lambda: len(work.acknowledged) > before + 2000)
            assert broker.stop(20) == 0
            assert waiting.fetched() == []
            work.stop()
            acknowledged = dict(work.acknowledged)
            broker.start()
            with wire.Connection(broker.port) as later:
                kept = later.read(name)
            assert {offset: kept.get(offset) for offset in acknowledged} == acknowledged
            assert "the last end was not in order" not in broker.log_file.read_text()
        finally:
            work.stop()
            for one in members:
                one.leave()
