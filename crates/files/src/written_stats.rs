//! COPY ... TO with RETURN_STATS: a row for each Parquet file that was written, with what its footer says of its columns.

use super::copy_options::Options;
use super::parquet_tables::{invalid, leaf_types, metadata};
use datafusion::arrow::array::{
    Array, ArrayRef, MapBuilder, MapFieldNames, StringArray, StringBuilder, UInt64Array,
};
use datafusion::arrow::compute::{SortOptions, sort};
use datafusion::arrow::datatypes::FieldRef;
use datafusion::arrow::record_batch::RecordBatch;
use hushdb_query::functions::value_text;
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::open_input;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// Bytes at the end of a file, of which the first four say how long the footer before them is.
const TAIL: i64 = 8;
/// The directory of rows whose column is NULL.
const NULL_NAME: &str = "__HIVE_DEFAULT_PARTITION__";

/// What is said of a column.
type Facts = BTreeMap<&'static str, String>;

/// A row for each file that was written below `root`.
///
/// # Errors
/// `Io` and `InvalidInput` where a file is not as it was written.
pub fn stats(root: &str, files: &[String], options: &Options) -> Result<RecordBatch> {
    // Whether the names of directories say values of columns.
    let spread = options.spread.as_ref();
    let parted = spread.is_some_and(|spread| spread.hive && !spread.by.is_empty());
    let (mut counts, mut sizes, mut footers) = (vec![], vec![], vec![]);
    let names = || MapFieldNames {
        entry: "entries".into(),
        key: "key".into(),
        value: "value".into(),
    };
    let texts = || MapBuilder::new(Some(names()), StringBuilder::new(), StringBuilder::new());
    let mut columns = MapBuilder::new(Some(names()), StringBuilder::new(), texts());
    let mut keys = texts();
    for path in files {
        let metadata = metadata(path)?;
        let (size, footer) = sizes_of(path)?;
        counts.push(u64::try_from(metadata.file_metadata().num_rows()).unwrap_or_default());
        sizes.push(size);
        footers.push(footer);
        for (name, facts) in facts(&metadata)? {
            columns.keys().append_value(name);
            for (fact, value) in facts {
                columns.values().keys().append_value(fact);
                columns.values().values().append_value(value);
            }
            columns.values().append(true)?;
        }
        columns.append(true)?;
        for (name, value) in keys_of(path.strip_prefix(root).unwrap_or(path))
            .into_iter()
            .filter(|_| parted)
        {
            keys.keys().append_value(name);
            keys.values().append_option(value);
        }
        keys.append(parted)?;
    }
    let number = |numbers: Vec<u64>| -> ArrayRef { Arc::new(UInt64Array::from(numbers)) };
    let all: Vec<(&str, ArrayRef)> = vec![
        ("filename", Arc::new(StringArray::from_iter_values(files))),
        ("count", number(counts)),
        ("file_size_bytes", number(sizes)),
        ("footer_size_bytes", number(footers)),
        ("column_statistics", Arc::new(columns.finish())),
        ("partition_keys", Arc::new(keys.finish())),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(
        all.into_iter().map(|(name, column)| (name, column, true)),
    )?)
}

/// The bytes of a file, and of its footer.
fn sizes_of(path: &str) -> Result<(u64, u64)> {
    let failed = |error: std::io::Error| Error::new(ErrorKind::Io, format!("\"{path}\": {error}"));
    let mut file = open_input(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut length = [0; 4];
    file.seek(SeekFrom::End(-TAIL)).map_err(failed)?;
    file.read_exact(&mut length).map_err(failed)?;
    Ok((size, u64::from(u32::from_le_bytes(length))))
}

/// What a footer says of each leaf column, by its path.
fn facts(metadata: &ParquetMetaData) -> Result<Vec<(String, Facts)>> {
    let leaves = leaf_types(metadata);
    let descriptor = metadata.file_metadata().schema_descr();
    let mut all = vec![];
    for (at, column) in descriptor.columns().iter().enumerate() {
        // The group that repeats the items of a list has no name of its own.
        let parts = column.path().parts().iter().filter(|part| *part != "list");
        let parts: Vec<String> = parts.map(|part| format!("\"{part}\"")).collect();
        let groups = metadata.row_groups().iter();
        let chunks: Vec<&ColumnChunkMetaData> =
            groups.filter_map(|group| group.columns().get(at)).collect();
        let sum = |of: fn(&ColumnChunkMetaData) -> i64| -> i64 {
            chunks.iter().map(|chunk| of(chunk)).sum()
        };
        let mut facts = Facts::new();
        facts.insert(
            "column_size_bytes",
            sum(|c| c.compressed_size()).to_string(),
        );
        facts.insert("num_values", sum(|c| c.num_values()).to_string());
        let nulls = chunks
            .iter()
            .map(|chunk| chunk.statistics()?.null_count_opt());
        if let Some(nulls) = nulls.sum::<Option<u64>>() {
            facts.insert("null_count", nulls.to_string());
        }
        if let Some(Some(leaf)) = leaves.get(at) {
            let (least, greatest) = bounds(metadata, at, leaf)?;
            facts.extend(least.map(|least| ("min", least)));
            facts.extend(greatest.map(|greatest| ("max", greatest)));
        }
        all.push((parts.join("."), facts));
    }
    Ok(all)
}

/// The least and the greatest value of all row groups, where each says its own.
fn bounds(
    metadata: &ParquetMetaData,
    column: usize,
    leaf: &FieldRef,
) -> Result<(Option<String>, Option<String>)> {
    let descriptor = metadata.file_metadata().schema_descr();
    let Ok(converter) = StatisticsConverter::from_column_index(column, leaf, descriptor) else {
        return Ok((None, None));
    };
    let groups = || metadata.row_groups().iter();
    let first = |values: ArrayRef, descending: bool| -> Result<Option<String>> {
        if values.is_empty() || values.null_count() > 0 {
            return Ok(None);
        }
        let options = SortOptions {
            descending,
            nulls_first: false,
        };
        Ok(value_text(sort(&values, Some(options))?.as_ref(), 0)?)
    };
    let least = converter
        .row_group_mins(groups())
        .map_err(|e| invalid(&e))?;
    let greatest = converter
        .row_group_maxes(groups())
        .map_err(|e| invalid(&e))?;
    Ok((first(least, false)?, first(greatest, true)?))
}

/// `k=v` of the directories in a path.
fn keys_of(path: &str) -> Vec<(String, Option<String>)> {
    let parts = path.split('/').filter_map(|part| part.split_once('='));
    let parts = parts.map(|(name, value)| {
        let value = (value != NULL_NAME).then(|| decoded(value));
        (decoded(name), value)
    });
    parts.collect()
}

/// A text with the bytes that `%XX` stands for.
fn decoded(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let byte = after
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_say_values() {
        let keys = keys_of("out/s=a%20b/n=__HIVE_DEFAULT_PARTITION__/x%=%zz/data_0.parquet");
        let text = |text: &str| text.to_owned();
        let expected = [
            (text("s"), Some(text("a b"))),
            (text("n"), None),
            (text("x%"), Some(text("%zz"))),
        ];
        assert_eq!(keys, expected);
    }
}
