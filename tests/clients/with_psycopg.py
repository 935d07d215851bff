"""psycopg 3: parameters and rows of every type in text and binary, pipelines, COPY, errors, channel binding."""
import datetime, decimal, uuid
import psycopg

c = psycopg.connect("channel_binding=require")
cur = c.cursor()
cur.execute(
    "CREATE TABLE py (id BIGINT PRIMARY KEY, b BOOLEAN, n NUMERIC(12,3), d DATE, ts TIMESTAMP, tz TIMESTAMPTZ, "
    "f DOUBLE PRECISION, x BYTEA, u UUID, t TEXT, iv INTERVAL, l INTEGER[])"
)
utc = datetime.timezone.utc
row = (
    1, True, decimal.Decimal("12.500"), datetime.date(2024, 2, 29), datetime.datetime(2024, 1, 2, 3, 4, 5, 678),
    datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=utc), 1.5, b"\x00\xff", uuid.UUID(int=7), "a'b\\c",
    datetime.timedelta(days=3, seconds=5), [1, 2, 3],
)
cur.execute("INSERT INTO py VALUES (" + ", ".join(["%s"] * len(row)) + ")", row)
for binary in (False, True):
    got = c.cursor(binary=binary).execute("SELECT * FROM py WHERE id = %s", (1,)).fetchone()
    assert got == row, (binary, got)
cur.execute("INSERT INTO py (id, t) VALUES (%(i)s, %(t)s) RETURNING id, t", {"i": 2, "t": None})
assert cur.fetchone() == (2, None)
c.commit()
try:
    cur.execute("INSERT INTO py (id) VALUES (1)")
    raise AssertionError("a key is there twice")
except psycopg.errors.UniqueViolation:
    c.rollback()
with c.pipeline():
    for i in range(10, 20):
        cur.execute("INSERT INTO py (id) VALUES (%s)", (i,))
c.commit()
with cur.copy("COPY py (id, t) FROM STDIN") as copy:
    for i in range(100, 110):
        copy.write_row((i, f"t{i}\n\t\\"))
c.commit()
with cur.copy("COPY (SELECT id, t FROM py WHERE id >= 109) TO STDOUT") as copy:
    assert list(copy.rows()) == [("109", "t109\n\t\\")]
assert cur.execute("SELECT count(*) FROM py").fetchone() == (22,)
for binary in (False, True):
    with c.cursor("a cursor", binary=binary) as served:
        served.itersize = 7
        served.execute("SELECT id FROM py WHERE id < %s ORDER BY id", (20,))
        assert served.description[0].name == "id"
        assert [i for i, in served] == [1, 2, *range(10, 20)]
c.commit()
c.close()
