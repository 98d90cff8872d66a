"""Record batches by hand, sound and damaged, with compressed forms that need no library. Standard library only."""

import gzip
import struct

from schema import varint

STAMP = 1_700_000_000_000


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _table():
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


CRC_TABLE = _table()


def zigzag(value):
    return varint((value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF)


def record(number=0, key=b"k", value=b"v", headers=(), offset_delta=None, time_delta=0, attributes=0, length=None):
    """One record; `length` lies about its size."""
    body = bytes([attributes]) + zigzag(time_delta) + zigzag(number if offset_delta is None else offset_delta)
    for part in (key, value):
        body += zigzag(-1) if part is None else zigzag(len(part)) + part
    body += zigzag(len(headers))
    for name, content in headers:
        body += (zigzag(-1) if name is None else zigzag(len(name)) + name)
        body += zigzag(-1) if content is None else zigzag(len(content)) + content
    return zigzag(len(body) if length is None else length) + body


def batch(records=None, count=None, codec=0, payload=None, attributes=None, magic=2, base_offset=0, leader_epoch=-1, last_delta=None,
          length=None, crc=None, first=STAMP, largest=STAMP, producer=-1, epoch=-1, sequence=-1):
    """One batch. Every field may be set to something false; what is left out is right."""
    records = [record()] if records is None else records
    body = b"".join(records) if payload is None else payload
    count = len(records) if count is None else count
    inner = struct.pack(">hiqqqhii", codec if attributes is None else attributes, len(records) - 1 if last_delta is None else last_delta,
                        first, largest, producer, epoch, sequence, count) + body
    size = len(inner) + 9 if length is None else length
    return struct.pack(">qiibI", base_offset, size, leader_epoch, magic, crc32c(inner) if crc is None else crc) + inner


def gzipped(data):
    return gzip.compress(data, mtime=0)


def snappy_block(data):
    """Raw snappy made of literals only."""
    out = bytearray(varint(len(data)))
    for at in range(0, len(data), 60):
        part = data[at:at + 60]
        out += bytes([len(part) - 1 << 2]) + part
    return bytes(out)


def xerial(data):
    """The snappy framing that Kafka's clients use."""
    block = snappy_block(data)
    return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block


def xxh32(data):
    """The checksum of an LZ4 frame header; inputs shorter than 16 bytes only."""
    assert len(data) < 16
    mask = 0xFFFFFFFF

    def rotate(value, bits):
        return (value << bits | value >> 32 - bits) & mask

    value, at = (374761393 + len(data)) & mask, 0
    while at + 4 <= len(data):
        value = rotate((value + int.from_bytes(data[at:at + 4], "little") * 3266489917) & mask, 17) * 668265263 & mask
        at += 4
    for byte in data[at:]:
        value = rotate((value + byte * 374761393) & mask, 11) * 2654435761 & mask
    value = (value ^ value >> 15) * 2246822519 & mask
    value = (value ^ value >> 13) * 3266489917 & mask
    return value ^ value >> 16


def lz4_frame(data, good_checksum=True):
    """An LZ4 frame of one stored block."""
    descriptor = b"\x60\x40"
    check = xxh32(descriptor) >> 8 & 0xFF
    head = b"\x04\x22\x4d\x18" + descriptor + bytes([check if good_checksum else check ^ 1])
    return head + struct.pack("<I", len(data) | 0x80000000) + data + bytes(4)


def zstd_frame(data):
    """A zstd frame of one raw block, with its content size."""
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data)) + struct.pack("<I", len(data) << 3 | 1)[:3] + data


def zstd_bomb(head, megabytes):
    """A zstd frame that begins with `head` and goes on with megabytes of zeros in run-length blocks of 128 KiB."""
    blocks = struct.pack("<I", len(head) << 3)[:3] + head
    runs = megabytes * 8
    for number in range(runs):
        blocks += struct.pack("<I", (128 << 10) << 3 | 2 | (number == runs - 1))[:3] + b"\0"
    return struct.pack("<IBB", 0xFD2FB528, 0x00, 0x50) + blocks


def zeros_record(size):
    """What a record with a value of `size` zeros starts with, and how many zeros follow it."""
    body = b"\0" + zigzag(0) + zigzag(0) + zigzag(-1) + zigzag(size)
    return zigzag(len(body) + size + 1) + body, size
