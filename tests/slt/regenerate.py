#!/usr/bin/env python3
"""Hold the scripts of this folder against DuckDB 1.5.5, whose answers they claim to be.

    python3 regenerate.py [--write] [FILE ...]

Each script runs in a fresh in-memory database. Without --write, differences are printed and the exit code is 1; with it,
the results in the scripts are replaced by DuckDB's. Records under `onlyif hushdb` are where HushDB means to differ, and
are left alone. `connection NAME` before a record runs it in a connection of that name. `__TEST_DIR__` in a statement stands for a directory that is empty when the script begins.
"""

import pathlib
import re
import sys
import tempfile

import duckdb

# `pip install duckdb==1.5.5 duckdb-extension-tpch`: the package brings the extension as a file.
TPCH = sorted(pathlib.Path(duckdb.__file__).parent.parent.glob("duckdb_extension_tpch/extensions/*/*.duckdb_extension"))
HERE = pathlib.Path(__file__).resolve().parent


def shown(value):
    return "NULL" if value is None else "(empty)" if value == "" else value.replace("\n", "\\n")


def letter(kind):
    if re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?", kind):
        return "I"
    return "R" if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL") else "T"


def answer(connection, sql, sort):
    relation = connection.sql(sql)
    kinds = "".join(letter(str(kind)) for kind in relation.types)
    texts = relation.project(", ".join("CAST(#%d AS VARCHAR)" % (i + 1) for i in range(len(kinds))))
    rows = [" ".join(shown(value) for value in row) for row in texts.fetchall()]
    return kinds, sorted(rows) if sort == "rowsort" else rows


def actual(connection, head, sql):
    """The record's head and results as DuckDB has them."""
    words = head.split()
    try:
        if words[0] == "query":
            sort = words[2] if len(words) > 2 else "nosort"
            kinds, rows = answer(connection, sql, sort)
            return " ".join(["query", kinds] + words[2:]), ["----"] + rows
        result = connection.execute(sql)
        if words[1] == "count":
            return "statement count %d" % result.fetchone()[0], []
        return "statement ok", []
    except duckdb.Error as error:
        pattern = " ".join(words[2:]) if words[:2] == ["statement", "error"] else ""
        if not pattern or re.search(pattern, str(error)):
            return head if words[:2] == ["statement", "error"] else "statement error", []
        return "statement error %s" % str(error).splitlines()[0], []


def run(path):
    """The script as it would be with DuckDB's answers."""
    connection = duckdb.connect()
    for extension in TPCH:
        connection.execute("LOAD '%s'" % extension)
    named = {}
    with tempfile.TemporaryDirectory() as directory:
        done = []
        for block in path.read_text().rstrip("\n").split("\n\n"):
            lines = block.split("\n")
            at = next((i for i, line in enumerate(lines) if re.match(r"(query|statement) ", line)), None)
            if at is None or "onlyif hushdb" in lines[:at]:
                done.append(block)
                continue
            rest = lines[at + 1:]
            cut = rest.index("----") if "----" in rest else len(rest)
            sql = "\n".join(rest[:cut]).replace("__TEST_DIR__", directory)
            name = next((line.split()[1] for line in lines[:at] if line.startswith("connection ")), None)
            if name is not None and name not in named:
                named[name] = connection.cursor()
            head, results = actual(named.get(name, connection), lines[at], sql)
            done.append("\n".join(lines[:at] + [head] + rest[:cut] + results))
        for one in list(named.values()) + [connection]:
            one.close()
    return "\n\n".join(done) + "\n"


def main():
    names = [name for name in sys.argv[1:] if name != "--write"]
    differing = 0
    for path in [pathlib.Path(name) for name in names] or sorted(HERE.rglob("*.slt")):
        old, new = path.read_text(), run(path)
        if "--write" in sys.argv[1:]:
            path.write_text(new)
        elif old != new:
            differing += 1
            print("differs: %s" % path)
            for before, after in zip(old.split("\n\n"), new.split("\n\n")):
                if before != after:
                    print("  script: %s\n  duckdb: %s" % (before.replace("\n", "\n    "), after.replace("\n", "\n    ")))
    return 1 if differing else 0


sys.exit(main())
