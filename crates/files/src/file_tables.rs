//! `glob`, `read_text` and `read_blob`: files as rows, a file a row.
//!
//! What must hold: a file is read when its row is, and its bytes are asked of the memory limit first.

use super::file_paths::matching;
use super::read_files::{HiveColumn, HiveOptions};
use datafusion::arrow::array::{
    ArrayRef, BinaryViewArray, Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::MemTable;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::DataFusionError;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Cast, Expr, LogicalPlanBuilder, TableSource};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use hushdb_query::heed::heeding;
use hushdb_query::memory::Claim;
use hushdb_sql::type_names::arrow_field;
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{ColumnType, open_input};
use std::io::Read;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// A value is no larger: what Arrow's views address.
const MOST: u64 = i32::MAX as u64;

/// The files that patterns stand for, as `glob` lists them.
///
/// # Errors
/// `Io` when a directory cannot be listed.
pub fn listed(patterns: &[String]) -> Result<Arc<dyn TableSource>> {
    let files = all(patterns)?;
    let schema = Arc::new(Schema::new(vec![Field::new(
        "file",
        DataType::Utf8View,
        true,
    )]));
    let names: ArrayRef = Arc::new(StringViewArray::from_iter_values(files));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![names])?;
    let table = MemTable::try_new(schema, vec![vec![batch]])?;
    Ok(provider_as_source(Arc::new(table)))
}

/// The files that patterns stand for, with what is in them, text or bytes, and columns that the names of their directories say.
///
/// # Errors
/// `Io` when a directory cannot be listed.
pub fn contents(patterns: &[String], is_text: bool) -> Result<Arc<dyn TableSource>> {
    let files = all(patterns)?;
    let hive = HiveOptions::default().columns(&files)?;
    let content = match is_text {
        true => ColumnType::Varchar,
        false => ColumnType::Blob,
    };
    let columns = [
        ("filename", ColumnType::Varchar),
        ("content", content),
        ("size", ColumnType::Int64),
        (
            "last_modified",
            ColumnType::Timestamp(TimeUnit::Microsecond, true),
        ),
    ];
    let fields = columns.iter().map(|(name, ty)| arrow_field(name, ty, true));
    let texts = hive
        .iter()
        .map(|column| Field::new(&column.name, DataType::Utf8View, true));
    let schema = Arc::new(Schema::new(fields.chain(texts).collect::<Vec<Field>>()));
    let casts: Vec<Field> = hive
        .iter()
        .map(|column| arrow_field(&column.name, &column.ty, true))
        .collect();
    let partition = Contents {
        files: files.into(),
        hive: hive.into(),
        is_text,
        schema: Arc::clone(&schema),
    };
    let table = StreamingTable::try_new(schema, vec![Arc::new(partition)])?;
    typed(provider_as_source(Arc::new(table)), &casts)
}

/// The table with its last columns, which are texts, cast to these.
fn typed(source: Arc<dyn TableSource>, casts: &[Field]) -> Result<Arc<dyn TableSource>> {
    if casts.is_empty() {
        return Ok(source);
    }
    let plan = LogicalPlanBuilder::scan("file", source, None)?.build()?;
    let columns = plan.schema().columns();
    let plain = columns.len().saturating_sub(casts.len());
    let columns = columns.into_iter().enumerate().map(|(at, column)| {
        let name = column.name.clone();
        let expr = Expr::Column(column);
        match at.checked_sub(plain).and_then(|at| casts.get(at)) {
            None => expr,
            Some(field) => Expr::Cast(Cast::new_from_field(
                Box::new(expr),
                Arc::new(field.clone()),
            ))
            .alias(name),
        }
    });
    let columns: Vec<Expr> = columns.collect();
    let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
    Ok(provider_as_source(Arc::new(ViewTable::new(plan, None))))
}

fn all(patterns: &[String]) -> Result<Vec<String>> {
    let files = patterns.iter().map(|pattern| matching(pattern));
    Ok(files.collect::<Result<Vec<_>>>()?.concat())
}

#[derive(Debug)]
struct Contents {
    files: Arc<[String]>,
    hive: Arc<[HiveColumn]>,
    is_text: bool,
    schema: SchemaRef,
}

impl PartitionStream for Contents {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let given = Arc::clone(&context);
        let (files, is_text) = (Arc::clone(&self.files), self.is_text);
        let hive = Arc::clone(&self.hive);
        let rows = (0..files.len()).filter_map(move |at| {
            let path = files.get(at)?;
            let said = hive
                .iter()
                .map(|column| column.values.get(at).cloned().flatten());
            let batch = row(path, is_text, said, &schema, &given);
            Some(batch.map_err(DataFusionError::from))
        });
        let rows = futures::stream::iter(rows);
        let rows = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows);
        heeding(Box::pin(rows), &context)
    }
}

/// A file as a row.
fn row(
    path: &str,
    is_text: bool,
    said: impl Iterator<Item = Option<String>>,
    schema: &SchemaRef,
    context: &TaskContext,
) -> Result<RecordBatch> {
    let failed = |error: std::io::Error| {
        let text = format!("Cannot open file \"{path}\": {error}");
        Error::new(ErrorKind::Io, text)
    };
    let file = open_input(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.len() > MOST {
        return Err(Error::invalid(format!(
            "\"{path}\" is larger than 2 GiB, which a value may have"
        )));
    }
    let reservation = Claim::Held.register(format!("contents of {path}"), context.memory_pool());
    reservation.try_grow(about.len() as usize)?;
    let mut bytes = vec![];
    file.take(about.len())
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let size = bytes.len() as i64;
    let content: ArrayRef = match is_text {
        false => Arc::new(BinaryViewArray::from_iter_values([bytes])),
        true => {
            let text = String::from_utf8(bytes).map_err(|_| {
                Error::invalid(format!(
                    "read_text: could not read content of file '{path}' as valid UTF-8 encoded text. You may want to use read_blob instead."
                ))
            })?;
            Arc::new(StringViewArray::from_iter_values([text]))
        }
    };
    let changed = about.modified().ok();
    let changed = changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
    let changed = changed.and_then(|since| i64::try_from(since.as_micros()).ok());
    let changed = TimestampMicrosecondArray::from(vec![changed]);
    let zone = match schema.field(3).data_type() {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(StringViewArray::from_iter_values([path])),
        content,
        Arc::new(Int64Array::from(vec![size])),
        Arc::new(changed.with_timezone_opt(zone)),
    ];
    columns.extend(
        said.map(|value| -> ArrayRef { Arc::new(StringViewArray::from(vec![value.as_deref()])) }),
    );
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
