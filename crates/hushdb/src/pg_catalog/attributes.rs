//! Columns of tables, views and indexes.

use super::base_types;
use super::rows::{POSTGRES_TYPE, schema};
use super::world::{Kind, Relation, World, column_type};
use datafusion::arrow::datatypes::{Field, SchemaRef};
use hushdb_sql::type_names::{column_type_name, display_type};
use hushdb_storage::{Column, ColumnId, SequenceUse, TableVersion};
use std::collections::HashMap;

/// A column of a relation.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    /// The relation's number.
    pub(super) relation: i64,
    /// From 1.
    pub(super) number: i64,
    pub(super) name: String,
    /// OID and modifier.
    pub(super) ty: (i64, i64),
    /// The type in DuckDB's words.
    pub(super) type_name: String,
    pub(super) not_null: bool,
    /// As SQL.
    pub(super) default: Option<String>,
    /// What its values are computed by, as SQL.
    pub(super) generated: Option<String>,
    /// `a` if it is GENERATED ALWAYS AS IDENTITY, `d` if BY DEFAULT; its sequence is its default then, and shown as none.
    pub(super) identity: &'static str,
}

impl Attribute {
    /// The number of the column's default.
    pub(super) fn default_oid(&self) -> i64 {
        self.relation * 1_600 % (1 << 30) + (1 << 30) + self.number
    }
}

/// All columns. What a view's are is asked of whoever can plan it; a view that no longer stands has none.
pub(super) fn all(
    world: &World,
    bound: &dyn Fn(&str, &str) -> Option<SchemaRef>,
) -> Vec<Attribute> {
    let mut all = vec![];
    let identities = identities(world);
    for relation in &world.relations {
        match &relation.kind {
            Kind::Table(table) => {
                let columns = (1..).zip(&table.columns);
                let columns = columns.map(|(number, column)| {
                    let attribute = of_column(relation, number, column);
                    match identities.get(&(relation.oid, column.id)) {
                        Some(identity) => Attribute {
                            default: None,
                            identity,
                            ..attribute
                        },
                        None => attribute,
                    }
                });
                all.extend(columns);
            }
            Kind::Sequence(_) => {}
            Kind::Index(table, at) => all.extend(of_index(relation, table, *at)),
            Kind::View(view) => {
                let (_, within) = world.schema_of(relation);
                let columns = bound(within, &view.name);
                all.extend(
                    columns
                        .iter()
                        .flat_map(|columns| of_fields(relation, columns)),
                );
            }
            Kind::System(line) => all.extend(of_fields(relation, &schema(line))),
        }
    }
    all
}

/// Columns that are GENERATED AS IDENTITY, by the numbers of their tables, and how.
fn identities(world: &World) -> HashMap<(i64, ColumnId), &'static str> {
    let relations = world.relations.iter();
    let identities = relations.filter_map(|relation| {
        let Kind::Sequence(sequence) = &relation.kind else {
            return None;
        };
        let identity = match sequence.used() {
            SequenceUse::Always => "a",
            SequenceUse::Default => "d",
            SequenceUse::Owned => return None,
        };
        Some(((relation.of, sequence.owner_column()?), identity))
    });
    identities.collect()
}

fn of_column(relation: &Relation, number: i64, column: &Column) -> Attribute {
    Attribute {
        relation: relation.oid,
        number,
        name: column.name.clone(),
        ty: column_type(column),
        type_name: column_type_name(&column.ty),
        not_null: !column.nullable,
        default: column.default.clone(),
        generated: column.generated.clone(),
        identity: "",
    }
}

fn of_index(relation: &Relation, table: &TableVersion, at: usize) -> Vec<Attribute> {
    let ids = table.indexes().get(at).map(|index| index.column_ids());
    let columns = ids.unwrap_or_default().iter();
    let columns = columns.filter_map(|id| table.columns.iter().find(|column| column.id == *id));
    let columns = (1..).zip(columns).map(|(number, column)| Attribute {
        not_null: false,
        default: None,
        generated: None,
        ..of_column(relation, number, column)
    });
    columns.collect()
}

fn of_fields(relation: &Relation, schema: &SchemaRef) -> Vec<Attribute> {
    let columns = (1..).zip(schema.fields()).map(|(number, field)| Attribute {
        relation: relation.oid,
        number,
        name: field.name().clone(),
        ty: field_type(field),
        type_name: display_type(field),
        not_null: false,
        default: None,
        generated: None,
        identity: "",
    });
    columns.collect()
}

fn field_type(field: &Field) -> (i64, i64) {
    let told = field.metadata().get(POSTGRES_TYPE);
    match told.and_then(|oid| oid.parse().ok()) {
        Some(oid) => (oid, -1),
        None => base_types::of(field.data_type()),
    }
}
