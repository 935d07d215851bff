//! ALTER TABLE ... ALTER COLUMN ... TYPE: the values of a column cast, or computed anew from those of their row.
//!
//! What must hold: rows keep their ids, and only those that are there are cast; a value that does not cast fails the statement,
//! and nothing has changed.

use super::ddl::table_columns;
use super::defaults;
use super::indexes;
use crate::exec::query;
use crate::exec::rows::load::{RowRules, project};
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{concat_batches, take};
use datafusion::arrow::datatypes::Schema;
use datafusion::catalog::MemTable;
use datafusion::common::TableReference;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::sql::sqlparser::ast;
use hushdb_query::plan::TableName;
use hushdb_sql::type_names::{arrow_field, column_type, column_type_name};
use hushdb_sql::walk::visit_expressions;
use hushdb_sql::{self as sql, Error, Result, planned_names};
use hushdb_storage::{Column, RowGroup, Store};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Changes the type of `column`.
///
/// # Errors
/// `Binder` or `Catalog` when a key or an index has the column, or its default does not cast; `Conversion` when a value does not
/// cast, `Constraint` when one
/// becomes NULL that must not.
pub(in crate::exec) fn change_type(
    statement: &Statement<'_>,
    write: &mut Write<'_>,
    name: &TableName,
    column: &Column,
    to: &ast::DataType,
    using: Option<ast::Expr>,
) -> Result<()> {
    let columns = table_columns(write, name)?;
    let declared = sql::declared(to)?;
    // Rows stay as they are where all that was allowed is.
    let is_within = column.declared.is_some_and(|own| own.is_within(declared));
    if is_within && using.is_none() && column_type(to)? == column.ty {
        return Ok(write.set_declared(&name.schema, &name.name, &column.name, declared)?);
    }
    indexes::refuse_change_of_type(write, name, &column.name)?;
    let to = Column {
        ty: column_type(to)?,
        declared,
        ..column.clone()
    };
    if to.default.is_some() && defaults::check(statement, name, &to).is_err() {
        return Err(Error::binder(format!(
            "the default of column \"{}\" cannot be cast to {}: drop the default first",
            column.name,
            column_type_name(&to.ty)
        )));
    }
    let using =
        using.unwrap_or_else(|| ast::Expr::Identifier(ast::Ident::with_quote('"', &column.name)));
    let named = names(&using)?;
    let is_read = |c: &&Column| c.id == column.id || named.contains(&sql::folded(&c.name));
    let change = Change {
        statement,
        name,
        read: columns.iter().filter(is_read).cloned().collect(),
        to: &to,
        using,
    };
    // What the storage knows of a failure is that there was one.
    let mut failure = None;
    let mut values = |store: &Store, group: &RowGroup| {
        change.values(store, group).map_err(|error| {
            failure = Some(error);
            hushdb_storage::Error::InvalidInput("a column's values".into())
        })
    };
    let changed = write.change_type(
        &name.schema,
        &name.name,
        &column.name,
        (to.ty.clone(), to.declared),
        &mut values,
    );
    match failure {
        Some(error) => Err(error),
        None => Ok(changed?),
    }
}

/// The names in an expression, of which some may be columns.
fn names(expr: &ast::Expr) -> Result<HashSet<String>> {
    let mut names = HashSet::new();
    let found = visit_expressions(expr, |expr| {
        match expr {
            ast::Expr::Identifier(ident) => {
                names.insert(sql::folded(&ident.value));
            }
            ast::Expr::CompoundIdentifier(parts) => {
                names.extend(parts.iter().map(|part| sql::folded(&part.value)));
            }
            ast::Expr::Subquery(_) | ast::Expr::Exists { .. } | ast::Expr::InSubquery { .. } => {
                return ControlFlow::Break(());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    match found {
        ControlFlow::Continue(()) => Ok(names),
        ControlFlow::Break(()) => Err(Error::binder("cannot use subquery in alter statement")),
    }
}

struct Change<'a> {
    statement: &'a Statement<'a>,
    name: &'a TableName,
    /// The columns that the values are made from.
    read: Vec<Column>,
    to: &'a Column,
    using: ast::Expr,
}

impl Change<'_> {
    /// The column's new values in a row group, NULL where a row is gone.
    fn values(&self, store: &Store, group: &RowGroup) -> Result<ArrayRef> {
        let visible = group.visible();
        let fields = self.read.iter().zip(planned_names(&self.read));
        let fields = fields.map(|(c, name)| arrow_field(&name, &c.ty, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let arrays = self.read.iter();
        let arrays = arrays.map(|column| store.read_column(group, column, visible.as_ref()));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
        let rows = batch.num_rows();
        let values = self.cast(batch)?;
        if values.len() != rows {
            return Err(Error::binder("USING must give one value for each row"));
        }
        let Some(visible) = visible else {
            return Ok(values);
        };
        let mut next = 0;
        let places = (0..group.rows as usize).map(|row| {
            visible.value(row).then(|| {
                next += 1;
                next - 1
            })
        });
        let places: UInt32Array = places.collect();
        Ok(take(values.as_ref(), &places, None)?)
    }

    /// The new values of rows of the columns that are read.
    fn cast(&self, batch: RecordBatch) -> Result<ArrayRef> {
        let planner = self.statement.planner();
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
        let table = provider_as_source(Arc::new(table));
        let name = TableReference::bare(sql::folded(&self.name.name));
        let plan = LogicalPlanBuilder::scan(name, table, None)?.build()?;
        let value = planner.plan_expr(self.using.clone(), plan.schema())?;
        let plan = LogicalPlanBuilder::from(plan).project([value.alias("value")])?;
        let columns = std::slice::from_ref(self.to);
        let plan = project(&planner, plan.build()?, self.name, columns, &[Some(0)])?;
        let rules = RowRules::new(&planner, &self.name.name, columns, &[])?;
        let batches = query::collect(self.statement, &plan)?;
        let batches = batches.iter().map(|batch| rules.apply(batch));
        let batches = batches.collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(Schema::new(vec![arrow_field(
            &self.to.name,
            &self.to.ty,
            true,
        )]));
        let whole = concat_batches(&schema, &batches)?;
        Ok(Arc::clone(whole.column(0)))
    }
}
