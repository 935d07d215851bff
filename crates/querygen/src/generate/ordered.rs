//! Queries that see the order of the rows of a query within them: numbers of rows, neighbours, lists and first values.
//!
//! What must hold: the inner query is sorted by all of its columns, so that rows which may change places are equal.

use super::queries::{items, sorted_by_all};
use super::sources::{column, scope_of};
use super::{Generator, Scope};
use crate::column_type::ColumnType;
use crate::tree::{Expression, Group, Query, Select, Source};

impl Generator {
    /// A SELECT from a sorted query.
    pub(crate) fn of_sorted_rows(&mut self) -> Select {
        let inner = Scope {
            depth: 1,
            ..Scope::default()
        };
        let mut query = Query::of(self.plain(None, &inner));
        query.order = sorted_by_all(&query, &mut self.dice);
        let (source, scope) = self.derived(query);
        match self.dice.chance(50) {
            true => self.gathered(source, &scope),
            false => self.numbered(source, &scope),
        }
    }

    pub(crate) fn derived(&mut self, query: Query) -> (Source, Scope) {
        let alias = self.alias();
        let columns = query.items().iter();
        let columns = columns.map(|item| column(&alias, &item.alias, item.expression.ty()));
        let scope = scope_of(columns.collect(), &Scope::default());
        let source = Source::Derived {
            query: Box::new(query),
            alias,
            lateral: false,
        };
        (source, scope)
    }

    /// Aggregates whose value follows the order of rows.
    fn gathered(&mut self, source: Source, scope: &Scope) -> Select {
        let keys = scope.columns.iter().filter(|key| !key.ty().is_nested());
        let keys: Vec<Expression> = match self.dice.chance(50) {
            true => keys.take(1).cloned().collect(),
            false => vec![],
        };
        let mut columns = keys.clone();
        for _ in 0..self.dice.between(1, 2) {
            let argument = self.dice.pick(&scope.columns).clone();
            let function = *self.dice.pick(&["list", "first", "last"]);
            let ty = match function {
                "list" => ColumnType::List(Box::new(argument.ty().clone())),
                _ => argument.ty().clone(),
            };
            columns.push(Expression::Aggregate {
                ty,
                function: function.to_owned(),
                distinct: false,
                arguments: vec![argument],
                ordered: false,
                filter: None,
            });
        }
        Select {
            items: items(columns),
            group: match keys.is_empty() {
                true => Group::None,
                false => Group::Keys(keys),
            },
            ..Select::from(source)
        }
    }

    /// Numbers of rows or their neighbours, each row once, or joined to others by its number.
    fn numbered(&mut self, source: Source, scope: &Scope) -> Select {
        let window = |function: &str, ty: &ColumnType, arguments| Expression::Window {
            ty: ty.clone(),
            function: function.to_owned(),
            arguments,
            partition: vec![],
            order: vec![],
            frame: String::new(),
            nulls: "",
            filter: None,
        };
        let mut columns = scope.columns.clone();
        columns.push(window("row_number", &ColumnType::BigInt, vec![]));
        let other = self.dice.pick(&scope.columns).clone();
        let function = *self.dice.pick(&["lag", "lead", "first_value"]);
        let ty = other.ty().clone();
        columns.push(window(function, &ty, vec![other]));
        let number = scope.columns.len();
        let select = Select {
            distinct: self.dice.chance(50),
            items: items(columns),
            ..Select::from(source)
        };
        if select.distinct {
            return select;
        }
        let (left, mut both) = self.derived(Query::of(select));
        let alias = self.alias();
        let (right, more) = self.relation(alias, &Scope::default());
        let of_right = more.columns.iter().find(|column| column.ty().is_integer());
        let on = match of_right {
            Some(of_right) => {
                let sides = vec![both.columns[number].clone(), of_right.clone()];
                Expression::call(ColumnType::Boolean, "({} = {})", sides)
            }
            None => Expression::test("({} < 3)", both.columns[number].clone()),
        };
        both.columns.extend(more.columns);
        let kind = *self
            .dice
            .pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        let source = Source::Join {
            kind,
            left: Box::new(left),
            right: Box::new(right),
            on: Some(on),
            using: vec![],
        };
        Select {
            items: items(both.columns),
            ..Select::from(source)
        }
    }
}
