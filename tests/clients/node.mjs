// node-postgres: parameters, named statements, errors.
import assert from 'node:assert';
import pg from 'pg';
const client = new pg.Client({ ssl: { rejectUnauthorized: false } });
await client.connect();
await client.query('CREATE TABLE n (id INT PRIMARY KEY, name TEXT, at TIMESTAMPTZ)');
await client.query('INSERT INTO n VALUES ($1, $2, $3)', [1, 'a', new Date(0)]);
const { rows } = await client.query({ name: 'q', text: 'SELECT * FROM n WHERE id = $1', values: [1] });
assert.deepEqual(rows, [{ id: 1, name: 'a', at: new Date(0) }]);
await assert.rejects(client.query('INSERT INTO n (id) VALUES (1)'), { code: '23505' });
await client.end();
