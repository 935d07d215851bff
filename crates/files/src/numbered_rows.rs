//! `file_row_number` of Parquet files: the place of each row in its file, from 0, as a column behind the others.
//!
//! What must hold: it is counted by what reads the file, which knows of row groups and pages that it leaves out.

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::ListingTable;
use datafusion::functions::core::file_row_index;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use std::sync::Arc;

/// The column's name.
pub(super) const NAME: &str = "file_row_number";

/// A file whose rows have their numbers.
#[derive(Debug)]
pub(super) struct NumberedRows {
    file: ListingTable,
    schema: SchemaRef,
}

impl NumberedRows {
    pub(super) fn new(file: ListingTable) -> Self {
        let own = file.schema();
        let number = Arc::new(Field::new(NAME, DataType::Int64, true));
        let fields = own.fields().iter().cloned().chain([number]);
        let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), own.metadata().clone());
        Self {
            file,
            schema: Arc::new(schema),
        }
    }

    /// What gives the number of a row; the scan takes it in.
    fn number(&self, session: &dyn Session) -> Result<Arc<dyn PhysicalExpr>> {
        let options = Arc::clone(session.config().options());
        let number = ScalarFunctionExpr::try_new(file_row_index(), vec![], &self.schema, options)?;
        Ok(Arc::new(number))
    }
}

#[async_trait]
impl TableProvider for NumberedRows {
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
        let asks_number = |filter: &Expr| filter.column_refs().iter().any(|of| of.name == NAME);
        let mut known = self.file.supports_filters_pushdown(filters)?;
        for (known, filter) in known.iter_mut().zip(filters) {
            if asks_number(filter) {
                *known = TableProviderFilterPushDown::Unsupported;
            }
        }
        Ok(known)
    }

    async fn scan(
        &self,
        session: &dyn Session,
        columns: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let own = self.file.schema().fields().len();
        let all = (0..=own).collect();
        let wanted = columns.unwrap_or(&all);
        let read: Vec<usize> = wanted.iter().copied().filter(|at| *at < own).collect();
        let plan = self.file.scan(session, Some(&read), filters, limit).await?;
        if read.len() == wanted.len() {
            return Ok(plan);
        }
        let mut places = 0..;
        let exprs = wanted.iter().map(|at| {
            let name = self.schema.field(*at).name();
            let expr = match *at < own {
                true => Arc::new(Column::new(name, places.next().unwrap_or_default())) as _,
                false => self.number(session)?,
            };
            Ok(ProjectionExpr::new(expr, name.clone()))
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        let numbered = ProjectionExec::try_new(exprs, Arc::clone(&plan))?;
        plan.try_swapping_with_projection(&numbered)?
            .ok_or_else(|| internal_datafusion_err!("the rows of a file are not numbered"))
    }
}
