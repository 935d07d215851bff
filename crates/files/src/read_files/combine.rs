//! The tables of several files as one: the first file's columns, or those of all, by their names.
//!
//! What must hold: a column is found by its name in every file, or the error names the file that lacks it; no value changes but by a
//! cast to the column's type.

use super::hive::HiveColumn;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::logical_expr::{
    Cast, Expr, LogicalPlan, LogicalPlanBuilder, TableSource, Union, lit,
};
use hushdb_sql::type_names::arrow_field;
use hushdb_sql::{Error, Result, folded};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A file and its rows.
pub(super) struct FileTable {
    pub(super) path: String,
    pub(super) source: Arc<dyn TableSource>,
    /// Columns of which nothing is known but that they are there.
    pub(super) without_values: HashSet<String>,
}

impl FileTable {
    pub(super) fn new(path: &str, source: Arc<dyn TableSource>) -> Self {
        Self {
            path: path.to_owned(),
            source,
            without_values: HashSet::new(),
        }
    }
}

/// What the columns of all are.
pub(super) struct Layout {
    pub(super) fields: Vec<FieldRef>,
    /// A file that lacks a column has NULL there.
    pub(super) by_all: bool,
    /// The column of the files' names.
    pub(super) filename: Option<String>,
    pub(super) hive: Vec<HiveColumn>,
}

impl Layout {
    /// Whether a file has these columns already.
    pub(super) fn is_of(&self, table: &FileTable) -> bool {
        let own = table.source.schema();
        let typed = |field: &FieldRef| (field.name().clone(), field.data_type().clone());
        let own = own.fields().iter().map(typed);
        self.filename.is_none() && self.hive.is_empty() && own.eq(self.fields.iter().map(typed))
    }
}

/// The first file's columns, or those of all files in the order in which they first appear; a column's type is what `common` makes of
/// those that it has; of files that have no value of it, NULL's.
pub(super) fn fields_of(
    tables: &[FileTable],
    by_all: bool,
    common: impl Fn(&[DataType]) -> DataType,
) -> Vec<FieldRef> {
    let mut fields: Vec<(FieldRef, Vec<DataType>)> = vec![];
    let mut places: HashMap<String, usize> = HashMap::new();
    for (number, table) in tables.iter().enumerate() {
        for field in table.source.schema().fields() {
            let ty = match table.without_values.contains(field.name()) {
                true => DataType::Null,
                false => field.data_type().clone(),
            };
            match places
                .get(&folded(field.name()))
                .and_then(|at| fields.get_mut(*at))
            {
                Some((_, types)) => types.push(ty),
                None if by_all || number == 0 => {
                    places.insert(folded(field.name()), fields.len());
                    fields.push((Arc::clone(field), vec![ty]));
                }
                None => {}
            }
        }
    }
    let fields = fields.into_iter().map(|(field, types)| {
        let ty = common(&types);
        match *field.data_type() == ty {
            true => field,
            false => Arc::new(Field::new(field.name(), ty, true)),
        }
    });
    fields.collect()
}

/// The rows of all files, one file behind the other.
///
/// # Errors
/// `InvalidInput` for a file that lacks a column, `Binder` for a name that is there twice.
pub(super) fn combined(tables: Vec<FileTable>, layout: &Layout) -> Result<Arc<dyn TableSource>> {
    if let Some(name) = &layout.filename
        && layout
            .fields
            .iter()
            .any(|field| folded(field.name()) == folded(name))
    {
        return Err(Error::binder(format!(
            "Option filename adds column \"{name}\", but a column with this name is also in the file. Try setting a different name: filename='<filename column name>'"
        )));
    }
    let first = tables.first().map(|table| table.path.clone());
    let first = first.unwrap_or_default();
    let plans = tables.into_iter().enumerate();
    let plans = plans.map(|(number, table)| rows(table, number, layout, &first).map(Arc::new));
    let mut plans = plans.collect::<Result<Vec<_>>>()?;
    let plan = match plans.len() {
        1 => plans.swap_remove(0),
        _ => Arc::new(LogicalPlan::Union(Union::try_new_with_loose_types(plans)?)),
    };
    let view = ViewTable::new(Arc::unwrap_or_clone(plan), None);
    Ok(provider_as_source(Arc::new(view)))
}

/// The rows of a file, with the columns of all.
fn rows(table: FileTable, number: usize, layout: &Layout, first: &str) -> Result<LogicalPlan> {
    let plan = LogicalPlanBuilder::scan("file", table.source, None)?.build()?;
    let own = plan.schema();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (at, field) in own.fields().iter().enumerate() {
        places.entry(folded(field.name())).or_insert(at);
    }
    let mut hive: Vec<&HiveColumn> = layout.hive.iter().collect();
    let mut exprs = vec![];
    for field in &layout.fields {
        let name = folded(field.name());
        if let Some(at) = hive.iter().position(|column| folded(&column.name) == name) {
            exprs.push(partition(hive.remove(at), number, field.name()));
            continue;
        }
        let expr = match places.get(&name) {
            Some(at) => Expr::Column(own.columns().swap_remove(*at)),
            None if layout.by_all => lit(ScalarValue::Null),
            None => return Err(lacks(&table.path, first, field.name(), own.field_names())),
        };
        let is_typed = places
            .get(&name)
            .is_some_and(|at| own.field(*at).data_type() == field.data_type());
        let expr = match is_typed {
            true => expr,
            false => Expr::Cast(Cast::new_from_field(Box::new(expr), Arc::clone(field))),
        };
        exprs.push(expr.alias(field.name()));
    }
    if let Some(name) = &layout.filename {
        exprs.push(lit(ScalarValue::Utf8View(Some(table.path))).alias(name));
    }
    let hive = hive.into_iter();
    exprs.extend(hive.map(|column| partition(column, number, &column.name)));
    Ok(LogicalPlanBuilder::from(plan).project(exprs)?.build()?)
}

fn partition(column: &HiveColumn, file: usize, name: &str) -> Expr {
    let value = column.value(file);
    let expr = match value.data_type() == column.arrow() {
        true => lit(value),
        false => {
            let field = Arc::new(arrow_field(name, &column.ty, true));
            Expr::Cast(Cast::new_from_field(Box::new(lit(value)), field))
        }
    };
    expr.alias(name)
}

fn lacks(path: &str, first: &str, name: &str, own: Vec<String>) -> Error {
    let own = own
        .iter()
        .map(|name| name.strip_prefix("file.").unwrap_or(name));
    let own = own.collect::<Vec<_>>().join(", ");
    Error::invalid(format!(
        "Failed to read file \"{path}\": schema mismatch in glob: column \"{name}\" was read from the original file \"{first}\", but could not be found in file \"{path}\".\nCandidate names: {own}\nIf you are trying to read files with different schemas, try setting union_by_name=True"
    ))
}
