//! More forms of a query, whose parts are written nowhere else: named windows, queries that are read twice, sets of groups beside keys,
//! aggregates of several values, and limits that are computed.

use super::forms::{Form, Type as T};

const TEXT_AND_INTEGER: &[T] = &[T::Varchar, T::Integer];
const TWO_INTEGERS: &[T] = &[T::Integer, T::Integer];

/// Each as in [`super::forms`].
pub(super) const MORE_FORMS: [Form; 38] = [
    (
        "(SELECT q.b, q.a FROM ({}) AS q(a, b))",
        TEXT_AND_INTEGER,
        &[("b", T::Integer), ("a", T::Varchar)],
    ),
    (
        "(SELECT x0, sum(x1) OVER w::BIGINT AS s, count(*) OVER (w ORDER BY x1 RANGE UNBOUNDED PRECEDING) AS n FROM ({}) WINDOW w AS (PARTITION BY x0))",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("s", T::BigInt), ("n", T::BigInt)],
    ),
    (
        "(WITH q AS MATERIALIZED ({}) SELECT a.x0, b.x1 FROM q AS a JOIN q AS b USING (x0))",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("x1", T::Integer)],
    ),
    (
        "(WITH q AS NOT MATERIALIZED ({}) SELECT a.x0, (SELECT max(b.x1) FROM q AS b WHERE b.x0 = a.x0) AS x1 FROM q AS a)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("x1", T::Integer)],
    ),
    (
        "(WITH q AS ({}) SELECT x0, count(*) AS n FROM q WHERE x1 = (SELECT max(x1) FROM q) GROUP BY x0 UNION ALL SELECT 'z', count(*) FROM q)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("n", T::BigInt)],
    ),
    (
        "(WITH q AS ({}), p(k, n) AS (SELECT x0, count(*) FROM q GROUP BY ALL) SELECT q.x1, p.n FROM q LEFT JOIN p ON q.x0 = p.k)",
        TEXT_AND_INTEGER,
        &[("x1", T::Integer), ("n", T::BigInt)],
    ),
    (
        "(WITH RECURSIVE q AS ({}), r AS (SELECT x0, x1, 1 AS d FROM q WHERE x0 = 0 UNION ALL SELECT q.x0, q.x1, r.d + 1 FROM r JOIN q ON q.x0 = r.x1 WHERE r.d < 3) SELECT x1, d FROM r)",
        TWO_INTEGERS,
        &[("x1", T::Integer), ("d", T::Integer)],
    ),
    (
        "(WITH RECURSIVE q AS ({}), r(n) AS (SELECT x0 FROM q UNION SELECT q.x1 FROM q SEMI JOIN r ON r.n = q.x0) SELECT n FROM r)",
        TWO_INTEGERS,
        &[("n", T::Integer)],
    ),
    (
        "(SELECT x0, unnest(x1) AS u, unnest([1, 2]) AS v FROM ({}))",
        &[T::Varchar, T::Integers],
        &[("x0", T::Varchar), ("u", T::Integer), ("v", T::Integer)],
    ),
    (
        "(SELECT x0, generate_subscripts(x1, 1) AS u FROM ({}))",
        &[T::Varchar, T::Integers],
        &[("x0", T::Varchar), ("u", T::BigInt)],
    ),
    (
        "(SELECT unnest(q) FROM ({}) AS q)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("x1", T::Integer)],
    ),
    (
        "(SELECT (q).x0 AS a, struct_extract(q, 'x1') AS b FROM ({}) AS q)",
        TEXT_AND_INTEGER,
        &[("a", T::Varchar), ("b", T::Integer)],
    ),
    (
        "(SELECT x0, list(x1 ORDER BY x1 DESC NULLS LAST) AS l FROM ({}) GROUP BY x0)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("l", T::Integers)],
    ),
    (
        "(SELECT x0, string_agg(x1::VARCHAR, '-' ORDER BY x1 NULLS FIRST) FILTER (x1 <> 2) AS s FROM ({}) GROUP BY ALL)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("s", T::Varchar)],
    ),
    (
        "(SELECT x0, map_keys(histogram(x1)) AS k FROM ({}) GROUP BY x0)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("k", T::Integers)],
    ),
    (
        "(SELECT x0, max(x1, 2) AS k, arg_min(x1, x1) AS n FROM ({}) GROUP BY x0)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("k", T::Integers), ("n", T::Integer)],
    ),
    (
        "(SELECT x0, quantile_disc(x1, 0.5) AS m, quantile_cont(x1, [0.25, 0.75]) AS k FROM ({}) GROUP BY x0)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("m", T::Integer), ("k", T::Doubles)],
    ),
    (
        "(SELECT x0, avg(x1) OVER (PARTITION BY x0) AS a, mad(x1) OVER (PARTITION BY x0) AS m FROM ({}))",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("a", T::Double), ("m", T::Double)],
    ),
    (
        "(SELECT x0, x1 FROM ({}) WHERE x1 IN (SELECT unnest([0, 1, NULL])) OR x0 IN (SELECT 'a' UNION SELECT 'A'))",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("x1", T::Integer)],
    ),
    (
        "(SELECT * FROM ({}) ORDER BY ALL LIMIT 50%)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("x1", T::Integer)],
    ),
    (
        "(SELECT * FROM ({}) ORDER BY ALL DESC LIMIT (SELECT 1 + 1) OFFSET (SELECT 1))",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("x1", T::Integer)],
    ),
    (
        "(SELECT DISTINCT ON (x0) x0, x1 FROM ({}) ORDER BY x0, x1 DESC NULLS LAST)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("x1", T::Integer)],
    ),
    (
        "(SELECT DISTINCT ON (x0) x0, count(*) AS n FROM ({}) GROUP BY x0, x1 ORDER BY x0, n DESC)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("n", T::BigInt)],
    ),
    (
        "(SELECT COLUMNS(c -> c LIKE 'x%') % 3 FROM ({}))",
        TWO_INTEGERS,
        &[("x0", T::Integer), ("x1", T::Integer)],
    ),
    (
        "(SELECT x0, x1, grouping(x0, x1) AS g, count(*) AS n FROM ({}) GROUP BY x0, ROLLUP (x1))",
        TEXT_AND_INTEGER,
        &[
            ("x0", T::Varchar),
            ("x1", T::Integer),
            ("g", T::BigInt),
            ("n", T::BigInt),
        ],
    ),
    (
        "(SELECT x0, x1, count(*) AS n FROM ({}) GROUP BY GROUPING SETS ((x0), ROLLUP (x0, x1), CUBE (x1), ()) HAVING n > 1)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("x1", T::Integer), ("n", T::BigInt)],
    ),
    (
        "(SELECT x0, grouping_id(x0, x1) AS g, sum(x1)::BIGINT AS s FROM ({}) GROUP BY CUBE (x0, x1), ROLLUP (x0))",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("g", T::BigInt), ("s", T::BigInt)],
    ),
    (
        "(SELECT x0, sum(sum(x1)) OVER (ORDER BY x0)::BIGINT AS s, rank() OVER (ORDER BY count(*) DESC) AS r FROM ({}) GROUP BY x0)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("s", T::BigInt), ("r", T::BigInt)],
    ),
    (
        "(SELECT x0, x1 FROM ({}) AS q WHERE EXISTS (FROM (VALUES (1), (2)) AS w(v) WHERE v = q.x1 AND q.x0 IS NOT NULL))",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("x1", T::Integer)],
    ),
    (
        "(SELECT q.x0, l.s FROM ({}) AS q, LATERAL (SELECT sum(i)::BIGINT AS s FROM range(q.x1 % 4) AS r(i)) AS l)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("s", T::BigInt)],
    ),
    (
        "(SELECT q.x0, l.i FROM ({}) AS q LEFT JOIN LATERAL (SELECT i FROM unnest(q.x1) AS u(i) WHERE i > 0) AS l ON true)",
        &[T::Varchar, T::Integers],
        &[("x0", T::Varchar), ("i", T::Integer)],
    ),
    (
        "(SELECT x0, (SELECT list(i ORDER BY i) FROM unnest(q.x1) AS u(i) WHERE i IS DISTINCT FROM 1) AS l FROM ({}) AS q)",
        &[T::Varchar, T::Integers],
        &[("x0", T::Varchar), ("l", T::Integers)],
    ),
    (
        "(PIVOT ({}) ON x0 IN ('a', 'A'), x1 IN (0, 1) USING count(*) AS n GROUP BY x2)",
        &[T::Varchar, T::Integer, T::Integer],
        &[
            ("x2", T::Integer),
            ("a_0_n", T::BigInt),
            ("a_1_n", T::BigInt),
        ],
    ),
    (
        "(UNPIVOT ({}) ON (x0, x1) AS p, (x1, x2) AS q INTO NAME n VALUE v, w)",
        &[T::Integer, T::Integer, T::Integer],
        &[("n", T::Varchar), ("v", T::Integer), ("w", T::Integer)],
    ),
    (
        "(UNPIVOT ({}) ON COLUMNS('x[01]') INTO NAME n VALUE v)",
        &[T::Integer, T::Integer, T::Varchar],
        &[("x2", T::Varchar), ("n", T::Varchar), ("v", T::Integer)],
    ),
    (
        "(SELECT x0, x1 + 0.5e0 AS y, x1 FROM ({}) WHERE y > 1 ORDER BY y)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("y", T::Double), ("x1", T::Integer)],
    ),
    (
        "(SELECT x0, CASE WHEN x1 > 0 THEN x1 ELSE x1 // 2 END::BIGINT AS y FROM ({}) EXCEPT ALL SELECT 'a', 1)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("y", T::BigInt)],
    ),
    (
        "(SELECT a.x0, b.v FROM ({}) AS a ASOF LEFT JOIN (VALUES (0), (2), (5)) AS b(v) ON a.x1 >= b.v)",
        TEXT_AND_INTEGER,
        &[("x0", T::Varchar), ("v", T::Integer)],
    ),
];
