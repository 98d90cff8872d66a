"""The cases: what is sent, and one sentence each on what is odd about it. What comes back is recorded, never written here."""

import hashlib
import struct

import batches
import hostile

SOURCE = "frames-source"


def topic_uuid(name):
    """Stands for a topic's id until the topic exists; `written` turns it into a placeholder."""
    return hashlib.sha256(b"topic id of " + name.encode()).digest()[:16]


class Catalogue:
    def __init__(self, codec):
        self.codec, self.cases, self.topics = codec, {}, [SOURCE]

    def topic(self):
        """A topic of its own, made before the first case runs."""
        self.topics.append(f"frames-{len(self.topics):03d}")
        return self.topics[-1]

    def written(self, data):
        text = data.hex()
        for name in self.topics:
            text = text.replace(topic_uuid(name).hex(), f"<id:{name}>")
        return text

    def add(self, chapter, name, says, *steps, **options):
        """A step is bytes to send or a finished step."""
        ready = [{"send": self.written(step)} if isinstance(step, bytes) else step for step in steps]
        self.cases.setdefault(chapter, []).append({"name": name, "says": says, "steps": ready, **options})

    def request(self, api, version, correlation=1, **values):
        return self.codec.request(api, version, values, correlation)[0]


def resized(frame):
    return struct.pack(">i", len(frame) - 4) + frame[4:]


def frame(payload):
    return struct.pack(">i", len(payload)) + payload


def header(key, version, correlation=1, client=b"\0\6frames"):
    return struct.pack(">hhi", key, version, correlation) + client


def framing(c):
    versions = c.request("ApiVersions", 0)

    def add(name, says, *steps, **options):
        c.add("framing", name, says, *steps, **options)

    for size in (-1, -2, -2147483648, 104857601, 2147483647):
        add(f"size {size}", f"A length of {size} is outside what a broker reads.", struct.pack(">i", size))
    add("size of the limit", "A length of exactly socket.request.max.bytes is legal; the body may come later.", struct.pack(">i", 104857600), probe=False)
    add("size 0", "An empty frame has no header.", struct.pack(">i", 0))
    for size in (1, 2, 3, 4, 7, 8, 9):
        add(f"size {size}", f"A frame of {size} bytes ends inside the request header.", frame(header(18, 0)[:size]))
    add("part of a length", "Two bytes of a length and then silence.", b"\0\0", probe=False)
    add("part of a body", "Half a frame and then silence.", versions[:len(versions) // 2], probe=False)
    add("byte by byte", "One valid frame in single bytes.", {"send": versions.hex(), "by": 1})
    add("two frames in pieces of five", "Frames need not be aligned with packets.", {"send": (versions + c.request("Metadata", 1, 2, topics=[{"name": SOURCE}])).hex(), "by": 5})
    add("pipelined", "A hundred requests at once are answered in order.", b"".join(c.request("ApiVersions", 0, n) for n in range(1, 101)))
    add("pipelined kinds", "Requests of different kinds are answered in order.", b"".join([
        c.request("Metadata", 8, 1, topics=[{"name": SOURCE}]), c.request("ApiVersions", 3, 2, client_software_name="x", client_software_version="1"),
        c.request("ListOffsets", 1, 3, replica_id=-1, topics=[{"name": SOURCE, "partitions": [{"partition_index": 0, "timestamp": -1}]}]),
        c.request("Heartbeat", 0, 4, group_id="nobody", member_id="m")]))
    add("pipelined, the last one broken", "What came before a broken frame may be answered; then the connection ends.", c.request("ApiVersions", 0, 1), struct.pack(">i", -5), wait=3.0)
    add("half-close after a frame", "A peer that has said all and closed its side still gets its answer.", versions, {"half_close": True})
    add("half-close after three frames", "All three are answered before the connection ends.", b"".join(c.request("ApiVersions", 0, n) for n in (1, 2, 3)), {"half_close": True})
    add("half-close inside a frame", "The rest will never come.", versions[:9], {"half_close": True})
    add("half-close at once", "A connection without a byte.", {"half_close": True})
    add("TLS hello", "A TLS client on a plaintext port.", bytes.fromhex("16030100a5010000a10303") + bytes(range(154)))
    add("SSL 2 hello", "An old TLS client on a plaintext port.", bytes.fromhex("802e0100020015000000100700c0") + bytes(34), probe=False)
    for name, text in (("HTTP GET", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), ("HTTP POST", b"POST /topics HTTP/1.0\r\n\r\n{}"), ("HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                       ("SSH banner", b"SSH-2.0-OpenSSH_9.2p1\r\n"), ("PROXY line", b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n"), ("SMTP", b"EHLO localhost\r\n")):
        add(name, f"{name} instead of Kafka; its first four bytes are a length above the limit.", text)
    add("PostgreSQL startup", "Another protocol whose first bytes are a plausible length.", bytes.fromhex("0000000804d2162f"))
    add("memcached", "A text command whose first bytes are a length above the limit.", b"stats\r\n")
    add("all zero", "Sixty-four zero bytes: the first four are an empty frame.", bytes(64))
    add("all ones", "Sixty-four bytes of 0xff: a negative length.", b"\xff" * 64)


def headers(c):
    def add(name, says, *steps, **options):
        c.add("headers", name, says, *steps, **options)

    for key in (-1, -32768, 95, 96, 1000, 32767):
        add(f"api key {key}", "A key that no table holds.", frame(header(key, 0)))
    for key, name in ((4, "LeaderAndIsr"), (5, "StopReplica"), (6, "UpdateMetadata"), (7, "ControlledShutdown")):
        add(f"api key {key}", f"{name} was removed; its number stays reserved.", frame(header(key, 0) + bytes(8)))
    for key, name in ((52, "Vote"), (53, "BeginQuorumEpoch"), (56, "AlterPartition"), (58, "Envelope"), (62, "BrokerRegistration"), (63, "BrokerHeartbeat"), (67, "AllocateProducerIds")):
        add(f"api key {key}", f"{name} belongs to controllers, not to a client port.", frame(header(key, 0) + b"\0" + bytes(40)))
    for api in sorted(c.codec.keys, key=c.codec.keys.get):
        numbers = sorted(v for name, side, v in c.codec.schemas if name == api and side == "request")
        if api == "ApiVersions":
            continue
        highest = 5 if api == "InitProducerId" else numbers[-1]
        add(f"{api} v{highest + 7}", "A version above the range is closed without an answer.", frame(header(c.codec.keys[api], highest + 7) + bytes(30)))
        if numbers[0] > 0:
            add(f"{api} v{numbers[0] - 1}", "A version below the range is closed without an answer.", frame(header(c.codec.keys[api], numbers[0] - 1) + bytes(30)))
        else:
            add(f"{api} v-1", "A negative version is closed without an answer.", frame(header(c.codec.keys[api], -1) + bytes(30)))
    for version in (-1, -32768, 6, 99, 32767):
        add(f"ApiVersions v{version}", "An unknown version of ApiVersions is answered in version 0 with error 35.", frame(header(18, version)))
    add("ApiVersions v6 with a body", "The body of an unknown version is not read.", frame(header(18, 6) + b"\0" + b"\xff" * 20))
    add("ApiVersions v6 without tags", "Any version from 3 on has a header with tagged fields; here they are missing.", frame(header(18, 6)))
    for name, version in (("", "1"), ("-x", "1"), ("x-", "1"), ("a b", "1"), ("a", ""), ("a", "1.0-"), ("a" * 300, "1"), ("ü", "1")):
        add(f"ApiVersions software {name[:5]!r} {version!r}", "Software name and version must begin and end with a letter or digit.",
            c.request("ApiVersions", 3, client_software_name=name, client_software_version=version))
    add("ApiVersions v5, another cluster", "A client that expects another cluster is told to bootstrap again.",
        c.request("ApiVersions", 5, client_software_name="a", client_software_version="1", cluster_id="another-cluster", node_id=1))
    add("ApiVersions v5, cluster without node", "Cluster and node are given both or neither.",
        c.request("ApiVersions", 5, client_software_name="a", client_software_version="1", cluster_id="another-cluster", node_id=-1))
    add("ApiVersions v5, node without cluster", "Cluster and node are given both or neither.",
        c.request("ApiVersions", 5, client_software_name="a", client_software_version="1", cluster_id=None, node_id=1))
    add("ApiVersions v5, neither", "The plain case of version 5.", c.request("ApiVersions", 5, client_software_name="a", client_software_version="1", cluster_id=None, node_id=-1))
    add("client id null", "The client id may be null.", frame(header(18, 0, client=b"\xff\xff")))
    add("client id empty", "The client id may be empty.", frame(header(18, 0, client=b"\0\0")))
    add("client id -2", "A negative length other than -1.", frame(header(18, 0, client=b"\xff\xfe")))
    add("client id too long", "A client id longer than the frame.", frame(header(18, 0, client=b"\x7f\xffabc")))
    add("client id of one byte missing", "A client id that ends one byte after the frame.", frame(header(18, 0, client=b"\0\4abc")))
    add("client id not UTF-8", "Bytes that are no text.", frame(header(18, 0, client=b"\0\3\xff\xfe\xfd")))
    add("client id of 32767 bytes", "The longest client id.", frame(header(18, 0, client=b"\x7f\xff" + b"c" * 32767)))
    add("unknown header tag", "Unknown tagged fields are skipped.", frame(header(18, 3) + b"\1\5\3abc" + b"\2x\2y\0"))
    add("hostile header tag count", "More tags than bytes.", frame(header(18, 3) + b"\xff\xff\xff\xff\x0f" + b"\2x\2y\0"))
    add("hostile header tag size", "A tag longer than the frame.", frame(header(18, 3) + b"\1\5\xff\xff\xff\xff\x07" + b"\2x\2y\0"))
    add("header tags out of order", "Tags must ascend.", frame(header(18, 3) + b"\2\6\0\5\0" + b"\2x\2y\0"))
    add("the same header tag twice", "A tag must not repeat.", frame(header(18, 3) + b"\2\5\0\5\0" + b"\2x\2y\0"))
    add("unknown body tag", "Unknown tagged fields of a body are skipped.", frame(header(18, 3) + b"\0" + b"\2x\2y\1\x63\2zz"))
    add("correlation id negative", "Any correlation id is echoed.", frame(header(18, 0, -7)))
    add("the same correlation id twice", "Nothing says that correlation ids differ.", frame(header(18, 0, 5)) * 2)


def build(codec):
    """All chapters. The order of cases inside a chapter is the order in which they run."""
    import records
    import requests
    catalogue = Catalogue(codec)
    framing(catalogue)
    headers(catalogue)
    requests.chapter(catalogue)
    records.chapter(catalogue)
    hostile.chapter(catalogue, requests.bases(catalogue))
    return catalogue


FIXED = [batches.batch([batches.record(n, b"key%d" % n, b"value %d" % n) for n in range(3)], first=batches.STAMP + at, largest=batches.STAMP + at).hex()
         for at in (0, 1000, 2000)]
