"""Derived cases: a sound request of every API with one length replaced, its body cut, or bytes added behind it."""

import struct

VALUES = {
    "i16": [("32767", struct.pack(">h", 32767)), ("-2", struct.pack(">h", -2)), ("-1", struct.pack(">h", -1)), ("1000", struct.pack(">h", 1000))],
    "i32": [("2147483647", struct.pack(">i", 2147483647)), ("-2", struct.pack(">i", -2)), ("-1", struct.pack(">i", -1)), ("16777215", struct.pack(">i", 16777215))],
    "uvarint": [("4294967295", b"\xff\xff\xff\xff\x0f"), ("null", b"\0"), ("an endless varint", b"\x80" * 10), ("2147483647", b"\xff\xff\xff\xff\x07"), ("300", b"\xac\x02")],
    "tags": [("5", b"\5"), ("4294967295", b"\xff\xff\xff\xff\x0f"), ("an endless varint", b"\xff" * 11)],
}


def replaced(frame, at, size, value):
    changed = frame[:at] + value + frame[at + size:]
    return struct.pack(">i", len(changed) - 4) + changed[4:]


def chapter(catalogue, bases):
    turn = {kind: 0 for kind in VALUES}
    for api, version, values in bases:
        frame, lengths = catalogue.codec.request(api, version, values)
        body = next(at for at in range(len(frame)) if frame[at:at + 6] == b"frames") + 6
        label = f"{api} v{version}"
        catalogue.add("sound", label, "A sound request; the damaged ones beside it start from this one.", frame)
        catalogue.add("trailing", f"{label} with bytes behind it", "Bytes after the body are ignored.", replaced(frame + b"\0\1\2\xff\xff\xff", 0, 0, b""))
        if len(frame) > body + 1:
            cut = body + (len(frame) - body) // 2
            catalogue.add("truncated", f"{label} cut in the middle", "The body ends before its fields do.", replaced(frame[:cut], 0, 0, b""))
            catalogue.add("truncated", f"{label} without its last byte", "The body ends one byte early.", replaced(frame[:-1], 0, 0, b""))
        for at, size, kind, name in lengths:
            if at < body - 8:
                continue
            choices = VALUES[kind]
            said, value = choices[turn[kind] % len(choices)]
            turn[kind] += 1
            catalogue.add("hostile-lengths", f"{label}: {name} at byte {at} says {said}", f"The length of {name} is replaced by {said}.", replaced(frame, at, size, value),
                          **({"topic": values["topic_data"][0]["name"]} if name == "records" and said == "-1" else {}))
