#!/usr/bin/env python3
"""Known answers for column types and for values in records of the log (docs/FORMAT.md, "Tables" and "Write-ahead log"), by a
program that shares nothing with the library: run it and compare with column_types.txt.

A line `type` has the bytes of a type, a line `values` those of some rows of it, whose values the test has, too."""

import struct

UNITS = {"s": 0, "ms": 1, "us": 2, "ns": 3}


def u32(number):
    return struct.pack("<I", number)


def text(value):
    encoded = value.encode()
    return u32(len(encoded)) + encoded


def tag(number, a=0, b=0):
    return bytes([number, a, b])


TYPES = {
    "boolean": tag(1), "tinyint": tag(2), "smallint": tag(3), "integer": tag(4), "bigint": tag(5),
    "utinyint": tag(6), "usmallint": tag(7), "uinteger": tag(8), "ubigint": tag(9),
    "float": tag(10), "double": tag(11),
    "decimal-1-0": tag(12, 1, 0), "decimal-18-3": tag(12, 18, 3), "decimal-38-38": tag(12, 38, 38),
    "varchar": tag(13), "varchar-nocase": tag(13, 1), "varchar-noaccent": tag(13, 2), "varchar-both": tag(13, 3), "blob": tag(14), "date": tag(15), "time": tag(16),
    "timestamp-s": tag(17, UNITS["s"]), "timestamp-ms": tag(17, UNITS["ms"]), "timestamp": tag(17, UNITS["us"]),
    "timestamp-ns": tag(17, UNITS["ns"]), "timestamptz": tag(17, UNITS["us"], 1),
    "interval": tag(18), "uuid": tag(19), "hugeint": tag(23), "uhugeint": tag(24), "json": tag(26),
    "timetz": tag(29), "bit": tag(30),
}


def listed(item):
    return tag(20) + item


def structured(fields):
    return tag(21) + u32(len(fields)) + b"".join(text(name) + ty for name, ty in fields)


def enumerated(values):
    return tag(22) + u32(len(values)) + b"".join(text(value) for value in values)


def mapped(key, value):
    return tag(25) + key + value


def sized(item, length):
    return tag(27) + u32(length) + item


def united(members):
    return tag(28) + u32(len(members)) + b"".join(text(name) + ty for name, ty in members)


MOOD = ["sad", "ok", "häppy"]
TYPES["hugeint-list"] = listed(TYPES["hugeint"])
TYPES["list-of-lists"] = listed(listed(TYPES["uhugeint"]))
TYPES["struct"] = structured([("h", TYPES["hugeint"]), ("ü", TYPES["uhugeint"])])
TYPES["enum"] = enumerated(MOOD)
TYPES["map"] = mapped(TYPES["hugeint"], TYPES["uhugeint"])
TYPES["map-of-maps"] = mapped(TYPES["varchar"], mapped(TYPES["date"], listed(TYPES["tinyint"])))

TYPES["array"] = sized(TYPES["hugeint"], 2)
TYPES["array-of-lists"] = sized(listed(sized(TYPES["varchar"], 100_000)), 1)

TYPES["union"] = united([("h", TYPES["hugeint"]), ("ü", TYPES["uhugeint"])])
TYPES["union-of-unions"] = united([("u", listed(united([("a", TYPES["tinyint"])])))])

JSON = tag(26, 1)
TYPES["json-within"] = mapped(JSON, structured([("a", sized(listed(JSON), 2)), ("b", JSON)]))


def validity(rows):
    """The byte that says whether rows are NULL, and their bits."""
    if None not in rows:
        return b"\0"
    bits = bytearray((len(rows) + 7) // 8)
    for row, value in enumerate(rows):
        if value is not None:
            bits[row // 8] |= 1 << (row % 8)
    return b"\1" + bytes(bits)


def huge(rows, signed):
    """32 bytes each: the number, and its sign in the bytes above."""
    return validity(rows) + b"".join((row or 0).to_bytes(32, "little", signed=signed) for row in rows)


def huge_lists(rows):
    flat = [value for row in rows for value in row or []]
    return validity(rows) + b"".join(u32(len(row or [])) for row in rows) + huge(flat, True)


def huge_structs(rows):
    fields = [[row and row[field] for row in rows] for field in (0, 1)]
    return validity(rows) + huge(fields[0], True) + huge(fields[1], False)


def huge_maps(rows):
    """As lists of structs of key and value, none of which is NULL."""
    flat = [entry for row in rows for entry in row or []]
    return validity(rows) + b"".join(u32(len(row or [])) for row in rows) + huge_structs(flat)


def moods(rows):
    """As structs of one field: the place in the list, of one byte."""
    codes = [None if row is None else MOOD.index(row) for row in rows]
    return validity(rows) + validity(codes) + bytes(code or 0 for code in codes)


def huge_unions(rows):
    """As structs of a tag of one byte and all members, of which one at most is not NULL."""
    tags = [row and row[0] for row in rows]
    members = [[row[1] if row and row[0] == tag else None for row in rows] for tag in (0, 1)]
    return validity(rows) + validity(tags) + bytes(tag or 0 for tag in tags) + huge(members[0], True) + huge(members[1], False)


def times(rows):
    """Eight bytes each, big-endian: microseconds from a midnight 15:59:59 before that of UTC, and how many seconds the clock is behind
    one that is 15:59:59 ahead, in the last three."""
    out = validity(rows)
    for row in rows:
        if row is None:
            out += bytes(8)
            continue
        micros, offset = row
        behind = 16 * 3600 - 1 - offset
        out += (micros + behind * 1_000_000).to_bytes(5, "big") + behind.to_bytes(3, "big")
    return out


def bit_strings(rows):
    """A byte that says how many bits of the next are filled up with ones, and the bits."""
    values = []
    for row in rows:
        row = row or ""
        filled = -len(row) % 8
        width = (filled + len(row)) // 8
        values.append(bytes([filled]) + int("1" * filled + row, 2).to_bytes(width, "big") if row else b"")
    return validity(rows) + b"".join(u32(len(value)) for value in values) + b"".join(values)


LEAST, MOST = -(2**127), 2**127 - 1
VALUES = {
    "bit": (5, bit_strings(["101", None, "0", "11111111", "000000001"])),
    "timetz": (5, times([(0, 57599), (86_400_000_000, -57599), None, (36_000_000_001, 7200), (0, 0)])),
    "hugeint": (9, huge([0, 1, -1, None, LEAST, MOST, 2**64, -(2**64), None], True)),
    "uhugeint": (5, huge([0, 2**127, None, 2**128 - 1, 2**64], False)),
    "hugeint-list": (4, huge_lists([[LEAST, None], None, [], [MOST]])),
    "struct": (3, huge_structs([(LEAST, 2**128 - 1), None, (None, 0)])),
    "enum": (4, moods(["häppy", None, "sad", "ok"])),
    "array": (3, huge_lists([[LEAST, None], None, [0, MOST]])),
    "union": (4, huge_unions([(1, 2**128 - 1), None, (0, LEAST), (0, None)])),
    "map": (4, huge_maps([[(LEAST, 2**128 - 1), (0, None)], None, [], [(MOST, 0)]])),
}

for name, ty in TYPES.items():
    print("type", name, ty.hex())
for name, (rows, values) in VALUES.items():
    print("values", name, rows, values.hex())
