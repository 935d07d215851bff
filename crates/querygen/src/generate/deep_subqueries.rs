//! Subqueries that are more than rows of one table: counts, groups with HAVING, set operations, queries within their FROM, and
//! values of both queries.

use super::queries::{below, items, sorted_by_all};
use super::{Generator, Scope, seen_beside};
use crate::column_type::ColumnType;
use crate::tree::{Body, Expression, Group, Query, Select};

impl Generator {
    /// The value of a subquery, which rows of the query around it choose at times.
    pub(crate) fn deep_value(&mut self, ty: &ColumnType, scope: &Scope) -> Expression {
        match self.dice.below(6) {
            0 if ty.is_integer() => {
                let (mut select, columns) = self.chosen_rows(scope);
                select.items = items(vec![self.aggregate(&within(&columns))]);
                value_of(ty, &format!("TRY_CAST(({{}}) AS {ty})"), Query::of(select))
            }
            1 => self.of_chosen_group(ty, scope),
            2 => {
                let (mut select, columns) = self.chosen_rows(scope);
                let value = self.expression(ty, &within(&beside(&columns, scope)), 1);
                select.items = items(vec![value]);
                value_of(ty, "({})", self.least(Query::of(select)))
            }
            3 => {
                let operator = *self
                    .dice
                    .pick(&["UNION ALL", "UNION", "EXCEPT", "INTERSECT"]);
                let body = self.two_bodies(operator, std::slice::from_ref(ty), scope);
                value_of(ty, "({})", self.least(Query::from_body(body)))
            }
            _ => self.of_rows_in_from(ty, scope),
        }
    }

    /// Rows for IN or EXISTS.
    pub(crate) fn deep_rows(&mut self, types: &[ColumnType], scope: &Scope) -> Query {
        if self.dice.chance(25) {
            let operator = *self
                .dice
                .pick(&["UNION ALL", "UNION", "EXCEPT", "INTERSECT"]);
            return Query::from_body(self.two_bodies(operator, types, scope));
        }
        let (mut select, columns) = self.chosen_rows(scope);
        if self.dice.chance(40) {
            let inner = within(&columns);
            let keys: Vec<_> = types.iter().map(|ty| self.leaf(ty, &inner)).collect();
            let is_literal = |key: &Expression| matches!(key, Expression::Literal { .. });
            select.items = items(keys.clone());
            if keys.iter().any(is_literal) {
                return Query::of(select);
            }
            select.group = Group::Keys(keys.clone());
            select.having = self.dice.chance(60).then(|| self.having(&keys, &inner));
            return Query::of(select);
        }
        let both = within(&beside(&columns, scope));
        let values = types.iter().map(|ty| self.expression(ty, &both, 1));
        select.items = items(values.collect());
        select.distinct = self.dice.chance(20);
        let mut query = Query::of(select);
        if self.dice.chance(40) {
            query.order = sorted_by_all(&query, &mut self.dice);
            query.limit = Some(self.dice.below(3));
            query.offset = self.dice.chance(30).then(|| self.dice.below(2));
        }
        query
    }

    /// Rows of a table that those around them choose at times, without columns yet, and what they have.
    fn chosen_rows(&mut self, scope: &Scope) -> (Select, Scope) {
        let alias = self.alias();
        let (source, columns) = match self.dice.chance(25) {
            true => self.sources(&below(scope)),
            false => self.relation(alias, &below(scope)),
        };
        let filter = match self.dice.chance(75) {
            true => self.correlation(&columns, scope),
            false => None,
        };
        let select = Select {
            filter,
            ..Select::from(source)
        };
        (select, columns)
    }

    /// The first of the groups, or the one of all rows where HAVING takes it.
    fn of_chosen_group(&mut self, ty: &ColumnType, scope: &Scope) -> Expression {
        let (mut select, columns) = self.chosen_rows(scope);
        let inner = within(&columns);
        select.items = items(vec![self.extreme(ty, &inner)]);
        let key = self.key_type(&inner);
        let key = self.leaf(&key, &inner);
        if matches!(key, Expression::Literal { .. }) || self.dice.chance(40) {
            select.having = Some(self.having(&[], &inner));
            return value_of(ty, "({})", Query::of(select));
        }
        select.having = self
            .dice
            .chance(40)
            .then(|| self.having(std::slice::from_ref(&key), &inner));
        select.group = Group::Keys(vec![key]);
        value_of(ty, "({})", self.least(Query::of(select)))
    }

    /// The least or greatest value of a query in FROM, or of what its window functions have.
    fn of_rows_in_from(&mut self, ty: &ColumnType, scope: &Scope) -> Expression {
        let (mut select, columns) = self.chosen_rows(scope);
        let both = within(&beside(&columns, scope));
        let mut values = vec![self.expression(ty, &both, 1)];
        if self.dice.chance(30) {
            // Alone, or beside what it is sorted by, as of rows that may change places.
            let window = self.window(&within(&columns), true);
            values.push(window);
        }
        select.items = items(values);
        select.distinct = self.dice.chance(20);
        let mut query = Query::of(select);
        if self.dice.chance(40) {
            query.order = sorted_by_all(&query, &mut self.dice);
            query.limit = Some(self.dice.between(1, 3));
        }
        let (source, mut of_query) = self.derived(query);
        let mut outer = Select::from(source);
        if of_query.columns.len() > 1 || self.dice.chance(30) {
            outer.filter = Some(self.condition(&within(&of_query), 1));
        }
        of_query.columns.truncate(1);
        let function = *self.dice.pick(&["min", "max"]);
        let value = aggregate(function, ty, of_query.columns);
        outer.items = items(vec![value]);
        value_of(ty, "({})", Query::of(outer))
    }

    fn extreme(&mut self, ty: &ColumnType, scope: &Scope) -> Expression {
        let argument = self.expression(ty, scope, 1);
        let function = *self.dice.pick(&["min", "max"]);
        aggregate(function, ty, vec![argument])
    }

    fn two_bodies(&mut self, operator: &'static str, types: &[ColumnType], scope: &Scope) -> Body {
        let mut body = || {
            let (mut select, columns) = self.chosen_rows(scope);
            let both = within(&beside(&columns, scope));
            let values = types.iter().map(|ty| self.expression(ty, &both, 1));
            select.items = items(values.collect());
            Body::Select(Box::new(select))
        };
        Body::set(operator, body(), body())
    }

    /// The first row in order.
    fn least(&mut self, mut query: Query) -> Query {
        query.order = sorted_by_all(&query, &mut self.dice);
        query.limit = Some(1);
        query
    }
}

fn aggregate(function: &str, ty: &ColumnType, arguments: Vec<Expression>) -> Expression {
    Expression::Aggregate {
        ty: ty.clone(),
        function: function.to_owned(),
        distinct: false,
        arguments,
        ordered: false,
        filter: None,
    }
}

fn value_of(ty: &ColumnType, form: &str, query: Query) -> Expression {
    Expression::Subquery {
        ty: ty.clone(),
        form: form.to_owned(),
        arguments: vec![],
        query: Box::new(query),
    }
}

/// The same columns, where no more queries stand.
fn within(scope: &Scope) -> Scope {
    Scope {
        depth: 9,
        ..scope.clone()
    }
}

/// Columns of both queries. A name alone would be that of an item of the inner one.
fn beside(inner: &Scope, outer: &Scope) -> Scope {
    let mut both = inner.clone();
    let mut others = seen_beside(&inner.columns, &outer.columns);
    others.retain(|other| {
        matches!(
            other,
            Expression::Column {
                qualifier: Some(_),
                ..
            }
        )
    });
    both.columns.extend(others);
    both
}

#[cfg(test)]
mod tests {
    use crate::{Dice, Generator, world};

    #[test]
    fn every_kind_of_query_is_made() {
        let mut texts = String::new();
        for seed in 0..400 {
            let mut dice = Dice::new(seed);
            let world = world(&mut dice);
            let mut generator = Generator::new(&world, dice.fork());
            for _ in 0..8 {
                texts.push_str(&format!("{};\n", generator.query()));
            }
        }
        for words in [
            "WITH q0 AS MATERIALIZED (",
            ", q1 AS ",
            "TRY_CAST((SELECT count(",
            "(SELECT max(",
            " INTERSECT SELECT",
            " HAVING ",
            "quantile_disc(",
            "stddev_samp(",
            "grouping(",
            "RANGE BETWEEN INTERVAL 1 DAY PRECEDING",
            " AS HUGEINT)",
            "WINDOW w AS",
            "GROUPING SETS ((x0), ROLLUP",
        ] {
            assert!(texts.contains(words), "{words}");
        }
    }
}
