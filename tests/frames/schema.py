"""Kafka's wire schemas as data: encodes a request from plain values and notes where its lengths lie; decodes answers.

The schemas are text that `tests/java/DumpSchemas.java` prints from Kafka's own message classes. What an API means is not known here.
"""

import re
import struct

FIXED = {"INT8": ">b", "INT16": ">h", "INT32": ">i", "INT64": ">q", "UINT16": ">H", "UINT32": ">I", "BOOLEAN": ">?", "FLOAT64": ">d"}


class Field:
    def __init__(self, name, kind, tag=None):
        self.name, self.kind, self.tag, self.fields, self.flexible = name, kind, tag, [], False
        match = re.fullmatch(r"(\w*ARRAY)\[(\w+)\]", kind)
        self.array, self.element = match.groups() if match else (None, None)


class Schema:
    """One request or response version."""

    def __init__(self, header):
        self.header, self.fields, self.flexible = header, [], False


def load(text):
    """Parses the dump into {(api name, 'request' or 'response', version): Schema} and {api name: key}."""
    schemas, keys, stack = {}, {}, []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        head = re.match(r"== (\d+) (\w+) (request|response) v(\d+) header(\d)", line)
        if head:
            schema = Schema(int(head[5]))
            schemas[head[2], head[3], int(head[4])] = schema
            keys[head[2]] = int(head[1])
            stack = [(0, schema)]
            continue
        depth = (len(line) - len(line.lstrip())) // 2
        while stack[-1][0] >= depth:
            stack.pop()
        parent = stack[-1][1]
        if line.strip() == "_tags":
            parent.flexible = True
            continue
        found = re.fullmatch(r"(?:tag(\d+) )?(\w+): (\S+)", line.strip())
        field = Field(found[2], found[3], int(found[1]) if found[1] else None)
        parent.fields.append(field)
        stack.append((depth, field))
    return schemas, keys


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Encoder:
    """Writes values and remembers every length: (position, bytes it takes, kind, name of the field)."""

    def __init__(self):
        self.out, self.lengths = bytearray(), []

    def length(self, name, value, kind):
        encoded = {"i16": lambda: struct.pack(">h", value), "i32": lambda: struct.pack(">i", value), "uvarint": lambda: varint(value + 1)}[kind]()
        self.lengths.append((len(self.out), len(encoded), kind, name))
        self.out += encoded

    def bytes_like(self, field, kind, value, size):
        kind_of_length = "uvarint" if "COMPACT" in kind else size
        if value is None:
            return self.length(field, -1, kind_of_length)
        self.length(field, len(value), kind_of_length)
        self.out += value

    def value(self, name, kind, value, owner):
        if kind in FIXED:
            self.out += struct.pack(FIXED[kind], value or 0)
        elif kind == "UUID":
            self.out += value or bytes(16)
        elif "STRUCT" in kind:
            if kind == "NULLABLE_STRUCT":
                self.out += struct.pack(">b", -1 if value is None else 1)
                if value is None:
                    return
            self.fields(owner, value or {})
        elif kind.endswith("STRING"):
            self.bytes_like(name, kind, None if value is None and "NULLABLE" in kind else (value or "").encode(), "i16")
        elif kind.endswith(("BYTES", "RECORDS")):
            self.bytes_like(name, kind, None if value is None and "NULLABLE" in kind else value or b"", "i32")
        else:
            raise ValueError(kind)

    def field(self, field, value):
        if not field.array:
            return self.value(field.name, field.kind, value, field)
        if value is None and "NULLABLE" not in field.array:
            value = []
        self.length(field.name, -1 if value is None else len(value), "uvarint" if "COMPACT" in field.array else "i32")
        for one in value or []:
            if field.element == "struct":
                self.fields(field, one)
            else:
                self.value(field.name, field.element, one, field)

    def fields(self, owner, values):
        known = {field.name for field in owner.fields}
        if unknown := set(values) - known:
            raise ValueError(f"no field {unknown}; there are {known}")
        for field in owner.fields:
            if field.tag is None:
                self.field(field, values.get(field.name))
        if owner.flexible:
            tagged = [field for field in owner.fields if field.tag is not None and field.name in values]
            self.lengths.append((len(self.out), 1, "tags", "tags"))
            self.out += varint(len(tagged))
            for field in tagged:
                part = Encoder()
                part.field(field, values[field.name])
                self.out += varint(field.tag) + varint(len(part.out)) + part.out


class Truncated(Exception):
    """The answer ends before the schema does, or holds what the schema forbids."""


class Decoder:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise Truncated(f"{count} bytes wanted at {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count:self.at]

    def fixed(self, kind):
        return struct.unpack(FIXED[kind], self.take(struct.calcsize(FIXED[kind])))[0]

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def value(self, kind, owner):
        if kind in FIXED:
            return self.fixed(kind)
        if kind == "UUID":
            return self.take(16).hex()
        if "STRUCT" in kind:
            return None if kind == "NULLABLE_STRUCT" and self.fixed("INT8") < 0 else self.fields(owner)
        length = self.uvarint() - 1 if "COMPACT" in kind else self.fixed("INT16" if kind.endswith("STRING") else "INT32")
        if length < 0:
            return None
        data = self.take(length)
        return data.decode(errors="replace") if kind.endswith("STRING") else data.hex()

    def field(self, field):
        if not field.array:
            return self.value(field.kind, field)
        count = self.uvarint() - 1 if "COMPACT" in field.array else self.fixed("INT32")
        if count < 0:
            return None
        return [self.fields(field) if field.element == "struct" else self.value(field.element, field) for _ in range(count)]

    def fields(self, owner):
        values = {field.name: self.field(field) for field in owner.fields if field.tag is None}
        if owner.flexible:
            known = {field.tag: field for field in owner.fields if field.tag is not None}
            for _ in range(self.uvarint()):
                tag, size = self.uvarint(), self.uvarint()
                part = Decoder(self.take(size))
                values[known[tag].name if tag in known else f"tag {tag}"] = part.field(known[tag]) if tag in known else part.data.hex()
        return values


class Codec:
    """All schemas of one dump."""

    def __init__(self, text):
        self.schemas, self.keys = load(text)
        self.names = {key: name for name, key in self.keys.items()}
        self.used = set()

    def request(self, api, version, values, correlation=1, client="frames"):
        """A whole frame with its length, and the lengths inside it."""
        schema = self.schemas[api, "request", version]
        self.used.add((api, version))
        head = Encoder()
        head.out += struct.pack(">hhi", self.keys[api], version, correlation)
        head.bytes_like("client_id", "NULLABLE_STRING", None if client is None else client.encode(), "i16")
        if schema.header == 2:
            head.lengths.append((len(head.out), 1, "tags", "header tags"))
            head.out += b"\0"
        body = Encoder()
        body.fields(schema, values)
        lengths = [(at + 4, size, kind, name) for at, size, kind, name in head.lengths]
        lengths += [(at + 4 + len(head.out), size, kind, name) for at, size, kind, name in body.lengths]
        payload = bytes(head.out + body.out)
        return struct.pack(">i", len(payload)) + payload, lengths

    def response(self, api, version, payload):
        """The body of an answer (without length, with header) as plain values; all bytes must be used."""
        schema = self.schemas[api, "response", version]
        decoder = Decoder(payload)
        decoder.take(4)
        if schema.header == 1 and decoder.take(1) != b"\0":
            raise Truncated("tagged fields in the response header")
        values = decoder.fields(schema)
        if decoder.at != len(payload):
            raise Truncated(f"{len(payload) - decoder.at} bytes are left over")
        return values
