//! Statements that change rows. What becomes of the rows is determined: a row has at most one partner, and rows that a
//! query inserts beside a key have each key once.

use super::sources::{column, scope_of, unqualified};
use super::{Generator, Scope};
use crate::tree::{
    Action, Assignment, Change, Conflict, Expression, Insert, Item, Query, Rows, Statement,
};
use crate::world::{Column, Table};

/// The table that a statement is about, and what it may name.
pub(crate) struct Target {
    pub(crate) table: Table,
    /// Those that can be written.
    pub(crate) stored: Vec<Column>,
    pub(crate) alias: Option<String>,
    pub(crate) scope: Scope,
}

impl Generator {
    /// A statement of a script: most of them change rows.
    pub fn statement(&mut self, in_transaction: bool) -> Statement {
        match self.dice.below(100) {
            0..=11 if !in_transaction => Statement::Transaction("BEGIN"),
            0..=17 if in_transaction => Statement::Transaction("COMMIT"),
            18..=27 if in_transaction => Statement::Transaction("ROLLBACK"),
            28..=39 => Statement::Query(self.query()),
            _ => Statement::Change(Box::new(self.change())),
        }
    }

    /// A statement that changes rows.
    pub fn change(&mut self) -> Change {
        let target = self.target();
        let mut change = Change {
            table: target.table.name.clone(),
            alias: target.alias.clone(),
            action: Action::Truncate,
            partner: None,
            filter: None,
            returns_all: false,
            returning: vec![],
        };
        match self.dice.below(100) {
            0..=44 => change.action = Action::Insert(Box::new(self.insert(&target))),
            45..=69 => self.update(&target, &mut change),
            70..=81 => self.delete(&target, &mut change),
            82..=98 => self.merge(&target, &mut change),
            _ => {
                change.alias = None;
                return change;
            }
        }
        if self.dice.chance(35) {
            self.returning(&target, &mut change);
        }
        change
    }

    fn target(&mut self) -> Target {
        let table = self.dice.pick(&self.tables).clone();
        let alias = self.dice.chance(40).then(|| self.alias());
        let name = alias.clone().unwrap_or(table.name.clone());
        let columns = table.columns.iter();
        let columns = columns.map(|c| column(&name, &c.name, &c.ty)).collect();
        let stored = table.columns.iter().filter(|c| c.generated.is_none());
        Target {
            stored: stored.cloned().collect(),
            scope: scope_of(columns, &Scope::default()),
            table,
            alias,
        }
    }

    fn returning(&mut self, target: &Target, change: &mut Change) {
        let mut scope = without_queries(&target.scope);
        // Only beside ON CONFLICT does DuckDB know the other name of a table there.
        let is_insert = matches!(change.action, Action::Insert(_));
        if is_insert || self.dice.chance(40) {
            unqualified(&mut scope);
        }
        change.returns_all = self.dice.chance(50);
        if !change.returns_all || self.dice.chance(30) {
            for n in 0..self.dice.between(1, 2) {
                let ty = self.some_type(&scope);
                let value = self.expression(&ty, &scope, 1);
                change.returning.push(Item::new(value, format!("x{n}")));
            }
        }
    }

    fn insert(&mut self, target: &Target) -> Insert {
        let keys = target.table.keys();
        let mut insert = Insert {
            instead: "",
            columns: vec![],
            rows: Rows::Defaults,
            conflict: None,
        };
        let meets_keys = !keys.is_empty() && self.dice.chance(60);
        insert.rows = match self.dice.below(100) {
            0..=3 => Rows::Defaults,
            4..=64 => {
                let columns = match self.dice.chance(50) {
                    true => target.stored.clone(),
                    false => {
                        let some = self.needed_columns(target);
                        insert.columns = names(&some);
                        some
                    }
                };
                self.values(&columns)
            }
            _ => match self.inserted_query(target, meets_keys, &mut insert.columns) {
                Some(rows) => rows,
                None => return insert,
            },
        };
        if meets_keys {
            self.meet_keys(target, &keys, &mut insert);
        }
        insert
    }

    /// One or more of the columns that can be written, in any order.
    pub(crate) fn some_columns(&mut self, target: &Target) -> Vec<Column> {
        let mut left = target.stored.clone();
        let count = self.dice.between(1, left.len() as u64);
        let taken = (0..count).map(|_| left.swap_remove(self.dice.index(left.len())));
        taken.collect()
    }

    /// One or more of the columns, among them most of the time those that must have a value.
    pub(crate) fn needed_columns(&mut self, target: &Target) -> Vec<Column> {
        let mut some = self.some_columns(target);
        let needed = target.stored.iter();
        let needed = needed.filter(|c| needs_value(c) && c.default.is_none());
        for column in needed {
            if !some.contains(column) && self.dice.chance(90) {
                some.push(column.clone());
            }
        }
        some
    }

    /// What is written into a column: NULL and DEFAULT are few where it must have a value.
    fn written(&mut self, column: &Column, scope: &Scope, size: usize) -> Option<Expression> {
        let mut value = self.compared(&column.ty, scope, size);
        if needs_value(column) && self.dice.chance(85) {
            let is_null = |value: &Expression| value.to_string().contains("NULL");
            for _ in 0..3 {
                if is_null(&value) {
                    value = self.leaf(&column.ty, scope);
                }
            }
            return Some(value);
        }
        (!self.dice.chance(10)).then_some(value)
    }

    fn values(&mut self, columns: &[Column]) -> Rows {
        let nothing = Scope {
            depth: if self.dice.chance(10) { 0 } else { 9 },
            ..Scope::default()
        };
        let count = self.dice.between(1, 4);
        let rows = (0..count).map(|_| {
            let row = columns.iter().map(|column| {
                let size = usize::from(self.dice.chance(20));
                self.written(column, &nothing, size)
            });
            row.collect()
        });
        Rows::Values(rows.collect())
    }

    /// A query of rows; where they meet keys, each of the table's one key comes once.
    fn inserted_query(
        &mut self,
        target: &Target,
        meets_keys: bool,
        columns: &mut Vec<String>,
    ) -> Option<Rows> {
        let mut some = self.needed_columns(target);
        let by_name = self.dice.chance(30);
        let mut query = match (meets_keys, target.table.keys().as_slice()) {
            (true, [key]) => {
                some.retain(|column| !key.contains(&column.name));
                let stored = target.stored.iter();
                let keys = stored.filter(|column| key.contains(&column.name));
                let keys: Vec<_> = keys.cloned().collect();
                let query = self.grouped_by(&types(&keys), &types(&some))?;
                some.splice(0..0, keys);
                query
            }
            (true, _) => return None,
            _ => Query::of(self.plain(Some(&types(&some)), &Scope::default())),
        };
        if !by_name {
            *columns = names(&some);
            return Some(Rows::Query(query));
        }
        query.rename(&names(&some));
        Some(Rows::ByName(query))
    }

    /// OR REPLACE, OR IGNORE or ON CONFLICT.
    fn meet_keys(&mut self, target: &Target, keys: &[Vec<String>], insert: &mut Insert) {
        let replaces = keys.len() == 1 || self.dice.chance(10);
        match self.dice.below(100) {
            0..=14 if replaces => insert.instead = "OR REPLACE",
            0..=29 => insert.instead = "OR IGNORE",
            roll => {
                let key = self.dice.pick(keys).clone();
                let is_named = keys.len() > 1 || self.dice.chance(80);
                let mut conflict = Conflict {
                    keys: if is_named { key } else { vec![] },
                    sets: vec![],
                    filter: None,
                };
                // Of rows BY NAME, DuckDB knows excluded columns that they name.
                let named = match &insert.rows {
                    Rows::ByName(query) => Some(query.items()),
                    _ => None,
                };
                let named = named.map(|items| items.iter().map(|item| item.alias.clone()));
                let named: Option<Vec<_>> = named.map(Iterator::collect);
                if roll > 49 {
                    self.on_conflict(target, keys, named.as_deref(), &mut conflict);
                }
                insert.conflict = Some(conflict);
            }
        }
    }

    fn on_conflict(
        &mut self,
        target: &Target,
        keys: &[Vec<String>],
        named: Option<&[String]>,
        conflict: &mut Conflict,
    ) {
        let mut scope = without_queries(&target.scope);
        let excluded = target.stored.iter();
        let excluded = excluded.filter(|c| named.is_none_or(|names| names.contains(&c.name)));
        let excluded = excluded.map(|c| column("excluded", &c.name, &c.ty));
        scope.columns.extend(excluded);
        let mut some = self.some_columns(target);
        some.retain(|column| !keys.iter().flatten().any(|key| *key == column.name));
        conflict.sets = self.assignments(&some, &scope);
        if !conflict.sets.is_empty() && self.dice.chance(40) {
            conflict.filter = Some(self.condition(&scope, 1));
        }
    }

    /// Values for the columns: of the scope, DEFAULT at times.
    pub(crate) fn assignments(&mut self, columns: &[Column], scope: &Scope) -> Vec<Assignment> {
        let sets = columns.iter().map(|column| {
            let size = self.dice.below(3) as usize;
            Assignment {
                column: column.name.clone(),
                value: self.written(column, scope, size),
            }
        });
        sets.collect()
    }

    pub(crate) fn update(&mut self, target: &Target, change: &mut Change) {
        let scope = self.beside(target, change, 30);
        let keys = target.table.keys();
        let mut some = self.some_columns(target);
        let is_key = |column: &Column| keys.iter().flatten().any(|key| *key == column.name);
        let sets_keys = self.dice.chance(25);
        some.retain(|column| sets_keys || !is_key(column));
        if some.is_empty() {
            some.push(self.dice.pick(&target.stored).clone());
        }
        change.action = Action::Update(self.assignments(&some, &scope));
        change.filter = self.dice.chance(75).then(|| self.condition(&scope, 2));
    }

    fn delete(&mut self, target: &Target, change: &mut Change) {
        let scope = self.beside(target, change, 30);
        change.action = Action::Delete;
        change.filter = self.dice.chance(93).then(|| self.condition(&scope, 2));
    }

    /// Gives the statement a partner in `percent` of 100; what it may name then.
    fn beside(&mut self, target: &Target, change: &mut Change, percent: u64) -> Scope {
        let mut scope = target.scope.clone();
        if self.dice.chance(percent)
            && let Some((partner, more)) = self.partner(target)
        {
            change.partner = Some(partner);
            scope.columns.extend(more);
        }
        scope
    }
}

fn needs_value(column: &Column) -> bool {
    ["NOT NULL", "PRIMARY KEY"].contains(&column.constraint)
}

/// The scope where no subquery may stand.
pub(crate) fn without_queries(scope: &Scope) -> Scope {
    Scope {
        depth: 9,
        ..scope.clone()
    }
}

fn names(columns: &[Column]) -> Vec<String> {
    columns.iter().map(|column| column.name.clone()).collect()
}

fn types(columns: &[Column]) -> Vec<crate::ColumnType> {
    columns.iter().map(|column| column.ty.clone()).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Dice, Generator, ruled_world};

    #[test]
    fn every_kind_of_statement_is_made() {
        let mut texts = String::new();
        for seed in 0..400 {
            let mut dice = Dice::new(seed);
            let world = ruled_world(&mut dice);
            let mut generator = Generator::new(&world, dice.fork());
            for n in 0..8 {
                texts.push_str(&format!("{};\n", generator.statement(n % 2 == 0)));
            }
        }
        for words in [
            "INSERT INTO",
            "INSERT OR REPLACE INTO",
            "INSERT OR IGNORE INTO",
            " DEFAULT VALUES",
            " BY NAME SELECT",
            "DO UPDATE SET",
            "DO NOTHING",
            "excluded.",
            "UPDATE ",
            " FROM (SELECT",
            "DELETE FROM ",
            " USING (SELECT",
            "MERGE INTO ",
            "WHEN NOT MATCHED BY SOURCE",
            "THEN DELETE",
            " RETURNING *",
            "merge_action AS",
            "TRUNCATE ",
            "COMMIT",
        ] {
            assert!(texts.contains(words), "{words}");
        }
    }
}
