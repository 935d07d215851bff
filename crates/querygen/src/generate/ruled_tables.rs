//! Tables whose rows must keep rules: keys, CHECK, FOREIGN KEY, defaults and generated columns.
//!
//! Rows that break a rule are refused one by one when the tables are made, whoever makes them.

use super::{Generator, Scope, world};
use crate::column_type::ColumnType;
use crate::dice::Dice;
use crate::literals::Value;
use crate::tree::Expression;
use crate::world::{Column, Rule, Table, World};

/// Tables as [`world`] makes them, with rules for what is changed in them.
pub fn ruled_world(dice: &mut Dice) -> World {
    let mut world = world(dice);
    let mut generator = Generator::new(&world, dice.fork());
    for n in 0..world.tables.len() {
        let (before, rest) = world.tables.split_at_mut(n);
        if let Some(table) = rest.first_mut() {
            generator.rule(table, before);
        }
    }
    world
}

impl Generator {
    fn rule(&mut self, table: &mut Table, before: &[Table]) {
        self.add_keys(table);
        let nothing = Scope {
            depth: 9,
            ..Scope::default()
        };
        for column in &mut table.columns {
            if column.constraint != "PRIMARY KEY" && self.dice.chance(30) {
                let size = usize::from(self.dice.chance(40));
                column.default = Some(self.expression(&column.ty, &nothing, size));
            }
        }
        if self.dice.chance(25) {
            let condition = self.condition(&own(table), 1);
            table.rules.push(Rule::Check(condition));
        }
        if table.schema().is_none() && self.dice.chance(40) {
            self.add_reference(table, before);
        }
        if self.dice.chance(20) {
            let scope = own(table);
            let ty = self.key_type(&scope);
            let mut column = Column::new("g0", ty);
            column.generated = Some(self.expression(&column.ty, &scope, 1));
            table.columns.push(column);
            for row in &mut table.rows {
                row.push(Value::Null);
            }
        }
    }

    /// Up to two keys, of one column or two.
    fn add_keys(&mut self, table: &mut Table) {
        let can_be_key: Vec<usize> = (0..table.columns.len())
            .filter(|at| can_be_key(&table.columns[*at].ty))
            .collect();
        let has_primary_key = table.columns[0].constraint == "PRIMARY KEY";
        match can_be_key.as_slice() {
            [first, second, ..] if self.dice.chance(20) => {
                let kind = match has_primary_key || self.dice.chance(50) {
                    true => "UNIQUE",
                    false => "PRIMARY KEY",
                };
                let names = [*first, *second].map(|at| table.columns[at].name.clone());
                table.rules.push(Rule::Key(kind, names.to_vec()));
            }
            [.., last] if self.dice.chance(45) => {
                let column = &mut table.columns[*last];
                if column.constraint.is_empty() {
                    let is_primary = !has_primary_key && self.dice.chance(60);
                    column.constraint = if is_primary { "PRIMARY KEY" } else { "UNIQUE" };
                }
            }
            _ => {}
        }
    }

    /// A FOREIGN KEY to a table that is made before.
    fn add_reference(&mut self, table: &mut Table, before: &[Table]) {
        let mut pairs = vec![];
        for parent in before.iter().filter(|parent| parent.schema().is_none()) {
            for key in parent.keys().iter().filter(|key| key.len() == 1) {
                let parents = parent.columns.iter().filter(|c| c.name == key[0]);
                for (column, parents) in
                    parents.flat_map(|p| table.columns.iter().map(move |c| (c, p)))
                {
                    if column.ty == parents.ty {
                        pairs.push((column.name.clone(), parent.name.clone(), key[0].clone()));
                    }
                }
            }
        }
        if !pairs.is_empty() {
            let (column, parent, key) = self.dice.pick(&pairs).clone();
            table.rules.push(Rule::References(column, parent, key));
        }
    }
}

/// Whether values of the type are equal where their texts are.
pub(crate) fn can_be_key(ty: &ColumnType) -> bool {
    use ColumnType as C;
    ty.is_integer()
        || matches!(
            ty,
            C::Boolean | C::Varchar | C::Date | C::Timestamp | C::Uuid | C::Decimal(..)
        )
}

/// The columns of the table by their names alone.
fn own(table: &Table) -> Scope {
    let columns = table.columns.iter();
    Scope {
        columns: columns
            .map(|c| Expression::named(&c.name, c.ty.clone()))
            .collect(),
        depth: 9,
        ..Scope::default()
    }
}
