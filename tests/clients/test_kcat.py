"""kcat (Debian's 1.7.1, librdkafka 2.0.2): metadata listing, a file through every compression kind, and balanced groups."""

import json
import re
import subprocess
import uuid

import pytest

from harness import group
from harness import kafka_tools as tools
from harness import member
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


class Member(member.Program):
    """A running `kcat -G`. It tells what it is assigned, and what is taken from it, on standard error."""

    def __init__(self, broker, group, topic, folder):
        super().__init__(["kcat", "-b", broker.address, "-G", group, "-X", "auto.offset.reset=earliest", "-X", "heartbeat.interval.ms=300",
                          "-u", topic], folder, f"{group}-{uuid.uuid4().hex[:8]}")

    @property
    def assigned(self):
        rebalances = re.findall(r"rebalanced \(memberid [^)]*\): (assigned|revoked): (.*)", self.errors.read_text())
        what, partitions = rebalances[-1] if rebalances else ("revoked", "")
        return [int(number) for number in re.findall(r"\[(\d+)\]", partitions)] if what == "assigned" else []

    @property
    def values(self):
        return self.output.read_bytes().splitlines()


def test_a_balanced_group_rebalances_with_two_and_three_members(broker, name, folder):
    tools.run("topics", "--bootstrap-server", broker.address, "--create", "--topic", name, "--partitions", 6)
    sent = [b"%d" % n for n in range(60)]
    with group.of_three(lambda: Member(broker, name, name, folder)) as members:
        for partition in range(6):
            kcat("-b", broker.address, "-P", "-t", name, "-p", str(partition), stdin=b"\n".join(sent[partition::6]))
        group.read_once(members, sent)


def test_a_balanced_group_goes_on_after_a_restart(own_broker, name, text_file):
    data = text_file.read_bytes()
    kcat("-b", own_broker.address, "-P", "-t", name, "-l", str(text_file))
    group.goes_on_after_a_restart(own_broker, data, len(data.splitlines()), lambda count: kcat(
        "-b", own_broker.address, "-G", name, "-X", "auto.offset.reset=earliest", "-q", "-c", str(count), name))
