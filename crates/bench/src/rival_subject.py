"""What subjects of the benchmark that are driven from Python have in common: one JSON request per line, one JSON line back."""

import json
import sys


def serve(answer):
    """Has `answer(op, request)` answer all requests but the one for memory, until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            op = request.pop("op")
            reply = peak_kib() if op == "peak" else answer(op, request)
        except Exception as error:  # the parent decides what an error means
            reply = {"error": str(error)}
        print(json.dumps(reply), flush=True)


def peak_kib():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return {"kib": int(line.split()[1])}
    return {"kib": None}


def keys(seed, rows):
    while True:
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        yield (seed >> 33) % rows
