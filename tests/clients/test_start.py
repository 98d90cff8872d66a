"""How the broker is started: the ways in which Kafka's own start script and image are configured, and clear refusals."""

import pathlib
import re
import socket
import subprocess
import time

import pytest
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from harness import broker as brokers
from harness import places, wire
from harness.waiting import until

pytestmark = pytest.mark.skipif(brokers.chosen() != "klamm", reason="the start of another broker is not under test")

# What a server.properties of Kafka's own distribution holds for one node that is broker and controller.
KAFKA_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:{controller}
listeners=PLAINTEXT://:{port},CONTROLLER://:{controller}
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs={data}
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


class Running:
    """A broker process that a test started in its own way."""

    def __init__(self, *arguments, environment=None, folder):
        self.output = folder / "output"
        self.process = subprocess.Popen([str(places.klamm_binary()), *map(str, arguments)], cwd=folder, stdin=subprocess.DEVNULL,
                                        stdout=open(self.output, "wb"), stderr=subprocess.STDOUT, env={**brokers.clean_environment(), **(environment or {})})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ends(self, seconds=10):
        code = self.process.wait(seconds)
        return code, self.output.read_text(errors="replace")

    def answers(self, port):
        def ready():
            assert self.process.poll() is None, self.output.read_text(errors="replace")
            return brokers.answers(port)
        until("it answers", ready, 20, pause=0.01)


@pytest.fixture
def ports():
    return brokers.free_ports(2)


def test_the_server_properties_of_kafka_start_it(tmp_path, ports):
    file = tmp_path / "server.properties"
    file.write_text(KAFKA_PROPERTIES.format(port=ports[0], controller=ports[1], data=tmp_path / "data"))
    with Running(file, folder=tmp_path) as running:
        running.answers(ports[0])
        assert (tmp_path / "data" / "meta.properties").exists()


def test_overrides_come_after_the_file(tmp_path, ports):
    file = tmp_path / "server.properties"
    file.write_text(f"listeners=PLAINTEXT://127.0.0.1:{ports[1]}\nlog.dirs={tmp_path}/data\n")
    with Running(file, "--override", f"listeners=PLAINTEXT://127.0.0.1:{ports[0]}", folder=tmp_path) as running:
        running.answers(ports[0])
        assert not brokers.answers(ports[1])


def test_environment_variables_as_the_image_takes_them_start_it(tmp_path, ports):
    environment = {"KAFKA_LISTENERS": f"PLAINTEXT://127.0.0.1:{ports[0]}", "KAFKA_LOG_DIRS": str(tmp_path / "data"), "KAFKA_NUM_PARTITIONS": "3"}
    with Running(environment=environment, folder=tmp_path) as running:
        running.answers(ports[0])


def test_each_listener_answers_with_its_own_advertised_address():
    inside, outside = brokers.free_ports(2)
    broker = brokers.Broker("listeners", properties={
        "listeners": f"INSIDE://127.0.0.1:{inside},OUTSIDE://127.0.0.1:{outside}",
        "advertised.listeners": "INSIDE://inside.test:1001,OUTSIDE://outside.test:1002",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
    })
    broker.port = inside
    with broker:
        for port, advertised in ((inside, ("inside.test", 1001)), (outside, ("outside.test", 1002))):
            with wire.Connection(port) as connection:
                [member] = connection.ask(MetadataRequest(topics=[], allow_auto_topic_creation=False), 4).brokers
                coordinator = connection.ask(FindCoordinatorRequest(key="group", key_type=0), 2)
                [several] = connection.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["group"]), 4).coordinators
                [described] = connection.ask(DescribeClusterRequest(include_cluster_authorized_operations=False), 0).brokers
            assert [(one.host, one.port) for one in (member, coordinator, several, described)] == [advertised] * 4


def test_the_soft_limit_of_descriptors_is_raised_to_the_hard_one():
    with brokers.Broker("descriptors", wrap=["prlimit", "--nofile=100:300"]) as broker:
        limits = pathlib.Path(f"/proc/{broker.pid}/limits").read_text()
    assert re.search(r"^Max open files +300 +300 ", limits, re.M), limits


def test_an_unknown_key_is_refused_by_name_with_the_nearest_one(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("log.retention.hour=1\n")
    with Running(file, folder=tmp_path) as running:
        code, output = running.ends()
    assert code != 0 and "log.retention.hour" in output and "log.retention.hours" in output, output


def test_an_invalid_value_is_refused_by_name(tmp_path):
    with Running("--override", "num.io.threads=none", folder=tmp_path) as running:
        code, output = running.ends()
    assert code != 0 and "num.io.threads" in output, output


def test_a_port_in_use_is_refused_in_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with Running("--override", f"listeners=PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}", "--override", f"log.dirs={tmp_path}/data", folder=tmp_path) as running:
            code, output = running.ends()
    assert code != 0 and "listeners" in output and "panicked" not in output, output


def test_a_start_that_fails_for_its_port_leaves_the_last_end_in_order():
    with brokers.Broker("port") as broker:
        with wire.Connection(broker.port) as connection:
            connection.create("kept")
            connection.produce("kept", b"x")
        broker.stop()
        with socket.create_server(("127.0.0.1", broker.port)):
            broker.spawn()
            assert broker.process.wait(20) == 1, broker.log_tail()
        broker.process = None
        assert (broker.data / ".kafka_cleanshutdown").exists(), broker.log_tail()
        broker.start()
        last = broker.log_file.read_text().split("---- start 3\n")[1]
        assert "logs are loaded" in last and "the last end was not in order" not in last, last
        with wire.Connection(broker.port) as connection:
            assert connection.read("kept") == {0: b"x"}


def test_a_folder_in_use_by_another_broker_is_refused(tmp_path, ports):
    with Running("--override", f"listeners=PLAINTEXT://127.0.0.1:{ports[0]}", "--override", f"log.dirs={tmp_path}/data", folder=tmp_path) as first:
        first.answers(ports[0])
        other = tmp_path / "other"
        other.mkdir()
        with Running("--override", f"listeners=PLAINTEXT://127.0.0.1:{ports[1]}", "--override", f"log.dirs={tmp_path}/data", folder=other) as second:
            code, output = second.ends()
        assert code != 0 and "log.dirs" in output, output
        assert brokers.answers(ports[0])


def test_sigterm_drains_and_leaves_the_clean_shutdown_marker(tmp_path, ports):
    with Running("--override", f"listeners=PLAINTEXT://127.0.0.1:{ports[0]}", "--override", f"log.dirs={tmp_path}/data", folder=tmp_path) as running:
        running.answers(ports[0])
        idle = socket.create_connection(("127.0.0.1", ports[0]))
        started = time.monotonic()
        running.process.terminate()
        code, output = running.ends()
        idle.close()
    assert code in (0, 143) and time.monotonic() - started < 10, output
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
