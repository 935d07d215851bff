#!/usr/bin/env python3
"""Known answers for the history of a file and for anchors (docs/FORMAT.md, "History" and "Anchors"), by a program that shares
nothing with the library: run it and compare with history.txt.

Each case is the life of a file as a list of runs. For each it prints what the newest superblock keeps of them, and for some
states of this and of other lives, whether an anchor of that state holds."""

import hashlib
import struct


def name(text):
    return hashlib.sha256(text.encode()).digest()[:16]


class Life:
    """A file: runs that are over, as (id, last generation, log sequence, log end), the run at hand and its newest state."""

    def __init__(self, over, run, generation, sequence):
        self.over, self.run, self.generation, self.sequence = over, run, generation, sequence

    def bytes(self):
        out = self.run + bytes(40) + struct.pack("<QII", 0, len(self.over), 0)
        for run, last, sequence, end in self.over:
            out += struct.pack(">Q", last) + run + struct.pack(">QQ", sequence, end)
        return out

    def verdict(self, run, generation, sequence, end):
        """Of an anchor of an earlier generation: holds, another history, or a log that was cut."""
        assert 0 < generation < self.generation
        for wrote, last, closed, reached in self.over:
            if generation <= last:
                if wrote != run:
                    return "other"
                if end and (sequence > closed or (sequence == closed and reached and end > reached)):
                    return "cut"
                return "holds"
        return "holds" if run == self.run else "other"


FIRST, SECOND, THIRD, FORK = (name(text) for text in ("first", "second", "third", "fork"))
NONE = bytes(16)

LIVES = {
    # One run, nothing over.
    "new": Life([], FIRST, 9, 2),
    # The first run was closed; the second was interrupted, and its log had reached 832.
    "three-runs": Life([(FIRST, 5, 2, 0), (SECOND, 11, 4, 832)], THIRD, 20, 6),
    # The same, but the log of the second run was cut to 448 before the third opened it.
    "cut": Life([(FIRST, 5, 2, 0), (SECOND, 11, 4, 448)], THIRD, 20, 6),
    # The state of generation 3 was put back, and another run went on from it.
    "rolled-back": Life([(FIRST, 3, 1, 0)], FORK, 30, 3),
    # Written first by a release that kept no history.
    "older-release": Life([(NONE, 8, 3, 256), (FIRST, 10, 3, 0)], SECOND, 12, 5),
}

STATES = [
    (FIRST, 2, 1, 0), (FIRST, 3, 1, 512), (FIRST, 4, 2, 4096), (FIRST, 5, 2, 1 << 40), (FIRST, 6, 3, 128), (FIRST, 8, 2, 0),
    (SECOND, 6, 3, 999_936), (SECOND, 8, 4, 448), (SECOND, 8, 4, 512), (SECOND, 8, 4, 832), (SECOND, 8, 4, 896),
    (SECOND, 8, 5, 128), (SECOND, 8, 5, 0), (SECOND, 11, 5, 192), (THIRD, 12, 6, 192), (THIRD, 5, 1, 0),
    (FORK, 4, 2, 0), (FORK, 3, 1, 0), (NONE, 8, 3, 256), (NONE, 8, 3, 320), (NONE, 7, 2, 1024), (NONE, 9, 3, 0),
]

if __name__ == "__main__":
    for title, life in LIVES.items():
        print("life", title, life.generation, life.sequence, life.bytes().hex())
        for run, generation, sequence, end in STATES:
            if generation < life.generation:
                print("anchor", run.hex(), generation, sequence, end, life.verdict(run, generation, sequence, end))
