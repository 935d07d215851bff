//! What stands in FROM.

use super::queries::inner_scope;
use super::{Generator, Scope, seen_beside};
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
        if joins == 0 && self.dice.chance(10) {
            unqualified(&mut scope);
        }
        (source, scope)
    }

    /// A table, a view or a subquery.
    pub(crate) fn source(&mut self, outer: &Scope) -> (Source, Scope) {
        if outer.depth < 1 && self.dice.chance(6) {
            return self.reshaped(outer);
        }
        let alias = self.alias();
        if outer.depth < 1 && self.dice.chance(12) {
            let inner = inner_scope(outer);
            let query = self.inner_query(&inner);
            let columns = query.items().iter();
            let columns = columns.map(|item| column(&alias, &item.alias, item.expression.ty()));
            let scope = scope_of(columns.collect(), outer);
            let source = Source::Derived {
                query: Box::new(query),
                alias,
                lateral: false,
            };
            return (source, scope);
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
        outer: seen_beside(&columns, &outer.outer),
        columns,
        depth: outer.depth,
    }
}

/// The names of columns stand alone.
pub(crate) fn unqualified(scope: &mut Scope) {
    for column in &mut scope.columns {
        if let Expression::Column { qualifier, .. } = column {
            *qualifier = None;
        }
    }
}

pub(crate) fn column(qualifier: &str, name: &str, ty: &crate::ColumnType) -> Expression {
    Expression::Column {
        ty: ty.clone(),
        qualifier: Some(qualifier.to_owned()),
        name: name.to_owned(),
    }
}
