"""DuckDB as a subject of the benchmark: reads one JSON request per line, answers with one JSON line each.

Requests: {"op": "start", "threads": n, "directory": path}, {"op": "sql", "sql": text}, {"op": "peak"}.
The extensions come as Python packages and are loaded by path, so that nothing is fetched while measuring.
"""

import glob
import importlib.util
import json
import os
import sys
import time

import duckdb


def extension(name):
    package = os.path.dirname(importlib.util.find_spec("duckdb_extension_" + name).origin)
    (path,) = glob.glob(os.path.join(package, "extensions", "*", name + ".duckdb_extension"))
    return path


def start(request):
    connection = duckdb.connect(config={"threads": request["threads"]})
    connection.execute("SET temp_directory = '%s'" % request["directory"].replace("'", "''"))
    for name in ("httpfs", "tpch"):  # httpfs brings the hardware ciphers
        connection.execute("LOAD '%s'" % extension(name).replace("'", "''"))
    return connection


def run(connection, sql):
    # Runs to the end without turning values into Python objects, which would count against DuckDB.
    before = time.perf_counter()
    relation = connection.sql(sql)
    if relation is not None:
        relation.execute()
    elapsed = time.perf_counter() - before
    return {"ms": elapsed * 1000.0, "rows": 0 if relation is None else len(relation)}


def peak_kib():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return {"kib": int(line.split()[1])}
    return {"kib": None}


def main():
    connection = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] == "start":
                connection = start(request)
                answer = {"version": duckdb.__version__}
            elif request["op"] == "sql":
                answer = run(connection, request["sql"])
            else:
                answer = peak_kib()
        except Exception as error:  # the parent decides what an error means
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


main()
