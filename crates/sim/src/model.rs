//! `Model`: what a database must hold, kept in plain maps beside the real one.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringViewArray};
use hushdb_storage::{CatalogVersion, Column, ColumnId, ColumnType, Result, Store, TableId};

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// INTEGER and BIGINT.
    Int(i64),
    /// DOUBLE, by its bits.
    Double(u64),
    /// VARCHAR.
    Text(String),
}

/// The types that tables of a model have.
pub const COLUMN_TYPES: [ColumnType; 5] = [
    ColumnType::Boolean,
    ColumnType::Int32,
    ColumnType::Int64,
    ColumnType::Double,
    ColumnType::Varchar,
];

/// A table: its definition and its rows by row id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableModel {
    /// Its id.
    pub id: TableId,
    /// Columns in order.
    pub columns: Vec<Column>,
    /// Names of indexes, and the ids of their columns. What they say is for `Store::check` to hold against the rows.
    pub indexes: Vec<(String, Vec<ColumnId>)>,
    /// The id that the next column gets.
    pub next_column_id: ColumnId,
    /// The id that the next row gets.
    pub next_row_id: u64,
    /// Values in the order of the columns.
    pub rows: BTreeMap<u64, Vec<Value>>,
}

/// A schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaModel {
    /// Tables by name.
    pub tables: BTreeMap<String, Arc<TableModel>>,
    /// SQL text of views by name.
    pub views: BTreeMap<String, String>,
}

/// A whole database: schemas by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Schemas by name.
    pub schemas: BTreeMap<String, SchemaModel>,
}

impl Default for Model {
    fn default() -> Self {
        let main = (
            hushdb_storage::MAIN_SCHEMA.to_owned(),
            SchemaModel::default(),
        );
        Self {
            schemas: BTreeMap::from([main]),
        }
    }
}

impl Model {
    /// This state with what leads from `before` to `after`, where this one differs from `before` only in rows that were
    /// added. `None` where a table that got rows was redefined or dropped: the two conflict.
    pub fn with_changes(&self, before: &Self, after: &Self) -> Option<Self> {
        let mut merged = after.clone();
        for (name, schema) in &self.schemas {
            for (table_name, now) in &schema.tables {
                let then = before.table(name, table_name)?;
                if then == &**now {
                    continue;
                }
                // Rows of both: ours follow theirs, by as much as they added.
                let ours = after.by_id(then.id)?;
                if (ours.columns.as_slice(), ours.next_column_id)
                    != (then.columns.as_slice(), then.next_column_id)
                    || ours.indexes != then.indexes
                    || after.table(name, table_name).map(|t| t.id) != Some(then.id)
                {
                    return None;
                }
                let shift = now.next_row_id - then.next_row_id;
                let added = now.rows.range(then.next_row_id..);
                let added: Vec<_> = added.map(|(id, row)| (*id, row.clone())).collect();
                let target = merged.table_mut(name, table_name)?;
                let own = target.rows.split_off(&then.next_row_id);
                target.rows.extend(added);
                target
                    .rows
                    .extend(own.into_iter().map(|(id, row)| (id + shift, row)));
                target.next_row_id += shift;
            }
        }
        Some(merged)
    }

    fn by_id(&self, id: TableId) -> Option<&TableModel> {
        let tables = self
            .schemas
            .values()
            .flat_map(|schema| schema.tables.values());
        tables.map(AsRef::as_ref).find(|table| table.id == id)
    }

    /// Reads everything that a version of a catalog names.
    ///
    /// # Errors
    /// What reading reports.
    pub fn read(store: &Arc<Store>, catalog: &CatalogVersion) -> Result<Self> {
        let mut schemas = BTreeMap::new();
        for (name, schema) in &catalog.schemas {
            let mut model = SchemaModel::default();
            for (table_name, table) in schema.tables.iter() {
                let mut rows = BTreeMap::new();
                for group in table.row_groups()? {
                    let visible = group.visible();
                    let mut columns = Vec::with_capacity(table.columns.len());
                    for column in &table.columns {
                        let array = store.read_column(group, column, visible.as_ref())?;
                        columns.push(values(&column.ty, &array));
                    }
                    let deletes = group.deletes.as_deref();
                    let gone = |offset: &u32| deletes.is_some_and(|d| d.contains(*offset));
                    let there = (0..group.rows).filter(|offset| !gone(offset));
                    for (at, offset) in there.enumerate() {
                        let row = columns
                            .iter()
                            .map(|column| column.get(at).cloned().unwrap_or(Value::Null));
                        let id = group.first_row_id + u64::from(offset);
                        rows.insert(id.number(), row.collect());
                    }
                }
                let indexes = table.indexes().iter();
                let indexes = indexes.map(|i| (i.name().to_owned(), i.column_ids().to_vec()));
                let table = TableModel {
                    id: table.id,
                    columns: table.columns.to_vec(),
                    indexes: indexes.collect(),
                    next_column_id: table.next_column_id,
                    next_row_id: table.next_row_id.number(),
                    rows,
                };
                model.tables.insert(table_name.clone(), Arc::new(table));
            }
            for (view_name, view) in &schema.views {
                model.views.insert(view_name.clone(), view.sql.clone());
            }
            schemas.insert(name.clone(), model);
        }
        Ok(Self { schemas })
    }

    /// The first difference in words; `None` when both are the same.
    pub fn difference(&self, found: &Self) -> Option<String> {
        if self == found {
            return None;
        }
        for (name, schema) in &self.schemas {
            let Some(other) = found.schemas.get(name) else {
                return Some(format!("schema {name} is gone"));
            };
            if schema.views != other.views {
                return Some(format!("views of {name} differ"));
            }
            for (table_name, table) in &schema.tables {
                match other.tables.get(table_name) {
                    None => return Some(format!("table {name}.{table_name} is gone")),
                    Some(other) if other != table => {
                        return Some(format!(
                            "table {name}.{table_name} differs: {}",
                            table.difference(other)
                        ));
                    }
                    Some(_) => {}
                }
            }
            if schema.tables.len() != other.tables.len() {
                return Some(format!("schema {name} has tables that must not be"));
            }
        }
        Some("there are schemas that must not be".to_owned())
    }

    /// Schema and name of every table.
    pub fn table_names(&self) -> Vec<(String, String)> {
        let names = self.schemas.iter().flat_map(|(schema, model)| {
            let of = |table: &String| (schema.clone(), table.clone());
            model.tables.keys().map(of)
        });
        names.collect()
    }

    /// A table that may be changed.
    pub fn table_mut(&mut self, schema: &str, table: &str) -> Option<&mut TableModel> {
        let schema = self.schemas.get_mut(schema)?;
        schema.tables.get_mut(table).map(Arc::make_mut)
    }

    /// A table.
    pub fn table(&self, schema: &str, table: &str) -> Option<&TableModel> {
        Some(self.schemas.get(schema)?.tables.get(table)?)
    }
}

impl TableModel {
    fn difference(&self, found: &Self) -> String {
        if self.columns != found.columns {
            return format!("columns {:?} against {:?}", self.columns, found.columns);
        }
        if self.indexes != found.indexes {
            return format!("indexes {:?} against {:?}", self.indexes, found.indexes);
        }
        let missing = self.rows.keys().find(|id| !found.rows.contains_key(id));
        let extra = found.rows.keys().find(|id| !self.rows.contains_key(id));
        let other = self
            .rows
            .iter()
            .find(|(id, row)| found.rows.get(id).is_some_and(|f| f != *row));
        format!(
            "{} rows against {}, first missing {missing:?}, first extra {extra:?}, first changed {:?}, next row {} \
             against {}",
            self.rows.len(),
            found.rows.len(),
            other.map(|(id, _)| id),
            self.next_row_id,
            found.next_row_id
        )
    }
}

/// One column of an array of a type of [`COLUMN_TYPES`].
fn values(ty: &ColumnType, array: &ArrayRef) -> Vec<Value> {
    fn all<T>(
        items: impl Iterator<Item = Option<T>>,
        value: impl Fn(T) -> Value + Copy,
    ) -> Vec<Value> {
        items.map(|item| item.map_or(Value::Null, value)).collect()
    }
    match ty {
        ColumnType::Boolean => all(array.as_boolean().iter(), Value::Bool),
        ColumnType::Int32 => all(array.as_primitive::<Int32Type>().iter(), |v| {
            Value::Int(i64::from(v))
        }),
        ColumnType::Int64 => all(array.as_primitive::<Int64Type>().iter(), Value::Int),
        ColumnType::Double => all(array.as_primitive::<Float64Type>().iter(), |v| {
            Value::Double(v.to_bits())
        }),
        _ => all(array.as_string_view().iter(), |v| Value::Text(v.to_owned())),
    }
}

/// The array of one column's values.
pub(crate) fn array<'a>(ty: &ColumnType, values: impl Iterator<Item = &'a Value>) -> ArrayRef {
    let int = |value: &Value| match value {
        Value::Int(v) => Some(*v),
        _ => None,
    };
    match ty {
        ColumnType::Boolean => {
            let bools = values.map(|value| match value {
                Value::Bool(v) => Some(*v),
                _ => None,
            });
            Arc::new(bools.collect::<BooleanArray>())
        }
        ColumnType::Int32 => {
            let ints = values.map(|value| int(value).and_then(|v| i32::try_from(v).ok()));
            Arc::new(ints.collect::<Int32Array>())
        }
        ColumnType::Int64 => Arc::new(values.map(int).collect::<Int64Array>()),
        ColumnType::Double => {
            let doubles = values.map(|value| match value {
                Value::Double(bits) => Some(f64::from_bits(*bits)),
                _ => None,
            });
            Arc::new(doubles.collect::<Float64Array>())
        }
        _ => {
            let texts = values.map(|value| match value {
                Value::Text(text) => Some(text.as_str()),
                _ => None,
            });
            Arc::new(texts.collect::<StringViewArray>())
        }
    }
}
