"""Plays one case against a broker: sends its bytes as told, watches what comes back, and puts it into comparable form."""

import json
import socket
import struct
import time

from harness.waiting import until
from schema import Truncated

PROBE = 0x70726F62
# Fields whose value depends on the machine, the moment or chance; their presence is compared, not their value.
VOLATILE = {"host", "port", "cluster_id", "error_message", "log_dir", "total_bytes", "usable_bytes", "size", "client_host", "configs_text"}
IGNORED = {"supported_features", "finalized_features", "finalized_features_epoch", "zk_migration_ready"}
# Brokers list what they have; only these APIs are promised.
PROMISED = {0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 32, 33, 35, 36, 37, 42, 44, 47, 60, 75}


# The records bear a fixed time in the past: neither age nor time may delete or roll them.
KEPT = [{"name": "retention.ms", "value": "-1"}, {"name": "segment.ms", "value": "9223372036854775807"}]


class Wire:
    """A connection that gives whole answers."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.closed = b"", False

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass  # what the broker thinks is seen when reading

    def answer(self, seconds):
        """The next answer without its length; None if the connection was closed; raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while True:
            if len(self.buffer) >= 4:
                size = struct.unpack(">i", self.buffer[:4])[0]
                if len(self.buffer) >= 4 + size:
                    payload, self.buffer = self.buffer[4:4 + size], self.buffer[4 + size:]
                    return payload
            if self.closed:
                return None
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.socket.settimeout(left)
            try:
                more = self.socket.recv(1 << 16)
            except TimeoutError:
                raise
            except OSError:
                more = b""
            self.closed = not more
            self.buffer += more

    def close(self):
        self.socket.close()


def call(codec, port, api, version, values):
    """One request on a connection of its own, decoded."""
    wire = Wire(port)
    wire.send(codec.request(api, version, values)[0])
    payload = wire.answer(20)
    wire.close()
    if payload is None:
        raise AssertionError(f"{api} v{version}: the broker closed the connection")
    return codec.response(api, version, payload)


def headers(data):
    """Correlation id → (api key, version) of the whole frames in `data`, as far as they can be told apart."""
    found, at = {}, 0
    while at + 12 <= len(data):
        size, key, version, correlation = struct.unpack(">ihhi", data[at:at + 12])
        found[correlation] = (key, version)
        if size < 8:
            break
        at += 4 + size
    return found


def named(entry):
    """Topics and groups are answered in no promised order: they are compared by name. All else keeps its place."""
    names = [entry.get(key) for key in ("name", "topic", "group_id", "topic_id")] if isinstance(entry, dict) else []
    return next((name for name in names if isinstance(name, str)), "")


def comparable(value, ids, name=None, path=()):
    """The decoded answer with what may differ between two brokers replaced by its kind."""
    if isinstance(value, dict):
        if "num_partitions" in value and value.get("configs"):  # a new topic's defaults are the business of DescribeConfigs
            value = {**value, "configs": [config for config in value["configs"] if config["config_source"] == 1]}
        if "log_dir" in value:
            value = {**value, "topics": [topic for topic in value["topics"] if topic["name"] == "frames-source"]}
        if set(value) >= {"api_key", "min_version", "max_version"} and value["api_key"] not in PROMISED:
            return None
        return {key: comparable(one, ids, key, path + (key,)) for key, one in value.items() if key not in IGNORED}
    if isinstance(value, list):
        made = [one for one in (comparable(one, ids, name, path) for one in value) if one is not None or name != "api_keys"]
        return sorted(made, key=named)
    if name in VOLATILE and value is not None and value != "" and value != -1:
        return f"<{name}>"
    if name == "topic_id":
        return ids.get(value, value if value == "0" * 32 else "<id>")
    if name in ("member_id", "leader", "assigned_member") and value:
        return f"<{name}>"
    if name == "session_id" and value:
        return "<session_id>"
    if name == "producer_id" and isinstance(value, int) and value >= 0:
        return "<producer_id>"
    if name == "log_append_time_ms" and value >= 0:
        return "<time>"
    return value


def described(codec, payload, known, ids):
    """One answer as it is written into the expectation."""
    correlation = struct.unpack(">i", payload[:4])[0] if len(payload) >= 4 else None
    key, version = known.get(correlation, (None, None))
    name = codec.names.get(key)
    if name == "ApiVersions" and (name, "request", version) not in codec.schemas:
        version = 0
    if name is None or (name, "response", version) not in codec.schemas:
        return {"correlation": correlation, "hex": payload[4:].hex()}
    try:
        body = comparable(codec.response(name, version, payload), ids)
    except (Truncated, IndexError) as problem:
        return {"correlation": correlation, "undecodable": str(problem), "hex": payload[4:].hex()}
    return {"correlation": correlation, "api": f"{name} v{version}", "body": body}


def fill(text, ids):
    """Hex with topic ids as <id:NAME> turned into bytes."""
    for identity, name in ids.items():
        text = text.replace(name, identity)
    return bytes.fromhex(text)


def whole_frames(data):
    """How many whole frames `data` begins with."""
    count = at = 0
    while at + 4 <= len(data):
        at += 4 + max(struct.unpack(">i", data[at:at + 4])[0], 0)
        count += at <= len(data)
    return count


def play(codec, port, case, ids, patience=6.0, expected=None):
    """Sends a case and returns its outcome: the answers, and how the connection stands afterwards (open, closed, silent).

    With an expectation it waits for what is expected. Without one it waits for an answer to every whole frame, and ends earlier
    when nothing comes for `patience` seconds. Whether a connection is open is asked by one more request on it.
    """
    wire = Wire(port)
    answers, sent, ended = [], b"", False
    for step in case["steps"]:
        if "send" in step:
            data = fill(step["send"], ids) * step.get("times", 1)
            sent += data
            size = step.get("by", len(data)) or 1
            for at in range(0, len(data), size):
                wire.send(data[at:at + size])
        elif step.get("half_close"):
            try:
                wire.socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass
    known = headers(sent)
    wanted = len(expected["answers"]) if expected else whole_frames(sent)
    end = "silent"
    try:
        while len(answers) < wanted or (expected or {}).get("end") == "closed":
            payload = wire.answer(10.0 if expected else case.get("wait", patience))
            if payload is None:
                end = "closed"
                break
            answers.append(described(codec, payload, known, ids))
    except TimeoutError:
        pass
    if end == "silent" and case.get("probe", True):
        probe = struct.pack(">ihhih", 10, 18, 0, PROBE, -1)
        wire.send(probe)
        try:
            payload = wire.answer(case.get("silence", 3.0))
            if payload is None:
                end = "closed"
            elif payload[:4] == struct.pack(">i", PROBE):
                end = "open"
            else:
                answers.append(described(codec, payload, known, ids))
                end = "talks on"
        except TimeoutError:
            pass
    elif end == "silent":
        try:
            payload = wire.answer(0.3 if expected else 1.0)
            if payload is None:
                end = "closed"
            else:
                answers.append(described(codec, payload, known, ids))
                end = "talks on"
        except TimeoutError:
            pass
    wire.close()
    return {"answers": answers, "end": end}


def prepare(codec, port, topics, fixed):
    """Makes the topics that the cases use, with `fixed` records in the first; returns {topic id: placeholder}."""
    for at in range(0, len(topics), 50):
        wanted = [{"name": name, "num_partitions": 1, "replication_factor": 1, "configs": KEPT} for name in topics[at:at + 50]]
        made = call(codec, port, "CreateTopics", 5, {"topics": wanted, "timeout_ms": 30000})
        assert all(one["error_code"] == 0 for one in made["topics"]), made

    def ready_topics():
        seen = call(codec, port, "Metadata", 12, {"topics": [{"name": name} for name in topics]})["topics"]
        if not all(t["error_code"] == 0 and len(t["partitions"]) == 1 and t["partitions"][0]["error_code"] == 0 for t in seen):
            return None
        offsets = call(codec, port, "ListOffsets", 1, {"replica_id": -1, "topics": [
            {"name": name, "partitions": [{"partition_index": 0, "timestamp": -1}]} for name in topics]})
        return seen if all(t["partitions"][0]["error_code"] == 0 for t in offsets["topics"]) else None

    def group_is_loaded():  # a coordinator that is still loading answers with an error
        if call(codec, port, "FindCoordinator", 0, {"key": "frames-group"})["error_code"] != 0:
            return False
        committed = call(codec, port, "OffsetCommit", 2, {
            "group_id": "frames-group", "generation_id_or_member_epoch": -1, "topics": [
                {"name": topics[0], "partitions": [{"partition_index": 0, "committed_offset": 2, "committed_metadata": "m"}]}]})
        return committed["topics"][0]["partitions"][0]["error_code"] == 0

    seen = until("the topics are ready", ready_topics)
    for data in fixed:
        done = call(codec, port, "Produce", 3, {"acks": -1, "timeout_ms": 10000, "topic_data": [
            {"name": topics[0], "partition_data": [{"index": 0, "records": bytes.fromhex(data)}]}]})
        assert done["responses"][0]["partition_responses"][0]["error_code"] == 0, done
    until("the group has a coordinator", group_is_loaded)
    until("there are producer ids", lambda: call(codec, port, "InitProducerId", 0, {"transaction_timeout_ms": 1000})["error_code"] == 0)
    return {t["topic_id"]: f"<id:{t['name']}>" for t in seen}


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]
