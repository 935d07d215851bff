//! Parquet files of strangers, before the library reads them: it makes room for what a file's lengths and counts say, and calls
//! itself as deep as a schema is.
//!
//! What must hold: once [`check_parquet`] has passed, no length in the file's footer or in its indexes of pages asks for more than the file has; and of
//! pages, [`SoundReaders`] lets none through that takes more memory than its bytes can stand for.

mod gzip;
mod readers;
mod thrift;

pub(super) use readers::SoundReaders;

use self::thrift::Part;
use datafusion::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader};
use hushdb_sql::{Error, Result, without_values};
use hushdb_storage::open_input;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A file with more columns is refused: to plan a statement takes time for the square of their number.
pub const MAX_FILE_COLUMNS: usize = 10_000;
/// Groups within one another in a schema; a list in a list takes two.
const MAX_DEPTH: usize = 128;
/// Bytes of the footer's length and of the mark behind it.
const TAIL_BYTES: u64 = 8;
/// Fields of the footer, by their numbers: elements of the schema, and how many there are in each.
const ELEMENT: &[i16] = &[2];
const CHILDREN: &[i16] = &[2, 5];

/// Looks at what a Parquet file says of itself.
///
/// # Errors
/// `InvalidInput` for a file that is damaged, or too wide to be read, without its name.
pub fn check_parquet(path: &str) -> Result<()> {
    let damaged = |error: std::io::Error| Error::invalid(error.to_string());
    let file = open_input(path).map_err(damaged)?;
    let bytes = file.metadata().map_err(damaged)?.len();
    let file = GivenFile { file, bytes };
    let footer = file.footer()?;
    check_footer(&footer)?;
    let metadata = ParquetMetaDataReader::decode_metadata(&footer);
    let metadata = metadata.map_err(|error| Error::invalid(without_values(&error.to_string())))?;
    let columns = metadata.file_metadata().schema_descr().num_columns();
    if columns > MAX_FILE_COLUMNS {
        return Err(too_wide());
    }
    let groups = metadata.row_groups().iter();
    for chunk in groups.flat_map(|group| group.columns()) {
        file.check_chunk(chunk)?;
    }
    Ok(())
}

/// What is said of a file that has more than [`MAX_FILE_COLUMNS`].
pub fn too_wide() -> Error {
    Error::invalid(format!("it has more than {MAX_FILE_COLUMNS} columns"))
}

/// Holds the footer's counts against its bytes, and the schema's depth against the stack.
fn check_footer(footer: &[u8]) -> Result<()> {
    let mut elements: Vec<i64> = vec![];
    let whole = thrift::structure(footer, &mut |fields, part| match part {
        Part::Structure if fields == ELEMENT => elements.push(0),
        Part::Integer(children) if fields == CHILDREN => {
            if let Some(element) = elements.last_mut() {
                *element = children;
            }
        }
        _ => {}
    });
    whole.ok_or_else(|| Error::invalid("its footer is damaged"))?;
    // What is yet to come of the groups that are open.
    let mut open: Vec<i64> = vec![];
    for children in elements {
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        match children {
            ..0 => {
                return Err(Error::invalid(
                    "a group of its schema has no number of columns",
                ));
            }
            0 => {}
            _ => open.push(children),
        }
        if open.len() > MAX_DEPTH {
            return Err(Error::invalid("its columns are nested too deep"));
        }
    }
    Ok(())
}

struct GivenFile {
    file: File,
    bytes: u64,
}

impl GivenFile {
    fn read(&self, from: u64, bytes: u64) -> Result<Vec<u8>> {
        let end = from.checked_add(bytes).filter(|end| *end <= self.bytes);
        let len = end.and_then(|_| usize::try_from(bytes).ok());
        let len =
            len.ok_or_else(|| Error::invalid("it says that it has more bytes than it has"))?;
        let mut read = vec![0; len];
        self.file
            .read_exact_at(&mut read, from)
            .map_err(|error| Error::invalid(error.to_string()))?;
        Ok(read)
    }

    /// What the end of the file says of the rest.
    fn footer(&self) -> Result<Vec<u8>> {
        let none = || Error::invalid("it is no Parquet file");
        let tail_at = self.bytes.checked_sub(TAIL_BYTES).ok_or_else(none)?;
        let tail = self.read(tail_at, TAIL_BYTES)?;
        let (len, mark) = tail.split_first_chunk::<4>().ok_or_else(none)?;
        match mark {
            b"PAR1" => {}
            b"PARE" => return Err(Error::unsupported("encrypted Parquet files are not read")),
            _ => return Err(none()),
        }
        let len = u64::from(u32::from_le_bytes(*len));
        let from = tail_at.checked_sub(len);
        let from = from.ok_or_else(|| Error::invalid("its footer is damaged"))?;
        self.read(from, len)
    }

    /// The bytes of a column's values, and the indexes of its pages.
    fn check_chunk(&self, chunk: &ColumnChunkMetaData) -> Result<()> {
        let beyond = || Error::invalid("the values of a column lie outside of it");
        let from = chunk.dictionary_page_offset();
        let from = from.unwrap_or_else(|| chunk.data_page_offset());
        let sizes = (u64::try_from(from), u64::try_from(chunk.compressed_size()));
        let (Ok(from), Ok(bytes)) = sizes else {
            return Err(beyond());
        };
        let end = from.checked_add(bytes);
        end.filter(|end| *end <= self.bytes).ok_or_else(beyond)?;
        let indexes = [
            (chunk.column_index_offset(), chunk.column_index_length()),
            (chunk.offset_index_offset(), chunk.offset_index_length()),
        ];
        for (offset, length) in indexes {
            let (Some(offset), Some(length)) = (offset, length) else {
                continue;
            };
            let damaged = || Error::invalid("an index of its pages is damaged");
            let (Ok(offset), Ok(length)) = (u64::try_from(offset), u64::try_from(length)) else {
                return Err(damaged());
            };
            let index = self.read(offset, length)?;
            thrift::structure(&index, &mut |_, _| {}).ok_or_else(damaged)?;
        }
        Ok(())
    }
}
