//! Forms of a query that DuckDB alone has, or that go on from its own rows.

use crate::column_type::ColumnType;
use Type as T;

/// What is printed, the types of the query's columns, and the columns that come of it.
pub(super) type Form = (
    &'static str,
    &'static [Type],
    &'static [(&'static str, Type)],
);

/// The types that forms name.
#[derive(Clone, Copy)]
pub(super) enum Type {
    BigInt,
    Date,
    Double,
    Doubles,
    Integer,
    Integers,
    Varchar,
}

impl Type {
    pub(super) fn column_type(&self) -> ColumnType {
        match self {
            Self::BigInt => ColumnType::BigInt,
            Self::Date => ColumnType::Date,
            Self::Double => ColumnType::Double,
            Self::Doubles => ColumnType::List(Box::new(ColumnType::Double)),
            Self::Integer => ColumnType::Integer,
            Self::Integers => ColumnType::List(Box::new(ColumnType::Integer)),
            Self::Varchar => ColumnType::Varchar,
        }
    }
}

/// Forms of a query, with the types of its columns, `x0` and those behind it, and the columns that come of it.
pub(super) const FORMS: [Form; 19] = [
    (
        "(SELECT x0, unnest(x1) AS u FROM ({}))",
        &[T::Integer, T::Integers],
        &[("x0", T::Integer), ("u", T::Integer)],
    ),
    (
        "(SELECT unnest({'a': x0, 'b': x1}) FROM ({}))",
        &[T::Integer, T::Varchar],
        &[("a", T::Integer), ("b", T::Varchar)],
    ),
    (
        "(WITH RECURSIVE r(n, k) AS (SELECT x0, 0 FROM ({}) UNION ALL SELECT n // 2, k + 1 FROM r WHERE k < 2) SELECT * FROM r)",
        &[T::Integer],
        &[("n", T::Integer), ("k", T::Integer)],
    ),
    (
        "(WITH RECURSIVE r(n) AS (SELECT x0 FROM ({}) UNION SELECT n // 2 FROM r) SELECT * FROM r)",
        &[T::Integer],
        &[("n", T::Integer)],
    ),
    (
        "(FROM ({}) SELECT x0, count(x1) AS s GROUP BY ALL)",
        &[T::Varchar, T::Integer],
        &[("x0", T::Varchar), ("s", T::BigInt)],
    ),
    (
        "(SELECT min(COLUMNS(*)) FROM ({}))",
        &[T::Varchar, T::Integer],
        &[("x0", T::Varchar), ("x1", T::Integer)],
    ),
    (
        "(SELECT COLUMNS('x[12]') FROM ({}))",
        &[T::Varchar, T::Integer, T::Date],
        &[("x1", T::Integer), ("x2", T::Date)],
    ),
    (
        "(SELECT x0, v FROM ({}) AS q, (VALUES (1), (2), (NULL)) AS w(v) WHERE q.x1 IS DISTINCT FROM w.v)",
        &[T::Varchar, T::Integer],
        &[("x0", T::Varchar), ("v", T::Integer)],
    ),
    (
        "(SELECT q.x0, i FROM ({}) AS q, unnest(q.x1) AS w(i))",
        &[T::Varchar, T::Integers],
        &[("x0", T::Varchar), ("i", T::Integer)],
    ),
    (
        "(SELECT q.x0, w.u, w.o FROM ({}) AS q, unnest(q.x1) WITH ORDINALITY AS w(u, o))",
        &[T::Varchar, T::Integers],
        &[("x0", T::Varchar), ("u", T::Integer), ("o", T::BigInt)],
    ),
    (
        "(SELECT q.x0, r.g FROM ({}) AS q, range(q.x1 % 3) AS r(g))",
        &[T::Varchar, T::Integer],
        &[("x0", T::Varchar), ("g", T::BigInt)],
    ),
    (
        "(SELECT x0, unnest(string_split(x1, 'a')) AS u FROM ({}))",
        &[T::Integer, T::Varchar],
        &[("x0", T::Integer), ("u", T::Varchar)],
    ),
    (
        "(SELECT j->>'$.b' AS b, CAST(j->'a' AS VARCHAR) AS a FROM (SELECT json_object('a', x0, 'b', x1) AS j FROM ({})))",
        &[T::Integer, T::Varchar],
        &[("b", T::Varchar), ("a", T::Varchar)],
    ),
    (
        "(SELECT x0, grouping(x0) AS g, string_agg(x1, ',' ORDER BY x1) AS s FROM ({}) GROUP BY ROLLUP (x0))",
        &[T::Integer, T::Varchar],
        &[("x0", T::Integer), ("g", T::BigInt), ("s", T::Varchar)],
    ),
    (
        "(WITH RECURSIVE r(n, k) USING KEY (n) AS (SELECT x0, 0 FROM ({}) UNION ALL SELECT n // 2, max(k) + 1 FROM r WHERE k < 2 GROUP BY n // 2) SELECT * FROM r)",
        &[T::Integer],
        &[("n", T::Integer), ("k", T::Integer)],
    ),
    (
        "(SELECT m.key AS k, m.value AS v FROM (SELECT unnest(map_entries(MAP([x0], [x1]))) AS m FROM ({}) WHERE x0 IS NOT NULL))",
        &[T::Varchar, T::Integer],
        &[("k", T::Varchar), ("v", T::Integer)],
    ),
    (
        "(SELECT x0, x1 FROM ({}) WHERE (x0, x1) IN (VALUES (0, 'a'), (1, 'A'), (2, NULL)))",
        &[T::Integer, T::Varchar],
        &[("x0", T::Integer), ("x1", T::Varchar)],
    ),
    (
        "(SELECT x0, x1 FROM ({}) QUALIFY row_number() OVER (PARTITION BY x0 ORDER BY x1 DESC) = 1)",
        &[T::Varchar, T::Integer],
        &[("x0", T::Varchar), ("x1", T::Integer)],
    ),
    (
        "(FROM (SELECT s.a, s.b FROM (SELECT struct_pack(a := x0, b := ARRAY(SELECT x0 + i FROM (VALUES (1), (2)) AS w(i) ORDER BY i)) AS s FROM ({}))))",
        &[T::Integer],
        &[("a", T::Integer), ("b", T::Integers)],
    ),
];
