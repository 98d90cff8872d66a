"""One connection that sends single requests and waits for their answers, in the messages of kafka-python 3: for what no client does by itself."""

import socket
import time

from kafka.protocol.admin import CreateTopicsRequest
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.producer import ProduceRequest
from kafka.record import MemoryRecords, MemoryRecordsBuilder

PARTITION_BYTES_MAX = 1 << 20


class Connection:
    """Answers come in the order of the requests."""

    def __init__(self, port, seconds=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self.protocol = KafkaProtocol(client_id="wire")
        self.answers = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, request, version):
        request.API_VERSION = version
        self.protocol.send_request(request)
        self.socket.sendall(self.protocol.send_bytes())

    def answer(self):
        while not self.answers:
            data = self.socket.recv(1 << 16)
            assert data, "the broker closed the connection without an answer"
            self.answers += [response for _, response in self.protocol.receive_bytes(data)]
        return self.answers.pop(0)

    def ask(self, request, version):
        self.send(request, version)
        return self.answer()

    def create(self, topic, partitions=1):
        new = CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
        [created] = self.ask(CreateTopicsRequest(topics=[new], timeout_ms=10_000, validate_only=False), 5).topics
        assert created.error_code == 0, created

    def produce(self, topic, value):
        """Sends one record with acks=all, and returns its offset."""
        builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=PARTITION_BYTES_MAX)
        builder.append(timestamp=int(time.time() * 1000), key=None, value=value)
        builder.close()
        data = ProduceRequest.TopicProduceData
        sent = data(name=topic, partition_data=[data.PartitionProduceData(index=0, records=builder.buffer())])
        [answered] = self.ask(ProduceRequest(transactional_id=None, acks=-1, timeout_ms=10_000, topic_data=[sent]), 8).responses
        [partition] = answered.partition_responses
        assert partition.error_code == 0, partition
        return partition.base_offset

    def begin_fetch(self, topic, offset, wait_ms=0):
        """Asks for partition 0 from `offset` on; the broker may wait so long for the first record."""
        kind = FetchRequest.FetchTopic
        wanted = kind.FetchPartition(partition=0, current_leader_epoch=-1, fetch_offset=offset, log_start_offset=-1,
                                     partition_max_bytes=PARTITION_BYTES_MAX)
        self.send(FetchRequest(replica_id=-1, max_wait_ms=wait_ms, min_bytes=1, max_bytes=PARTITION_BYTES_MAX, isolation_level=0, session_id=0,
                               session_epoch=-1, topics=[kind(topic=topic, partitions=[wanted])], forgotten_topics_data=[], rack_id=""), 11)

    def fetched(self):
        """The (offset, value) of each record in the answer."""
        [topic] = self.answer().responses
        [partition] = topic.partitions
        assert partition.error_code == 0, partition
        return [(record.offset, record.value) for batch in MemoryRecords(partition.records or b"") for record in batch]

    def read(self, topic):
        """Everything in partition 0, by offset."""
        records = {}
        while True:
            self.begin_fetch(topic, max(records, default=-1) + 1)
            more = self.fetched()
            if not more:
                return records
            records.update(more)
