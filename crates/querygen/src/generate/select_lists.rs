//! Ways to write a select list: stars, names before their values and given twice, names that later parts use, DISTINCT ON,
//! and set operations by name.

use super::queries::{items, sorted_by_all};
use super::{Generator, Scope};
use crate::column_type::ColumnType;
use crate::tree::{Body, Expression, Item, Naming, Query, Select, Source, Star};

impl Generator {
    /// A SELECT of all columns of FROM but some, some by another name and some with another value.
    pub(crate) fn starred(&mut self, outer: &Scope) -> Select {
        let (source, scope) = self.sources(outer);
        let filter = self.dice.chance(50).then(|| self.condition(&scope, 2));
        let Some(columns) = of_star(&source, &scope) else {
            return Select {
                items: items(vec![Expression::integer(1)]),
                filter,
                ..Select::from(source)
            };
        };
        let texts = ["*", "*", "*", "COLUMNS(*)"];
        let mut star = Star {
            text: (*self.dice.pick(&texts)).to_owned(),
            excluded: vec![],
            renamed: vec![],
            replaced: vec![],
            count: 0,
        };
        let plain = star.text != "*";
        let mut items = vec![];
        for (n, column) in columns.iter().enumerate() {
            let Expression::Column { name, ty, .. } = column else {
                continue;
            };
            let twice = columns
                .iter()
                .filter(|other| matches!(other, Expression::Column { name: n, .. } if n == name))
                .count()
                > 1;
            let mut item = Item::new(column.clone(), name.clone());
            if twice {
                item.alias = again(&items, name);
                if item.alias != *name {
                    item.naming = Naming::Again(name.clone());
                }
            }
            match self.dice.below(10) {
                _ if plain || twice => {}
                0..=1 if columns.len() > 1 => {
                    star.excluded.push(name.clone());
                    continue;
                }
                2 => {
                    star.replaced.push(items.len());
                    item.expression = self.expression(ty, &scope, 1);
                }
                3 => {
                    star.renamed.push((name.clone(), items.len()));
                    item.alias = format!("y{n}");
                }
                _ => {}
            }
            items.push(item);
        }
        star.count = items.len();
        if items.is_empty() || self.dice.chance(30) {
            let ty = self.key_type(&scope);
            items.push(Item::new(self.expression(&ty, &scope, 1), "z".to_owned()));
        }
        Select {
            star: (star.count > 0).then_some(star),
            distinct: self.dice.chance(15),
            items,
            filter,
            ..Select::from(source)
        }
    }

    /// One row of those that are equal in a column or two, by DISTINCT ON: the first of all rows in order.
    pub(crate) fn chosen(&mut self, outer: &Scope) -> Query {
        let mut select = self.plain(None, outer);
        select.distinct = false;
        let mut keys = select
            .items
            .iter()
            .filter(|item| !item.expression.ty().is_nested());
        let Some(key) = keys.next().cloned() else {
            return Query::of(select);
        };
        let by_name = Expression::named(&key.alias, key.expression.ty().clone());
        let is_literal = matches!(key.expression, Expression::Literal { .. });
        let key = if is_literal || self.dice.chance(50) {
            by_name
        } else {
            key.expression
        };
        select.distinct_on = vec![key];
        let mut query = Query::of(select);
        query.order = sorted_by_all(&query, &mut self.dice);
        query
    }

    /// A SELECT whose names are used further on in it, and in WHERE.
    pub(crate) fn by_aliases(&mut self, outer: &Scope) -> Select {
        let mut select = self.plain(None, outer);
        // A column of FROM would go before a name of the select list.
        for (n, item) in select.items.iter_mut().enumerate() {
            item.alias = format!("k{n}");
        }
        let names = select
            .items
            .iter()
            .map(|item| Expression::named(&item.alias, item.expression.ty().clone()));
        let scope = Scope {
            columns: names.collect(),
            depth: 9,
            ..Scope::default()
        };
        let ty = self.some_type(&scope);
        let at = select.items.len();
        let more = Item::new(self.expression(&ty, &scope, 1), format!("k{at}"));
        select.items.push(more);
        if self.dice.chance(40) {
            select.filter = Some(self.condition(&scope, 1));
        }
        select
    }

    /// A query in FROM whose second column has the name of its first.
    pub(crate) fn named_twice(&mut self, scope: &Scope) -> Query {
        let mut query = Query::of(self.plain(None, scope));
        if let Body::Select(select) = &mut query.body {
            name_again(&mut select.items);
        }
        query
    }

    /// The columns of the query are named before their values, or the second as the first.
    pub(crate) fn name_otherwise(&mut self, query: &mut Query) {
        let sorted = !query.order.is_empty();
        let Body::Select(select) = &mut query.body else {
            return;
        };
        if sorted || select.star.is_some() || select.qualify.is_some() || self.dice.chance(60) {
            for item in &mut select.items {
                item.naming = Naming::Before;
            }
        } else {
            name_again(&mut select.items);
        }
    }

    /// Two SELECTs put together by the names of their columns, which stand in another order, and of which one may be missing.
    pub(crate) fn by_name(&mut self, scope: &Scope) -> Query {
        let count = self.dice.between(2, 3);
        let types: Vec<ColumnType> = (0..count).map(|_| self.key_type(scope)).collect();
        let left = self.plain(Some(&types), scope);
        let mut right = self.plain(Some(&types), scope);
        right.items.reverse();
        if self.dice.chance(40) {
            right.items.pop();
        }
        let operator = *self.dice.pick(&["UNION BY NAME", "UNION ALL BY NAME"]);
        let body = |select| Body::Select(Box::new(select));
        Query::from_body(Body::set(operator, body(left), body(right)))
    }
}

/// The second column has the name of the first.
fn name_again(items: &mut [Item]) {
    if let [first, second, ..] = items {
        second.naming = Naming::Again(first.alias.clone());
        second.alias = format!("{}_1", first.alias);
    }
}

/// The name of one more column of that name.
fn again(items: &[Item], name: &str) -> String {
    let taken = |alias: &String| items.iter().any(|item| item.alias == *alias);
    let all = std::iter::once(name.to_owned()).chain((1..).map(|n| format!("{name}_{n}")));
    all.into_iter()
        .find(|alias| !taken(alias))
        .unwrap_or_default()
}

/// The columns that `*` stands for, in order; none where the columns of two sources are one.
fn of_star(source: &Source, scope: &Scope) -> Option<Vec<Expression>> {
    match source {
        Source::Join { kind, using, .. } if kind.starts_with("NATURAL") || !using.is_empty() => {
            None
        }
        Source::Join { left, right, .. } => {
            of_star(left, scope)?;
            match **right {
                Source::Join { .. } => of_star(right, scope)?,
                _ => vec![],
            };
            Some(scope.columns.clone())
        }
        _ => Some(scope.columns.clone()),
    }
}
