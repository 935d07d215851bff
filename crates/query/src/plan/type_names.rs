//! Names of types, for DataFusion's planner.

use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::DataType as SqlType;
use hushdb_sql::type_names::{arrow_field, column_type};
use std::sync::Arc;

/// Gives DataFusion's planner DuckDB's type names, for CAST and typed literals.
#[derive(Debug)]
pub(crate) struct DuckTypes;

impl TypePlanner for DuckTypes {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<Arc<Field>>> {
        match sql_type {
            SqlType::Interval { .. } => Ok(Some(Arc::new(Field::new(
                "",
                DataType::Interval(IntervalUnit::MonthDayNano),
                true,
            )))),
            other => {
                let ty = column_type(other)?;
                Ok(Some(Arc::new(arrow_field("", &ty, true))))
            }
        }
    }
}
