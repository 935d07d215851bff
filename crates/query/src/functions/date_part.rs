//! `date_part(part, x)` and `extract(part FROM x)`: DataFusion's, as a BIGINT; of an INTERVAL with DuckDB's meaning, where each part is
//! what the larger ones leave over. What is infinitely far has no parts.

use super::moment_cast::finite;
use super::session_zone::{in_session_zone, zone_of};
use super::time_tz::times;
use super::time_zone::{part_of_distance, zone_part};
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array};
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit,
};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::functions::datetime;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::{Error, ErrorKind, date_part_name};
use hushdb_storage::TIMETZ;
use std::sync::{Arc, LazyLock};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
/// Of a day.
const SECONDS_PER_QUARTER: i128 = 21_600;

/// The function.
pub fn date_part() -> Arc<ScalarUDF> {
    static DATE_PART: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        Arc::new(ScalarUDF::from(DatePart {
            planned: datetime::date_part(),
            signature: Signature::user_defined(Volatility::Immutable),
            aliases: vec!["datepart".into()],
        }))
    });
    Arc::clone(&DATE_PART)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DatePart {
    planned: Arc<ScalarUDF>,
    signature: Signature,
    aliases: Vec<String>,
}

impl ScalarUDFImpl for DatePart {
    fn name(&self) -> &str {
        "date_part"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        // Refused, or NULL, when the type of the result is asked for.
        if let [DataType::Null | DataType::List(_), _] = types {
            return Ok(types.to_vec());
        }
        if let [part, DataType::Interval(_)] = types
            && part.is_string()
        {
            let interval = DataType::Interval(IntervalUnit::MonthDayNano);
            return Ok(vec![part.clone(), interval]);
        }
        if let [part, of] = types
            && *of == TIMETZ
            && part.is_string()
        {
            return Ok(types.to_vec());
        }
        let field = |ty: &DataType| Arc::new(Field::new("", ty.clone(), true));
        let fields: Vec<FieldRef> = types.iter().map(field).collect();
        let coerced = fields_with_udf(&fields, self.planned.as_ref())?;
        Ok(coerced.iter().map(|f| f.data_type().clone()).collect())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of date_part depends on the part")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let part = args.arg_fields.first().map(|part| part.data_type());
        if let Some(DataType::List(_)) = part {
            return Err(Error::unsupported("date_part of several parts").into());
        }
        if is_null(part, args.scalar_arguments) {
            return Ok(Arc::new(Field::new(self.name(), DataType::Int64, true)));
        }
        let named = args.scalar_arguments.first().copied().flatten();
        let of = args.arg_fields.get(1).map(|of| of.data_type());
        let is_zone = named.is_some_and(|part| of_zone(part, of).is_some());
        if is_zone || named.is_some_and(|part| of_years(part).is_some()) {
            return Ok(Arc::new(Field::new(self.name(), DataType::Int64, true)));
        }
        if of.is_some_and(|of| *of == TIMETZ) {
            let part = named.and_then(|part| part.try_as_str().flatten());
            let to = type_of_time_part(part.unwrap_or_default())?;
            return Ok(Arc::new(Field::new(self.name(), to, true)));
        }
        let field = self.planned.return_field_from_args(args)?;
        match field.data_type() {
            DataType::Int32 => Ok(Arc::new(Field::new(self.name(), DataType::Int64, true))),
            _ => Ok(field),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        in_session_zone(args, |args| self.parts(args))
    }

    fn preimage(
        &self,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        // Of instants, it would be that of clocks in UTC.
        if zone_of(info.config_options()).is_some() {
            return Ok(PreimageResult::None);
        }
        match literal {
            Expr::Literal(value, metadata) => {
                let value = value.cast_to(&DataType::Int32)?;
                self.planned
                    .preimage(args, &Expr::Literal(value, metadata.clone()), info)
            }
            _ => Ok(PreimageResult::None),
        }
    }
}

impl DatePart {
    fn parts(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [part, of] = args.args.as_slice() else {
            return internal_err!("date_part takes two arguments");
        };
        if let ColumnarValue::Scalar(part) = part
            && part.is_null()
        {
            return Ok(ColumnarValue::Scalar(ScalarValue::Int64(None)));
        }
        let is_known_null = matches!(of, ColumnarValue::Scalar(of) if of.is_null());
        if of.data_type().is_null() || is_known_null {
            let nothing = ScalarValue::try_from(args.return_field.data_type())?;
            return Ok(ColumnarValue::Scalar(nothing));
        }
        if of.data_type() == TIMETZ {
            return self.of_time(part, of, &args);
        }
        if !matches!(of.data_type(), DataType::Interval(_)) {
            let to = args.return_field.data_type().clone();
            if let ColumnarValue::Scalar(part) = part
                && let Some(part) = of_zone(part, Some(&of.data_type()))
            {
                let of = of.to_array(args.number_rows)?;
                return Ok(ColumnarValue::Array(part_of_distance(&of, part)?));
            }
            if let ColumnarValue::Scalar(part) = part
                && let Some(of_year) = of_years(part)
            {
                return self.of_year(args, of_year);
            }
            let part = match part {
                ColumnarValue::Scalar(part) if is_yearweek(part) => {
                    return self.year_and_week(args);
                }
                ColumnarValue::Scalar(part) => under_its_own_name(part)?,
                parts => parts.clone(),
            };
            let near = match of {
                ColumnarValue::Array(of) => ColumnarValue::Array(finite(of)?),
                ColumnarValue::Scalar(of) => {
                    let near = finite(&of.to_array()?)?;
                    ColumnarValue::Scalar(ScalarValue::try_from_array(&near, 0)?)
                }
            };
            let args = ScalarFunctionArgs {
                args: vec![part, near],
                ..args
            };
            return self.planned.invoke_with_args(args)?.cast_to(&to, None);
        }
        let part = match part {
            ColumnarValue::Scalar(part) => part.try_as_str().flatten().unwrap_or_default(),
            ColumnarValue::Array(_) => return internal_err!("a part is no constant"),
        };
        let scalar = matches!(of, ColumnarValue::Scalar(_));
        let parts = interval_parts(
            part,
            &of.to_array(if scalar { 1 } else { args.number_rows })?,
        )?;
        if scalar {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &parts, 0,
            )?));
        }
        Ok(ColumnarValue::Array(parts))
    }

    /// A part of a time with its zone.
    fn of_time(
        &self,
        part: &ColumnarValue,
        of: &ColumnarValue,
        args: &ScalarFunctionArgs,
    ) -> Result<ColumnarValue> {
        let ColumnarValue::Scalar(name) = part else {
            return internal_err!("a part is no constant");
        };
        let of = of.to_array(args.number_rows)?;
        if let Some(part) = name.try_as_str().flatten().and_then(zone_part) {
            let parts = times(&of).map(|time| time.map(|time| part(time.offset().into())));
            return Ok(ColumnarValue::Array(Arc::new(
                parts.collect::<Int64Array>(),
            )));
        }
        let Some(part) = name.try_as_str().flatten().and_then(part_of_time) else {
            return internal_err!("a part of a time is none");
        };
        let parts = times(&of).map(|time| time.map(|time| part(time.micros())));
        let parts = ColumnarValue::Array(Arc::new(parts.collect::<Int64Array>()));
        Ok(match args.return_field.data_type() {
            DataType::Float64 => {
                let seconds = times(&of).map(|time| time.map(|time| time.micros() as f64 / 1e6));
                ColumnarValue::Array(Arc::new(seconds.collect::<Float64Array>()))
            }
            _ => parts,
        })
    }

    /// The year of ISO 8601 and its week in one number.
    fn year_and_week(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let asked = |part: &str| {
            let mut asked = args.clone();
            if let Some(first) = asked.args.first_mut() {
                *first = ColumnarValue::Scalar(ScalarValue::Utf8(Some(part.into())));
            }
            self.invoke_with_args(asked)
        };
        let (year, week) = (asked("isoyear")?, asked("week")?);
        let is_one = matches!(year, ColumnarValue::Scalar(_));
        let rows = if is_one { 1 } else { rows };
        let (years, weeks) = (year.into_array(rows)?, week.into_array(rows)?);
        let pairs = years.as_primitive::<Int64Type>().iter();
        let pairs = pairs.zip(weeks.as_primitive::<Int64Type>().iter());
        let both = pairs.map(|(year, week)| {
            let (year, week) = (year?, week?);
            Some(year * 100 + if year > 0 { week } else { -week })
        });
        let both: ArrayRef = Arc::new(both.collect::<Int64Array>());
        Ok(match is_one {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&both, 0)?),
            false => ColumnarValue::Array(both),
        })
    }

    /// What follows from the year alone.
    fn of_year(&self, args: ScalarFunctionArgs, of_year: fn(i64) -> i64) -> Result<ColumnarValue> {
        let mut asked = args;
        if let Some(part) = asked.args.first_mut() {
            *part = ColumnarValue::Scalar(ScalarValue::Utf8(Some("year".into())));
        }
        let years = self.invoke_with_args(asked)?;
        let of = |years: &ArrayRef| {
            let years = years.as_primitive::<Int64Type>();
            years.unary::<_, Int64Type>(of_year)
        };
        Ok(match years {
            ColumnarValue::Array(years) => ColumnarValue::Array(Arc::new(of(&years))),
            ColumnarValue::Scalar(year) => {
                let part = of(&year.to_array()?);
                ColumnarValue::Scalar(ScalarValue::try_from_array(&part, 0)?)
            }
        })
    }
}

fn is_yearweek(part: &ScalarValue) -> bool {
    let part = part.try_as_str().flatten();
    part.is_some_and(|part| part.eq_ignore_ascii_case("yearweek"))
}

/// A part under the name that the library knows.
fn under_its_own_name(part: &ScalarValue) -> Result<ColumnarValue> {
    let name = part.try_as_str().flatten().unwrap_or_default();
    let known = match date_part_name(name) {
        Some(known) => known,
        // As `nanosecond(x)` asks for it.
        None if name == "nanosecond" => name,
        None => {
            let what = "extract specifier not recognized";
            return Err(Error::new(ErrorKind::Conversion, what).into());
        }
    };
    Ok(ColumnarValue::Scalar(ScalarValue::Utf8(Some(known.into()))))
}

/// How a part follows from the microseconds of a day; seconds, in which fractions are counted, too, of its minute.
fn part_of_time(part: &str) -> Option<fn(i64) -> i64> {
    Some(match date_part_name(part).unwrap_or(part) {
        "epoch" => |micros| micros / MICROS_PER_SECOND,
        "hour" => |micros| micros / MICROS_PER_HOUR,
        "minute" => |micros| micros % MICROS_PER_HOUR / MICROS_PER_MINUTE,
        "second" => |micros| micros % MICROS_PER_MINUTE / MICROS_PER_SECOND,
        "millisecond" => |micros| micros % MICROS_PER_MINUTE / 1000,
        "microsecond" => |micros| micros % MICROS_PER_MINUTE,
        // As `nanosecond(x)` asks for it.
        "nanosecond" => |micros| micros % MICROS_PER_MINUTE * 1000,
        _ => return None,
    })
}

/// The type of a part of a time of day with its zone.
fn type_of_time_part(part: &str) -> Result<DataType> {
    match date_part_name(part) == Some("epoch") {
        true => Ok(DataType::Float64),
        false if part_of_time(part).is_some() || zone_part(part).is_some() => Ok(DataType::Int64),
        false => Err(Error::binder("a TIME WITH TIME ZONE has no such part").into()),
    }
}

/// How a part of the distance of an instant's zone follows from its seconds.
fn of_zone(part: &ScalarValue, of: Option<&DataType>) -> Option<fn(i64) -> i64> {
    match of {
        Some(DataType::Timestamp(..)) => zone_part(part.try_as_str().flatten()?),
        _ => None,
    }
}

/// How a part follows from the year, if it does. There is no year 0 in a count of centuries: 1 is of the first, and the year before of the
/// first before.
fn of_years(part: &ScalarValue) -> Option<fn(i64) -> i64> {
    fn counted(year: i64, each: i64) -> i64 {
        match year {
            1.. => (year - 1) / each + 1,
            _ => year / each - 1,
        }
    }
    Some(match date_part_name(part.try_as_str().flatten()?)? {
        "millennium" => |year| counted(year, 1000),
        "century" => |year| counted(year, 100),
        "decade" => |year| year / 10,
        "era" => |year| i64::from(year > 0),
        _ => return None,
    })
}

/// Whether the part is NULL.
fn is_null(part: Option<&DataType>, constants: &[Option<&ScalarValue>]) -> bool {
    let constant = constants.first().copied().flatten();
    part.is_some_and(DataType::is_null) || constant.is_some_and(ScalarValue::is_null)
}

/// A part of intervals.
fn interval_parts(part: &str, of: &ArrayRef) -> Result<ArrayRef> {
    let of = of.as_primitive::<IntervalMonthDayNanoType>();
    let part_of: fn(IntervalMonthDayNano) -> i64 = match date_part_name(part).unwrap_or_default() {
        "epoch" => {
            let seconds = of.iter().map(|i| i.map(epoch));
            return Ok(Arc::new(seconds.collect::<Float64Array>()));
        }
        "millennium" => |i| years(i) / 1000,
        "century" => |i| years(i) / 100,
        "decade" => |i| years(i) / 10,
        "year" => years,
        "quarter" => |i| months(i) / 3 + 1,
        "month" => months,
        "day" => |i| i64::from(i.days),
        "hour" => |i| micros(i) / MICROS_PER_HOUR,
        "minute" => |i| micros(i) % MICROS_PER_HOUR / MICROS_PER_MINUTE,
        "second" => |i| micros_of_minute(i) / MICROS_PER_SECOND,
        "millisecond" => |i| micros_of_minute(i) / 1000,
        "microsecond" => micros_of_minute,
        _ => {
            let text = format!("interval units \"{part}\" are not there");
            return Err(Error::unsupported(text).into());
        }
    };
    let parts = of.iter().map(|i| i.map(part_of));
    Ok(Arc::new(parts.collect::<Int64Array>()))
}

fn years(interval: IntervalMonthDayNano) -> i64 {
    i64::from(interval.months) / 12
}

fn months(interval: IntervalMonthDayNano) -> i64 {
    i64::from(interval.months) % 12
}

fn micros(interval: IntervalMonthDayNano) -> i64 {
    interval.nanoseconds / 1000
}

fn micros_of_minute(interval: IntervalMonthDayNano) -> i64 {
    micros(interval) % MICROS_PER_MINUTE
}

/// Seconds, of which a year has those of 365.25 days and a month those of 30.
fn epoch(interval: IntervalMonthDayNano) -> f64 {
    let quarters_of_days =
        years(interval) * 1461 + (months(interval) * 30 + i64::from(interval.days)) * 4;
    let seconds = i128::from(quarters_of_days) * SECONDS_PER_QUARTER;
    let micros = seconds * i128::from(MICROS_PER_SECOND) + i128::from(micros(interval));
    micros as f64 / MICROS_PER_SECOND as f64
}
