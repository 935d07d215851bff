//! `TableScan`: one table of one catalog version, as DataFusion's planner sees it.

use super::estimate::share_of_rows;
use super::progress::ScanProgress;
use super::source::ScanSource;
use super::statistics::table_statistics;
use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result, Statistics};
use datafusion::datasource::TableType;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::split_conjunction;
use datafusion::physical_plan::ExecutionPlan;
use hushdb_sql::planned_names;
use hushdb_sql::type_names::arrow_field;
use hushdb_storage::{CatalogVersion, Column, Store, TableVersion};
use std::fmt;
use std::sync::Arc;

/// Name of the hidden column that DML plans ask for; `$` keeps it apart from what SQL text can name unquoted.
pub const ROW_ID: &str = "$rowid";

/// A table at one snapshot. Holding the catalog version keeps the blocks it refers to from being reused.
#[derive(Clone)]
pub struct TableScan {
    pub(super) store: Arc<Store>,
    pub(super) _version: Arc<CatalogVersion>,
    pub(super) table: Arc<TableVersion>,
    /// All columns of the table under the names that the planner knows, then `$rowid` if asked for.
    pub(super) schema: SchemaRef,
    pub(super) progress: Arc<ScanProgress>,
}

impl TableScan {
    /// A scan of one version of a table; with row ids, the column [`ROW_ID`] comes last.
    pub fn new(
        store: Arc<Store>,
        version: Arc<CatalogVersion>,
        table: Arc<TableVersion>,
        with_row_ids: bool,
        progress: Arc<ScanProgress>,
    ) -> Self {
        let names = planned_names(&table.columns);
        let mut fields: Vec<Field> = (table.columns.iter().zip(names))
            .map(|(c, name)| arrow_field(&name, &c.ty, c.nullable))
            .collect();
        if with_row_ids {
            fields.push(Field::new(ROW_ID, DataType::UInt64, false));
        }
        Self {
            store,
            _version: version,
            table,
            schema: Arc::new(Schema::new(fields)),
            progress,
        }
    }
}

impl TableScan {
    /// Columns of the table, and `$rowid` if it was asked for.
    pub fn fields(&self) -> &Fields {
        self.schema.fields()
    }

    /// Names of the columns of each key that the table has once at most.
    pub fn unique_keys(&self) -> impl Iterator<Item = Vec<&str>> {
        let indexes = self.table.indexes().iter();
        let unique = indexes.filter(|index| index.kind().is_unique());
        unique.map(|index| {
            let columns = self.table.columns.iter().zip(self.fields());
            let columns = columns.filter(|(column, _)| index.column_ids().contains(&column.id));
            columns.map(|(_, field)| field.name().as_str()).collect()
        })
    }

    /// The table's column of a name that the planner knows.
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        let at = self
            .fields()
            .iter()
            .position(|field| field.name() == name)?;
        self.table.columns.get(at)
    }

    /// What a column is called in its table.
    pub(crate) fn column_name(&self, at: usize) -> Option<&str> {
        self.table
            .columns
            .get(at)
            .map(|column| column.name.as_str())
    }

    /// Statistics of all visible rows, before any filter.
    ///
    /// # Errors
    /// What reading the row-group directory finds.
    pub fn whole_statistics(&self) -> hushdb_sql::Result<Statistics> {
        Ok(table_statistics(self, self.table.row_groups()?))
    }
}

impl fmt::Debug for TableScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableScan({})", self.table.name)
    }
}

#[async_trait]
impl TableProvider for TableScan {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters
            .iter()
            .map(|filter| {
                if filter.is_volatile() || has_subquery(filter) {
                    TableProviderFilterPushDown::Unsupported
                } else {
                    TableProviderFilterPushDown::Exact
                }
            })
            .collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        let mut predicates = vec![];
        let filters: Vec<Expr> = filters.iter().map(unqualified).collect();
        let share = share_of_rows(self, &filters);
        // One by one: of a chain of them, types would be asked for down the whole chain at each of its levels.
        for filter in filters {
            let predicate = state.create_physical_expr(filter, &schema)?;
            predicates.extend(split_conjunction(&predicate).into_iter().cloned());
        }
        let source = ScanSource::try_new(
            self.clone(),
            projection.cloned(),
            predicates,
            share,
            limit,
            state.config().target_partitions(),
        )?;
        Ok(Arc::new(DataSourceExec::new(Arc::new(source))))
    }
}

/// Filters arrive with the query's table names on their columns; the scan knows only its own columns.
fn unqualified(filter: &Expr) -> Expr {
    use datafusion::common::tree_node::{Transformed, TreeNode};
    filter
        .clone()
        .transform(|expr| {
            Ok(match expr {
                Expr::Column(c) => Transformed::yes(Expr::Column(
                    datafusion::common::Column::new_unqualified(c.name),
                )),
                other => Transformed::no(other),
            })
        })
        .map(|t| t.data)
        .unwrap_or_else(|_| filter.clone())
}

fn has_subquery(filter: &Expr) -> bool {
    use datafusion::common::tree_node::TreeNode;
    filter
        .exists(|e| {
            Ok(matches!(
                e,
                Expr::Exists(_)
                    | Expr::InSubquery(_)
                    | Expr::ScalarSubquery(_)
                    | Expr::OuterReferenceColumn(..)
            ))
        })
        .unwrap_or(true)
}
