//! JSON files as tables and results as JSON files: an object a line, or one array of objects.
//!
//! What must hold: a file's columns are those of its first records, in the order in which they first appear. Reading takes
//! memory for some thousand records, not for the file.

mod found;
mod given;
mod lenient;
mod objects;
mod options;
mod records;
mod shape;
mod text_kinds;
mod texts;
mod whole_numbers;
mod write;

use self::found::Found;
use self::given::{places_in, schema_for, with_nested_texts};
use self::lenient::{Batches, Lines, Taken, place_of};
use self::objects::{Apart, MEMBER, WithTexts};
pub use self::options::AS_OBJECTS;
pub(crate) use self::options::JsonOptions;
use self::options::{Layout, RecordForm};
use self::records::Records;
use self::shape::{Shape, Values};
use self::text_kinds::TextKinds;
use self::texts::Objects;
use self::whole_numbers::{read_schema, rounded};
pub(crate) use self::write::JsonWriter;
use super::packed_files::{Packing, Unpacked};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::ReaderBuilder;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::DataFusionError;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, TableSource};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use hushdb_query::functions::{JsonPlaces, MomentPlaces, with_json_texts};
use hushdb_query::heed::heeding;
use hushdb_query::plan::{MAX_FILE_COLUMNS, named, too_wide};
use hushdb_sql::type_names::{arrow_field, called_json};
use hushdb_sql::{Error, ErrorKind, Result, unique};
use hushdb_storage::{Column, ColumnType, check_interrupt};
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

/// Records that tell a file's columns, as many as DuckDB looks at.
const SAMPLED: usize = 20_480;
/// Records in a batch, unless they have very many columns.
const BATCH: usize = 8192;
/// Values in a batch.
const BATCH_VALUES: usize = 1 << 22;

/// Names in the objects of a file, of which maps may have more than there are columns.
const MAX_NAMES: usize = 50 * MAX_FILE_COLUMNS;

/// Files that tell the columns of a list of files, as many as DuckDB looks at.
const SAMPLED_FILES: usize = 32;

/// Files of JSON as tables of the same columns, which are those of the first files' records, or with `by_all` of all files'.
///
/// # Errors
/// `Io` when one cannot be read, `Conversion` when it is not JSON.
pub(crate) fn sources(
    paths: &[String],
    given: &JsonOptions,
    by_all: bool,
) -> Result<Vec<Arc<dyn TableSource>>> {
    let layout = given.layout;
    if given.as_objects {
        let field = called_json(Field::new("json", DataType::Utf8View, true));
        let schema = Arc::new(Schema::new(vec![field]));
        return tables(paths, layout, &schema, &Form::Objects);
    }
    if !given.columns.is_empty() {
        let columns = given.columns.iter().map(|(name, ty)| (name.as_str(), ty));
        let (schema, form) = given_columns(columns, given);
        return tables(paths, layout, &schema, &form);
    }
    let is_all = by_all || given.sampled == Some(None);
    let looked_at = if is_all { paths.len() } else { SAMPLED_FILES };
    let finder = given.finder()?;
    let mut whole = Seen::default();
    for path in paths.iter().take(looked_at) {
        whole = merged(path, given, finder.texts(), whole)?;
    }
    let first = paths.first().map_or("", String::as_str);
    let found = finder.found(&whole.shape);
    let found = found.map_err(|error| named(first, error))?;
    if found.columns() > MAX_FILE_COLUMNS {
        return Err(named(first, too_wide()));
    }
    if given.records == Some(true) && matches!(found, Found::Map(_)) {
        return Err(Error::binder(format!(
            "\"{first}\" is no table: its records are one MAP; leave records = true out, or set map_inference_threshold = -1 and \
             field_appearance_threshold = 0"
        )));
    }
    let (fields, form) = columns_of(found, whole.has_nulls, given);
    let tables = tables(paths, layout, &Arc::new(Schema::new(fields)), &form)?;
    tables.into_iter().map(told_apart).collect()
}

/// The columns of records of a type: members of objects, or else one of what the records are.
fn columns_of(found: Found, has_nulls: bool, given: &JsonOptions) -> (Vec<Field>, Form) {
    let (mut places, mut forms) = (found.json_places(), found.moment_places());
    let (fields, as_member) = match &found {
        Found::Struct(fields) if given.records != Some(false) => {
            let fields = fields.iter().map(|(name, found)| found.field(name));
            (fields.collect(), false)
        }
        _ => {
            places = JsonPlaces::members(std::iter::once((MEMBER.to_owned(), places)));
            forms = MomentPlaces::members(std::iter::once((MEMBER.to_owned(), forms)));
            (vec![found.field(MEMBER)], true)
        }
    };
    let form = match given.layout.ignores_errors {
        true => Form::Lenient(forms, as_member),
        false => Form::Values(Columns {
            places,
            forms,
            as_member,
            has_nulls,
        }),
    };
    (fields, form)
}

/// Columns of these types, as they are read.
fn given_columns<'a>(
    columns: impl Iterator<Item = (&'a str, &'a ColumnType)> + Clone,
    given: &JsonOptions,
) -> (SchemaRef, Form) {
    let forms = given.moments.places(columns.clone());
    if given.layout.ignores_errors {
        let fields = columns.map(|(name, ty)| arrow_field(name, ty, true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        return (Arc::new(schema), Form::Lenient(forms, false));
    }
    let places = places_in(columns.clone());
    let form = Form::Values(Columns {
        places,
        forms,
        as_member: false,
        has_nulls: false,
    });
    (schema_for(columns), form)
}

/// A table whose columns have names of their own: of those that differ in case alone the second is `a_1`.
fn told_apart(table: Arc<dyn TableSource>) -> Result<Arc<dyn TableSource>> {
    let schema = table.schema();
    let mut taken = HashSet::new();
    let fields = schema.fields().iter();
    let names = fields.map(|field| unique(&mut taken, field.name().clone()));
    let names: Vec<String> = names.collect();
    if schema.fields().iter().map(|field| field.name()).eq(&names) {
        return Ok(table);
    }
    let plan = LogicalPlanBuilder::scan("file", table, None)?.build()?;
    let columns = plan.schema().columns().into_iter().zip(names);
    let columns = columns.map(|(column, name)| Expr::Column(column).alias(name));
    let columns: Vec<Expr> = columns.collect();
    let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
    Ok(provider_as_source(Arc::new(ViewTable::new(plan, None))))
}

/// What the records of files look like.
struct Seen {
    shape: Shape,
    /// Some are null.
    has_nulls: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            shape: Shape::Unknown,
            has_nulls: false,
        }
    }
}

/// The shape of a file's records and of those before it.
fn merged(path: &str, given: &JsonOptions, texts: &TextKinds, mut whole: Seen) -> Result<Seen> {
    let mut records = taken(path, of_file(path, given.layout)?)?;
    let most = given.sampled.unwrap_or(Some(SAMPLED));
    // No more than this are there.
    let mut names = whole.shape.columns();
    for _ in 0..most.unwrap_or(usize::MAX) {
        check_interrupt()?;
        if !records.next().map_err(|error| unread(path, &error))? {
            break;
        }
        let text = records.text().map_err(|error| unread(path, &error))?;
        let record = match text.map(|text| Values(texts).shape(text)) {
            Some(Ok(record)) => record,
            None | Some(Err(_)) if records.leaves_out() => continue,
            Some(Err(error)) => return Err(malformed(path, &error, records.line())),
            None => continue,
        };
        if given.records == Some(true) && !matches!(record, Shape::Struct(_)) {
            return Err(Error::invalid(format!(
                "\"{path}\" is no table: its records are not objects; leave records = true out"
            )));
        }
        names += record.columns();
        whole.has_nulls |= record == Shape::Unknown;
        whole.shape = whole.shape.merge(record);
        if names > MAX_NAMES {
            names = whole.shape.columns();
        }
        if names > MAX_NAMES {
            return Err(Error::invalid(format!(
                "objects in \"{path}\" have more than {MAX_NAMES} names; give columns = {{...}} or a smaller sample_size"
            )));
        }
    }
    Ok(whole)
}

/// A file of JSON with the columns of a table, which its records name. What JSON has no form for comes as text.
///
/// # Errors
/// `Io` when the file cannot be read.
pub(crate) fn source_for(
    path: &str,
    given: &JsonOptions,
    columns: &[&Column],
) -> Result<Arc<dyn TableSource>> {
    let columns = columns
        .iter()
        .map(|column| (column.name.as_str(), &column.ty));
    let (schema, form) = given_columns(columns, given);
    table(path, given.layout, &schema, &form)
}

fn tables(
    paths: &[String],
    layout: Layout,
    schema: &SchemaRef,
    form: &Form,
) -> Result<Vec<Arc<dyn TableSource>>> {
    let tables = paths.iter();
    let tables = tables.map(|path| table(path, layout, schema, form));
    tables.collect()
}

fn table(
    path: &str,
    layout: Layout,
    schema: &SchemaRef,
    form: &Form,
) -> Result<Arc<dyn TableSource>> {
    // Asked for here so that a file that is not there is known before the statement runs.
    let layout = of_file(path, layout)?;
    let partition = JsonFile {
        path: path.into(),
        layout,
        form: form.clone(),
        schema: Arc::clone(schema),
    };
    let table = StreamingTable::try_new(Arc::clone(schema), vec![Arc::new(partition)])?;
    Ok(provider_as_source(Arc::new(table)))
}

fn unpacked(path: &str, layout: Layout) -> Result<Unpacked> {
    let packing = layout.packing.unwrap_or(Packing::of_name(path).0);
    packing.open(path).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("Cannot open file \"{path}\": {error}"),
        )
    })
}

/// How records lie in a file, if the file tells it.
fn of_file(path: &str, layout: Layout) -> Result<Layout> {
    let file = unpacked(path, layout)?;
    match layout.form {
        RecordForm::Auto => layout.of_file(file).map_err(|error| unread(path, &error)),
        _ => Ok(layout),
    }
}

fn open(path: &str, layout: Layout) -> Result<BufReader<Records<Unpacked>>> {
    let records = Records::new(unpacked(path, layout)?, layout.form);
    Ok(BufReader::with_capacity(1 << 16, records))
}

/// The records of a file one by one, in the form that they have if nothing else can be left out.
fn taken(path: &str, layout: Layout) -> Result<Taken<Box<dyn BufRead + Send>>> {
    if layout.leaves_lines_out() {
        let lines = BufReader::with_capacity(1 << 16, unpacked(path, layout)?);
        return Ok(Taken::Lines(Lines::new(Box::new(lines), layout.most_bytes)));
    }
    let records: Box<dyn BufRead + Send> = Box::new(open(path, layout)?);
    Ok(Taken::Apart(Apart::new(records, layout.most_bytes)))
}

fn not_json(path: &str, error: &serde_json::Error) -> Error {
    Error::new(
        match error.io_error_kind() {
            None | Some(std::io::ErrorKind::InvalidData) => ErrorKind::Conversion,
            Some(_) => ErrorKind::Io,
        },
        format!("\"{path}\" is not JSON: {error}"),
    )
}

fn malformed(path: &str, error: &serde_json::Error, line: u64) -> Error {
    Error::new(
        ErrorKind::Conversion,
        format!("\"{path}\" is not JSON: {}", place_of(error, line)),
    )
}

/// What is wrong with a file that is read record by record.
fn unread(path: &str, error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::InvalidData => ErrorKind::Conversion,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("\"{path}\" is not JSON: {error}"))
}

fn builder(schema: &SchemaRef) -> ReaderBuilder {
    ReaderBuilder::new(Arc::clone(schema)).with_coerce_primitive(true)
}

/// The line in which the first record begins that does not read, which is looked for when it is known that there is one.
fn line_of_fault(
    path: &str,
    layout: Layout,
    schema: &SchemaRef,
    of: &Columns,
) -> Result<Option<u64>> {
    let records = Apart::new(open(path, layout)?, layout.most_bytes);
    let mut records = records.with_members(of.as_member).with_objects(true);
    let mut decoder = builder(&read_schema(schema)).build_decoder()?;
    let mut json = String::new();
    while let Ok(true) = records.next() {
        check_interrupt()?;
        json.clear();
        let text = records.text().unwrap_or_default();
        let is_read = with_json_texts(text, &of.places, &mut json).is_ok()
            && decoder.decode(json.as_bytes()).is_ok()
            && decoder.flush().is_ok_and(|batch| {
                batch.is_none_or(|batch| rounded(&batch, schema, &of.forms).is_ok())
            });
        if !is_read {
            return Ok(Some(records.line));
        }
    }
    Ok(None)
}

/// What the reader says of a value, without the value.
fn without_json(message: &str) -> String {
    let message = message.strip_prefix("Json error: ").unwrap_or(message);
    // Numbers are read as decimals and texts, which take whatever is no list and no object.
    let message = &message
        .replace("expected decimal got", "expected primitive got")
        .replace("expected string got", "expected primitive got");
    let before_value = [" got ", "failed to parse ", "Encountered unexpected "];
    let ends = before_value
        .iter()
        .filter_map(|before| Some(message.find(before)? + before.len()));
    // Of a text that is no number, in words that have it somewhere among them.
    let other = message.find("Parser error: ");
    let end = ends.min().filter(|end| other.is_none_or(|at| *end <= at));
    let before = |end: usize| message.get(..end).unwrap_or_default();
    match (end, other) {
        (Some(end), _) => format!("{}...", before(end)),
        (None, Some(at)) => format!("{}failed to parse ...", before(at)),
        (None, None) => message.clone(),
    }
}

/// What records become.
#[derive(Clone, Debug)]
enum Form {
    /// Each is one text.
    Objects,
    /// Values of columns.
    Values(Columns),
    /// The same, NULL where they do not fit: with formats, and whether each record is the value of the one column.
    Lenient(MomentPlaces, bool),
}

/// Values of columns.
#[derive(Clone, Debug)]
struct Columns {
    /// What is kept as JSON.
    places: JsonPlaces,
    forms: MomentPlaces,
    /// Each record is the value of the one column.
    as_member: bool,
    /// Some records are null.
    has_nulls: bool,
}

#[derive(Debug)]
struct JsonFile {
    path: PathBuf,
    layout: Layout,
    form: Form,
    schema: SchemaRef,
}

impl JsonFile {
    fn path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    fn rows(
        &self,
        batches: impl Iterator<Item = Result<RecordBatch, DataFusionError>> + Send + 'static,
        context: &TaskContext,
    ) -> SendableRecordBatchStream {
        let batches = futures::stream::iter(batches);
        let rows = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches);
        heeding(Box::pin(rows), context)
    }

    /// The records as they are written.
    fn objects(&self, context: &TaskContext) -> Result<SendableRecordBatchStream> {
        let path = self.path();
        let objects = Objects::new(taken(&path, self.layout)?, Arc::clone(&self.schema));
        let batches =
            objects.map(move |batch| batch.map_err(|error| not_json(&path, &error).into()));
        Ok(self.rows(batches, context))
    }

    /// What fits of the records.
    fn lenient(
        &self,
        forms: &MomentPlaces,
        as_value: bool,
        context: &TaskContext,
    ) -> Result<SendableRecordBatchStream> {
        let path = self.path();
        let records = taken(&path, self.layout)?;
        let schema = Arc::clone(&self.schema);
        let batches = Batches::new(records, schema, forms.clone(), as_value).map(move |batch| {
            batch.map_err(|error| match error {
                DataFusionError::IoError(error) => unread(&path, &error).into(),
                error => error,
            })
        });
        Ok(self.rows(batches, context))
    }

    /// The values of columns.
    fn values(&self, of: &Columns, context: &TaskContext) -> Result<SendableRecordBatchStream> {
        let (path, layout) = (self.path(), self.layout);
        let batches = Decoded {
            rows: decoded(&path, layout, &self.schema, of, 0)?,
            path,
            layout,
            schema: Arc::clone(&self.schema),
            of: of.clone(),
            read: 0,
            is_retried: false,
        };
        Ok(self.rows(batches, context))
    }
}

type Decoding = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// The rows of a file behind the first ones.
fn decoded(
    path: &str,
    layout: Layout,
    schema: &SchemaRef,
    of: &Columns,
    behind: u64,
) -> Result<Decoding> {
    let columns = schema.flattened_fields().len();
    let builder = builder(&read_schema(schema))
        .with_batch_size(BATCH.min(BATCH_VALUES / columns.max(1)).max(1));
    let input = open(path, layout)?;
    let is_plain = of.places == JsonPlaces::Nowhere && !of.as_member && !of.has_nulls;
    let input: Box<dyn BufRead + Send> = match is_plain && behind == 0 {
        true => Box::new(input),
        false => {
            let records = Apart::new(input, layout.most_bytes);
            let mut records = records.with_members(of.as_member).with_objects(true);
            for _ in 0..behind {
                check_interrupt()?;
                records.next().map_err(|error| unread(path, &error))?;
            }
            let texts = WithTexts::new(records, of.places.clone());
            Box::new(BufReader::new(texts))
        }
    };
    Ok(Box::new(builder.build(input)?))
}

/// The rows of a file. Lists and objects among texts, which are rare, are looked for when a text does not read.
struct Decoded {
    rows: Decoding,
    path: String,
    layout: Layout,
    schema: SchemaRef,
    of: Columns,
    /// Rows that were read.
    read: u64,
    is_retried: bool,
}

impl Decoded {
    fn batch(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let batch = self.rows.next()?;
        Some(batch.and_then(|batch| rounded(&batch, &self.schema, &self.of.forms)))
    }

    /// Reads on behind the rows that were read; whether there may be more to be read so.
    fn retries(&mut self) -> bool {
        let places = with_nested_texts(self.schema.fields(), &self.of.places);
        if std::mem::replace(&mut self.is_retried, true) || places == self.of.places {
            return false;
        }
        self.of.places = places;
        let rows = decoded(&self.path, self.layout, &self.schema, &self.of, self.read);
        rows.is_ok_and(|rows| {
            self.rows = rows;
            true
        })
    }

    fn failed(&self, error: &ArrowError) -> DataFusionError {
        let path = &self.path;
        let line = line_of_fault(path, self.layout, &self.schema, &self.of);
        let line = line.ok().flatten();
        let line = line.map_or(String::new(), |line| format!(", line {line},"));
        let what = without_json(&error.to_string());
        let what = format!(
            "\"{path}\"{line} does not read: {what}; give columns = {{...}}, sample_size = -1 or ignore_errors = true"
        );
        DataFusionError::from(Error::new(ErrorKind::Conversion, what))
    }
}

impl Iterator for Decoded {
    type Item = Result<RecordBatch, DataFusionError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut batch = self.batch()?;
        if batch.is_err() && self.retries() {
            batch = self.batch()?;
        }
        if let Ok(batch) = &batch {
            self.read += batch.num_rows() as u64;
        }
        Some(batch.map_err(|error| self.failed(&error)))
    }
}

fn failing(schema: SchemaRef, error: Error) -> SendableRecordBatchStream {
    let failed = futures::stream::iter([Err(DataFusionError::from(error))]);
    Box::pin(RecordBatchStreamAdapter::new(schema, failed))
}

impl PartitionStream for JsonFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = match &self.form {
            Form::Objects => self.objects(&context),
            Form::Values(of) => self.values(of, &context),
            Form::Lenient(forms, as_value) => self.lenient(forms, *as_value, &context),
        };
        rows.unwrap_or_else(|error| failing(Arc::clone(&self.schema), error))
    }
}
