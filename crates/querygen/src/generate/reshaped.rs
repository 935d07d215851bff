//! PIVOT and UNPIVOT.

use super::queries::inner_scope;
use super::sources::{column, scope_of};
use super::{Generator, Scope};
use crate::column_type::ColumnType;
use crate::tree::{Query, Source};

impl Generator {
    /// A query whose values become columns, or whose columns become rows.
    pub(crate) fn reshaped(&mut self, outer: &Scope) -> (Source, Scope) {
        let alias = self.alias();
        let key = self
            .dice
            .pick(&[ColumnType::Varchar, ColumnType::Integer])
            .clone();
        let (form, types, columns) = match self.dice.below(4) {
            0 => self.pivot(key),
            1 => self.unpivot(key),
            _ => self.taken_apart(),
        };
        let query = Query::of(self.plain(Some(&types), &inner_scope(outer)));
        let columns = columns.iter().map(|(name, ty)| column(&alias, name, ty));
        let scope = scope_of(columns.collect(), outer);
        let source = Source::Reshaped {
            form,
            query: Box::new(query),
            alias,
        };
        (source, scope)
    }

    fn pivot(&mut self, key: ColumnType) -> Reshape {
        let values = match key {
            ColumnType::Integer => [("0", "0"), ("1", "1")],
            _ => [("'a'", "a"), ("'A'", "A1")],
        };
        let (aggregates, ends): (&str, &[(&str, ColumnType)]) = match self.dice.below(5) {
            0 => ("max(x1)", &[("", ColumnType::Integer)]),
            1 => ("count(*)", &[("", ColumnType::BigInt)]),
            2 => ("count(x1)", &[("", ColumnType::BigInt)]),
            3 => ("sum(x1)::BIGINT", &[("", ColumnType::BigInt)]),
            _ => (
                "min(x1) AS m, count(x1) AS n",
                &[("_m", ColumnType::Integer), ("_n", ColumnType::BigInt)],
            ),
        };
        let listed = format!("{}, {} AS \"{}\"", values[0].0, values[1].0, values[1].1);
        let form = match self.dice.chance(60) {
            true => format!("(PIVOT ({{}}) ON x0 IN ({listed}) USING {aggregates} GROUP BY x2)"),
            false => format!("({{}}) PIVOT ({aggregates} FOR x0 IN ({listed}) GROUP BY x2)"),
        };
        let mut columns = vec![("x2".to_owned(), ColumnType::Varchar)];
        for (_, name) in values {
            let named = ends
                .iter()
                .map(|(end, ty)| (format!("\"{name}{end}\""), ty.clone()));
            columns.extend(named);
        }
        (
            form,
            vec![key, ColumnType::Integer, ColumnType::Varchar],
            columns,
        )
    }

    /// A query's rows and columns in a SELECT that DuckDB alone has, or that goes on from its own rows.
    fn taken_apart(&mut self) -> Reshape {
        let (form, types, columns) = *self.dice.pick(&FORMS);
        let columns = columns.iter();
        let columns = columns.map(|(name, ty)| ((*name).to_owned(), ty.column_type()));
        let types = types.iter().map(Type::column_type);
        (form.to_owned(), types.collect(), columns.collect())
    }

    fn unpivot(&mut self, value: ColumnType) -> Reshape {
        let form = *self.dice.pick(&[
            "(UNPIVOT ({}) ON x0, x1 INTO NAME n VALUE v)",
            "({}) UNPIVOT (v FOR n IN (x0, x1))",
            "({}) UNPIVOT INCLUDE NULLS (v FOR n IN (x0, x1))",
        ]);
        let columns = [
            ("x2", ColumnType::Integer),
            ("n", ColumnType::Varchar),
            ("v", value.clone()),
        ];
        let columns = columns.map(|(name, ty)| (name.to_owned(), ty));
        let types = vec![value.clone(), value, ColumnType::Integer];
        (form.to_owned(), types, columns.to_vec())
    }
}

type Form = (
    &'static str,
    &'static [Type],
    &'static [(&'static str, Type)],
);

/// The types that forms name.
#[derive(Clone, Copy)]
enum Type {
    BigInt,
    Date,
    Integer,
    Integers,
    Varchar,
}

use Type as T;

impl Type {
    fn column_type(&self) -> ColumnType {
        match self {
            Self::BigInt => ColumnType::BigInt,
            Self::Date => ColumnType::Date,
            Self::Integer => ColumnType::Integer,
            Self::Integers => ColumnType::List(Box::new(ColumnType::Integer)),
            Self::Varchar => ColumnType::Varchar,
        }
    }
}

/// Forms of a query, with the types of its columns, `x0` and those behind it, and the columns that come of it.
const FORMS: [Form; 19] = [
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

/// What is printed, the types of the query's columns, and the columns that come of it.
type Reshape = (String, Vec<ColumnType>, Vec<(String, ColumnType)>);
