-- What psql sends: several statements, transactions, COPY, errors that are expected.
CREATE TABLE p (id INTEGER PRIMARY KEY, name TEXT);
BEGIN;
INSERT INTO p VALUES (1, 'a'), (2, NULL);
COMMIT;
\copy p FROM STDIN
3	c
4	\N
\.
\copy (SELECT * FROM p ORDER BY id) TO '/dev/null' CSV HEADER
SELECT count(*) AS n FROM p \gset
SELECT :n = 4 AS all_rows \gset
\if :all_rows
\else
    SELECT * FROM rows_are_missing;
\endif
\set FETCH_COUNT 2
SELECT * FROM p;
\unset FETCH_COUNT
\d
\d p
\d+ p
\dt+ *.*
\di
\dn+
\du
\l+
\df
\z
DROP TABLE p;
