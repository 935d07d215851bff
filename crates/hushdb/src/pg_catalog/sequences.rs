//! Rows about sequences: `pg_sequence`, `pg_sequences`, and what they depend on in `pg_depend`; `pg_get_serial_sequence`.

use super::attributes::Attribute;
use super::rows::{self, Cell, row};
use super::world::{Kind, Relation, World, keys};
use datafusion::arrow::array::RecordBatch;
use hushdb_sql::{Result, name_in_text};
use hushdb_storage::{Sequence, SequenceUse, TableVersion};
use std::sync::Arc;

type Rows = Vec<Vec<Cell>>;

/// The type of all sequences, `int8`.
const BIGINT: i64 = 20;
/// The number of `pg_class` in `pg_depend`.
pub(super) const CLASSES: i64 = 1_259;
/// That of `pg_attrdef`.
const DEFAULTS: i64 = 2_604;

fn all(world: &World) -> impl Iterator<Item = (&Relation, &Arc<Sequence>)> {
    world.relations.iter().filter_map(|relation| {
        let Kind::Sequence(sequence) = &relation.kind else {
            return None;
        };
        Some((relation, sequence))
    })
}

pub(super) fn sequences(world: &World) -> Rows {
    let rows = all(world).map(|(relation, sequence)| {
        let options = &sequence.options;
        row![
            relation.oid,
            BIGINT,
            options.start,
            options.increment,
            options.max,
            options.min,
            1_i64,
            options.cycle
        ]
    });
    rows.collect()
}

/// Rows of the view.
pub(super) fn shown(world: &World, owner: &str) -> Rows {
    let rows = all(world).map(|(relation, sequence)| {
        let (_, schema) = world.schema_of(relation);
        let options = &sequence.options;
        row![
            schema,
            relation.name.as_str(),
            owner,
            "bigint",
            options.start,
            options.min,
            options.max,
            options.increment,
            options.cycle,
            1_i64,
            sequence.last()
        ]
    });
    rows.collect()
}

/// What a sequence shows as a table: the number that it is at, and whether that was given out.
///
/// # Errors
/// None.
pub(crate) fn row_of(sequence: &Sequence) -> Result<RecordBatch> {
    let point = sequence.point();
    let schema = rows::schema("last_value int8, log_cnt int8, is_called bool");
    rows::batch(&schema, &[row![point.value, 0_i64, point.is_given]])
}

/// The table that a sequence is dropped with, and the number of its column, 0 for the whole.
fn owner<'a>(
    world: &'a World,
    relation: &Relation,
    sequence: &Sequence,
) -> Option<(&'a Relation, &'a Arc<TableVersion>, i64)> {
    let table = world.relation(relation.of)?;
    let Kind::Table(version) = &table.kind else {
        return None;
    };
    let column = sequence.owner_column();
    let number = column.and_then(|id| keys(version, &[id]).first().copied());
    Some((table, version, number.unwrap_or(0)))
}

/// The sequence from which the default of a column of that table is taken, if it is.
fn taken_from<'a>(world: &'a World, table: &Relation, default: &str) -> Option<&'a Relation> {
    let name = default.strip_prefix("nextval('")?.strip_suffix("')")?;
    let parts = name_in_text(&name.replace("''", "'")).ok()?;
    let (name, schema) = parts.split_last()?;
    let own = world.schema_of(table).1;
    let schema = schema.last().map_or(own, String::as_str);
    let mut sequences = all(world).map(|(relation, _)| relation);
    sequences.find(|found| found.name == *name && world.schema_of(found).1 == schema)
}

/// The default of a column of that table, as PostgreSQL shows it: what it takes from a sequence has the sequence's type.
pub(super) fn default_shown(world: &World, table: &Relation, default: &str) -> String {
    match taken_from(world, table, default) {
        Some(sequence) => {
            let name = world.shown(sequence).replace('\'', "''");
            format!("nextval('{name}'::regclass)")
        }
        None => default.to_owned(),
    }
}

/// That defaults go with their columns, and need the sequences from which they are taken.
pub(super) fn of_defaults(world: &World, attributes: &[Attribute]) -> Rows {
    let mut rows = vec![];
    for attribute in attributes {
        let (Some(default), Some(table)) = (&attribute.default, world.relation(attribute.relation))
        else {
            continue;
        };
        let oid = attribute.default_oid();
        rows.push(row![
            DEFAULTS,
            oid,
            0_i64,
            CLASSES,
            table.oid,
            attribute.number,
            "a"
        ]);
        if let Some(sequence) = taken_from(world, table, default) {
            rows.push(row![
                DEFAULTS,
                oid,
                0_i64,
                CLASSES,
                sequence.oid,
                0_i64,
                "n"
            ]);
        }
    }
    rows
}

/// That sequences go with tables and columns.
pub(super) fn dependencies(world: &World) -> Rows {
    let rows = all(world).filter_map(|(relation, sequence)| {
        let (table, _, number) = owner(world, relation, sequence)?;
        Some(row![
            CLASSES,
            relation.oid,
            0_i64,
            CLASSES,
            table.oid,
            number,
            if sequence.used() == SequenceUse::Owned {
                "a"
            } else {
                "i"
            }
        ])
    });
    rows.collect()
}

/// The sequence that a column owns, with its schema.
pub(super) fn of_column(world: &World, table: &str, column: &str) -> Option<String> {
    let wanted = world.named(table)?;
    let mut all = all(world);
    let (relation, _) = all.find(|(relation, sequence)| {
        let owner = owner(world, relation, sequence).filter(|_| relation.of == wanted.oid);
        owner.is_some_and(|(_, version, number)| {
            let at = usize::try_from(number - 1).ok();
            at.and_then(|at| version.columns.get(at))
                .is_some_and(|known| known.name == column)
        })
    })?;
    Some(world.whole_name(relation))
}
