//! Whole queries and subqueries.

use super::{Generator, Scope, seen_beside};
use crate::column_type::ColumnType;
use crate::dice::Dice;
use crate::tree::{Body, Expression, Group, Item, Naming, Query, Select, SortKey};
use crate::world::Column;

const SET_OPERATORS: [&str; 6] = [
    "UNION ALL",
    "UNION",
    "EXCEPT",
    "EXCEPT ALL",
    "INTERSECT",
    "INTERSECT ALL",
];

impl Generator {
    /// A query of any kind, at times over queries that stand before it.
    pub fn query(&mut self) -> Query {
        if !self.dice.chance(12) {
            return self.query_alone();
        }
        let known = self.relations.len();
        let mut with = vec![];
        for n in 0..self.dice.between(1, 2) {
            let query = self.inner_query(&Scope::default());
            let name = format!("q{n}");
            let columns = query.items().iter();
            let columns =
                columns.map(|item| Column::new(&item.alias, item.expression.ty().clone()));
            let columns: Vec<_> = columns.collect();
            with.push((name.clone(), query));
            // Often enough to be named twice.
            for _ in 0..known {
                self.relations.push((name.clone(), columns.clone()));
            }
        }
        let mut query = self.query_alone();
        self.relations.truncate(known);
        with.append(&mut query.with);
        query.with = with;
        if self.dice.chance(50) {
            query.with_words = *self.dice.pick(&["MATERIALIZED ", "NOT MATERIALIZED "]);
        }
        query
    }

    fn query_alone(&mut self) -> Query {
        let scope = Scope::default();
        let mut query = match self.dice.below(100) {
            0..=13 => self.set_query(&scope),
            14..=17 => self.mixed_set(&scope),
            18..=39 => Query::of(self.grouped(&scope)),
            40..=49 => Query::of(self.windowed(&scope)),
            50..=55 => Query::of(self.of_sorted_rows()),
            56..=63 => Query::of(self.starred(&scope)),
            64..=67 => self.chosen(&scope),
            68..=72 => Query::of(self.by_aliases(&scope)),
            73..=76 => self.by_name(&scope),
            _ => Query::of(self.plain(None, &scope)),
        };
        if self.dice.chance(10) {
            query = self.with_cte(query);
        }
        self.sorted(&mut query);
        if query.with.is_empty() && self.dice.chance(15) {
            self.name_otherwise(&mut query);
        }
        query
    }

    /// A SELECT without groups, with a WHERE: what partitioning takes apart.
    pub fn filtered(&mut self) -> Query {
        let scope = Scope::default();
        let mut select = self.plain(None, &scope);
        if select.filter.is_none() {
            let ty = ColumnType::Integer;
            let columns = [self.expression(&ty, &scope, 0)];
            select.filter = Some(Expression::test("({} > 0)", columns[0].clone()));
        }
        Query::of(select)
    }

    /// A SELECT with keys or sets of keys, and aggregates.
    pub fn aggregated(&mut self) -> Query {
        Query::of(self.grouped(&Scope::default()))
    }

    /// All columns of a few tables side by side, with a WHERE without subqueries.
    pub fn product(&mut self) -> Query {
        let (mut source, mut scope) = self.table();
        for _ in 0..self.dice.below(3) {
            let (right, more) = self.table();
            scope.columns.extend(more.columns);
            source = crate::Source::Join {
                kind: "CROSS JOIN",
                left: Box::new(source),
                right: Box::new(right),
                on: None,
                using: vec![],
            };
        }
        scope.depth = 9;
        let mut select = Select::from(source);
        select.items = items(scope.columns.clone());
        select.filter = Some(self.condition(&scope, 3));
        Query::of(select)
    }

    fn table(&mut self) -> (crate::Source, Scope) {
        let alias = self.alias();
        self.relation(alias, &Scope::default())
    }

    /// What a view stands for.
    pub(crate) fn view(&mut self) -> Query {
        let scope = Scope {
            depth: 1,
            ..Scope::default()
        };
        self.inner_query(&scope)
    }

    /// A query in FROM.
    pub(crate) fn inner_query(&mut self, scope: &Scope) -> Query {
        match self.dice.below(10) {
            0 => self.set_query(scope),
            1 => self.named_twice(scope),
            2..=4 => Query::of(self.grouped(scope)),
            _ => Query::of(self.plain(None, scope)),
        }
    }

    fn set_query(&mut self, scope: &Scope) -> Query {
        let count = self.dice.between(1, 3);
        let types: Vec<_> = (0..count).map(|_| self.key_type(scope)).collect();
        let mut body = self.body(&types, scope);
        for _ in 0..self.dice.between(1, 2) {
            let operator = *self.dice.pick(&SET_OPERATORS);
            body = Body::set(operator, body, self.body(&types, scope));
        }
        Query::from_body(body)
    }

    /// A set operation whose sides have columns of different types.
    fn mixed_set(&mut self, scope: &Scope) -> Query {
        let types = [self.key_type(scope), self.key_type(scope)];
        let others = types.each_ref().map(|ty| self.related_type(ty, 70));
        let operator = *self.dice.pick(&SET_OPERATORS);
        let left = self.body(&types, scope);
        Query::from_body(Body::set(operator, left, self.body(&others, scope)))
    }

    fn body(&mut self, types: &[ColumnType], scope: &Scope) -> Body {
        Body::Select(Box::new(self.plain(Some(types), scope)))
    }

    /// The query reads another through WITH.
    fn with_cte(&mut self, query: Query) -> Query {
        let name = "w".to_owned();
        let types: Vec<_> = query
            .items()
            .iter()
            .map(|i| i.expression.ty().clone())
            .collect();
        let wrapped = crate::Source::Relation {
            name: name.clone(),
            alias: Some("w1".to_owned()),
        };
        let mut outer = query.wrapped("w1");
        outer.from = Some(wrapped);
        if !types.is_empty() && self.dice.chance(60) {
            let columns = outer
                .items
                .iter()
                .map(|item| item.expression.clone())
                .collect();
            let scope = Scope {
                columns,
                ..Scope::default()
            };
            outer.filter = Some(self.condition(&scope, 1));
        }
        Query {
            with: vec![(name, query)],
            ..Query::of(outer)
        }
    }

    /// A SELECT without groups, of the wanted types if any.
    pub(crate) fn plain(&mut self, types: Option<&[ColumnType]>, outer: &Scope) -> Select {
        let (source, scope) = self.sources(outer);
        let types = match types {
            Some(types) => types.to_vec(),
            None => {
                let count = self.dice.between(1, 4);
                (0..count).map(|_| self.some_type(&scope)).collect()
            }
        };
        let expressions = types.iter().map(|ty| {
            let size = self.dice.below(3) as usize;
            self.expression(ty, &scope, size)
        });
        let expressions = expressions.collect();
        Select {
            distinct: self.dice.chance(15),
            items: items(expressions),
            filter: self.dice.chance(70).then(|| self.condition(&scope, 3)),
            ..Select::from(source)
        }
    }

    /// ORDER BY all columns, and then at times a LIMIT.
    fn sorted(&mut self, query: &mut Query) {
        let is_again = |item: &Item| matches!(item.naming, Naming::Again(_));
        let can_be_sorted = query.order.is_empty() && !query.items().is_empty();
        if !can_be_sorted || query.items().iter().any(is_again) || !self.dice.chance(30) {
            return;
        }
        query.order = sorted_by_all(query, &mut self.dice);
        if self.dice.chance(20) {
            let first = query.order[0].clone();
            for key in &mut query.order {
                (key.descending, key.nulls_first) = (first.descending, first.nulls_first);
            }
            query.by_all = true;
        } else if self.dice.chance(20) {
            for (n, key) in query.order.iter_mut().enumerate() {
                key.expression = self.place(n, key.expression.ty());
            }
        }
        if self.dice.chance(50) {
            query.limit = Some(self.dice.below(6));
            query.offset = self.dice.chance(40).then(|| self.dice.below(4));
        }
    }

    /// A column by its place in the select list.
    fn place(&mut self, n: usize, ty: &ColumnType) -> Expression {
        let at = n + 1;
        let forms = [format!("{at}"), format!("({at})"), format!("-(-{at})")];
        Expression::call(ty.clone(), self.dice.pick(&forms).clone(), vec![])
    }

    /// A value that a query gives: an aggregate, of rows that equal the outer one at times.
    pub(crate) fn scalar_subquery(&mut self, ty: &ColumnType, scope: &Scope) -> Expression {
        if self.dice.chance(40) {
            return self.deep_value(ty, scope);
        }
        let inner = below(scope);
        let alias = self.alias();
        let (source, mut columns) = self.relation(alias, &inner);
        let filter = match self.dice.chance(50) {
            true => self.correlation(&columns, scope),
            false => None,
        };
        columns.depth = 9;
        if self.dice.chance(20) {
            return self.first_value(ty, Select::from(source), &columns, filter);
        }
        let argument = self.expression(ty, &columns, 1);
        let function = *self.dice.pick(&["min", "max"]);
        let value = Expression::Aggregate {
            ty: ty.clone(),
            function: function.to_owned(),
            distinct: false,
            arguments: vec![argument],
            ordered: false,
            filter: None,
        };
        let select = Select {
            items: items(vec![value]),
            filter,
            ..Select::from(source)
        };
        Expression::Subquery {
            ty: ty.clone(),
            form: "({})".to_owned(),
            arguments: vec![],
            query: Box::new(Query::of(select)),
        }
    }

    /// The least value that a query gives, by ORDER BY and LIMIT.
    fn first_value(
        &mut self,
        ty: &ColumnType,
        from: Select,
        columns: &Scope,
        filter: Option<Expression>,
    ) -> Expression {
        let value = self.expression(ty, columns, 1);
        let key = SortKey {
            expression: Expression::named("x0", ty.clone()),
            descending: self.dice.chance(50),
            nulls_first: self.dice.chance(50),
        };
        let select = Select {
            items: items(vec![value]),
            filter,
            ..from
        };
        Expression::Subquery {
            ty: ty.clone(),
            form: "({})".to_owned(),
            arguments: vec![],
            query: Box::new(Query {
                order: vec![key],
                limit: Some(1),
                ..Query::of(select)
            }),
        }
    }

    /// A query for IN or EXISTS.
    pub(crate) fn subquery(
        &mut self,
        types: &[ColumnType],
        scope: &Scope,
        correlated: bool,
    ) -> Query {
        if correlated && self.dice.chance(25) {
            return self.deep_rows(types, scope);
        }
        let inner = below(scope);
        let (source, columns) = match self.dice.chance(20) {
            true => self.sources(&inner),
            false => {
                let alias = self.alias();
                self.relation(alias, &inner)
            }
        };
        let expressions = types.iter().map(|ty| self.expression(ty, &columns, 1));
        let expressions = expressions.collect();
        let mut conditions = vec![];
        if correlated {
            conditions.extend(self.correlation(&columns, scope));
        }
        if self.dice.chance(50) {
            conditions.push(self.condition(&columns, 1));
        }
        let both =
            |one, other| Expression::call(ColumnType::Boolean, "({} AND {})", vec![one, other]);
        Query::of(Select {
            items: items(expressions),
            filter: conditions.into_iter().reduce(both),
            ..Select::from(source)
        })
    }

    /// That a column of the inner query equals one of the outer, or another predicate over both.
    pub(crate) fn correlation(&mut self, inner: &Scope, outer: &Scope) -> Option<Expression> {
        let mut outer = outer.clone();
        if self.dice.chance(30) {
            let around = seen_beside(&outer.columns, &outer.outer);
            outer.columns.extend(around);
        }
        let outer = seen_beside(&inner.columns, &outer.columns);
        if self.dice.chance(25) {
            let both = inner.columns.iter().chain(&outer);
            let both = Scope {
                columns: both.cloned().collect(),
                outer: vec![],
                depth: 9,
            };
            return Some(self.condition(&both, 2));
        }
        let mut pairs = vec![];
        for one in &inner.columns {
            let others = outer.iter().filter(|other| other.ty() == one.ty());
            pairs.extend(others.map(|other| vec![one.clone(), other.clone()]));
        }
        if pairs.is_empty() {
            return None;
        }
        let pair = self.dice.pick(&pairs).clone();
        let forms = [
            "({} = {})",
            "({} = {})",
            "({} = {})",
            "({} < {})",
            "({} IS NOT DISTINCT FROM {})",
        ];
        let form = *self.dice.pick(&forms);
        Some(Expression::call(ColumnType::Boolean, form, pair))
    }

    /// The keys of a GROUP BY, as it is written.
    pub(crate) fn group(&mut self, keys: Vec<Expression>) -> Group {
        if keys.is_empty() {
            return Group::None;
        }
        match self.dice.below(100) {
            0..=9 => Group::All,
            10..=19 => {
                let places = keys.iter().enumerate();
                Group::Keys(places.map(|(n, key)| self.place(n, key.ty())).collect())
            }
            20..=79 => Group::Keys(keys),
            80..=86 => Group::Sets("ROLLUP", vec![keys]),
            87..=92 => Group::Sets("CUBE", vec![keys]),
            _ => {
                let sets = self.dice.between(1, 3);
                let mut sets: Vec<Vec<Expression>> = (0..sets)
                    .map(|_| {
                        keys.iter()
                            .filter(|_| self.dice.chance(60))
                            .cloned()
                            .collect()
                    })
                    .collect();
                sets.push(keys);
                Group::Sets("GROUPING SETS", sets)
            }
        }
    }
}

/// Every column as a key, this way or the other.
pub(crate) fn sorted_by_all(query: &Query, dice: &mut Dice) -> Vec<SortKey> {
    let keys = query.items().iter().map(|item| SortKey {
        expression: Expression::named(&item.alias, item.expression.ty().clone()),
        descending: dice.chance(40),
        nulls_first: dice.chance(40),
    });
    keys.collect()
}

/// The scope of a query in FROM.
pub(crate) fn inner_scope(outer: &Scope) -> Scope {
    Scope {
        depth: outer.depth + 1,
        ..Scope::default()
    }
}

/// The scope of a query within another.
pub(crate) fn below(scope: &Scope) -> Scope {
    Scope {
        columns: vec![],
        outer: scope.columns.clone(),
        depth: scope.depth + 1,
    }
}

/// Columns with the names `x0`, `x1` and so on.
pub(crate) fn items(expressions: Vec<Expression>) -> Vec<Item> {
    let named = expressions.into_iter().enumerate();
    let named = named.map(|(n, expression)| Item::new(expression, format!("x{n}")));
    named.collect()
}
