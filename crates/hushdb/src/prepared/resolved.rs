//! `Resolved`: a shape against a table as it is defined now: which index finds the rows, and what comes out.
//!
//! What must hold: it is used only for a table with the same columns and the index that it was made for.

use super::shape::{Item, Place};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use hushdb_sql::position_of;
use hushdb_sql::type_names::arrow_field;
use hushdb_storage::{Column, ColumnId, ColumnType, Index, Shared, TableId, TableVersion};
use std::sync::Arc;

/// A shape against a table.
pub(crate) struct Resolved {
    table_id: TableId,
    columns: Shared<Column>,
    index_name: String,
    index_columns: Vec<ColumnId>,
    /// For each column of the index, the place in the shape's key of its value, and its type.
    pub(crate) key: Vec<(usize, ColumnType)>,
    /// Positions in the table of the columns that come out.
    pub(crate) output: Vec<usize>,
    pub(crate) schema: SchemaRef,
}

impl Resolved {
    /// `None` when the table has no index on exactly these columns, or lacks a column.
    pub(crate) fn new(table: &TableVersion, place: &Place, items: Option<&[Item]>) -> Option<Self> {
        let named = place.key.iter().map(|(name, _)| table.column(name));
        let named = named.collect::<Option<Vec<&Column>>>()?;
        let index = index_on(table, &named)?;
        let key = index.column_ids().iter().map(|id| {
            let at = named.iter().position(|column| column.id == *id)?;
            Some((at, named.get(at)?.ty.clone()))
        });
        let key = key.collect::<Option<Vec<_>>>()?;
        let output: Vec<usize> = match items {
            None => (0..table.columns.len()).collect(),
            Some(items) => {
                let position = |item: &Item| {
                    let names = table.columns.iter().map(|column| column.name.as_str());
                    position_of(names, &item.column)
                };
                items.iter().map(position).collect::<Option<_>>()?
            }
        };
        let fields = output.iter().enumerate().map(|(at, position)| {
            let column = &table.columns[*position];
            let item = items.and_then(|items| items[at].name.as_ref());
            let name = item.unwrap_or(&column.name);
            arrow_field(name, &column.ty, column.nullable)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Some(Self {
            table_id: table.id,
            columns: table.columns.clone(),
            index_name: index.name().to_string(),
            index_columns: index.column_ids().to_vec(),
            key,
            output,
            schema,
        })
    }

    /// The index in a version of the table, if it is still the table that was resolved.
    pub(crate) fn index<'a>(&self, table: &'a TableVersion) -> Option<&'a Index> {
        if table.id != self.table_id || table.columns != self.columns {
            return None;
        }
        let mut indexes = table.indexes().iter();
        indexes.find(|index| {
            index.name() == self.index_name && index.column_ids() == self.index_columns
        })
    }
}

/// The index whose columns are exactly those of the key; a unique one rather than another. Floats have two zeros, and how
/// they compare is left to the plan.
fn index_on<'a>(table: &'a TableVersion, key: &[&Column]) -> Option<&'a Index> {
    let covers = |index: &&Index| {
        index.column_ids().len() == key.len()
            && index.column_ids().iter().all(|id| {
                let column = key.iter().find(|column| column.id == *id);
                column.is_some_and(|column| {
                    !matches!(column.ty, ColumnType::Float | ColumnType::Double)
                })
            })
    };
    let kind = |unique| {
        let indexes = table.indexes().iter();
        indexes.filter(move |index| index.kind().is_unique() == unique)
    };
    kind(true).chain(kind(false)).find(covers)
}
