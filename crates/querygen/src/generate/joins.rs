//! Joins: with ON, USING and NATURAL, with LATERAL subqueries, and ASOF.

use super::queries::{below, items};
use super::sources::scope_of;
use super::{Generator, Scope, seen_beside};
use crate::column_type::ColumnType;
use crate::tree::{Expression, Group, Query, Select, Source};

const KINDS: [&str; 10] = [
    "JOIN",
    "JOIN",
    "LEFT JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "FULL JOIN",
    "CROSS JOIN",
    ",",
    "SEMI JOIN",
    "ANTI JOIN",
];

impl Generator {
    /// What was made, joined with one more source, or with two joined ones.
    pub(crate) fn join(&mut self, left: Source, scope: Scope, outer: &Scope) -> (Source, Scope) {
        let has_comma = matches!(&left, Source::Join { kind: ",", .. });
        match self.dice.below(100) {
            0..=5 if !has_comma && scope.depth == 0 => return self.asof(left, scope),
            6..=15 if !has_comma && scope.depth == 0 => return self.lateral(left, scope),
            _ => {}
        }
        let (mut right, mut right_scope) = self.source(outer);
        if scope.depth == 0 && self.dice.chance(15) {
            (right, right_scope) = self.join(right, right_scope, outer);
            // No comma stands in brackets.
            if let Source::Join { kind, .. } = &mut right
                && *kind == ","
            {
                *kind = "CROSS JOIN";
            }
        }
        // A comma binds less than JOIN: there are commas alone, or none.
        let kind = match (*self.dice.pick(&KINDS), &left) {
            _ if has_comma => ",",
            (",", Source::Join { .. }) => "CROSS JOIN",
            (kind, _) => kind,
        };
        let (kind, using) = self.by_names(kind, [&left, &right], &scope, &right_scope);
        let on = match kind {
            "CROSS JOIN" | "," => None,
            _ if !using.is_empty() || kind.starts_with("NATURAL") => None,
            _ => Some(self.join_condition(kind, &scope, &right_scope)),
        };
        let scope = match kind {
            "SEMI JOIN" | "ANTI JOIN" => scope,
            _ => self.joined(scope, right_scope, &using, kind),
        };
        (joined(kind, left, right, on, using), scope)
    }

    /// The columns of both sides, and at times those that are one of two by their names alone.
    fn joined(&mut self, mut left: Scope, right: Scope, using: &[String], kind: &str) -> Scope {
        let merged: Vec<Expression> = match kind.starts_with("NATURAL") {
            true => shared(&left, &right).unwrap_or_default(),
            false => {
                let is_merged = |column: &&Expression| {
                    name(column).is_some_and(|name| using.iter().any(|one| one == name))
                };
                left.columns.iter().filter(is_merged).cloned().collect()
            }
        };
        left.outer = seen_beside(&right.columns, &left.outer);
        left.columns.extend(right.columns);
        // A table's name before a column that a RIGHT or FULL JOIN has merged is refused by name.
        let names_alone = kind.contains("RIGHT") || kind.contains("FULL");
        if names_alone {
            let is_merged =
                |column: &Expression| merged.iter().any(|one| name(one) == name(column));
            left.columns.retain(|column| !is_merged(column));
        }
        if names_alone || self.dice.chance(60) {
            let names = merged
                .iter()
                .filter_map(|one| Some(Expression::named(name(one)?, one.ty().clone())));
            left.columns.extend(names);
        }
        left
    }

    /// The kind, and the columns of USING: at times the sides are joined by columns that both have.
    fn by_names(
        &mut self,
        kind: &'static str,
        sides: [&Source; 2],
        left: &Scope,
        right: &Scope,
    ) -> (&'static str, Vec<String>) {
        let alone = sides
            .iter()
            .all(|side| !matches!(side, Source::Join { .. }));
        if !alone || !kind.ends_with("JOIN") || kind == "CROSS JOIN" || !self.dice.chance(25) {
            return (kind, vec![]);
        }
        let Some(shared) = shared(left, right) else {
            return (kind, vec![]);
        };
        let natural = match kind {
            "JOIN" => "NATURAL JOIN",
            "LEFT JOIN" => "NATURAL LEFT JOIN",
            "RIGHT JOIN" => "NATURAL RIGHT JOIN",
            "FULL JOIN" => "NATURAL FULL JOIN",
            _ => kind,
        };
        if natural != kind && self.dice.chance(40) {
            return (natural, vec![]);
        }
        let count = self.dice.between(1, 2) as usize;
        let names = shared.iter().filter_map(name).take(count);
        (kind, names.map(str::to_owned).collect())
    }

    /// Mostly that two columns are equal, and perhaps something else.
    fn join_condition(&mut self, kind: &str, left: &Scope, right: &Scope) -> Expression {
        let mut pairs = vec![];
        for one in &left.columns {
            let others = right.columns.iter().filter(|other| other.ty() == one.ty());
            pairs.extend(others.map(|other| (one.clone(), other.clone())));
        }
        let mut both = left.clone();
        both.columns.extend(right.columns.iter().cloned());
        // A subquery that reads both sides is refused but in an inner join.
        if kind != "JOIN" {
            both.depth = 9;
        }
        if pairs.is_empty() || self.dice.chance(15) {
            return self.condition(&both, 1);
        }
        let (one, other) = self.dice.pick(&pairs).clone();
        let forms = [
            "({} = {})",
            "({} = {})",
            "({} = {})",
            "({} = {})",
            "({} IS NOT DISTINCT FROM {})",
            "({} < {})",
        ];
        let form = *self.dice.pick(&forms);
        let equal = Expression::call(ColumnType::Boolean, form, vec![one, other]);
        match self.dice.chance(25) {
            false => equal,
            true => {
                let more = self.condition(&both, 1);
                Expression::call(ColumnType::Boolean, "({} AND {})", vec![equal, more])
            }
        }
    }

    /// The last row of the other side that is not above a value, each value of which it has once.
    fn asof(&mut self, left: Source, mut scope: Scope) -> (Source, Scope) {
        let keys = scope
            .columns
            .iter()
            .filter(|column| !column.ty().is_nested());
        let keys: Vec<Expression> = keys.cloned().collect();
        if keys.is_empty() {
            return (left, scope);
        }
        let key = self.dice.pick(&keys).clone();
        let alias = self.alias();
        let (source, inner) = self.relation(alias, &below(&scope));
        let other = self.leaf(key.ty(), &inner);
        if matches!(other, Expression::Literal { .. }) {
            return (left, scope);
        }
        let query = Query::of(Select {
            group: Group::Keys(vec![other.clone()]),
            items: items(vec![other, self.aggregate(&Scope { depth: 9, ..inner })]),
            ..Select::from(source)
        });
        let (right, more) = self.derived(query);
        let forms = ["({} >= {})", "({} > {})", "({} <= {})", "({} < {})"];
        let form = *self.dice.pick(&forms);
        let on = Expression::call(
            ColumnType::Boolean,
            form,
            vec![key, more.columns[0].clone()],
        );
        scope.columns.extend(more.columns);
        let kind = *self.dice.pick(&["ASOF JOIN", "ASOF LEFT JOIN"]);
        (joined(kind, left, right, Some(on), vec![]), scope)
    }

    /// A subquery that names columns of what stands before it.
    fn lateral(&mut self, left: Source, mut scope: Scope) -> (Source, Scope) {
        let inner = below(&scope);
        let alias = self.alias();
        let (source, columns) = self.relation(alias, &inner);
        let mut both = columns.clone();
        both.columns
            .extend(seen_beside(&columns.columns, &scope.columns));
        let filter = match self.dice.chance(30) {
            true => Some(self.condition(&both, 2)),
            false => self.correlation(&columns, &scope),
        };
        // No subqueries within aggregates.
        both.depth = 9;
        let values = match self.dice.chance(30) {
            true => vec![self.aggregate(&columns_of(&columns))],
            false => {
                let ty = self.key_type(&columns);
                vec![self.leaf(&ty, &columns), self.expression(&ty, &both, 1)]
            }
        };
        let mut query = Query::of(Select {
            items: items(values),
            filter,
            ..Select::from(source)
        });
        if self.dice.chance(25) {
            query.order = super::queries::sorted_by_all(&query, &mut self.dice);
            query.limit = Some(self.dice.between(1, 2));
        }
        let (mut right, more) = self.derived(query);
        if let Source::Derived { lateral, .. } = &mut right {
            *lateral = true;
        }
        scope.columns.extend(more.columns);
        let kind = *self.dice.pick(&["JOIN", "LEFT JOIN", "CROSS JOIN"]);
        let always = || Expression::call(ColumnType::Boolean, "true", vec![]);
        let on = (kind != "CROSS JOIN").then(always);
        (joined(kind, left, right, on, vec![]), scope)
    }
}

fn columns_of(scope: &Scope) -> Scope {
    Scope {
        depth: 9,
        ..scope_of(scope.columns.clone(), scope)
    }
}

fn joined(
    kind: &'static str,
    left: Source,
    right: Source,
    on: Option<Expression>,
    using: Vec<String>,
) -> Source {
    Source::Join {
        kind,
        left: Box::new(left),
        right: Box::new(right),
        on,
        using,
    }
}

/// The columns of the left side whose names the other has, if there are any and all have one type.
fn shared(left: &Scope, right: &Scope) -> Option<Vec<Expression>> {
    let mut found = vec![];
    for one in &left.columns {
        match right.columns.iter().find(|other| name(other) == name(one)) {
            Some(other) if other.ty() == one.ty() => found.push(one.clone()),
            Some(_) => return None,
            None => {}
        }
    }
    (!found.is_empty()).then_some(found)
}

fn name(column: &Expression) -> Option<&str> {
    match column {
        Expression::Column { name, .. } => Some(name),
        _ => None,
    }
}
