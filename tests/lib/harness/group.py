"""What is asked of a consumer group, whichever client its members are. How a client joins, reads and leaves is not known here."""

import contextlib

from .files import sha256
from .waiting import until


@contextlib.contextmanager
def of_three(join, partitions=6, seconds=40):
    """Lets one, two and three members share all partitions evenly; when the body is through one leaves, and the two others share."""
    members = []

    def shared():
        owned = [set(member.assigned) for member in members]
        return [len(one) for one in owned] == [partitions // len(members)] * len(members) and set().union(*owned) == set(range(partitions))

    try:
        for count in (1, 2, 3):
            members.append(join())
            until(f"{count} members share", shared, seconds)
        yield members
        members.pop(0).leave()
        until("the two that are left share", shared, seconds)
    finally:
        for member in members:
            member.leave()


def read_once(members, sent, seconds=30):
    """Returns when the members together have read just what was sent."""
    until("all was read once", lambda: sorted(value for member in members for value in member.values) == sorted(sent), seconds)


def goes_on_after_a_restart(broker, data, records, read):
    """`data` lies in the topic as so many records. `read(count)` joins the group, gives that many records' bytes, and commits as it leaves."""
    before = read(records // 3)
    broker.restart()
    assert sha256(before + read(records - records // 3)) == sha256(data)
