"""DuckDB as the one whose answers are right: reads one JSON request per line, answers with one JSON line each.

Requests: {"op": "reset"} begins with an empty database, {"op": "sql", "sql": text} runs a statement, "count" in its place one
that changes rows and shows none: the answer is how many. {"op": "functions"} lists functions with the types of their parameters,
{"op": "coverage"} names, kinds, numbers of parameters and examples of all that somebody may call. A result is {"names": ...,
"types": ..., "rows": ...} with values as text, an error is {"error": text}.
"""

import json
import sys

import duckdb

FUNCTIONS = """
    SELECT DISTINCT function_name, function_type, parameter_types::VARCHAR[]
    FROM duckdb_functions()
    WHERE function_type IN ('scalar', 'aggregate') AND varargs IS NULL AND len(parameter_types) BETWEEN 1 AND 4
      AND regexp_full_match(function_name, '[a-z][a-z0-9_]*') AND coalesce(stability, 'CONSISTENT') = 'CONSISTENT'
    ORDER BY ALL
"""

# Without operators, collations, what tests and files of other programs need, and what only checks its own plans.
COVERAGE = """
    SELECT function_name, function_type, list_sort(list(DISTINCT len(parameters)))::VARCHAR[], list_distinct(flatten(list(coalesce(examples, []))))
    FROM duckdb_functions()
    WHERE regexp_full_match(function_name, '[a-zA-Z]\\w*') AND function_type <> 'pragma'
      AND NOT regexp_matches(function_name, '^icu_collate|^__internal|verif')
    GROUP BY ALL
    ORDER BY ALL
"""


# A result of more rows is not compared: it may not fit into memory. As in tests/run_statement.rs.
MOST_ROWS = 500_000


def fresh():
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def answer(connection, sql):
    relation = connection.sql(sql)
    if relation is None:
        return {"names": [], "types": [], "rows": []}
    count = len(relation.columns)
    texts = relation.project(", ".join("CAST(#%d AS VARCHAR)" % (n + 1) for n in range(count)))
    rows = texts.limit(MOST_ROWS + 1).fetchall()
    if len(rows) > MOST_ROWS:
        return {"error": "Client Error: more rows than are compared"}
    return {"names": relation.columns, "types": [str(kind) for kind in relation.types], "rows": rows}


def count(connection, sql):
    rows = connection.execute(sql).fetchall()
    described = connection.description
    texts = [[str(value) for value in row] for row in rows]
    return {"names": [one[0] for one in described], "types": [str(one[1]) for one in described], "rows": texts}


def main():
    connection = fresh()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] == "reset":
                connection.close()
                connection = fresh()
                reply = {}
            elif request["op"] == "functions":
                reply = {"rows": connection.execute(FUNCTIONS).fetchall()}
            elif request["op"] == "count":
                reply = count(connection, request["sql"])
            elif request["op"] == "coverage":
                reply = {"rows": connection.execute(COVERAGE).fetchall()}
            else:
                reply = answer(connection, request["sql"])
        except duckdb.Error as error:
            reply = {"error": str(error).splitlines()[0]}
        except Exception as error:
            reply = {"error": "Client Error: %s" % error}
        print(json.dumps(reply), flush=True)


main()
