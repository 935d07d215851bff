//! PIVOT and UNPIVOT.

use super::forms::FORMS;
use super::more_forms::MORE_FORMS;
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
        let (form, types, columns) = match self.dice.chance(50) {
            true => *self.dice.pick(&FORMS),
            false => *self.dice.pick(&MORE_FORMS),
        };
        let columns = columns.iter();
        let columns = columns.map(|(name, ty)| ((*name).to_owned(), ty.column_type()));
        let types = types.iter().map(super::forms::Type::column_type);
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

/// What is printed, the types of the query's columns, and the columns that come of it.
type Reshape = (String, Vec<ColumnType>, Vec<(String, ColumnType)>);
