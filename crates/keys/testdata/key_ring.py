#!/usr/bin/env python3
"""Known answers for a file header of version 2 and the key ring that goes with it (docs/FORMAT.md, "File header", "Keys" and "Key
ring"), by a program that shares nothing with the library but the page that describes them: run it and compare with key_ring.txt. It
needs the package `cryptography`, for AES key wrap alone.

Two states of one database: while its data key changes, and when that has ended; and the first of them under another master key, in
which the ring key is another, too."""

import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.keywrap import aes_key_wrap

DATABASE = bytes(range(16))
SALT = bytes(range(0xA0, 0xC0))
ROOT = b"\x66" * 32
OLD, NEW = b"\x44" * 32, b"\x45" * 32
MADE, CHANGED = 1_700_000_000, 1_800_000_000


def kbkdf(key, label, context):
    """SP 800-108r1, counter mode, HMAC-SHA-256, one block of output."""
    fixed = label + b"\0" + context + struct.pack(">I", 256)
    return hmac.new(key, struct.pack(">I", 1) + fixed, hashlib.sha256).digest()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xFFFFFFFF)


def header(sequence, master, ring_key, previous):
    """One slot with a raw key; system key 2."""
    wrapping = kbkdf(master, b"HUSH1 wrap", DATABASE)
    kek = kbkdf(ROOT, b"HUSH1 kek", DATABASE + SALT)
    page = bytearray(4096)
    page[0:8] = b"\x89HUSHDB\n"
    page[8:12] = struct.pack("<HBB", 2, 1, 0)
    page[12:16] = struct.pack("<I", 2)
    page[16:32] = DATABASE
    page[32:40] = struct.pack("<Q", sequence)
    page[40:72] = kbkdf(master, b"HUSH1 commit", DATABASE)
    page[72:112] = aes_key_wrap(wrapping, NEW)
    if previous:
        page[112:116] = struct.pack("<I", 1)
        page[116:156] = aes_key_wrap(wrapping, OLD)
    page[156:196] = aes_key_wrap(wrapping, ring_key)
    label = "été".encode()
    slot = struct.pack("<BBBBIII", 1, 1, 0, len(label), 0, 0, 0) + SALT + aes_key_wrap(kek, master) + bytes(8) + label
    page[256 : 256 + len(slot)] = slot
    page[4060:4064] = crc32c(page[:4060])
    page[4064:] = hmac.new(kbkdf(master, b"HUSH1 hdrmac", DATABASE), bytes(page[:4064]), hashlib.sha256).digest()
    return bytes(page)


def ring(ring_key, reserved, retired):
    out = struct.pack("<BIIIq", 1, 3, 1, 365, CHANGED) + struct.pack("<I", len(reserved))
    for place in reserved:
        out += struct.pack("<QQ", *place)
    out += struct.pack("<I", 0) + struct.pack("<I", int(retired))
    if retired:
        out += struct.pack("<IBBHqqQIII", 1, 1, 1, 0, MADE, CHANGED, 0, 0xFFFFFFFF, 0, 0)
        out += kbkdf(OLD, b"HUSH1 dcommit", DATABASE + struct.pack("<I", 1))
        out += struct.pack("<I", 40) + aes_key_wrap(ring_key, OLD)
    return out


CASES = {
    "running": (header(2, b"\x11" * 32, b"\x55" * 32, True), ring(b"\x55" * 32, [], True)),
    "ended": (header(3, b"\x11" * 32, b"\x55" * 32, False), ring(b"\x55" * 32, [(17, 1), (40, 2)], False)),
    "other-master": (header(2, b"\x12" * 32, b"\x56" * 32, True), ring(b"\x56" * 32, [(20, 1)], True)),
}

for name, (page, payload) in CASES.items():
    # Of the page, what stands before its zeros, and its end.
    print(name, page[:362].hex(), page[4060:].hex(), payload.hex())
