//! Records that are left out, and why: for `store_rejects`.
//!
//! What must hold: a record whose values are cast by the plan is left out there, and kept by it, with its place in the file.

use super::records::Dialect;
use super::rows::{Rows, Split, Values};
use crate::rejects::{FileRejects, Reject, Why};
use async_trait::async_trait;
use datafusion::arrow::array::{AsArray, BooleanArray};
use datafusion::arrow::datatypes::{DataType, SchemaRef, UInt64Type};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DataFusionError;
use datafusion::datasource::TableType;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_plan::ExecutionPlan;
use hushdb_sql::Error;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A column whose values are checked.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) place: usize,
    pub(super) name: String,
    pub(super) type_name: String,
}

impl Checked {
    /// What is wrong with a value of the column, which begins at `byte` of a text.
    pub(super) fn reject(&self, value: &str, byte: Option<usize>) -> Reject {
        Reject {
            why: Why::Cast,
            line: 0,
            line_byte: 0,
            byte: byte.map(|byte| byte as u64 + 1),
            column: Some(self.place as u64 + 1),
            name: Some(self.name.clone()),
            text: String::new(),
            message: format!(
                "Error when converting column \"{}\". Could not convert string \"{value}\" to '{}'",
                self.name, self.type_name
            ),
        }
    }
}

/// Whether records are read, by the casts of their values; those that are not are kept.
#[derive(Debug)]
pub(super) struct Accepts {
    pub(super) rejects: FileRejects,
    pub(super) dialect: Dialect,
    /// Columns of the file.
    pub(super) columns: usize,
    pub(super) checked: Vec<Checked>,
    signature: Signature,
}

impl Accepts {
    /// The condition of the plan: `place` is line, byte and text of a record, `casts` whether each of the columns could be cast.
    pub(super) fn condition(
        rejects: FileRejects,
        dialect: Dialect,
        columns: usize,
        checked: Vec<Checked>,
        args: Vec<Expr>,
    ) -> Expr {
        let accepts = Self {
            rejects,
            dialect,
            columns,
            checked,
            signature: Signature::variadic_any(Volatility::Volatile),
        };
        Arc::new(ScalarUDF::from(accepts)).call(args)
    }

    fn keep(&self, line: u64, byte: u64, text: &str, failed: &[&Checked]) -> Result<(), Error> {
        let mut split = Split::new(text.as_bytes(), self.dialect, self.columns, false);
        let (mut values, mut rows) = (Values::default(), Rows::of(text.as_bytes(), 0));
        let is_read = matches!(split.next(&mut values, &mut rows), Ok(true));
        for column in failed {
            let span = is_read.then(|| values.span(column.place));
            let value = span.and_then(|span| rows.text(span)).unwrap_or_default();
            let begin = span.and_then(|span| span.begin());
            let mut reject = column.reject(value, begin);
            reject.byte = reject.byte.map(|at| byte + at - 1);
            (reject.line, reject.line_byte) = (line, byte);
            reject.text = text.to_owned();
            self.rejects.keep(reject)?;
        }
        Ok(())
    }
}

impl PartialEq for Accepts {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Accepts {}

impl Hash for Accepts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rejects.about.path.hash(state);
    }
}

impl ScalarUDFImpl for Accepts {
    fn name(&self) -> &'static str {
        "$accepts"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType, DataFusionError> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue, DataFusionError> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [lines, bytes, texts, casts @ ..] = arrays.as_slice() else {
            return Err(Error::internal("a record has no place").into());
        };
        let (lines, bytes) = (
            lines.as_primitive::<UInt64Type>(),
            bytes.as_primitive::<UInt64Type>(),
        );
        let texts = texts.as_string_view();
        let casts: Vec<&BooleanArray> = casts.iter().map(|cast| cast.as_boolean()).collect();
        let mut all = vec![];
        for row in 0..lines.len() {
            let failed = casts.iter().zip(&self.checked);
            let failed = failed
                .filter(|(cast, _)| !cast.value(row))
                .map(|(_, of)| of);
            let failed: Vec<&Checked> = failed.collect();
            if !failed.is_empty() {
                let kept = self.keep(
                    lines.value(row),
                    bytes.value(row),
                    texts.value(row),
                    &failed,
                );
                kept.map_err(DataFusionError::from)?;
            }
            all.push(Some(failed.is_empty()));
        }
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from(all))))
    }
}

/// A plan that is run as it is: conditions of the query around it come after it.
#[derive(Debug)]
pub(super) struct Alone(pub(super) LogicalPlan);

#[async_trait]
impl TableProvider for Alone {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema().inner())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        columns: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let mut plan = LogicalPlanBuilder::from(self.0.clone());
        if let Some(columns) = columns {
            let all = self.0.schema().columns();
            let columns = columns.iter().filter_map(|at| all.get(*at).cloned());
            plan = plan.project(columns.map(Expr::Column).collect::<Vec<_>>())?;
        }
        session.create_physical_plan(&plan.build()?).await
    }
}
