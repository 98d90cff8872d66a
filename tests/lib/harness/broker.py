"""One broker as a process: start on a free port, stop, kill, restart, look at its files.

Which broker is chosen by the environment variable BROKER:
  klamm (default)   the release build, or KLAMM_BINARY
  kafka             Apache Kafka 4.4 from target/kafka-jars (one KRaft node)
  HOST:PORT[:PID]   one that runs already; tests that must stop or kill it fail
"""

import os
import shutil
import signal
import socket
import struct
import subprocess
import time

from . import places
from .waiting import until

KAFKA_HEAP = os.environ.get("KAFKA_HEAP", "-Xmx1G -Xms1G").split()
KAFKA_COLLECTOR = ("-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35"
                   " -XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true").split()
API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def chosen():
    """What the environment chose: 'klamm', 'kafka' or an address."""
    return os.environ.get("BROKER", "klamm")


def free_ports(count):
    """Ports that nobody listens on at this moment."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def answers(port):
    """True if a Kafka broker answers an ApiVersions request on this port."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(API_VERSIONS_V0)
            head = b""
            while len(head) < 10:
                more = connection.recv(10 - len(head))
                if not more:
                    return False
                head += more
            return struct.unpack(">ih", head[4:]) == (7, 0)
    except OSError:
        return False


def clean_environment():
    """The environment without what a broker would take for its configuration, the tests' own variables among it."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("KLAMM_", "KAFKA_"))}


class Broker:
    """A broker in a folder of its own. `properties` are server properties beside address and data folder."""

    def __init__(self, name="broker", kind=None, properties=None, wrap=(), folder=None):
        self.kind = kind or chosen()
        self.properties = dict(properties or {})
        self.wrap = list(wrap)
        self.process = None
        self.starts = 0
        self.folder = folder or places.scratch(name)
        self.data = self.folder / "data"
        self.log_file = self.folder / "broker.log"
        if self.kind in ("klamm", "kafka"):
            self.port, self.controller_port = free_ports(2)
        else:
            host, port, *pid = self.kind.split(":")
            self.port, self.given_pid = int(port), int(pid[0]) if pid else None
            if host not in ("127.0.0.1", "localhost"):
                raise SystemExit(f"BROKER={self.kind}: the tests drive a broker on 127.0.0.1 only")
            self.kind = "given"

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self):
        if self.kind == "given":
            if self.given_pid is None:
                raise AssertionError("this test needs BROKER=HOST:PORT:PID, the process id is missing")
            return self.given_pid
        return self.process.pid

    def server_properties(self):
        """The properties file as a dictionary; for Kafka with the keys without which it does not start."""
        common = {
            "node.id": "1",
            "listeners": f"PLAINTEXT://{self.address}",
            "log.dirs": str(self.data),
            "group.initial.rebalance.delay.ms": "0",
        }
        if self.kind == "kafka":
            common.update({
                "process.roles": "broker,controller",
                "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.controller_port}",
                "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{self.controller_port}",
                "advertised.listeners": f"PLAINTEXT://{self.address}",
                "controller.listener.names": "CONTROLLER",
                "inter.broker.listener.name": "PLAINTEXT",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "offsets.topic.replication.factor": "1",
                "transaction.state.log.replication.factor": "1",
                "transaction.state.log.min.isr": "1",
                "share.coordinator.state.topic.replication.factor": "1",
                "share.coordinator.state.topic.min.isr": "1",
            })
        return {**common, **self.properties}

    def command(self):
        file = self.folder / "server.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in self.server_properties().items()))
        if self.kind == "klamm":
            return [str(places.klamm_binary()), str(file)]
        jars = f"{places.kafka_jars()}/*"
        if not (self.data / "meta.properties").exists():
            subprocess.run(["java", "-Xmx512M", "-XX:TieredStopAtLevel=1", "-cp", jars, "kafka.tools.StorageTool", "format",
                            "--standalone", "-t", "AAAAAAAAQACAAAAAAAAAAQ", "-c", str(file)],
                           check=True, capture_output=True)
        return ["java", *KAFKA_HEAP, *KAFKA_COLLECTOR, "-cp", jars, "kafka.Kafka", str(file)]

    def spawn(self):
        """Starts the process and returns at once."""
        assert self.kind != "given", "a broker that was given by its address cannot be started"
        assert self.process is None, "it runs already"
        self.starts += 1
        with open(self.log_file, "ab") as log:
            log.write(f"---- start {self.starts}\n".encode())
            log.flush()
            self.process = subprocess.Popen(self.wrap + self.command(), stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, env=clean_environment())

    def wait_ready(self, seconds=60.0):
        """Returns when the broker answers ApiVersions; fails at once if the process ended."""
        def ready():
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"the broker ended with {self.process.returncode}:\n{self.log_tail()}")
            return answers(self.port)
        until(f"broker on port {self.port} answers", ready, seconds, pause=0.005)

    def start(self):
        started = time.monotonic()
        if self.kind != "given":
            self.spawn()
        self.wait_ready()
        self.start_seconds = time.monotonic() - started
        return self

    def stop(self, seconds=60.0):
        """SIGTERM and wait: a clean end. Returns the exit code."""
        if self.kind == "given" or self.process is None:
            return None
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the broker did not end within {seconds} s of SIGTERM:\n{self.log_tail()}") from None
        self.process = None
        assert code in (0, 143), f"the broker ended with {code} after SIGTERM:\n{self.log_tail()}"
        return code

    def kill(self):
        """SIGKILL: nothing is flushed, nothing is said."""
        assert self.kind != "given", "this test kills the broker; it needs one that it started itself"
        self.process.kill()
        self.process.wait()
        self.process = None

    def restart(self):
        assert self.kind != "given", "this test restarts the broker; it needs one that it started itself"
        self.stop()
        return self.start()

    def log_tail(self, lines=30):
        try:
            return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])
        except FileNotFoundError:
            return "(no log)"

    def partition_folder(self, topic, partition=0):
        return self.data / f"{topic}-{partition}"

    def __enter__(self):
        return self.start()

    def __exit__(self, *failure):
        try:
            if self.process is not None and failure[0] is not None:
                self.kill()
            else:
                self.stop()
        finally:
            if failure[0] is None and self.kind != "given":
                places.discard(self.folder)
            elif failure[0] is None:
                shutil.rmtree(self.folder, ignore_errors=True)
            else:
                print(f"the broker's folder is kept: {self.folder}\n{self.log_tail()}")
