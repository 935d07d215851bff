//! Scalar functions of plain values: what they take, what they give and what they do with one row.
//!
//! What must hold: an argument that is NULL makes the result NULL, but where the function says otherwise; what a row gives is
//! counted against the memory limit before it is made (`room.rs`).

use super::bit_cast::cast_bits;
use super::room::{Room, SMALL};
use super::time_tz::times;
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, BooleanArray, Float64Array,
    Int64Array, StringViewArray, StringViewBuilder, UInt64Array,
};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, UInt64Type,
};
use datafusion::common::{DataFusionError, Result, internal_err, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{BIT, TIMETZ, TimeTz};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A type that arguments and results have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Blob,
    /// A BIT, as its bytes.
    Bits,
    Int,
    /// Integers that BIGINT does not hold, too.
    Unsigned,
    Double,
    Bool,
    /// A day, as its number; the infinite ones are the last of 32 bits.
    Day,
    /// A point in time, in microseconds; the infinite ones are the last of 64 bits.
    Moment,
    /// The same of an instant, in UTC.
    Instant,
    /// An interval, in microseconds, of which a month has those of 30 days.
    Span,
    /// A time of day, in microseconds.
    Clock,
    /// The same of a time with its zone, as its clock shows it.
    ZonedClock,
}

impl Kind {
    fn arrow(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8View,
            Self::Blob => DataType::BinaryView,
            Self::Bits => BIT,
            Self::Int => DataType::Int64,
            Self::Unsigned => DataType::UInt64,
            Self::Day => DataType::Date32,
            Self::Moment => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Span => DataType::Interval(IntervalUnit::MonthDayNano),
            Self::Clock => DataType::Time64(TimeUnit::Microsecond),
            Self::ZonedClock => TIMETZ,
            Self::Double => DataType::Float64,
            Self::Bool => DataType::Boolean,
        }
    }

    /// How far a value of a type is from this one; `None` if it takes a CAST.
    fn distance(self, from: &DataType) -> Option<u8> {
        use DataType as T;
        let from = match from {
            T::Dictionary(_, value) => value,
            other => other,
        };
        match (self, from) {
            (_, T::Null) => Some(1),
            (Self::Text, T::Utf8 | T::LargeUtf8 | T::Utf8View) => Some(0),
            (Self::Blob, T::Binary | T::BinaryView) => Some(0),
            (Self::Bits, of) if *of == BIT => Some(0),
            (Self::Bits, of) if of.is_string() => Some(2),
            (Self::Bool, T::Boolean) => Some(0),
            (Self::Unsigned, T::UInt64) => Some(0),
            (Self::Int, T::UInt64) => Some(1),
            (Self::Int, other) if other.is_integer() => Some(0),
            (Self::Day, T::Date32) => Some(0),
            (Self::Instant, T::Timestamp(_, Some(_))) => Some(0),
            (Self::Moment, T::Timestamp(_, zone)) => Some(zone.is_some().into()),
            (Self::Span, T::Interval(_)) => Some(0),
            (Self::ZonedClock, of) if *of == TIMETZ => Some(0),
            (Self::Clock, T::Time64(_) | T::Time32(_)) => Some(0),
            (Self::Double, other) if other.is_floating() => Some(0),
            (Self::Double, other) if other.is_numeric() => Some(1),
            _ => None,
        }
    }
}

/// What is done with each row; `Whole` looks at the columns itself.
#[derive(Clone)]
pub(super) enum Run {
    /// Writes a text; `false` is NULL.
    Text(fn(Row<'_>, &mut Written<'_>) -> Result<bool>),
    Blob(fn(Row<'_>, &mut Written<'_>) -> Result<bool>),
    Bits(fn(Row<'_>, &mut Written<'_>) -> Result<bool>),
    Int(fn(Row<'_>) -> Result<Option<i64>>),
    Double(fn(Row<'_>) -> Result<Option<f64>>),
    Bool(fn(Row<'_>) -> Result<Option<bool>>),
    Whole(DataType, fn(&Columns, &mut Room) -> Result<ArrayRef>),
}

/// One way of calling a function.
pub(super) struct Form {
    args: &'static [Kind],
    /// Whether arguments that are NULL are shown to it.
    sees_nulls: bool,
    run: Run,
}

impl Form {
    pub(super) fn new(args: &'static [Kind], run: Run) -> Self {
        Self {
            args,
            sees_nulls: false,
            run,
        }
    }

    pub(super) fn seeing_nulls(mut self) -> Self {
        self.sees_nulls = true;
        self
    }

    fn result(&self) -> DataType {
        match &self.run {
            Run::Text(_) => Kind::Text.arrow(),
            Run::Blob(_) => Kind::Blob.arrow(),
            Run::Bits(_) => Kind::Bits.arrow(),
            Run::Int(_) => Kind::Int.arrow(),
            Run::Double(_) => Kind::Double.arrow(),
            Run::Bool(_) => Kind::Bool.arrow(),
            Run::Whole(result, _) => result.clone(),
        }
    }

    /// What arguments are brought to; texts of zeros and ones are read when it runs.
    fn takes(&self, types: &[DataType]) -> Vec<DataType> {
        let each = self.args.iter().zip(types);
        let each = each.map(|(kind, from)| match kind {
            Kind::Bits if from.is_string() => DataType::Utf8View,
            kind => kind.arrow(),
        });
        each.collect()
    }

    /// How far argument types are from what it takes.
    fn distance(&self, types: &[DataType]) -> Option<u32> {
        if types.len() != self.args.len() {
            return None;
        }
        let each = self.args.iter().zip(types);
        let each = each.map(|(kind, from)| kind.distance(from).map(u32::from));
        each.sum()
    }
}

/// A function with its forms; the first one that fits best is taken.
pub(super) struct Plain {
    names: &'static [&'static str],
    aliases: Vec<String>,
    forms: Vec<Form>,
    memory: Arc<dyn MemoryPool>,
    signature: Signature,
}

/// A function of `names`, of which the first is shown.
pub(super) fn plain(
    names: &'static [&'static str],
    forms: Vec<Form>,
    memory: &Arc<dyn MemoryPool>,
) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Plain {
        names,
        aliases: names.iter().skip(1).map(|name| name.to_string()).collect(),
        forms,
        memory: Arc::clone(memory),
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

impl Plain {
    /// What each way of calling it takes and gives.
    pub(super) fn shapes(&self) -> impl Iterator<Item = (Vec<DataType>, DataType)> + '_ {
        self.forms.iter().map(|form| {
            let takes = form.args.iter().map(|kind| kind.arrow());
            (takes.collect(), form.result())
        })
    }

    /// The ways of calling it, a line each.
    fn candidates(&self) -> String {
        let forms = self.shapes().map(|(takes, gives)| {
            let gives = called("", &[gives]);
            let gives = gives.trim_matches(['(', ')']);
            format!("\n\t{} -> {gives}", called(self.name(), &takes))
        });
        format!("\n\tCandidate functions:{}", forms.collect::<String>())
    }

    fn form(&self, types: &[DataType]) -> Option<&Form> {
        let fitting = self.forms.iter();
        let fitting = fitting.filter_map(|form| Some((form.distance(types)?, form)));
        fitting
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, form)| form)
    }
}

impl std::fmt::Debug for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl Eq for Plain {}

impl Hash for Plain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.names.hash(state);
    }
}

impl ScalarUDFImpl for Plain {
    fn name(&self) -> &str {
        self.names.first().copied().unwrap_or_default()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match self.form(types) {
            Some(form) => Ok(form.takes(types)),
            None => plan_err!(
                "No function matches the given name and argument types '{}'. You might need to add explicit type casts.{}",
                called(self.name(), types),
                self.candidates()
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match self.form(types) {
            Some(form) => Ok(form.result()),
            None => internal_err!("{} was not coerced", called(self.name(), types)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<_> = args.args.iter().map(ColumnarValue::data_type).collect();
        let Some(form) = self.form(&types) else {
            return internal_err!("{} was not coerced", called(self.name(), &types));
        };
        let (columns, scalar) = Columns::new(&args, form.args)?;
        let mut room = Room::new(&self.memory);
        let array = form.evaluate(&columns, &mut room)?;
        room.result(array, scalar, args.number_rows)
    }
}

/// A call with the names of its types.
pub(super) fn called(name: &str, types: &[DataType]) -> String {
    use datafusion::arrow::datatypes::Field;
    use hushdb_sql::type_names::display_type;
    let types = types
        .iter()
        .map(|t| display_type(&Field::new("", t.clone(), true)));
    format!("{name}({})", types.collect::<Vec<_>>().join(", "))
}

/// One argument's values; one value stands for all rows of a constant.
enum Column {
    Text(StringViewArray),
    Blob(BinaryViewArray),
    Int(Int64Array),
    Unsigned(UInt64Array),
    Double(Float64Array),
    Bool(BooleanArray),
}

/// The arguments of all rows.
pub(super) struct Columns {
    columns: Vec<(Column, bool)>,
    rows: usize,
}

impl Columns {
    /// The arguments, and whether all are constants; these are then of one row.
    fn new(args: &ScalarFunctionArgs, kinds: &[Kind]) -> Result<(Self, bool)> {
        let constant = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        let scalar = args.args.iter().all(constant);
        let columns = args.args.iter().zip(kinds).map(|(arg, kind)| {
            let array = match arg {
                ColumnarValue::Array(array) => Arc::clone(array),
                ColumnarValue::Scalar(value) => value.to_array()?,
            };
            let array = match array.data_type() == &kind.arrow() {
                true => array,
                false if *kind == Kind::Bits => cast_bits(&array, &BIT, false)?,
                false => cast(&array, &kind.arrow())?,
            };
            let column = match kind {
                Kind::Text => Column::Text(array.as_string_view().clone()),
                Kind::Blob => Column::Blob(array.as_binary_view().clone()),
                Kind::Bits => Column::Blob(array.as_binary::<i64>().into()),
                Kind::Int => Column::Int(array.as_primitive::<Int64Type>().clone()),
                Kind::Unsigned => Column::Unsigned(array.as_primitive::<UInt64Type>().clone()),
                Kind::Day => {
                    let days = array.as_primitive::<Date32Type>();
                    Column::Int(days.unary::<_, Int64Type>(i64::from))
                }
                Kind::Moment | Kind::Instant => {
                    let moments = array.as_primitive::<TimestampMicrosecondType>();
                    Column::Int(moments.unary::<_, Int64Type>(|moment| moment))
                }
                Kind::Span => {
                    let spans = array.as_primitive::<IntervalMonthDayNanoType>();
                    Column::Int(spans.try_unary::<_, Int64Type, _>(micros_of_span)?)
                }
                Kind::Clock => {
                    let times = array.as_primitive::<Time64MicrosecondType>();
                    Column::Int(times.unary::<_, Int64Type>(|time| time))
                }
                Kind::ZonedClock => {
                    let times = times(&array).map(|time| time.map(TimeTz::micros));
                    Column::Int(times.collect())
                }
                Kind::Double => Column::Double(array.as_primitive::<Float64Type>().clone()),
                Kind::Bool => Column::Bool(array.as_boolean().clone()),
            };
            Ok((column, constant(arg)))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let rows = if scalar { 1 } else { args.number_rows };
        Ok((Self { columns, rows }, scalar))
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.rows).map(|row| Row { columns: self, row })
    }

    /// The number of arguments.
    pub(super) fn count(&self) -> usize {
        self.columns.len()
    }
}

fn micros_of_span(span: IntervalMonthDayNano) -> Result<i64, Error> {
    let days = i64::from(span.months) * 30 + i64::from(span.days);
    let micros = days
        .checked_mul(MICROS_PER_DAY)
        .and_then(|micros| micros.checked_add(span.nanoseconds / 1000));
    micros.ok_or_else(|| {
        let what = "Could not convert Interval to Microseconds";
        Error::new(ErrorKind::Conversion, what)
    })
}

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The arguments of one row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    columns: &'a Columns,
    row: usize,
}

/// A value of one row; the empty one where the argument is NULL or of another kind.
macro_rules! value {
    ($self:ident, $arg:ident, $kind:ident, $empty:expr) => {
        match $self.at($arg) {
            Some((Column::$kind(array), row)) if array.is_valid(row) => array.value(row),
            _ => $empty,
        }
    };
}

impl<'a> Row<'a> {
    fn at(self, arg: usize) -> Option<(&'a Column, usize)> {
        let (column, constant) = self.columns.columns.get(arg)?;
        Some((column, if *constant { 0 } else { self.row }))
    }

    /// Now and then, whether somebody asks the statement to stop: the function may take long for a row.
    fn look(self) -> Result<()> {
        match self.row.is_multiple_of(LOOK_ROWS) {
            true => check(),
            false => Ok(()),
        }
    }

    pub(super) fn is_null(self, arg: usize) -> bool {
        match self.at(arg) {
            Some((Column::Text(array), row)) => array.is_null(row),
            Some((Column::Blob(array), row)) => array.is_null(row),
            Some((Column::Int(array), row)) => array.is_null(row),
            Some((Column::Unsigned(array), row)) => array.is_null(row),
            Some((Column::Double(array), row)) => array.is_null(row),
            Some((Column::Bool(array), row)) => array.is_null(row),
            None => true,
        }
    }

    /// The number of arguments.
    pub(super) fn count(self) -> usize {
        self.columns.count()
    }

    /// Whether an argument is NULL in all rows, since it is written so.
    pub(super) fn is_always_null(self, arg: usize) -> bool {
        let column = self.columns.columns.get(arg);
        column.is_some_and(|(_, constant)| *constant) && self.is_null(arg)
    }

    pub(super) fn has_null(self) -> bool {
        (0..self.columns.columns.len()).any(|arg| self.is_null(arg))
    }

    pub(super) fn text(self, arg: usize) -> &'a str {
        value!(self, arg, Text, "")
    }

    pub(super) fn blob(self, arg: usize) -> &'a [u8] {
        value!(self, arg, Blob, &[])
    }

    pub(super) fn int(self, arg: usize) -> i64 {
        value!(self, arg, Int, 0)
    }

    pub(super) fn unsigned(self, arg: usize) -> u64 {
        value!(self, arg, Unsigned, 0)
    }

    pub(super) fn bool(self, arg: usize) -> bool {
        value!(self, arg, Bool, false)
    }

    pub(super) fn double(self, arg: usize) -> f64 {
        value!(self, arg, Double, 0.0)
    }
}

/// The text or bytes that a row gives.
pub(super) struct Written<'a> {
    bytes: Vec<u8>,
    room: &'a mut Room,
    /// Nothing is written any more when there was no room.
    refused: Option<DataFusionError>,
}

impl Written<'_> {
    /// Says how much the row will write, before it does.
    pub(super) fn expect(&mut self, bytes: u128) -> Result<()> {
        let bytes = self.room.take(bytes)?;
        self.bytes.reserve_exact(bytes);
        Ok(())
    }

    /// Writes what no more than doubles the arguments.
    pub(super) fn push(&mut self, text: &str) {
        if self.refused.is_some() {
            return;
        }
        let (room, end) = (self.bytes.capacity(), self.bytes.len() + text.len());
        if end > room.max(SMALL) {
            let wanted = end.max(room + room / 2);
            match self.room.take_all(wanted - room) {
                Ok(()) => self.bytes.reserve_exact(wanted - self.bytes.len()),
                Err(refused) => self.refused = Some(refused),
            }
        }
        if self.refused.is_none() {
            self.bytes.extend_from_slice(text.as_bytes());
        }
    }

    /// Writes so many characters of a text that begins again at its end.
    pub(super) fn push_cycled(&mut self, text: &str, characters: usize) {
        let all = text.chars().count().max(1);
        self.push_times(text.as_bytes(), characters / all);
        let rest = text.char_indices().nth(characters % all);
        let rest = rest.map_or(0, |(at, _)| at);
        self.push(text.get(..rest).unwrap_or_default());
    }

    /// Writes bytes so many times.
    pub(super) fn push_times(&mut self, bytes: &[u8], times: usize) {
        let from = self.bytes.len();
        let end = from + bytes.len() * times;
        if times > 0 {
            self.bytes.extend_from_slice(bytes);
        }
        // What is there is copied behind itself.
        while self.bytes.len() < end {
            let more = (self.bytes.len() - from).min(end - self.bytes.len());
            self.bytes.extend_from_within(from..from + more);
        }
    }
}

/// Rows between two looks at the statement.
const LOOK_ROWS: usize = 32;
/// Values longer than this become a buffer of their own, without a copy.
const OWN_BUFFER: usize = 64 << 10;

/// Collects texts or bytes by the builder's methods.
macro_rules! collect {
    ($self:ident, $columns:ident, $room:ident, $run:ident, $builder:ident, $as:expr) => {{
        let mut out = $builder::with_capacity($columns.rows);
        let mut written = Written {
            bytes: vec![],
            room: $room,
            refused: None,
        };
        for row in $columns.rows() {
            row.look()?;
            let is_null = !$self.sees_nulls && row.has_null();
            let is_value = !is_null && $run(row, &mut written)?;
            written.refused.take().map_or(Ok(()), Err)?;
            if !is_value {
                out.append_null();
            } else if written.bytes.len() > OWN_BUFFER {
                let len = written.bytes.len() as u32;
                let block = out.append_block(Buffer::from_vec(std::mem::take(&mut written.bytes)));
                out.try_append_view(block, 0, len)?;
            } else {
                out.try_append_value($as(&written.bytes)?)?;
            }
            written.bytes.clear();
        }
        Arc::new(out.finish())
    }};
}

fn as_text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|_| hushdb_sql::Error::internal("a text is not UTF-8").into())
}

impl Form {
    fn evaluate(&self, columns: &Columns, room: &mut Room) -> Result<ArrayRef> {
        let shown = |row: &Row<'_>| -> Result<bool> {
            row.look()?;
            Ok(self.sees_nulls || !row.has_null())
        };
        Ok(match &self.run {
            Run::Text(run) => collect!(self, columns, room, run, StringViewBuilder, as_text),
            Run::Blob(run) | Run::Bits(run) => {
                let values: ArrayRef = collect!(
                    self,
                    columns,
                    room,
                    run,
                    BinaryViewBuilder,
                    Ok::<_, DataFusionError>
                );
                cast(&values, &self.result())?
            }
            Run::Int(run) => {
                let values = columns
                    .rows()
                    .map(|row| if shown(&row)? { run(row) } else { Ok(None) });
                Arc::new(values.collect::<Result<Int64Array>>()?)
            }
            Run::Double(run) => {
                let values = columns
                    .rows()
                    .map(|row| if shown(&row)? { run(row) } else { Ok(None) });
                Arc::new(values.collect::<Result<Float64Array>>()?)
            }
            Run::Bool(run) => {
                let values = columns
                    .rows()
                    .map(|row| if shown(&row)? { run(row) } else { Ok(None) });
                Arc::new(values.collect::<Result<BooleanArray>>()?)
            }
            Run::Whole(_, run) => run(columns, room)?,
        })
    }
}
