//! What stands in FROM.

use super::{Generator, Scope};
use crate::tree::{Expression, Source};

impl Generator {
    /// One to three sources, joined, and at times two joined ones in the place of one.
    pub(crate) fn sources(&mut self, outer: &Scope) -> (Source, Scope) {
        let (mut source, mut scope) = match self.dice.chance(15) {
            true => self.bare_relation(outer),
            false => self.source(outer),
        };
        let joins = [0, 0, 0, 1, 1, 1, 2][self.dice.index(7)];
        for _ in 0..joins {
            if scope.depth > 0 && self.dice.chance(50) {
                break;
            }
            (source, scope) = self.join(source, scope, outer);
        }
        (source, scope)
    }

    fn join(&mut self, left: Source, mut scope: Scope, outer: &Scope) -> (Source, Scope) {
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
        let kinds = [
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
        // A comma binds less than JOIN: there are commas alone, or none.
        let kind = match (*self.dice.pick(&kinds), &left) {
            (_, Source::Join { kind: ",", .. }) => ",",
            (",", Source::Join { .. }) => "CROSS JOIN",
            (kind, _) => kind,
        };
        let using = self.shared_column(kind, [&left, &right], &scope, &right_scope);
        let on = match kind {
            "CROSS JOIN" | "," => None,
            _ if using.is_some() => None,
            _ => Some(self.join_condition(kind, &scope, &right_scope)),
        };
        if !matches!(kind, "SEMI JOIN" | "ANTI JOIN") {
            scope.columns.extend(right_scope.columns);
        }
        let source = Source::Join {
            kind,
            left: Box::new(left),
            right: Box::new(right),
            on,
            using,
        };
        (source, scope)
    }

    /// A column that both sides have, for USING.
    fn shared_column(
        &mut self,
        kind: &str,
        sides: [&Source; 2],
        left: &Scope,
        right: &Scope,
    ) -> Option<String> {
        let alone = sides
            .iter()
            .all(|side| !matches!(side, Source::Join { .. }));
        if !alone || !kind.ends_with("JOIN") || kind == "CROSS JOIN" || !self.dice.chance(15) {
            return None;
        }
        left.columns.iter().find_map(|one| match one {
            Expression::Column { ty, name, .. } => {
                let mut others = right.columns.iter();
                let found = others.any(|other| {
                    matches!(other, Expression::Column { name: n, ty: t, .. } if n == name && t == ty)
                });
                found.then(|| name.clone())
            }
            _ => None,
        })
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
        let equal = Expression::call(crate::ColumnType::Boolean, form, vec![one, other]);
        match self.dice.chance(25) {
            false => equal,
            true => {
                let more = self.condition(&both, 1);
                Expression::call(crate::ColumnType::Boolean, "({} AND {})", vec![equal, more])
            }
        }
    }

    /// A table, a view or a subquery.
    pub(crate) fn source(&mut self, outer: &Scope) -> (Source, Scope) {
        let alias = self.alias();
        if outer.depth < 1 && self.dice.chance(12) {
            let inner = Scope {
                depth: outer.depth + 1,
                ..Scope::default()
            };
            let query = self.inner_query(&inner);
            let columns = query.items().iter();
            let columns = columns.map(|item| column(&alias, &item.alias, item.expression.ty()));
            let scope = scope_of(columns.collect(), outer);
            let query = Box::new(query);
            return (Source::Derived { query, alias }, scope);
        }
        self.relation(alias, outer)
    }

    /// A table or view under its own name.
    fn bare_relation(&mut self, outer: &Scope) -> (Source, Scope) {
        let (name, columns) = self.dice.pick(&self.relations).clone();
        let columns = columns.iter().map(|c| column(&name, &c.name, &c.ty));
        let scope = scope_of(columns.collect(), outer);
        (Source::Relation { name, alias: None }, scope)
    }

    /// A table or view under an alias.
    pub(crate) fn relation(&mut self, alias: String, outer: &Scope) -> (Source, Scope) {
        let (name, columns) = self.dice.pick(&self.relations).clone();
        let columns = columns.iter().map(|c| column(&alias, &c.name, &c.ty));
        let scope = scope_of(columns.collect(), outer);
        let alias = Some(alias);
        (Source::Relation { name, alias }, scope)
    }
}

pub(crate) fn scope_of(columns: Vec<Expression>, outer: &Scope) -> Scope {
    Scope {
        columns,
        outer: outer.outer.clone(),
        depth: outer.depth,
    }
}

pub(crate) fn column(qualifier: &str, name: &str, ty: &crate::ColumnType) -> Expression {
    Expression::Column {
        ty: ty.clone(),
        qualifier: Some(qualifier.to_owned()),
        name: name.to_owned(),
    }
}
