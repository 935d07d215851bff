"""asyncpg: everything in binary, prepared statements, cursors that read a few rows at a time."""
import asyncio, datetime, os, ssl
import asyncpg


async def main():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    c = await asyncpg.connect(password=os.environ["PGPASSWORD"], ssl=context)
    await c.execute("CREATE TABLE a (id BIGINT PRIMARY KEY, d DATE)")
    await c.executemany("INSERT INTO a VALUES ($1, $2)", [(i, datetime.date(2024, 1, 1)) for i in range(10)])
    row = await c.fetchrow("SELECT * FROM a WHERE id = $1", 7)
    assert tuple(row) == (7, datetime.date(2024, 1, 1)), row
    assert await c.fetchval("SELECT $1::int + 1", 41) == 42
    async with c.transaction():
        assert [r["id"] async for r in c.cursor("SELECT id FROM a ORDER BY id", prefetch=3)] == list(range(10))
    await c.close()


asyncio.run(main())
