-- What a session on a database does. A word between two at signs stands for a marker of its own, and says first of which kind
-- it is: name, text, int, double, uuid or blob. Two more stand for the directory of the databases and that of files to load.
-- Nobody but root looks into a shell that was given a key, unless it allows that.
SET disable_core_dumps = false;
SET memory_limit = '100MB';
PRAGMA wal_autocheckpoint = '1TB';
CREATE SCHEMA @name schema@;
CREATE TABLE @name schema@.@name table@ (
    n BIGINT CONSTRAINT @name primary key@ PRIMARY KEY,
    @name column@ VARCHAR DEFAULT '@text default@',
    u VARCHAR CONSTRAINT @name unique key@ UNIQUE,
    d DOUBLE, i UUID, b BLOB, at TIMESTAMP,
    CONSTRAINT @name check@ CHECK (u <> '@text check@')
);
CREATE VIEW @name view@ AS SELECT n AS @name view column@ FROM @name schema@.@name table@ WHERE u <> '@text view@';
INSERT INTO @name schema@.@name table@ VALUES
    (@int value@, '@text value@', '@text unique value@', @double value@, '@uuid value@', '@blob value@'::BLOB, '2001-02-03 04:05:06'),
    (@int value 2@, '@text value 2@', '@text unique value 2@', 0, NULL, NULL, NULL);
INSERT INTO @name schema@.@name table@ (n, u) VALUES (@int value of a default@, '@text beside a default@');
CREATE INDEX @name index@ ON @name schema@.@name table@ (@name column@);
UPDATE @name schema@.@name table@ SET @name column@ = '@text updated value@' WHERE n = @int value 2@;
UPDATE @name schema@.@name table@ SET @name column@ = '@text value updated twice@' WHERE u = '@text unique value 2@';
DELETE FROM @name schema@.@name table@ WHERE u = '@text beside a default@';
INSERT INTO @name schema@.@name table@ (n, u) VALUES (@int value 2@, '@text value in conflict@') ON CONFLICT (n) DO UPDATE SET u = excluded.u;
-- The log has all of it; now the file has.
CHECKPOINT;
INSERT INTO @name schema@.@name table@ (n, @name column@) VALUES (@int value in the second log@, '@text value in the second log@');
BEGIN;
INSERT INTO @name schema@.@name table@ (n, @name column@) VALUES (@int value rolled back@, '@text value rolled back@');
SAVEPOINT @name savepoint@;
CREATE TABLE @name table rolled back@ (@name column rolled back@ VARCHAR);
ROLLBACK TO @name savepoint@;
ROLLBACK;
PREPARE @name prepared@ AS SELECT count(*) FROM @name schema@.@name table@ WHERE u = $1 OR @name column@ = '@text in a prepared statement@';
EXECUTE @name prepared@('@text parameter@');
ALTER TABLE @name schema@.@name table@ ADD COLUMN @name added column@ VARCHAR DEFAULT '@text added default@';
ALTER TABLE @name schema@.@name table@ RENAME COLUMN @name added column@ TO @name renamed column@;
COPY @name schema@.@name table@ (n, @name column@) FROM '@input@/rows.csv' (HEADER);
CREATE TABLE @name loaded table@ AS SELECT * FROM '@input@/rows.csv';
-- More than memory holds, in each way of spilling.
CREATE TABLE big AS SELECT i AS n, (i * 7919) % 1000003 AS h, '@text in a spill@' || i AS s FROM range(800000) r(i);
CREATE TEMP TABLE @name temporary table@ AS SELECT n AS @name temporary column@, s || '@text in a temporary table@' AS s FROM big;
CREATE TEMP VIEW @name temporary view@ AS SELECT '@text in a temporary view@' AS t FROM @name temporary table@;
CREATE TABLE sorted AS SELECT h, s, '@text constant in a sort@' AS c FROM big ORDER BY s DESC;
CREATE TABLE joined AS SELECT a.s || '@text in a join@' AS s, b.h FROM big a JOIN big b ON a.s = b.s;
CREATE TABLE grouped AS SELECT s || '@text in a group@' AS s, count(*) AS c, max(h) AS h FROM big GROUP BY 1;
CREATE TABLE distinct_rows AS SELECT DISTINCT h, s || '@text in distinct rows@' AS s FROM big;
CREATE TABLE numbered AS SELECT s, row_number() OVER (PARTITION BY h % 1000 ORDER BY s) AS r FROM (SELECT h, s || '@text in a window@' AS s FROM big WHERE n < 50000);
CREATE INDEX big_s ON big (s);
DELETE FROM big WHERE n % 2 = 0;
UPDATE big SET s = '@text updated in bulk@' || n WHERE n % 10 = 1;
VACUUM;
ATTACH '@path@other.hush' AS @name database@ (ENCRYPTION_KEY '@text passphrase@');
CREATE TABLE @name database@.@name other table@ AS SELECT s FROM big LIMIT 1000;
DETACH @name database@;
DROP TABLE sorted;
INSERT INTO @name schema@.@name table@ (n, @name column@) VALUES (@int last value@, '@text last value@');
