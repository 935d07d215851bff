//! CSV files as tables.
//!
//! What must hold: a value is read as what it says, or the file is refused by line; nothing is guessed from a part of the file that
//! another part contradicts without an error, as far as its columns are read. Reading takes memory for some thousand records, not for the file.

mod kinds;
mod options;
mod records;
mod sniff;
mod told;
mod write;

pub(super) use self::kinds::is_form;
use self::kinds::{Kind, TEXT};
use self::options::Options;
use self::records::{Dialect, Fault, Record, Records};
use self::sniff::{OTHER_COUNT, SAMPLE_BYTES, Sample, is_row, sniff};
pub(super) use self::told::told;
pub(super) use self::write::{CsvForm, CsvWriter, Quoted};
use super::packed_files::Unpacked;
use async_trait::async_trait;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DataFusionError;
use datafusion::datasource::{TableType, ViewTable, provider_as_source};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Cast, Expr, LogicalPlanBuilder, TableSource, TryCast};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use hushdb_query::heed::heeding;
use hushdb_query::plan::{MAX_FILE_COLUMNS, named, too_wide};
use hushdb_sql::OptionValue;
use hushdb_sql::type_names::{arrow_field, column_type_name};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{Column, ColumnType};
use std::collections::HashSet;
use std::io::{BufReader, Read};
use std::sync::Arc;

/// Records in a batch, unless they have more bytes than [`BATCH_BYTES`].
const BATCH: usize = 8192;
const BATCH_BYTES: usize = 4 << 20;

/// A CSV file as a table.
pub(super) struct CsvTable {
    pub(super) source: Arc<dyn TableSource>,
    /// Columns whose type is not known, since its beginning has no values of them.
    pub(super) without_values: HashSet<String>,
    /// It has not a byte.
    pub(super) is_empty: bool,
}

/// A CSV file as a table; what the options leave open is found out from its beginning.
///
/// # Errors
/// `Io` when it cannot be read, `InvalidInput` when it is no CSV, by line.
pub(super) fn source(path: &str, given: &[(String, OptionValue)]) -> Result<CsvTable> {
    let Seen {
        options,
        sample,
        dialect,
        header,
        names,
        types,
        kinds,
        without_values,
    } = seen(path, given)?;
    let without_values = names.iter().zip(&types).zip(&without_values);
    let without_values = without_values.filter(|((_, ty), none)| **none && ty.is_none());
    let without_values = without_values.map(|((name, _), _)| name.clone()).collect();
    let columns = names.iter().zip(&types).zip(kinds);
    let columns = columns.map(|((name, ty), kind)| ReadColumn {
        name: name.clone(),
        kind: match ty {
            Some(ty) => kind_for(ty, &options),
            None if options.all_varchar => TEXT,
            None => kind,
        },
        is_sniffed: ty.is_none(),
    });
    let columns = columns.collect();
    let ignore_errors = options.ignore_errors;
    let file = CsvFile::new(path, options, dialect, header, columns);
    Ok(CsvTable {
        source: typed(table(file)?, &names, &types, ignore_errors)?,
        without_values,
        is_empty: sample.bytes.is_empty(),
    })
}

/// What a file's beginning tells, and what the options say.
struct Seen {
    options: Options,
    sample: Sample,
    dialect: Dialect,
    header: bool,
    names: Vec<String>,
    /// Those that were given.
    types: Vec<Option<ColumnType>>,
    kinds: Vec<Kind>,
    without_values: Vec<bool>,
}

fn seen(path: &str, given: &[(String, OptionValue)]) -> Result<Seen> {
    let options = Options::new(path, given)?;
    let expected = Some(options.columns.len()).filter(|columns| *columns > 0);
    let sample = sample(path, &options)?;
    let sniffed = sniff(&sample, &options, expected).map_err(|fault| wrong(path, fault))?;
    if sniffed.columns > MAX_FILE_COLUMNS {
        return Err(named(path, too_wide()));
    }
    let positional: Vec<Option<&ColumnType>> = match options.columns.is_empty() {
        true => options
            .types
            .iter()
            .filter(|(name, _)| name.is_none())
            .map(|(_, ty)| Some(ty))
            .collect(),
        false => options.columns.iter().map(|(_, ty)| Some(ty)).collect(),
    };
    let shape = sniffed.shape(&options, &positional);
    let shape = shape.map_err(|fault| wrong(path, fault))?;
    let mut names = shape.names;
    if options.names.len() > names.len() {
        return Err(Error::binder(format!(
            "{} names are given, and the file has {} columns",
            options.names.len(),
            names.len()
        )));
    }
    let given_names = options.columns.iter().map(|(name, _)| name);
    for (name, given) in names.iter_mut().zip(given_names.chain(&options.names)) {
        name.clone_from(given);
    }
    let types = types_of(&options, &names, &positional)?;
    Ok(Seen {
        dialect: sniffed.dialect,
        header: shape.header,
        kinds: shape.kinds,
        without_values: shape.without_values,
        options,
        sample,
        names,
        types,
    })
}

/// A CSV file with the columns of a table, as text or what a given form makes of it; `None` for a file without a record.
///
/// # Errors
/// As [`source`].
pub(super) fn source_for(
    path: &str,
    given: &[(String, OptionValue)],
    columns: &[&Column],
) -> Result<Option<Arc<dyn TableSource>>> {
    let options = Options::new(path, given)?;
    let sample = sample(path, &options)?;
    if sample.bytes.is_empty() {
        return Ok(None);
    }
    let sniffed = sniff(&sample, &options, Some(columns.len()));
    let sniffed = sniffed.map_err(|fault| wrong(path, fault))?;
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let types: Vec<Option<&ColumnType>> = columns.iter().map(|column| Some(&column.ty)).collect();
    let header = options.header;
    let header = header.unwrap_or_else(|| sniffed.names_columns(&options, &names, &types));
    let columns = columns.iter().map(|column| ReadColumn {
        name: column.name.clone(),
        kind: kind_for(&column.ty, &options),
        is_sniffed: false,
    });
    let columns = columns.collect();
    let file = CsvFile::new(path, options, sniffed.dialect, header, columns);
    table(file).map(Some)
}

/// The type of each column for which one was given.
fn types_of(
    options: &Options,
    names: &[String],
    positional: &[Option<&ColumnType>],
) -> Result<Vec<Option<ColumnType>>> {
    let mut types: Vec<Option<ColumnType>> = vec![None; names.len()];
    if positional.len() > names.len() {
        return Err(Error::binder(format!(
            "types are given for {} columns and the file has {}",
            positional.len(),
            names.len()
        )));
    }
    for (to, ty) in types.iter_mut().zip(positional) {
        *to = ty.cloned();
    }
    for (name, ty) in &options.types {
        let Some(name) = name else { continue };
        let at = names.iter().position(|of| of.eq_ignore_ascii_case(name));
        let to = at.and_then(|at| types.get_mut(at)).ok_or_else(|| {
            Error::binder(format!(
                "the file has no column \"{name}\", for which a type is given"
            ))
        })?;
        *to = Some(ty.clone());
    }
    Ok(types)
}

/// How values are read that are to have a type.
fn kind_for(ty: &ColumnType, options: &Options) -> Kind {
    let cast = Kind::Text { trimmed: true };
    match ty {
        ColumnType::Varchar => TEXT,
        ColumnType::Date => options.date_form.clone().map_or(cast, Kind::Date),
        ColumnType::Timestamp(_, false) => match &options.timestamp_form {
            Some(form) => Kind::Timestamp(Some(form.clone())),
            None => cast,
        },
        ColumnType::Boolean
        | ColumnType::Int8
        | ColumnType::Int16
        | ColumnType::Int32
        | ColumnType::Int64
        | ColumnType::UInt8
        | ColumnType::UInt16
        | ColumnType::UInt32
        | ColumnType::UInt64
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Blob
        | ColumnType::Time
        | ColumnType::Interval
        | ColumnType::Uuid
        | ColumnType::List(_)
        | ColumnType::Struct(_)
        | ColumnType::Enum(_)
        | ColumnType::Timestamp(_, true) => cast,
    }
}

/// The table with its columns cast to the types that were given; rows with values that are of another are left out, if so.
fn typed(
    source: Arc<dyn TableSource>,
    names: &[String],
    types: &[Option<ColumnType>],
    ignore_errors: bool,
) -> Result<Arc<dyn TableSource>> {
    if types.iter().flatten().all(|ty| *ty == ColumnType::Varchar) {
        return Ok(source);
    }
    let mut plan = LogicalPlanBuilder::scan("file", source, None)?.build()?;
    if ignore_errors {
        let columns = plan.schema().columns().into_iter().zip(names).zip(types);
        let casts = columns.filter_map(|((column, name), ty)| {
            let field = Arc::new(arrow_field(name, ty.as_ref()?, true));
            let column = Expr::Column(column);
            let cast = TryCast::new_from_field(Box::new(column.clone()), field);
            Some(column.is_null().or(Expr::TryCast(cast).is_not_null()))
        });
        if let Some(all) = casts.reduce(Expr::and) {
            plan = LogicalPlanBuilder::from(plan).filter(all)?.build()?;
        }
    }
    let columns = plan.schema().columns().into_iter().zip(names).zip(types);
    let columns = columns.map(|((column, name), ty)| {
        let column = Expr::Column(column);
        match ty {
            None => column.alias(name),
            Some(ty) => {
                let field = Arc::new(arrow_field(name, ty, true));
                Expr::Cast(Cast::new_from_field(Box::new(column), field)).alias(name)
            }
        }
    });
    let columns: Vec<Expr> = columns.collect();
    let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
    Ok(provider_as_source(Arc::new(ViewTable::new(plan, None))))
}

fn table(file: CsvFile) -> Result<Arc<dyn TableSource>> {
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

fn open(path: &str, options: &Options) -> Result<Unpacked> {
    let opened = options.packing.open(path);
    opened.map_err(|error| wrong(path, Fault::Io(error)))
}

fn sample(path: &str, options: &Options) -> Result<Sample> {
    let mut bytes = vec![];
    let read = open(path, options)?
        .take(SAMPLE_BYTES as u64)
        .read_to_end(&mut bytes);
    read.map_err(|error| wrong(path, Fault::Io(error)))?;
    let is_whole = bytes.len() < SAMPLE_BYTES;
    Ok(Sample { bytes, is_whole })
}

fn wrong(path: &str, fault: Fault) -> Error {
    match fault {
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

/// A column of a file.
#[derive(Debug)]
struct ReadColumn {
    name: String,
    kind: Kind,
    /// The kind was told by the file's beginning.
    is_sniffed: bool,
}

#[derive(Clone)]
struct CsvFile {
    path: String,
    options: Options,
    dialect: Dialect,
    header: bool,
    columns: Arc<[ReadColumn]>,
    /// Places of the columns that are read.
    taken: Vec<usize>,
    /// Of these.
    schema: SchemaRef,
}

impl std::fmt::Debug for CsvFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CsvFile({})", self.path)
    }
}

impl CsvFile {
    fn new(
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
        }
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
    fn batch(&self, records: &[Record]) -> Result<RecordBatch> {
        let arrays = self.taken.iter().map(|at| self.array(records, *at));
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(records.len()));
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(schema, arrays, &rows)?)
    }

    /// Whether the values of a record are what its columns have.
    fn fits(&self, record: &Record) -> bool {
        self.columns.iter().enumerate().all(|(at, column)| {
            let bytes = record.get(at);
            let mut nulls = self.options.nulls.iter();
            let is_null = nulls.any(|null| null.as_bytes() == bytes);
            is_null && !self.options.is_not_null(&column.name)
                || str::from_utf8(bytes).is_ok_and(|text| column.kind.fits(text))
        })
    }

    fn array(&self, records: &[Record], at: usize) -> Result<ArrayRef> {
        let Some(column) = self.columns.get(at) else {
            return Err(Error::internal("a column of a file is not there"));
        };
        let not_null = self.options.is_not_null(&column.name);
        let values = records.iter().map(|record| {
            let bytes = record.get(at);
            if self
                .options
                .nulls
                .iter()
                .any(|null| null.as_bytes() == bytes)
            {
                return Ok(not_null.then_some(""));
            }
            let what = "a value is not UTF-8";
            let text = str::from_utf8(bytes).map_err(|_| Fault::Line(record.line, what));
            text.map(Some).map_err(|fault| wrong(&self.path, fault))
        });
        let values = values.collect::<Result<Vec<Option<&str>>>>()?;
        column.kind.array(&values).map_err(|row| {
            let line = records.get(row).map_or(0, |record| record.line);
            self.other_kind(line, column)
        })
    }

    fn other_kind(&self, line: u64, column: &ReadColumn) -> Error {
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

/// Reads a file's batches.
struct Batches {
    file: Arc<CsvFile>,
    /// `None` behind the last batch, and behind an error.
    records: Option<Records<BufReader<Unpacked>>>,
    read: Vec<Record>,
}

impl Batches {
    fn new(file: Arc<CsvFile>) -> Result<Self> {
        let input = BufReader::with_capacity(1 << 18, open(&file.path, &file.options)?);
        let records = Records::new(input, file.dialect, file.options.skip);
        let mut this = Self {
            records: Some(records.map_err(|fault| wrong(&file.path, fault))?),
            file,
            read: vec![],
        };
        if this.file.header {
            this.header()?;
        }
        Ok(this)
    }

    /// Reads past the names of the columns.
    fn header(&mut self) -> Result<()> {
        let mut header = Record::default();
        while let Some(records) = &mut self.records {
            match records.next(&mut header) {
                Ok(true) if header.is_blank() && self.file.columns.len() > 1 => {}
                Ok(_) => break,
                Err(fault) => return Err(wrong(&self.file.path, fault)),
            }
        }
        Ok(())
    }

    /// The next record that is a row.
    fn record(&mut self, record: &mut Record) -> Result<bool> {
        let columns = self.file.columns.len();
        while let Some(records) = &mut self.records {
            match records.next(record) {
                Ok(true) if record.is_blank() && columns > 1 => {}
                Ok(true) if is_row(record, columns, &self.file.options) => {
                    if !self.file.options.ignore_errors || self.file.fits(record) {
                        return Ok(true);
                    }
                }
                Ok(true) if self.file.options.ignore_errors => {}
                Ok(true) => {
                    let fault = Fault::Line(record.line, OTHER_COUNT);
                    return Err(wrong(&self.file.path, fault));
                }
                Ok(false) => self.records = None,
                Err(fault) => return Err(wrong(&self.file.path, fault)),
            }
        }
        Ok(false)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut read = std::mem::take(&mut self.read);
        let (mut rows, mut bytes) = (0, 0);
        while rows < BATCH && bytes < BATCH_BYTES {
            if read.len() == rows {
                read.push(Record::default());
            }
            let Some(record) = read.get_mut(rows) else {
                break;
            };
            if !self.record(record)? {
                break;
            }
            bytes += record.bytes();
            rows += 1;
        }
        let batch = match rows {
            0 => None,
            rows => Some(self.file.batch(read.get(..rows).unwrap_or_default())?),
        };
        self.read = read;
        Ok(batch)
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
        batch.map_err(DataFusionError::from).transpose()
    }
}

/// What reads a file, as often as it is asked.
#[derive(Debug)]
struct CsvPartition(Arc<CsvFile>);

impl PartitionStream for CsvPartition {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.0.schema);
        match Batches::new(Arc::clone(&self.0)) {
            Ok(batches) => {
                let batches = futures::stream::iter(batches);
                let rows = RecordBatchStreamAdapter::new(schema, batches);
                heeding(Box::pin(rows), &context)
            }
            Err(error) => {
                let failed = futures::stream::iter([Err(DataFusionError::from(error))]);
                Box::pin(RecordBatchStreamAdapter::new(schema, failed))
            }
        }
    }
}
