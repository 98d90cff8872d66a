"""Produce requests: every way in which a batch, its records or its compression can lie."""

import gzip
import struct

from batches import STAMP, batch, crc32c, gzipped, lz4_frame, record, snappy_block, xerial, zeros_record, zigzag, zstd_bomb, zstd_frame
from catalogue import topic_uuid


def chapter(c):
    plain = [record(n, b"key", b"value %d" % n) for n in range(3)]
    body = b"".join(plain)

    def request(records, version=3, correlation=1, topic=None, index=0, acks=-1, **more):
        topic = c.topic() if topic is None else topic
        named = {"topic_id": topic if isinstance(topic, bytes) else topic_uuid(topic)} if version >= 13 else {"name": topic}
        return c.request("Produce", version, correlation, **{"acks": acks, "timeout_ms": 5000, "topic_data": [
            {**named, "partition_data": [{"index": index, "records": records}]}], **more})

    def add(name, says, records, version=3, **options):
        c.add("records", name, says, request(records, version, **options))

    def damaged(name, says, **fields):
        add(name, says, batch(**{"records": plain, **fields}))

    add("sound", "A sound batch of three records.", batch(plain))
    add("sound, version 9", "A sound batch in a flexible version.", batch(plain), 9)
    add("sound, by topic id", "A sound batch for a topic named by its id.", batch(plain), 13)
    topic = c.topic()
    c.add("records", "null records", "No records at all.", request(None, topic=topic), wait=12.0, silence=1.0, topic=topic)
    add("empty records", "A records field of no bytes.", b"")
    add("one byte of records", "Less than a batch header.", b"\0")
    add("sixteen bytes of records", "Less than a batch header.", bytes(16))
    add("a header of zeros", "Sixty-one zero bytes.", bytes(61))
    damaged("wrong CRC", "The checksum is wrong.", crc=12345)
    for magic in (0, 1, 3, 127, -1):
        damaged(f"magic {magic}", "A batch format that is not version 2.", magic=magic)
    for size in (0, -1, 1, 48, 49, 2147483647):
        damaged(f"batch length {size}", "The batch lies about its length.", length=size)
    damaged("batch length one too long", "The batch says one byte more than there is.", length=len(batch(plain)) - 11)
    damaged("batch length one too short", "The batch says one byte less than there is.", length=len(batch(plain)) - 13)
    for count in (0, 1, 2, 4, -1, 2147483647):
        damaged(f"record count {count}", "The batch lies about its number of records.", count=count)
    for delta in (0, 1, 3, -1, 2147483647):
        damaged(f"last offset delta {delta}", "The batch lies about its last offset.", last_delta=delta)
    damaged("no records and a count of none", "A batch without records.", records=[], last_delta=-1)
    damaged("no records, last delta 0", "A batch without records that takes an offset.", records=[], last_delta=0, count=0)
    damaged("base offset 77", "The client's base offset does not count.", base_offset=77)
    damaged("leader epoch 5", "The client's leader epoch does not count.", leader_epoch=5)
    for stamp, name in ((-1, "none"), (-2, "below -1"), (0, "zero"), (4_102_444_800_000, "in 2100"), (2**63 - 1, "the largest")):
        damaged(f"timestamp {name}", "A timestamp at the edge.", first=stamp, largest=stamp)
    damaged("largest timestamp lies high", "The batch lies about its largest timestamp.", largest=STAMP + 5000)
    damaged("largest timestamp lies low", "The batch lies about its largest timestamp.", largest=STAMP - 5000)
    for attributes, name in ((8, "log append time"), (16, "transactional"), (32, "control"), (64, "delete horizon"), (128, "unknown bit 7"), (1 << 14, "unknown bit 14"), (-32768, "bit 15")):
        damaged(f"attributes: {name}", "A bit that a client has no business to set, or that nobody knows.", attributes=attributes)

    inner(add)
    compressed(add, body, plain)
    producers(c, request, damaged, plain)
    requests(c, request, plain)


def inner(add):
    def one(name, says, *records, **fields):
        add(f"record: {name}", says, batch(list(records), **fields))

    good = record(0, b"k", b"v")
    one("length too long", "A record that says more than there is.", record(0, length=100))
    one("length too short", "A record that says less than it has.", record(0, length=3))
    one("length negative", "A record of negative length.", record(0, length=-5))
    one("length zero", "A record of no length.", record(0, length=0))
    one("endless length", "A varint without end.", b"\xff" * 11 + good)
    one("key beyond the record", "A key longer than its record.", b"\x12\0\0\0\x7ekv" + b"\0\0\0")
    one("key of -2", "A negative key length other than -1.", zigzag(7) + b"\0\0\0" + zigzag(-2) + zigzag(1) + b"v\0")
    one("value of -2", "A negative value length other than -1.", zigzag(7) + b"\0\0\0" + zigzag(1) + b"k" + zigzag(-2) + b"\0")
    one("null key and value", "Key and value may be null.", record(0, None, None))
    one("empty key and value", "Key and value may be empty.", record(0, b"", b""))
    one("sound headers", "Headers with an empty and a null value.", record(0, headers=[(b"a", b"1"), (b"b", b""), (b"c", None)]))
    one("null header name", "A header needs a name.", record(0, headers=[(None, b"1")]))
    one("header count -1", "A negative number of headers.", zigzag(7) + b"\0\0\0" + zigzag(1) + b"k" + zigzag(1) + b"v" + zigzag(-1))
    one("header count beyond the record", "More headers than bytes.", zigzag(11) + b"\0\0\0" + zigzag(1) + b"k" + zigzag(1) + b"v" + zigzag(2**31 - 1))
    one("unknown attributes", "Record attributes are unused.", record(0, attributes=127))
    one("offset deltas with a gap", "Deltas must follow each other.", record(0), record(1, offset_delta=5))
    one("offset deltas backwards", "Deltas must ascend.", record(0, offset_delta=1), record(1, offset_delta=0))
    one("first delta not zero", "Deltas start at 0.", record(0, offset_delta=1))
    one("bytes behind the last record", "The batch holds more than its records.", good, b"\0\0\0\0", count=1, last_delta=0)
    one("timestamp delta far back", "A record before the epoch.", record(0, time_delta=-2 * STAMP))


def compressed(add, body, plain):
    forms = {"gzip": (1, gzipped(body)), "snappy": (2, xerial(body)), "lz4": (3, lz4_frame(body)), "zstd": (4, zstd_frame(body))}

    def codec(name, says, number, payload, **fields):
        add(f"compressed: {name}", says, batch(plain, codec=number, payload=payload, **fields), 9)  # zstd needs version 7

    for name, (number, payload) in forms.items():
        codec(f"{name}, sound", "A sound compressed batch.", number, payload)
        codec(f"{name}, cut", "The compressed bytes end early.", number, payload[:-7])
        codec(f"{name}, first bytes wrong", "The compressed bytes start with nonsense.", number, b"\xde\xad\xbe\xef" + payload[4:])
        codec(f"{name}, nothing", "No compressed bytes at all.", number, b"")
        codec(f"{name}, one record more promised", "The count is higher than what is inside.", number, payload, count=4, last_delta=3)
        codec(f"{name}, one record less promised", "The count is lower than what is inside.", number, payload, count=2, last_delta=1)
    codec("plain bytes said to be gzip", "The codec bits lie.", 1, body)
    codec("plain bytes said to be zstd", "The codec bits lie.", 4, body)
    codec("snappy without its framing", "Raw snappy, as some clients write it.", 2, snappy_block(body))
    codec("lz4 with a wrong header checksum", "Old clients wrote it so.", 3, lz4_frame(body, good_checksum=False))
    codec("lz4, two frames", "One frame behind the other.", 3, lz4_frame(body[:10]) + lz4_frame(body[10:]))
    codec("gzip, two members", "One member behind the other.", 1, gzip.compress(body[:10], mtime=0) + gzip.compress(body[10:], mtime=0))
    codec("zstd, two frames", "One frame behind the other.", 4, zstd_frame(body[:10]) + zstd_frame(body[10:]))
    codec("gzip, rubbish behind", "Bytes behind the end.", 1, forms["gzip"][1] + b"rubbish")
    for number in (5, 6, 7):
        codec(f"codec {number}", "A codec that does not exist.", number, body)
    add("compressed: zstd in an old version", "Versions below 7 know no zstd.", batch(plain, codec=4, payload=forms["zstd"][1]), 6)
    head, zeros = zeros_record(8 << 20)
    add("bomb: gzip, 8 MiB", "A small frame that unpacks to one large record.", batch([head], codec=1, payload=gzipped(head + bytes(zeros) + b"\0")))
    head, zeros = zeros_record((64 << 20) - 1)
    add("bomb: zstd, 64 MiB", "A tiny frame that unpacks to one huge record.", batch([head], codec=4, payload=zstd_bomb(head, 64)), 9)
    add("bomb: zstd, 64 MiB of nothing", "A tiny frame of zeros: records of no length.", batch([b""] * 3, codec=4, payload=zstd_bomb(b"", 64)), 9)


def producers(c, request, damaged, plain):
    damaged("producer, first sequence", "A producer that nobody knows starts at 0.", producer=4000, epoch=0, sequence=0)
    damaged("producer, sequence 5 first", "A producer that nobody knows starts elsewhere.", producer=4001, epoch=0, sequence=5)
    damaged("producer without epoch", "A producer id without an epoch.", producer=4002, epoch=-1, sequence=0)
    damaged("producer without sequence", "A producer id without a sequence.", producer=4003, epoch=0, sequence=-1)
    damaged("sequence without producer", "A sequence without a producer id.", producer=-1, epoch=-1, sequence=0)
    damaged("producer -2", "A producer id below -1.", producer=-2, epoch=0, sequence=0)
    damaged("sequence that wraps", "The largest sequence is followed by 0.", producer=4004, epoch=0, sequence=2147483646)

    def several(name, says, *sequences, epochs=None):
        topic = c.topic()
        epochs = epochs or [0] * len(sequences)
        c.add("records", name, says, b"".join(
            request(batch(plain, producer=5000, epoch=epoch, sequence=sequence), topic=topic, correlation=n + 1)
            for n, (sequence, epoch) in enumerate(zip(sequences, epochs))))

    several("producer: the same batch twice", "A repeated batch has its first offset.", 0, 0)
    several("producer: three in order", "Sequences that follow each other.", 0, 3, 6)
    several("producer: a gap", "A sequence is missing.", 0, 6)
    several("producer: five back", "The last five batches are known.", 0, 3, 6, 9, 12, 0)
    several("producer: six back", "Older than the last five batches.", 0, 3, 6, 9, 12, 15, 0)
    several("producer: part of a batch again", "A sequence inside a batch that was taken.", 0, 1)
    several("producer: new epoch from 0", "A new epoch starts at 0.", 0, 0, epochs=[0, 1])
    several("producer: new epoch from 3", "A new epoch must start at 0.", 0, 3, epochs=[0, 1])
    several("producer: old epoch", "An epoch that was left.", 0, 0, epochs=[1, 0])


def requests(c, request, plain):
    def add(name, says, *steps, **options):
        c.add("records", name, says, *steps, **options)

    sound = batch(plain)
    for acks in (2, -2, 32767):
        add(f"acks {acks}", "Only -1, 0 and 1 are levels of acknowledgement.", request(sound, acks=acks))
    add("acks 1", "The leader alone.", request(sound, acks=1))
    add("acks 0", "No answer is wanted and none comes.", request(sound, acks=0))
    add("acks 0, wrong CRC", "Without an answer an error can only close the connection.", request(batch(plain, crc=1), acks=0))
    add("acks 0, unknown topic", "Without an answer an error can only close the connection.", request(sound, acks=0, topic="frames.nothing"))
    add("acks 0, then another request", "The next request is answered as usual.", request(sound, acks=0), c.request("ApiVersions", 0, 2))
    add("unknown topic", "An unknown topic.", request(sound, topic="frames.nothing"))
    add("unknown topic id", "An id that no topic has.", request(sound, 13, topic=bytes(range(16))))
    add("topic id zero", "The zero id is no topic's.", request(sound, 13, topic=bytes(16)))
    for name in ("", ".", "a b", "x" * 250):
        add(f"topic {name[:5]!r}", "A topic name has rules.", request(sound, topic=name))
    add("internal topic", "Clients do not write into the offsets topic.", request(sound, topic="__consumer_offsets"))
    add("partition 7", "A partition that the topic does not have.", request(sound, index=7))
    add("partition -1", "A partition below zero.", request(sound, index=-1))
    add("transactional id with a plain batch", "A transactional id for a batch that is none.", request(sound, transactional_id="frames"))
    add("no topics", "A request for nothing.", request(sound, topic_data=[]))
    topic = c.topic()
    add("no partitions", "A topic without partitions.", request(sound, topic_data=[{"name": topic, "partition_data": []}]))
    topic = c.topic()
    add("the same partition twice", "A partition named twice.", request(sound, topic_data=[{"name": topic, "partition_data": [{"index": 0, "records": sound}, {"index": 0, "records": sound}]}]))
    topic = c.topic()
    add("the same topic twice", "A topic named twice.", request(sound, topic_data=[{"name": topic, "partition_data": [{"index": 0, "records": sound}]}] * 2))
    first, second = c.topic(), c.topic()
    for what, bad in (("a wrong CRC", batch(plain, crc=7)), ("magic 3", batch(plain, magic=3)), ("a length of 0", batch(plain, length=0)), ("a lying count", batch(plain, count=9))):
        first, second = c.topic(), c.topic()
        add(f"good beside {what}", "One partition's damage and its neighbour.", request(sound, topic_data=[
            {"name": first, "partition_data": [{"index": 0, "records": sound}]}, {"name": second, "partition_data": [{"index": 0, "records": bad}]}]))
    add("two batches", "One batch a partition and request.", request(sound + sound))
    add("a batch and rubbish", "Bytes behind the batch.", request(sound + b"\1\2\3\4"))
    add("a batch and half of another", "The second batch is cut.", request(sound + sound[:40]))
    old = struct.pack(">bbi", 0, 0, -1) + struct.pack(">i", 5) + b"hello"
    import zlib
    message = struct.pack(">qiI", 0, len(old) + 4, zlib.crc32(old)) + old
    add("message set of format 0", "What producers wrote before 0.10.", request(message))
    large = record(0, b"k", bytes(1_100_000))
    whole = request(batch([large]))
    start = whole.index(bytes(1000))
    while whole[start - 1] == 0:
        start -= 1
    stop = start + 1_099_000
    add("batch above max.message.bytes", "More than the topic takes.", whole[:start], {"send": "00", "times": stop - start}, whole[stop:])
