"""DuckDB as a subject of the benchmark: reads one JSON request per line, answers with one JSON line each.

Requests: {"op": "start", "threads": n, "directory": path}, {"op": "sql", "sql": text}, {"op": "peak"},
{"op": "commits", "connections": n, "count": n}, {"op": "fill", "rows": n}, {"op": "points", "rows": n, "count": n},
{"op": "mixed", "connections": n, "count": n, "rows": n, "base": n}.
The extensions come as Python packages and are loaded by path, so that nothing is fetched while measuring.
"""

import glob
import importlib.util
import os
import threading
import time

import duckdb

from rival_subject import keys, serve


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


def run(connection, sql, check=None):
    # Answers are not held against any here. Runs to the end without turning values into Python objects, which would count against DuckDB.
    before = time.perf_counter()
    relation = connection.sql(sql)
    if relation is not None:
        relation.execute()
    elapsed = time.perf_counter() - before
    return {"ms": elapsed * 1000.0, "rows": 0 if relation is None else len(relation)}


def fill(connection, rows):
    connection.execute("CREATE TABLE target.main.points (k BIGINT PRIMARY KEY, s VARCHAR, x DOUBLE)")
    connection.execute(
        "INSERT INTO target.main.points SELECT range, 'row ' || range, range * 0.5 FROM range(%d)" % rows)
    connection.execute("CHECKPOINT target")
    return {}


def point(cursor, key):
    row = cursor.execute("EXECUTE get(%d)" % key).fetchone()
    if row[1] != "row %d" % key:
        raise ValueError("key %d does not have its row" % key)


GET = "PREPARE get AS SELECT * FROM target.main.points WHERE k = $1"


def points(connection, rows, count):
    connection.execute(GET)
    random = keys(1, rows)
    some = [next(random) for _ in range(count // 4)]
    wanted = [next(random) for _ in range(count)]
    for key in some:
        point(connection, key)
    before = time.perf_counter()
    for key in wanted:
        point(connection, key)
    return {"ms": (time.perf_counter() - before) * 1000.0}


def again_after_conflicts(cursor, sql):
    while True:
        try:
            return cursor.execute(sql)
        except duckdb.TransactionException:
            pass


def mixed(connection, connections, count, rows, base):
    def work(worker, ready):
        cursor = connection.cursor()
        cursor.execute(GET)
        cursor.execute("PREPARE change AS UPDATE target.main.points SET x = $1 WHERE k = $2")
        cursor.execute("PREPARE add_row AS INSERT INTO target.main.points VALUES ($1, $2, $3)")
        random = keys(worker + 1, rows)
        ready()
        for n in range(worker, count, connections):
            key, turn = next(random), n // connections % 10
            if turn == 8:
                again_after_conflicts(cursor, "EXECUTE change(%d.0, %d)" % (n, key))
            elif turn == 9:
                again_after_conflicts(cursor, "EXECUTE add_row(%d, 'row %d', 0.5)" % (base + n, base + n))
            else:
                point(cursor, key)

    return together(connections, work)


def commits(connection, connections, count):
    def work(worker, ready):
        cursor = connection.cursor()
        cursor.execute("PREPARE add_row AS INSERT INTO target.main.t VALUES ($1, $2, $3)")
        ready()
        for n in range(worker, count, connections):
            cursor.execute("EXECUTE add_row(%d, 'row %d', %d.5)" % (n, n, n))

    return together(connections, work)


def together(connections, work):
    """Does work on so many threads at once, and takes the time since all were ready."""
    begin = threading.Barrier(connections + 1)
    failures = []

    def run(worker):
        try:
            work(worker, begin.wait)
        except Exception as error:
            failures.append(error)
            begin.abort()

    workers = [threading.Thread(target=run, args=(worker,)) for worker in range(connections)]
    for worker in workers:
        worker.start()
    try:
        begin.wait()
    except threading.BrokenBarrierError:
        pass
    before = time.perf_counter()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]
    return {"ms": (time.perf_counter() - before) * 1000.0}


class Subject:
    def answer(self, op, request):
        if op == "start":
            self.connection = start(request)
            return {"version": duckdb.__version__}
        return OPERATIONS[op](self.connection, **request)


OPERATIONS = {"sql": run, "commits": commits, "fill": fill, "points": points, "mixed": mixed}

serve(Subject().answer)
