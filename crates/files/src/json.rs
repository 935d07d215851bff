//! JSON files as tables and results as JSON files: an object a line, or one array of objects.
//!
//! What must hold: a file's columns are those of its first records, in the order in which they first appear. Reading takes
//! memory for some thousand records, not for the file.

mod objects;
mod options;
mod records;
mod shape;
mod whole_numbers;

use self::objects::{Apart, MEMBER, Objects, WithTexts};
pub use self::options::AS_OBJECTS;
pub(crate) use self::options::JsonOptions;
use self::options::Layout;
use self::records::Records;
use self::shape::Shape;
use self::whole_numbers::{read_schema, rounded};
use super::csv::{CsvForm, formed};
use super::packed_files::{Packing, Unpacked};
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::json::ReaderBuilder;
use datafusion::arrow::util::display::ArrayFormatter;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::DataFusionError;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, TableSource};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use hushdb_query::functions::{
    JsonPlaces, json_string, json_value, value_text, with_json_texts, without_blanks,
};
use hushdb_query::heed::heeding;
use hushdb_query::plan::{MAX_FILE_COLUMNS, named, too_wide};
use hushdb_sql::type_names::{arrow_field, called_json, is_called_json};
use hushdb_sql::{Error, ErrorKind, Result, unique};
use hushdb_storage::{Column, ColumnType, Values, check_interrupt};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Records that tell a file's columns, as many as DuckDB looks at.
const SAMPLED: usize = 20_480;
/// Records in a batch, unless they have very many columns.
const BATCH: usize = 8192;
/// Values in a batch.
const BATCH_VALUES: usize = 1 << 22;

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
        let columns = || given.columns.iter().map(|(name, ty)| (name.as_str(), ty));
        let schema = schema_for(columns());
        let form = Form::Values(places_in(columns()), false);
        return tables(paths, layout, &schema, &form);
    }
    let is_all = by_all || given.sampled == Some(None);
    let looked_at = if is_all { paths.len() } else { SAMPLED_FILES };
    let mut whole = Shape::Unknown;
    for path in paths.iter().take(looked_at) {
        whole = merged(path, given, whole)?;
    }
    if let Some(depth) = given.depth {
        whole = whole.within(depth);
    }
    let (fields, form) = columns_of(whole, given.records);
    let tables = tables(paths, layout, &Arc::new(Schema::new(fields)), &form)?;
    tables.into_iter().map(told_apart).collect()
}

/// The columns of records of a shape: members of objects, or else one of what the records are.
fn columns_of(whole: Shape, records: Option<bool>) -> (Vec<Field>, Form) {
    let places = whole.json_places();
    match &whole {
        Shape::Struct(fields) if !fields.is_empty() && records != Some(false) => {
            let fields = fields.iter().map(|(name, shape)| shape.field(name));
            (fields.collect(), Form::Values(places, false))
        }
        _ => {
            let places = JsonPlaces::members(std::iter::once((MEMBER.to_owned(), places)));
            (vec![whole.field(MEMBER)], Form::Values(places, true))
        }
    }
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

/// The shape of a file's records and of those before it.
fn merged(path: &str, given: &JsonOptions, mut whole: Shape) -> Result<Shape> {
    let records = serde_json::Deserializer::from_reader(open(path, given.layout)?);
    let most = given.sampled.unwrap_or(Some(SAMPLED));
    for record in records
        .into_iter::<Shape>()
        .take(most.unwrap_or(usize::MAX))
    {
        let record = record.map_err(|error| malformed(path, &error))?;
        if given.records == Some(true) && !matches!(record, Shape::Struct(_)) {
            return Err(Error::invalid(format!(
                "\"{path}\" is no table: its records are not objects; leave records = true out"
            )));
        }
        whole = whole.merge(record);
        if whole.columns() > MAX_FILE_COLUMNS {
            return Err(named(path, too_wide()));
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
    packing: Packing,
    columns: &[&Column],
) -> Result<Arc<dyn TableSource>> {
    let columns = || {
        columns
            .iter()
            .map(|column| (column.name.as_str(), &column.ty))
    };
    let form = Form::Values(places_in(columns()), false);
    let layout = Layout {
        packing: Some(packing),
        ..Layout::default()
    };
    table(path, layout, &schema_for(columns()), &form)
}

/// Columns as they are read.
fn schema_for<'a>(columns: impl Iterator<Item = (&'a str, &'a ColumnType)>) -> SchemaRef {
    let fields = columns.map(
        |(name, ty)| match *ty == ColumnType::Json || has_union(ty) {
            true => arrow_field(name, &ColumnType::Json, true),
            false => Field::new(name, read_as(ty), true),
        },
    );
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Whether there are unions in values: such columns are read as JSON, which a CAST makes values of.
fn has_union(ty: &ColumnType) -> bool {
    if matches!(ty, ColumnType::Union(_)) {
        return true;
    }
    match ty.properties().values {
        Values::List(item) | Values::Map(item) => has_union(item),
        Values::Struct(fields) => fields.iter().any(|(_, ty)| has_union(ty)),
        Values::Bits | Values::Fixed(_) | Values::Text | Values::Bytes => false,
    }
}

/// Where records of such columns have values that are kept as JSON.
fn places_in<'a>(columns: impl Iterator<Item = (&'a str, &'a ColumnType)>) -> JsonPlaces {
    JsonPlaces::members(columns.map(|(name, ty)| (name.to_owned(), json_places(ty))))
}

fn json_places(ty: &ColumnType) -> JsonPlaces {
    if has_union(ty) {
        return JsonPlaces::Here;
    }
    match ty {
        ColumnType::Json | ColumnType::Union(_) => JsonPlaces::Here,
        ColumnType::List(item) => JsonPlaces::items(json_places(item)),
        ColumnType::Array(array) => JsonPlaces::items(json_places(array.item())),
        ColumnType::Struct(fields) => {
            places_in(fields.iter().map(|(name, ty)| (name.as_str(), ty)))
        }
        ColumnType::Map(map) => {
            let value = map.parts().nth(1).map(json_places);
            JsonPlaces::values(value.unwrap_or(JsonPlaces::Nowhere))
        }
        ColumnType::Boolean
        | ColumnType::Int8
        | ColumnType::Int16
        | ColumnType::Int32
        | ColumnType::Int64
        | ColumnType::UInt8
        | ColumnType::UInt16
        | ColumnType::UInt32
        | ColumnType::UInt64
        | ColumnType::HugeInt
        | ColumnType::UHugeInt
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Varchar
        | ColumnType::Collated(_)
        | ColumnType::Blob
        | ColumnType::Date
        | ColumnType::Time
        | ColumnType::Timestamp(..)
        | ColumnType::Interval
        | ColumnType::Uuid
        | ColumnType::TimeTz
        | ColumnType::Bit
        | ColumnType::Enum(_) => JsonPlaces::Nowhere,
    }
}

/// The type in which values of a column's type are read.
fn read_as(ty: &ColumnType) -> DataType {
    match ty {
        ColumnType::Blob
        | ColumnType::Uuid
        | ColumnType::TimeTz
        | ColumnType::Bit
        | ColumnType::Interval
        | ColumnType::Enum(_)
        | ColumnType::HugeInt
        | ColumnType::UHugeInt
        | ColumnType::Union(_) => DataType::Utf8View,
        ColumnType::List(item) => {
            DataType::List(Arc::new(Field::new_list_field(read_as(item), true)))
        }
        // A cast checks how long it is.
        ColumnType::Array(array) => {
            DataType::List(Arc::new(Field::new_list_field(read_as(array.item()), true)))
        }
        ColumnType::Struct(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, ty)| Field::new(name, read_as(ty), true));
            DataType::Struct(fields.collect())
        }
        ColumnType::Map(map) => {
            // The names of an object's values are texts.
            let value = map.parts().nth(1).map_or(DataType::Utf8View, read_as);
            let fields = vec![
                Field::new("key", DataType::Utf8View, false),
                Field::new("value", value, true),
            ];
            let entry = DataType::Struct(fields.into());
            DataType::Map(Arc::new(Field::new("entries", entry, false)), false)
        }
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
        | ColumnType::Varchar
        | ColumnType::Json
        | ColumnType::Collated(_)
        | ColumnType::Date
        | ColumnType::Time
        | ColumnType::Timestamp(..) => ty.arrow(),
    }
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
    open(path, layout)?;
    let partition = JsonFile {
        path: path.into(),
        layout,
        form: form.clone(),
        schema: Arc::clone(schema),
    };
    let table = StreamingTable::try_new(Arc::clone(schema), vec![Arc::new(partition)])?;
    Ok(provider_as_source(Arc::new(table)))
}

fn open(path: &str, layout: Layout) -> Result<BufReader<Records<Unpacked>>> {
    let packing = layout.packing.unwrap_or(Packing::of_name(path).0);
    let file = packing.open(path).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("Cannot open file \"{path}\": {error}"),
        )
    })?;
    let records = Records::new(file, layout.is_lines);
    Ok(BufReader::with_capacity(1 << 16, records))
}

fn malformed(path: &str, error: &serde_json::Error) -> Error {
    Error::new(
        match error.io_error_kind() {
            None | Some(std::io::ErrorKind::InvalidData) => ErrorKind::Conversion,
            Some(_) => ErrorKind::Io,
        },
        format!("\"{path}\" is not JSON: {error}"),
    )
}

fn builder(schema: &SchemaRef) -> ReaderBuilder {
    ReaderBuilder::new(Arc::clone(schema)).with_coerce_primitive(true)
}

/// The line in which the first record begins that does not read, which is looked for when it is known that there is one.
fn line_of_fault(
    path: &str,
    layout: Layout,
    schema: &SchemaRef,
    (places, as_member): (&JsonPlaces, bool),
) -> Result<Option<u64>> {
    let mut records = Apart::new(open(path, layout)?).with_members(as_member);
    let mut decoder = builder(&read_schema(schema)).build_decoder()?;
    let mut json = String::new();
    while let Ok(true) = records.next() {
        check_interrupt()?;
        json.clear();
        let text = records.text().unwrap_or_default();
        let is_read = with_json_texts(text, places, &mut json).is_ok()
            && decoder.decode(json.as_bytes()).is_ok()
            && decoder
                .flush()
                .is_ok_and(|batch| batch.is_none_or(|batch| rounded(&batch, schema).is_ok()));
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
    /// Values of columns, of which some are kept as JSON, or each one that of the one column.
    Values(JsonPlaces, bool),
}

#[derive(Debug)]
struct JsonFile {
    path: PathBuf,
    layout: Layout,
    form: Form,
    schema: SchemaRef,
}

impl JsonFile {
    /// The records as they are written.
    fn objects(&self, context: &TaskContext) -> Result<SendableRecordBatchStream> {
        let path = self.path.to_string_lossy().into_owned();
        let objects = Objects::new(open(&path, self.layout)?, Arc::clone(&self.schema));
        let batches =
            objects.map(move |batch| batch.map_err(|error| malformed(&path, &error).into()));
        let batches = futures::stream::iter(batches);
        let rows = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches);
        Ok(heeding(Box::pin(rows), context))
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
        let Form::Values(places, as_member) = &self.form else {
            let rows = self.objects(&context);
            return rows.unwrap_or_else(|error| failing(Arc::clone(&self.schema), error));
        };
        let path = self.path.to_string_lossy().into_owned();
        let columns = self.schema.flattened_fields().len();
        let reader = || -> Result<_> {
            let builder = builder(&read_schema(&self.schema))
                .with_batch_size(BATCH.min(BATCH_VALUES / columns.max(1)).max(1));
            let input = open(&path, self.layout)?;
            let input: Box<dyn BufRead + Send> = match places {
                JsonPlaces::Nowhere if !as_member => Box::new(input),
                places => {
                    let records = Apart::new(input).with_members(*as_member);
                    Box::new(BufReader::new(WithTexts::new(records, places.clone())))
                }
            };
            Ok(builder.build(input)?)
        };
        let schema = Arc::clone(&self.schema);
        let (of, layout) = (Arc::clone(&schema), self.layout);
        let (places, as_member) = (places.clone(), *as_member);
        match reader() {
            Ok(batches) => {
                let batches = batches.map(move |batch| {
                    let batch = batch.and_then(|batch| rounded(&batch, &of));
                    batch.map_err(|error| {
                        let line = line_of_fault(&path, layout, &of, (&places, as_member)).ok().flatten();
                        let line = line.map_or(String::new(), |line| format!(", line {line},"));
                        let what = without_json(&error.to_string());
                        let what = format!(
                            "\"{path}\"{line} does not read: {what}; give columns = {{...}} or sample_size = -1"
                        );
                        DataFusionError::from(Error::new(ErrorKind::Conversion, what))
                    })
                });
                let batches = futures::stream::iter(batches);
                let rows = RecordBatchStreamAdapter::new(schema, batches);
                heeding(Box::pin(rows), &context)
            }
            Err(error) => failing(schema, error),
        }
    }
}

/// A value in the form that was given for it; none of what no calendar has, such as the infinities.
fn written(form: Option<&ArrayFormatter<'_>>, column: &ArrayRef, row: usize) -> Option<String> {
    let mut text = String::new();
    let form = form.filter(|_| column.is_valid(row))?;
    write!(text, "{}", form.value(row)).ok().map(|()| text)
}

/// A file that rows are written to: an object a line, or all in one array.
pub(crate) struct JsonWriter<'a, W> {
    form: &'a CsvForm,
    /// Names of columns, in quotes, and whether their texts are JSON.
    columns: Vec<(String, bool)>,
    array: bool,
    rows: u64,
    out: W,
}

fn failed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}

impl<'a, W: Write> JsonWriter<'a, W> {
    /// Begins a file; of the form, that of dates and points in time is what counts.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn begin(
        schema: &SchemaRef,
        mut out: W,
        form: &'a CsvForm,
        array: bool,
    ) -> Result<Self> {
        let columns = schema.fields().iter();
        let columns = columns.map(|f| (json_string(f.name()), is_called_json(f)));
        if array {
            out.write_all(b"[").map_err(failed)?;
        }
        Ok(Self {
            form,
            columns: columns.collect(),
            array,
            rows: 0,
            out,
        })
    }

    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema();
        let columns = batch.columns().iter().zip(schema.fields());
        let forms = columns.map(|(column, field)| formed(column, field, self.form));
        let forms = forms.collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            let (before, after) = match (self.array, self.rows) {
                (false, _) => ("", "\n"),
                (true, 0) => ("\n\t", ""),
                (true, _) => (",\n\t", ""),
            };
            let mut line = format!("{before}{{");
            let columns = self.columns.iter().zip(batch.columns()).zip(&forms);
            for (index, (((name, is_json), column), form)) in columns.enumerate() {
                let comma = if index == 0 { "" } else { "," };
                let value = match (written(form.as_ref(), column, row), is_json) {
                    (Some(text), _) => json_string(&text),
                    (None, true) => {
                        without_blanks(&value_text(column, row)?.unwrap_or("null".into()))
                    }
                    (None, false) => json_value(column.as_ref(), row)?,
                };
                line.push_str(&format!("{comma}{name}:{value}"));
            }
            line.push('}');
            line.push_str(after);
            self.out.write_all(line.as_bytes()).map_err(failed)?;
            self.rows += 1;
        }
        Ok(())
    }

    /// Ends the file, and gives it back.
    pub(crate) fn finish(mut self) -> Result<W> {
        if self.array {
            self.out.write_all(b"\n]\n").map_err(failed)?;
        }
        Ok(self.out)
    }
}
