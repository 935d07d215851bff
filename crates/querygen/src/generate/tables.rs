//! Tables with rows.

use super::Generator;
use crate::column_type::{ColumnType, FLAT};
use crate::dice::Dice;
use crate::literals::{Domain, Value, value};
use crate::world::{Column, Table, View, World};

/// One to four tables, two of one name in two schemas at times, and a view at times. Half of all worlds have few values.
pub fn world(dice: &mut Dice) -> World {
    let domain = match dice.chance(50) {
        true => Domain::Narrow,
        false => Domain::Wide,
    };
    let count = dice.between(1, 4);
    let tables = (0..count).map(|n| table(format!("t{n}"), domain, dice));
    let mut tables: Vec<Table> = tables.collect();
    if dice.chance(30) {
        tables.push(table("s1.t0".to_owned(), domain, dice));
    }
    let mut world = World {
        tables,
        views: vec![],
        domain,
    };
    if dice.chance(40) {
        let query = Generator::new(&world, dice.fork()).view();
        let name = "v0".to_owned();
        world.views.push(View { name, query });
    }
    world
}

fn table(name: String, domain: Domain, dice: &mut Dice) -> Table {
    let count = dice.between(1, 5);
    let mut columns: Vec<Column> = (0..count)
        .map(|n| {
            let ty = match domain {
                Domain::Narrow => common_type(dice),
                Domain::Wide => column_type(dice),
            };
            Column::new(&format!("c{n}"), ty)
        })
        .collect();
    constrain(&mut columns, dice);
    let rows = match dice.below(10) {
        0 => 0,
        1..=7 => dice.between(1, 8),
        _ => dice.between(9, 20),
    };
    let nulls = if domain == Domain::Narrow { 30 } else { 20 };
    let row = |dice: &mut Dice| {
        let values = columns.iter();
        values
            .map(|c| column_value(c, nulls, domain, dice))
            .collect()
    };
    let mut rows: Vec<Vec<Value>> = (0..rows).map(|_| row(dice)).collect();
    if columns[0].constraint == "PRIMARY KEY" {
        let mut seen: Vec<Value> = vec![];
        rows.retain(|row| {
            let is_new = !seen.contains(&row[0]);
            seen.push(row[0].clone());
            is_new
        });
    }
    Table {
        name,
        columns,
        rules: vec![],
        rows,
    }
}

/// A primary key at times, of a type whose values are equal where their texts are, and columns without NULL.
fn constrain(columns: &mut [Column], dice: &mut Dice) {
    for column in &mut *columns {
        column.constraint = if dice.chance(15) { "NOT NULL" } else { "" };
    }
    let can_be_key = columns[0].ty.is_integer() || columns[0].ty == ColumnType::Varchar;
    if can_be_key && dice.chance(25) {
        columns[0].constraint = "PRIMARY KEY";
    }
}

fn column_value(column: &Column, nulls: u64, domain: Domain, dice: &mut Dice) -> Value {
    loop {
        let found = value(&column.ty, nulls, domain, dice);
        if found != Value::Null || column.constraint.is_empty() {
            return found;
        }
    }
}

fn column_type(dice: &mut Dice) -> ColumnType {
    match dice.below(100) {
        0..=29 => ColumnType::Integer,
        30..=39 => ColumnType::Varchar,
        40..=47 => {
            let item = [ColumnType::Integer, ColumnType::Varchar, ColumnType::Double];
            ColumnType::List(Box::new(dice.pick(&item).clone()))
        }
        48..=54 => ColumnType::Struct(vec![
            ("a".to_owned(), ColumnType::Integer),
            ("b".to_owned(), dice.pick(&FLAT).clone()),
        ]),
        _ => dice.pick(&FLAT).clone(),
    }
}

/// One of a few types, so that columns meet others of theirs.
fn common_type(dice: &mut Dice) -> ColumnType {
    match dice.below(100) {
        0..=39 => ColumnType::Integer,
        40..=54 => ColumnType::BigInt,
        55..=72 => ColumnType::Varchar,
        73..=82 => ColumnType::Double,
        83..=92 => ColumnType::Boolean,
        _ => column_type(dice),
    }
}
