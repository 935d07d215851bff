//! What COPY TO writes: one file, or those of a directory.

use crate::copy_options::Options;
use crate::copy_rows::CopyRows;
use crate::partitioned;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use hushdb_sql::Result;

/// Writes rows into the file or the directory that a statement names; says how many rows, and to which files.
///
/// # Errors
/// Those of the rows, `Io`, and `Unsupported` where a format has no such type.
pub fn write(
    schema: &SchemaRef,
    rows: impl Iterator<Item = Result<RecordBatch>>,
    path: &str,
    options: &Options,
) -> Result<(u64, Vec<String>)> {
    if let Some(spread) = &options.spread {
        return partitioned::write(schema, rows, path, options, spread);
    }
    let form = options.csv_form();
    let begin = || CopyRows::begin(path, options, &form, schema);
    let mut file = match options.skips_empty {
        true => None,
        false => Some(begin()?),
    };
    let mut count = 0;
    for batch in rows {
        let batch = batch?;
        count += batch.num_rows() as u64;
        if batch.num_rows() > 0 {
            let file = match &mut file {
                Some(file) => file,
                none => none.insert(begin()?),
            };
            file.batch(&batch)?;
        }
    }
    let Some(file) = file else {
        return Ok((count, vec![]));
    };
    file.finish()?;
    Ok((count, vec![path.to_owned()]))
}
