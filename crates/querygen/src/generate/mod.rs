//! `Generator`: random queries over a world, each with one answer, and statements that change its rows.
//!
//! What must hold: nothing that is made depends on the order of rows, but where all columns are sorted by; nor on the
//! time, or on which of two equal values stands for both.

mod aggregates;
mod changes;
mod conditions;
mod deep_subqueries;
mod forms;
mod joins;
mod more_forms;
mod ordered;
mod partners;
mod queries;
mod reshaped;
mod ruled_tables;
mod scalars;
mod select_lists;
mod sources;
mod tables;
mod values;
mod windows;

pub use ruled_tables::ruled_world;
pub use tables::world;

use crate::column_type::{ColumnType, FLAT};
use crate::dice::Dice;
use crate::literals::Domain;
use crate::tree::Expression;
use crate::world::{Column, Table, World};

/// Makes queries, and statements that change rows.
#[derive(Debug)]
pub struct Generator {
    pub(crate) dice: Dice,
    relations: Vec<(String, Vec<Column>)>,
    /// What can be changed.
    tables: Vec<Table>,
    domain: Domain,
    aliases: usize,
}

/// What an expression may name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    columns: Vec<Expression>,
    /// Columns of the query around a subquery.
    outer: Vec<Expression>,
    /// How deep subqueries are nested.
    depth: usize,
}

impl Generator {
    /// A generator of queries over the world's relations.
    pub fn new(world: &World, dice: Dice) -> Self {
        Self {
            dice,
            relations: world.relations(),
            tables: world.tables.clone(),
            domain: world.domain,
            aliases: 0,
        }
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("r{}", self.aliases)
    }

    /// A type: of a column in scope, most of the time.
    fn some_type(&mut self, scope: &Scope) -> ColumnType {
        if !scope.columns.is_empty() && self.dice.chance(75) {
            return self.dice.pick(&scope.columns).ty().clone();
        }
        if self.dice.chance(40) {
            return ColumnType::Integer;
        }
        self.dice.pick(&FLAT).clone()
    }

    /// A type whose values go by one text each and can be a key.
    fn key_type(&mut self, scope: &Scope) -> ColumnType {
        match self.some_type(scope) {
            ty if ty.is_nested() => ColumnType::Integer,
            ty => ty,
        }
    }
}

/// The columns of an outer query that can be named beside those of an inner one: a name alone is the inner one's.
fn seen_beside(inner: &[Expression], outer: &[Expression]) -> Vec<Expression> {
    let alone = |column: &Expression| match column {
        Expression::Column {
            qualifier: None,
            name,
            ..
        } => Some(name.clone()),
        _ => None,
    };
    let is_hidden = |column: &Expression| {
        alone(column).is_some_and(|alone| {
            let mut inner = inner.iter();
            inner.any(|one| matches!(one, Expression::Column { name, .. } if *name == alone))
        })
    };
    let outer = outer.iter().filter(|column| !is_hidden(column));
    outer.cloned().collect()
}
