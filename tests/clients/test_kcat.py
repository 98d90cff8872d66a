"""kcat (Debian's 1.7.1, librdkafka 2.0.2): metadata listing, and a file through every compression kind."""

import json
import subprocess

import pytest

from harness.files import sha256


def kcat(*arguments, stdin=None):
    done = subprocess.run(["kcat", *arguments], input=stdin, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_text_file_comes_back_byte_for_byte(broker, name, text_file, codec):
    data = text_file.read_bytes()
    kcat("-b", broker.address, "-P", "-t", name, "-z", codec, "-l", str(text_file))
    back = kcat("-b", broker.address, "-C", "-t", name, "-o", "beginning", "-e", "-q")
    assert sha256(back) == sha256(data)


def test_a_binary_file_comes_back_as_one_record(broker, name, binary_file):
    data = binary_file.read_bytes()[:900_000]
    source = binary_file.parent / f"{name}.bin"
    source.write_bytes(data)
    kcat("-b", broker.address, "-P", "-t", name, str(source))
    back = kcat("-b", broker.address, "-C", "-t", name, "-o", "beginning", "-e", "-q", "-D", "")
    assert sha256(back) == sha256(data)


def test_keys_headers_and_offsets_are_kept(broker, name):
    kcat("-b", broker.address, "-P", "-t", name, "-K", ":", "-H", "colour=grün", stdin="one:1\ntwo:2\n".encode())
    lines = kcat("-b", broker.address, "-C", "-t", name, "-e", "-q", "-J").decode().splitlines()
    records = [json.loads(line) for line in lines]
    assert [(r["offset"], r["key"], r["payload"]) for r in records] == [(0, "one", "1"), (1, "two", "2")]
    assert records[0]["headers"] == ["colour", "grün"]


def test_the_last_records_are_found_by_a_negative_offset(broker, name, text_file):
    kcat("-b", broker.address, "-P", "-t", name, "-l", str(text_file))
    last = text_file.read_bytes().splitlines(keepends=True)[-5:]
    assert kcat("-b", broker.address, "-C", "-t", name, "-o", "-5", "-e", "-q") == b"".join(last)


def test_a_record_is_found_by_its_time(broker, name):
    kcat("-b", broker.address, "-P", "-t", name, stdin=b"first\n")
    assert kcat("-b", broker.address, "-Q", "-t", f"{name}:0:0").decode().strip() == f"{name} [0] offset 0"
    assert kcat("-b", broker.address, "-Q", "-t", f"{name}:0:9999999999999").decode().strip() == f"{name} [0] offset -1"


def test_the_listing_names_broker_and_topic(broker, name):
    kcat("-b", broker.address, "-P", "-t", name, stdin=b"x\n")
    listing = json.loads(kcat("-b", broker.address, "-L", "-J"))
    assert [one["name"] for one in listing["brokers"]] == [broker.address]
    topic = next(one for one in listing["topics"] if one["topic"] == name)
    leader = listing["brokers"][0]["id"]
    assert [(p["partition"], p["leader"], [r["id"] for r in p["isrs"]]) for p in topic["partitions"]] == [(0, leader, [leader])]


def test_a_group_reads_everything_once(broker, name, text_file):
    kcat("-b", broker.address, "-P", "-t", name, "-l", str(text_file))
    read = ("-b", broker.address, "-G", f"group-{name}", "-X", "auto.offset.reset=earliest", "-q", "-e", name)
    assert sha256(kcat(*read)) == sha256(text_file.read_bytes())
    assert kcat(*read) == b""
