//! Rows beside those of a table, at most one for each of them, and what MERGE does with both.

use super::changes::{Target, without_queries};
use super::queries::items;
use super::ruled_tables::can_be_key;
use super::sources::column;
use super::{Generator, Scope};
use crate::column_type::ColumnType;
use crate::tree::{
    Action, Change, Clause, ClauseAction, Expression, Group, Item, Partner, Query, Select, Source,
};

const KINDS: [&str; 6] = [
    "MATCHED",
    "MATCHED",
    "MATCHED",
    "NOT MATCHED",
    "NOT MATCHED",
    "NOT MATCHED BY SOURCE",
];

impl Generator {
    /// A partner of the table, and its columns; none where no column of the table can be a key.
    pub(crate) fn partner(&mut self, target: &Target) -> Option<(Partner, Vec<Expression>)> {
        let columns = target.scope.columns.iter();
        let columns: Vec<_> = columns.filter(|column| can_be_key(column.ty())).collect();
        if columns.is_empty() {
            return None;
        }
        let of = (*self.dice.pick(&columns)).clone();
        match self.dice.chance(35) {
            true => self
                .keyed_table(&of)
                .or_else(|| self.grouped_partner(target, of)),
            false => self.grouped_partner(target, of),
        }
    }

    /// A table with a key of one column.
    fn keyed_table(&mut self, of: &Expression) -> Option<(Partner, Vec<Expression>)> {
        let mut found = vec![];
        for table in &self.tables {
            for key in table.keys().iter().filter(|key| key.len() == 1) {
                let mut columns = table.columns.iter();
                if columns.any(|c| c.name == key[0] && c.ty == *of.ty()) {
                    found.push((table, key[0].clone()));
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        let (table, key) = self.dice.pick(&found).clone();
        let table = table.clone();
        let alias = self.alias();
        let columns = table.columns.iter();
        let columns = columns.map(|c| column(&alias, &c.name, &c.ty)).collect();
        let partner = Partner {
            column: of.clone(),
            key: column(&alias, &key, of.ty()),
            source: Source::Relation {
                name: table.name,
                alias: Some(alias),
            },
        };
        Some((partner, columns))
    }

    fn grouped_partner(
        &mut self,
        target: &Target,
        of: Expression,
    ) -> Option<(Partner, Vec<Expression>)> {
        let others =
            (0..self.dice.below(3)).map(|_| self.dice.pick(&target.table.columns).ty.clone());
        let others: Vec<_> = others.collect();
        let query = self.grouped_by(std::slice::from_ref(of.ty()), &others)?;
        let alias = self.alias();
        let shown = query.items().iter();
        let columns: Vec<_> = shown
            .map(|item| column(&alias, &item.alias, item.expression.ty()))
            .collect();
        let partner = Partner {
            column: of,
            key: columns.first()?.clone(),
            source: Source::Derived {
                query: Box::new(query),
                alias,
                lateral: false,
            },
        };
        Some((partner, columns))
    }

    /// A query of each key once, and of values beside it; none where the keys would all be literals.
    pub(crate) fn grouped_by(
        &mut self,
        keys: &[ColumnType],
        others: &[ColumnType],
    ) -> Option<Query> {
        let alias = self.alias();
        let (source, scope) = self.relation(alias, &Scope::default());
        let inner = without_queries(&scope);
        let mut shown: Vec<Expression> = vec![];
        for ty in keys {
            let size = usize::from(self.dice.chance(30));
            let key = self.expression(ty, &inner, size);
            // A literal is no key: it would be a place in the list.
            if matches!(key, Expression::Literal { .. }) || shown.contains(&key) {
                return None;
            }
            shown.push(key);
        }
        let group = Group::Keys(shown.clone());
        for ty in others {
            let function = *self.dice.pick(&["min", "max"]);
            shown.push(Expression::Aggregate {
                ty: ty.clone(),
                function: function.to_owned(),
                distinct: false,
                arguments: vec![self.expression(ty, &inner, 1)],
                ordered: false,
                filter: None,
            });
        }
        Some(Query::of(Select {
            items: items(shown),
            filter: self.dice.chance(50).then(|| self.condition(&scope, 2)),
            group,
            ..Select::from(source)
        }))
    }

    /// A MERGE; an UPDATE where the table has no partner.
    pub(crate) fn merge(&mut self, target: &Target, change: &mut Change) {
        let Some((partner, more)) = self.partner(target) else {
            return self.update(target, change);
        };
        change.partner = Some(partner);
        let source = Scope {
            columns: more,
            depth: 9,
            ..Scope::default()
        };
        let own = without_queries(&target.scope);
        let mut both = own.clone();
        both.columns.extend(source.columns.clone());
        let count = self.dice.between(1, 4);
        let mut clauses: Vec<Clause> = vec![];
        for _ in 0..count {
            let kind = *self.dice.pick(&KINDS);
            let scope = match kind {
                "MATCHED" => &both,
                "NOT MATCHED" => &source,
                _ => &own,
            };
            let mut clause = self.clause(kind, target, scope);
            let mut before = clauses.iter();
            if before.any(|one| one.kind == kind && one.condition.is_none()) {
                clause.condition.get_or_insert(self.condition(scope, 1));
            }
            clauses.push(clause);
        }
        change.action = Action::Merge(clauses);
        change.filter = self.dice.chance(15).then(|| self.condition(&both, 1));
        if self.dice.chance(20) {
            let action = Expression::named("merge_action", ColumnType::Varchar);
            change.returning.push(Item::new(action, "a0".to_owned()));
        }
    }

    fn clause(&mut self, kind: &'static str, target: &Target, scope: &Scope) -> Clause {
        let some = match kind {
            "NOT MATCHED" => self.needed_columns(target),
            _ => self.some_columns(target),
        };
        let action = match (kind, self.dice.below(10)) {
            (_, 0) => ClauseAction::Nothing,
            ("NOT MATCHED", _) => ClauseAction::Insert(self.assignments(&some, scope)),
            (_, 1..=3) => ClauseAction::Delete,
            _ => ClauseAction::Update(self.assignments(&some, scope)),
        };
        Clause {
            kind,
            condition: self.dice.chance(50).then(|| self.condition(scope, 1)),
            action,
        }
    }
}
