"""SQLCipher as a subject of the benchmark: reads one JSON request per line, answers with one JSON line each.

Requests: {"op": "start"}, {"op": "open", "path": path, "key": text}, {"op": "sql", "sql": text}, {"op": "peak"},
{"op": "commits", "connections": n, "count": n}, {"op": "fill", "rows": n}, {"op": "points", "rows": n, "count": n},
{"op": "mixed", "connections": n, "count": n, "rows": n, "base": n}.
WAL mode, synchronous=full: each commit is synced. Statements are prepared once: the module keeps them by their text.
"""

import threading
import time

from sqlcipher3 import dbapi2 as sqlcipher

from rival_subject import keys, serve

GET = "SELECT * FROM points WHERE k = ?"
CHANGE = "UPDATE points SET x = ? WHERE k = ?"
ADD_POINT = "INSERT INTO points VALUES (?, ?, ?)"
ADD_ROW = "INSERT INTO t VALUES (?, ?, ?)"


class Subject:
    def answer(self, op, request):
        if op == "start":
            return {"version": sqlcipher.sqlite_version}
        return getattr(self, op)(**request)

    def open(self, path, key):
        self.path, self.key = path, key
        self.connection = self.connect()
        self.connection.execute("PRAGMA journal_mode = WAL")
        return {}

    def connect(self):
        connection = sqlcipher.connect(self.path, isolation_level=None, timeout=60, check_same_thread=False)
        if self.key is not None:
            connection.execute('PRAGMA key = "%s"' % self.key)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def sql(self, sql):
        before = time.perf_counter()
        if sql.startswith("DETACH"):
            self.connection.close()
            rows = 0
        else:
            rows = len(self.connection.execute(sql.replace("target.main.", "")).fetchall())
        return {"ms": (time.perf_counter() - before) * 1000.0, "rows": rows}

    def fill(self, rows):
        self.connection.execute("CREATE TABLE points (k INTEGER PRIMARY KEY, s TEXT, x REAL)")
        self.connection.execute("BEGIN")
        self.connection.executemany(ADD_POINT, ((k, "row %d" % k, k * 0.5) for k in range(rows)))
        self.connection.execute("COMMIT")
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return {}

    def points(self, rows, count):
        random = keys(1, rows)
        some = [next(random) for _ in range(count // 4)]
        wanted = [next(random) for _ in range(count)]
        for key in some:
            point(self.connection, key)
        before = time.perf_counter()
        for key in wanted:
            point(self.connection, key)
        return {"ms": (time.perf_counter() - before) * 1000.0}

    def commits(self, connections, count):
        def work(connection, worker):
            for n in range(worker, count, connections):
                connection.execute(ADD_ROW, (n, "row %d" % n, n + 0.5))

        return self.together(connections, work)

    def mixed(self, connections, count, rows, base):
        def work(connection, worker):
            random = keys(worker + 1, rows)
            for n in range(worker, count, connections):
                key, turn = next(random), n // connections % 10
                if turn == 8:
                    connection.execute(CHANGE, (float(n), key))
                elif turn == 9:
                    connection.execute(ADD_POINT, (base + n, "row %d" % (base + n), 0.5))
                else:
                    point(connection, key)

        return self.together(connections, work)

    def together(self, connections, work):
        """Does work on so many connections at once, and takes the time since all were ready."""
        all = [self.connect() for _ in range(connections)]
        begin = threading.Barrier(connections + 1)
        failures = []

        def run(worker):
            begin.wait()
            try:
                work(all[worker], worker)
            except Exception as error:
                failures.append(error)

        workers = [threading.Thread(target=run, args=(worker,)) for worker in range(connections)]
        for worker in workers:
            worker.start()
        begin.wait()
        before = time.perf_counter()
        for worker in workers:
            worker.join()
        elapsed = time.perf_counter() - before
        for connection in all:
            connection.close()
        if failures:
            raise failures[0]
        return {"ms": elapsed * 1000.0}


def point(connection, key):
    row = connection.execute(GET, (key,)).fetchone()
    if row[1] != "row %d" % key:
        raise ValueError("key %d does not have its row" % key)


serve(Subject().answer)
