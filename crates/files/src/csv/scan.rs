//! A CSV file as the leaf of a plan: pieces of it are taken apart by several threads, and come out in their order.

use super::chunks::{Chunk, Chunks};
use super::kinds::Kind;
use super::options::Options;
use super::records::{Dialect, Fault, Record, Records};
use super::rejected::Checked;
use super::rows::{Rows, Span, Split, Values, WHOLE};
use super::sniff::{OTHER_COUNT, is_count};
use crate::packed_files::Unpacked;
use crate::rejects::{FileRejects, Reject, Why};
use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, AsArray, StringViewArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DataFusionError;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::{TableType, provider_as_source};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableSource};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::StreamExt;
use hushdb_query::heed::{heeding, of_task};
use hushdb_sql::type_names::{arrow_field, column_type_name};
use hushdb_sql::{Error, ErrorKind, Result};
use std::io::BufReader;
use std::sync::Arc;

/// Records in a batch, unless they have more bytes than [`BATCH_BYTES`].
const BATCH: usize = 8192;
const BATCH_BYTES: usize = 4 << 20;

pub(super) fn table(file: CsvFile) -> Result<Arc<dyn TableSource>> {
    Ok(provider_as_source(Arc::new(CsvScan(Arc::new(file)))))
}

/// A file, of which those columns alone are read that somebody asks for.
#[derive(Debug)]
struct CsvScan(Arc<CsvFile>);

#[async_trait]
impl TableProvider for CsvScan {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        columns: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let file = match columns {
            None => Arc::clone(&self.0),
            Some(columns) => Arc::new(self.0.of_columns(columns)?),
        };
        let schema = Arc::clone(&file.schema);
        let partition: Arc<dyn PartitionStream> = Arc::new(CsvPartition(file));
        Ok(Arc::new(StreamingTableExec::try_new(
            schema,
            vec![partition],
            None,
            None::<LexOrdering>,
            false,
            limit,
        )?))
    }
}

pub(super) fn open(path: &str, options: &Options) -> Result<Unpacked> {
    let opened = options.packing.open(path);
    let opened = opened.map_err(|error| wrong(path, Fault::Io(error)))?;
    Ok(options.with_one_byte(opened.decoded(options.encoding)))
}

pub(super) fn wrong(path: &str, fault: Fault) -> Error {
    match fault {
        Fault::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Error::invalid(format!("\"{path}\" does not read: {error}"))
        }
        Fault::Io(error) => Error::new(
            ErrorKind::Io,
            format!("Cannot open file \"{path}\": {error}"),
        ),
        Fault::Unclosed(line) => Error::invalid(format!(
            "\"{path}\", line {line}: a quote is not closed; if it is part of the value, give QUOTE ''"
        )),
        Fault::Interrupted => hushdb_storage::Error::Interrupted.into(),
        Fault::Line(line, what) => Error::invalid(format!("\"{path}\", line {line}: {what}")),
    }
}

const TOO_LONG: &str = "the line is longer than max_line_size says: give a larger one";

/// A column of a file.
#[derive(Debug)]
pub(super) struct ReadColumn {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The kind was told by the file's beginning.
    pub(super) is_sniffed: bool,
}

#[derive(Clone)]
pub(super) struct CsvFile {
    path: String,
    options: Options,
    dialect: Dialect,
    header: bool,
    columns: Arc<[ReadColumn]>,
    /// Places of the columns that are read, and of what [`PLACE`] names.
    taken: Vec<usize>,
    /// Of these.
    schema: SchemaRef,
    /// Where records are kept that are left out.
    rejects: Option<FileRejects>,
}

/// Columns behind those of a file that say where a record stands: its line and byte, from 1, and its text.
const PLACE: [&str; 3] = ["$line", "$byte", "$text"];
const PLACES: [usize; 3] = [WHOLE, WHOLE + 1, WHOLE + 2];

impl std::fmt::Debug for CsvFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CsvFile({})", self.path)
    }
}

impl CsvFile {
    pub(super) fn new(
        path: &str,
        options: Options,
        dialect: Dialect,
        header: bool,
        columns: Vec<ReadColumn>,
    ) -> Self {
        let fields = columns
            .iter()
            .map(|column| arrow_field(&column.name, &column.kind.column_type(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        Self {
            path: path.to_string(),
            options,
            dialect,
            header,
            taken: (0..columns.len()).collect(),
            columns: columns.into(),
            schema,
            rejects: None,
        }
    }

    /// The same file, whose records that are left out are kept, and with `is_placed` records say where they stand.
    pub(super) fn keeping(mut self, rejects: Option<FileRejects>, is_placed: bool) -> Self {
        self.rejects = rejects;
        if is_placed {
            let types = [DataType::UInt64, DataType::UInt64, DataType::Utf8View];
            let places = PLACE.into_iter().zip(types);
            let places = places.map(|(name, ty)| Arc::new(Field::new(name, ty, true)));
            let fields = self.schema.fields().iter().cloned().chain(places);
            self.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            self.taken.extend(PLACES);
        }
        self
    }

    /// The same file, of which these columns are read.
    fn of_columns(&self, columns: &[usize]) -> Result<Self> {
        Ok(Self {
            schema: Arc::new(self.schema.project(columns)?),
            taken: columns
                .iter()
                .filter_map(|at| self.taken.get(*at).copied())
                .collect(),
            ..self.clone()
        })
    }

    /// The arrays of some records.
    fn batch(&self, rows: &Rows<'_>) -> Result<RecordBatch, Flaw> {
        let arrays = (0..self.taken.len()).map(|at| self.array(rows, at));
        let arrays = arrays.collect::<Result<Vec<ArrayRef>, Flaw>>()?;
        let count = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, arrays, &count);
        batch.map_err(|error| Flaw::Other(error.into()))
    }

    fn is_null(&self, value: &[u8], is_quoted: bool) -> bool {
        let is_one = match self.options.nulls.as_slice() {
            [null] => null.as_bytes() == value,
            nulls => nulls.iter().any(|null| null.as_bytes() == value),
        };
        is_one && (self.options.quoted_nulls || !is_quoted)
    }

    /// Whether the values of a record are what its columns have.
    fn fits<'a>(&self, get: impl Fn(usize) -> (&'a [u8], bool)) -> bool {
        self.columns.iter().enumerate().all(|(at, column)| {
            let (bytes, is_quoted) = get(at);
            self.is_one(column, bytes, is_quoted)
        })
    }

    /// Whether a value is one of a column.
    fn is_one(&self, column: &ReadColumn, bytes: &[u8], is_quoted: bool) -> bool {
        self.is_null(bytes, is_quoted) && !self.options.is_not_null(&column.name)
            || str::from_utf8(bytes).is_ok_and(|text| column.kind.fits(text))
    }

    fn array(&self, rows: &Rows<'_>, at: usize) -> Result<ArrayRef, Flaw> {
        let place = self.taken.get(at).copied().unwrap_or_default();
        if PLACES.contains(&place) {
            return Ok(place_array(rows, at, place));
        }
        let Some(column) = self.columns.get(place) else {
            let lost = Error::internal("a column of a file is not there");
            return Err(Flaw::Other(lost));
        };
        let not_null = self.options.is_not_null(&column.name);
        let spans = rows.column(at);
        let is_other = |span: &Span| rows.text(*span).is_none();
        if !rows.is_utf_8()
            && let Some(row) = spans.iter().position(is_other)
        {
            return Err(Flaw::line(rows.line(row), "a value is not UTF-8"));
        }
        let values = spans.iter();
        let values = values.map(
            |span| match self.is_null(rows.get(*span), span.is_quoted()) {
                true => not_null.then_some(""),
                false => rows.text(*span),
            },
        );
        let array = column.kind.array(values);
        array.map_err(|row| Flaw::Kind(rows.line(row), place))
    }

    /// Where the records of a batch stand in the file, whose piece stands behind so many lines and bytes.
    fn placed(&self, batch: RecordBatch, lines: u64, bytes: u64) -> Result<RecordBatch, Flaw> {
        if !self.taken.iter().any(|place| PLACES.contains(place)) {
            return Ok(batch);
        }
        let columns = batch.columns().iter().zip(&self.taken);
        let columns = columns.map(|(column, place)| -> ArrayRef {
            let before = match PLACES.iter().position(|known| known == place) {
                Some(0) => lines,
                Some(1) => bytes,
                _ => return Arc::clone(column),
            };
            let numbers = column.as_primitive::<UInt64Type>();
            Arc::new(numbers.unary::<_, UInt64Type>(|number| number + before))
        });
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns.collect());
        batch.map_err(|error| Flaw::Other(error.into()))
    }

    /// Keeps records that were left out of a piece, which stands behind so many lines and bytes.
    fn keep(&self, rejected: Vec<Reject>, lines: u64, bytes: u64) -> Result<()> {
        let Some(rejects) = &self.rejects else {
            return Ok(());
        };
        rejected.into_iter().try_for_each(|reject| {
            rejects.keep(Reject {
                line: reject.line + lines,
                line_byte: reject.line_byte + bytes,
                byte: reject.byte.map(|byte| byte + bytes),
                ..reject
            })
        })
    }

    /// Why a record is left out; its places are counted within its piece.
    fn why_not(&self, values: &Values, rows: &Rows<'_>, is_long: bool) -> Vec<Reject> {
        let (count, columns) = (values.len_of(self.columns.len()), self.columns.len());
        let text = rows.get(values.span(WHOLE));
        let begin = values.span(WHOLE).begin().unwrap_or_default();
        let of_record = |why: Why, column: Option<usize>, byte: usize, message: String| Reject {
            why,
            line: values.line,
            line_byte: begin as u64 + 1,
            byte: Some(byte as u64 + 1),
            column: column.map(|column| column as u64 + 1),
            name: column.and_then(|at| Some(self.columns.get(at)?.name.clone())),
            text: String::from_utf8_lossy(text).into_owned(),
            message,
        };
        let counts = format!("Expected Number of Columns: {columns} Found: {count}");
        if is_long {
            let most = self.options.most_bytes.unwrap_or_default();
            let size = text.len();
            let message =
                format!("Maximum line size of {most} bytes exceeded. Actual Size:{size} bytes.");
            return vec![of_record(Why::TooLong, None, begin, message)];
        }
        if count < columns && !self.options.null_padding {
            let mut reject = of_record(Why::TooFew, Some(count), begin + text.len(), counts);
            // The last column that is there, and the name of the first that is not.
            reject.column = Some(count as u64);
            return vec![reject];
        }
        if count > columns {
            let byte = values.span(columns).begin().unwrap_or(begin + 1) - 1;
            return vec![of_record(Why::TooMany, Some(columns), byte, counts)];
        }
        let misfits = self.columns.iter().enumerate().filter(|(at, column)| {
            let (bytes, is_quoted) = values.get(rows, *at);
            !self.is_one(column, bytes, is_quoted)
        });
        let rejects = misfits.map(|(at, column)| {
            let checked = Checked {
                place: at,
                name: column.name.clone(),
                type_name: column_type_name(&column.kind.column_type()),
            };
            let value = String::from_utf8_lossy(values.get(rows, at).0);
            let reject = checked.reject(&value, values.span(at).begin());
            Reject {
                line: values.line,
                line_byte: begin as u64 + 1,
                text: String::from_utf8_lossy(text).into_owned(),
                ..reject
            }
        });
        rejects.collect()
    }

    /// What is wrong with the file, of which there are so many lines before those that are numbered.
    fn error(&self, flaw: Flaw, before: u64) -> Error {
        match flaw {
            Flaw::Fault(Fault::Line(line, what)) => {
                wrong(&self.path, Fault::Line(before + line, what))
            }
            Flaw::Fault(Fault::Unclosed(line)) => wrong(&self.path, Fault::Unclosed(before + line)),
            Flaw::Fault(fault) => wrong(&self.path, fault),
            Flaw::Kind(line, column) => self.other_kind(before + line, column),
            Flaw::Other(error) => error,
        }
    }

    fn other_kind(&self, line: u64, column: usize) -> Error {
        let Some(column) = self.columns.get(column) else {
            return Error::internal("a column of a file is not there");
        };
        let (path, name) = (&self.path, &column.name);
        let ty = column_type_name(&column.kind.column_type());
        let advice = match column.is_sniffed {
            true => format!(
                ", for which the beginning of the file speaks: give types = {{'{name}': 'VARCHAR'}} or all_varchar = true"
            ),
            false => String::new(),
        };
        Error::new(
            ErrorKind::Conversion,
            format!("\"{path}\", line {line}: the value of column \"{name}\" is no {ty}{advice}"),
        )
    }
}

/// What says where records stand, within their piece.
fn place_array(rows: &Rows<'_>, at: usize, place: usize) -> ArrayRef {
    let spans = rows.column(at).iter();
    match PLACES.iter().position(|known| *known == place) {
        Some(0) => Arc::new(UInt64Array::from_iter_values(rows.lines().iter().copied())),
        Some(1) => {
            let begins = spans.map(|span| span.begin().unwrap_or_default() as u64 + 1);
            Arc::new(UInt64Array::from_iter_values(begins))
        }
        _ => {
            let texts = spans.map(|span| String::from_utf8_lossy(rows.get(*span)));
            Arc::new(StringViewArray::from_iter_values(texts))
        }
    }
}

/// What is wrong, by a line that may be counted from somewhere within the file.
enum Flaw {
    Fault(Fault),
    /// The value of a column, by its place, in this line is of another kind.
    Kind(u64, usize),
    Other(Error),
}

impl From<Fault> for Flaw {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Flaw {
    fn line(line: u64, what: &'static str) -> Self {
        Self::Fault(Fault::Line(line, what))
    }
}

/// Some of a file's text.
struct Piece {
    chunk: Chunk,
    /// Where its rows begin.
    from: usize,
    /// Lines before these.
    line: u64,
}

/// A file's text in pieces.
struct Pieces {
    file: Arc<CsvFile>,
    /// `None` behind an error.
    chunks: Option<Chunks<Unpacked>>,
    /// The names of the columns are still to come.
    header: bool,
}

impl Pieces {
    fn new(file: Arc<CsvFile>) -> Result<Self, Flaw> {
        let input = open(&file.path, &file.options).map_err(Flaw::Other)?;
        let chunks = Chunks::new(input, &file.dialect, file.options.skip)?;
        Ok(Self {
            chunks: Some(chunks),
            header: file.header,
            file,
        })
    }

    /// Bytes of the file before the first record.
    fn bytes_before(&self) -> u64 {
        self.chunks.as_ref().map_or(0, |chunks| chunks.before)
    }

    fn piece(&mut self) -> Result<Option<Piece>, Flaw> {
        let Some(chunks) = &mut self.chunks else {
            return Ok(None);
        };
        let Some(chunk) = chunks.next()? else {
            return Ok(None);
        };
        let (mut from, mut line) = (0, 0);
        if self.header {
            let columns = self.file.columns.len();
            let mut split = Split::new(&chunk.text, self.file.dialect, columns, chunk.is_cut);
            let (mut values, mut rows) = (Values::default(), Rows::of(&[], 0));
            while self.header && split.next(&mut values, &mut rows)? {
                self.header = values.is_blank() && columns > 1;
                rows.clear();
            }
            (from, line) = (split.at, split.line);
        }
        Ok(Some(Piece { chunk, from, line }))
    }
}

impl Iterator for Pieces {
    type Item = Result<Piece, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        let piece = self.piece();
        if piece.is_err() {
            self.chunks = None;
        }
        piece.transpose()
    }
}

/// What a piece says.
#[derive(Default)]
struct Parsed {
    batches: Vec<RecordBatch>,
    /// Lines of the piece, and bytes.
    lines: u64,
    bytes: u64,
    /// Records that were left out and are kept.
    rejected: Vec<Reject>,
    /// What is wrong behind the batches.
    flaw: Option<Flaw>,
}

impl Parsed {
    fn of(file: &CsvFile, piece: &Piece) -> Self {
        let mut parsed = Self {
            bytes: piece.chunk.text.len() as u64,
            ..Self::default()
        };
        parsed.flaw = parsed.read(file, piece).err();
        parsed
    }

    fn read(&mut self, file: &CsvFile, piece: &Piece) -> Result<(), Flaw> {
        let (text, columns) = (piece.chunk.text.as_slice(), file.columns.len());
        let split = Split::new(text, file.dialect, columns, piece.chunk.is_cut);
        let mut split = split.from(piece.from, piece.line);
        self.lines = piece.line;
        let (mut values, mut rows) = (Values::default(), Rows::of(text, file.taken.len()));
        let ignores = file.options.ignore_errors;
        let most = file.options.most_bytes.unwrap_or(usize::MAX);
        let mut from = split.at;
        while split.next(&mut values, &mut rows)? {
            self.lines = split.line;
            let bytes = split.at - from;
            from = split.at;
            if bytes > most && !ignores {
                return Err(Flaw::line(values.line, TOO_LONG));
            }
            if values.is_blank() && columns > 1 {
                continue;
            }
            let is_row = is_count(values.len_of(columns), columns, &file.options);
            if !is_row && !ignores {
                return Err(Flaw::line(values.line, OTHER_COUNT));
            }
            if ignores && !(bytes <= most && is_row && file.fits(|at| values.get(&rows, at))) {
                if file.rejects.is_some() {
                    self.rejected
                        .extend(file.why_not(&values, &rows, bytes > most));
                }
                continue;
            }
            rows.add(&values, &file.taken);
            if rows.len() == BATCH || rows.bytes() >= BATCH_BYTES {
                self.batches.push(file.batch(&rows)?);
                rows.clear();
            }
        }
        if rows.len() > 0 {
            self.batches.push(file.batch(&rows)?);
        }
        Ok(())
    }
}

/// A file's batches, with several threads at work.
fn side_by_side(
    file: Arc<CsvFile>,
    context: &TaskContext,
) -> Result<SendableRecordBatchStream, Flaw> {
    let schema = Arc::clone(&file.schema);
    let pieces = Pieces::new(Arc::clone(&file))?;
    let mut bytes_before = pieces.bytes_before();
    let ahead = context.session_config().target_partitions() + 1;
    let of = Arc::clone(&file);
    let parsed = futures::stream::iter(pieces).map(move |piece| {
        let file = Arc::clone(&of);
        async move {
            let failed = |flaw| Parsed {
                flaw: Some(flaw),
                ..Parsed::default()
            };
            match piece {
                Err(flaw) => failed(flaw),
                Ok(piece) => SpawnedTask::spawn(async move { Parsed::of(&file, &piece) })
                    .await
                    .unwrap_or_else(|error| failed(Flaw::Other(of_task(&error)))),
            }
        }
    });
    if let Some(rejects) = &file.rejects {
        rejects.begin();
    }
    let mut before = file.options.skip + 1;
    let batches = parsed.buffered(ahead).flat_map(move |parsed| {
        let (lines, bytes) = (before, bytes_before);
        before += parsed.lines;
        bytes_before += parsed.bytes;
        let flaw = parsed.flaw.map(|flaw| file.error(flaw, lines));
        let flaw = flaw.map(|error| Err(DataFusionError::from(error)));
        let kept = file.keep(parsed.rejected, lines, bytes).err();
        let file = Arc::clone(&file);
        let batches = parsed.batches.into_iter().map(move |batch| {
            let placed = file.placed(batch, lines, bytes);
            placed.map_err(|flaw| DataFusionError::from(file.error(flaw, lines)))
        });
        let kept = kept.map(|error| Err(DataFusionError::from(error)));
        futures::stream::iter(kept.into_iter().chain(batches).chain(flaw))
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
}

/// Reads the batches of a file that may have comments, in which quotes mean nothing.
struct Batches {
    file: Arc<CsvFile>,
    /// `None` behind the last batch, and behind an error.
    records: Option<Records<BufReader<Unpacked>>>,
    record: Record,
}

impl Batches {
    fn new(file: Arc<CsvFile>) -> Result<Self, Flaw> {
        let input = open(&file.path, &file.options).map_err(Flaw::Other)?;
        let input = BufReader::with_capacity(1 << 18, input);
        let mut records = Records::new(input, file.dialect, file.options.skip)?;
        let mut record = Record::default();
        let mut header = file.header;
        while header && records.next(&mut record)? {
            header = record.is_blank() && file.columns.len() > 1;
        }
        Ok(Self {
            records: Some(records),
            file,
            record,
        })
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Flaw> {
        let (columns, options) = (self.file.columns.len(), &self.file.options);
        let mut rows = Rows::of(&[], self.file.taken.len());
        while rows.len() < BATCH
            && rows.bytes() < BATCH_BYTES
            && let Some(records) = &mut self.records
        {
            let record = &mut self.record;
            if !records.next(record)? {
                self.records = None;
                break;
            }
            if record.is_blank() && columns > 1 {
                continue;
            }
            let is_row = is_count(record.len_of(columns), columns, options);
            if !is_row && !options.ignore_errors {
                return Err(Flaw::line(record.line, OTHER_COUNT));
            }
            let is_long = options.most_bytes.is_some_and(|most| record.bytes() > most);
            if is_long && !options.ignore_errors {
                return Err(Flaw::line(record.line, TOO_LONG));
            }
            let is_row = is_row && !is_long;
            if options.ignore_errors
                && !(is_row && self.file.fits(|at| (record.get(at), record.is_quoted(at))))
            {
                continue;
            }
            rows.copy(record, &self.file.taken);
        }
        let batch = (rows.len() > 0).then(|| self.file.batch(&rows));
        batch.transpose()
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, DataFusionError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.records.as_ref()?;
        let batch = self.next_batch();
        if batch.is_err() {
            self.records = None;
        }
        let batch = batch.map_err(|flaw| DataFusionError::from(self.file.error(flaw, 0)));
        batch.transpose()
    }
}

/// What reads a file, as often as it is asked.
#[derive(Debug)]
struct CsvPartition(Arc<CsvFile>);

impl CsvPartition {
    fn rows(&self, context: &TaskContext) -> Result<SendableRecordBatchStream, Flaw> {
        if self.0.dialect.comment.is_none() {
            return side_by_side(Arc::clone(&self.0), context);
        }
        if self.0.rejects.is_some() {
            let what = "store_rejects of files with comments is not there yet";
            return Err(Flaw::Other(Error::unsupported(what)));
        }
        let batches = futures::stream::iter(Batches::new(Arc::clone(&self.0))?);
        let schema = Arc::clone(&self.0.schema);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

impl PartitionStream for CsvPartition {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        match self.rows(&context) {
            Ok(rows) => heeding(rows, &context),
            Err(flaw) => {
                let error = DataFusionError::from(self.0.error(flaw, 0));
                let failed = futures::stream::iter([Err(error)]);
                let schema = Arc::clone(&self.0.schema);
                Box::pin(RecordBatchStreamAdapter::new(schema, failed))
            }
        }
    }
}
