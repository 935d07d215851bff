"""DuckDB as a subject of the benchmark: reads one JSON request per line, answers with one JSON line each.

Requests: {"op": "start", "threads": n, "directory": path}, {"op": "sql", "sql": text}, {"op": "peak"},
{"op": "commits", "connections": n, "count": n}.
The extensions come as Python packages and are loaded by path, so that nothing is fetched while measuring.
"""

import glob
import importlib.util
import json
import os
import sys
import threading
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


def commits(connection, connections, count):
    begin = threading.Barrier(connections + 1)
    failures = []

    def add(worker):
        cursor = connection.cursor()
        cursor.execute("PREPARE add_row AS INSERT INTO target.main.t VALUES ($1, $2, $3)")
        begin.wait()
        try:
            for n in range(worker, count, connections):
                cursor.execute("EXECUTE add_row(%d, 'row %d', %d.5)" % (n, n, n))
        except Exception as error:
            failures.append(error)

    workers = [threading.Thread(target=add, args=(worker,)) for worker in range(connections)]
    for worker in workers:
        worker.start()
    begin.wait()
    before = time.perf_counter()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]
    return {"ms": (time.perf_counter() - before) * 1000.0}


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
            elif request["op"] == "commits":
                answer = commits(connection, request["connections"], request["count"])
            else:
                answer = peak_kib()
        except Exception as error:  # the parent decides what an error means
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


main()
