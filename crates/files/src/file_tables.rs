//! `glob`, `read_text` and `read_blob`: files as rows, a file a row.
//!
//! What must hold: a file is read when its row is, and its bytes are asked of the memory limit first.

use super::file_paths::matching;
use datafusion::arrow::array::{
    ArrayRef, BinaryViewArray, Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::MemTable;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::DataFusionError;
use datafusion::datasource::provider_as_source;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::TableSource;
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

/// The files that patterns stand for, with what is in them: text, or bytes.
///
/// # Errors
/// `Io` when a directory cannot be listed.
pub fn contents(patterns: &[String], is_text: bool) -> Result<Arc<dyn TableSource>> {
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
    let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
    let partition = Contents {
        files: all(patterns)?.into(),
        is_text,
        schema: Arc::clone(&schema),
    };
    let table = StreamingTable::try_new(schema, vec![Arc::new(partition)])?;
    Ok(provider_as_source(Arc::new(table)))
}

fn all(patterns: &[String]) -> Result<Vec<String>> {
    let files = patterns.iter().map(|pattern| matching(pattern));
    Ok(files.collect::<Result<Vec<_>>>()?.concat())
}

#[derive(Debug)]
struct Contents {
    files: Arc<[String]>,
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
        let rows = (0..files.len()).filter_map(move |at| {
            let path = files.get(at)?;
            let batch = row(path, is_text, &schema, &given);
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
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringViewArray::from_iter_values([path])),
        content,
        Arc::new(Int64Array::from(vec![size])),
        Arc::new(changed.with_timezone_opt(zone)),
    ];
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
