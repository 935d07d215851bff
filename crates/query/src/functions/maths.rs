//! Functions of numbers as DuckDB has them, beside those that `checked_math.rs` refuses: numbers keep their type.

use super::plain::{Columns, Form, Kind, Run, plain};
use super::room::Room;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int8Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::FieldRef;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::functions::math;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// Beyond it the square of a number may not be finite.
const LARGE: f64 = 1e150;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    const D: &[Kind] = &[Kind::Double];
    const II: &[Kind] = &[Kind::Int, Kind::Int];
    let of_doubles = |names, run| plain(names, vec![Form::new(D, Run::Double(run))], memory);
    let tests = |names, run| plain(names, vec![Form::new(D, Run::Bool(run))], memory);
    let of_ints = |names, run| plain(names, vec![Form::new(II, Run::Int(run))], memory);
    vec![
        // The library's overflow where the logarithm does not.
        of_doubles(&["asinh"], |row| {
            Ok(Some(match row.double(0) {
                x if x.abs() > LARGE => (x.abs().ln() + std::f64::consts::LN_2).copysign(x),
                x => x.asinh(),
            }))
        }),
        of_doubles(&["acosh"], |row| {
            Ok(Some(match row.double(0) {
                x if x > LARGE => x.ln() + std::f64::consts::LN_2,
                x => x.acosh(),
            }))
        }),
        plain(
            &["power", "pow"],
            vec![Form::new(
                &[Kind::Double, Kind::Double],
                Run::Double(|row| Ok(Some(row.double(0).powf(row.double(1))))),
            )],
            memory,
        ),
        tests(&["isnan"], |row| Ok(Some(row.double(0).is_nan()))),
        tests(&["isinf"], |row| Ok(Some(row.double(0).is_infinite()))),
        plain(
            &["sign"],
            vec![Form::new(D, Run::Whole(DataType::Int8, sign))],
            memory,
        ),
        of_ints(&["gcd", "greatest_common_divisor"], |row| {
            positive(i128::from(gcd(row.int(0), row.int(1))), "gcd")
        }),
        of_ints(&["lcm", "least_common_multiple"], |row| {
            let (a, b) = (row.int(0), row.int(1));
            match gcd(a, b) {
                0 => Ok(Some(0)),
                gcd => positive(
                    (i128::from(a) / i128::from(gcd) * i128::from(b)).abs(),
                    "lcm",
                ),
            }
        }),
        Arc::new(ScalarUDF::from(Round::new("round", math::round()))),
        Arc::new(ScalarUDF::from(Round::new("trunc", math::trunc()))),
    ]
}

fn out_of_range(what: &str) -> datafusion::common::DataFusionError {
    Error::new(ErrorKind::OutOfRange, what).into()
}

/// NaN has none.
fn sign(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let sign = |x: f64| i8::from(x > 0.0) - i8::from(x < 0.0);
    let signs = columns
        .rows()
        .map(|row| (!row.has_null()).then(|| sign(row.double(0))));
    Ok(Arc::new(signs.collect::<Int8Array>()))
}

fn gcd(a: i64, b: i64) -> u64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn positive(value: i128, name: &str) -> Result<Option<i64>> {
    match i64::try_from(value) {
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(out_of_range(&format!(
            "Overflow in {name}: the result does not fit BIGINT"
        ))),
    }
}

/// `round(x)` and `round(x, digits)`, and `trunc`, which leaves out what is behind the digits: numbers keep their type; the library's where they are decimals.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Round {
    name: &'static str,
    decimals: Arc<ScalarUDF>,
    signature: Signature,
}

impl Round {
    fn new(name: &'static str, decimals: Arc<ScalarUDF>) -> Self {
        Self {
            name,
            decimals,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Round {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let digits = |t: &DataType| t.is_integer() || t.is_null();
        match types {
            [x] if x.is_numeric() || x.is_null() => Ok(vec![own(x)]),
            [x, n] if (x.is_numeric() || x.is_null()) && digits(n) => Ok(vec![
                own(x),
                if x.is_decimal() {
                    DataType::Int32
                } else {
                    DataType::Int64
                },
            ]),
            _ => plan_err!("{} takes a number, and a number of digits", self.name),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [x, ..] if x.is_decimal() => self.decimals.return_type(types),
            [x, ..] => Ok(x.clone()),
            [] => plan_err!("{} takes a number", self.name),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields.first() {
            Some(x) if x.data_type().is_decimal() => self.decimals.return_field_from_args(args),
            Some(x) => Ok(Arc::new(
                x.as_ref().clone().with_name(self.name).with_nullable(true),
            )),
            None => plan_err!("{} takes a number", self.name),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(first) = args.args.first() else {
            return plan_err!("{} takes a number", self.name);
        };
        if first.data_type().is_decimal() {
            return self.decimals.invoke_with_args(args);
        }
        let scalar = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if scalar { 1 } else { args.number_rows };
        let numbers = first.to_array(rows)?;
        let digits = match args.args.get(1) {
            Some(digits) => digits.to_array(rows)?,
            None => ScalarValue::Int64(Some(0)).to_array_of_size(rows)?,
        };
        let rounded = rounded(&numbers, &digits, self.name == "trunc")?;
        if scalar {
            return ScalarValue::try_from_array(&rounded, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(rounded))
    }
}

/// The type that a number is rounded in.
fn own(number: &DataType) -> DataType {
    match number {
        DataType::Null | DataType::Float16 => DataType::Float64,
        other => other.clone(),
    }
}

fn rounded(numbers: &ArrayRef, digits: &ArrayRef, cuts: bool) -> Result<ArrayRef> {
    use datafusion::arrow::array::{Decimal128Array, Float32Array, Float64Array};
    let digits = digits.as_primitive::<Int64Type>();
    Ok(match numbers.data_type() {
        DataType::Float64 => {
            let pairs = numbers.as_primitive::<Float64Type>().iter().zip(digits);
            Arc::new(
                pairs
                    .map(|(x, n)| Some(round_float(x?, n?, cuts)))
                    .collect::<Float64Array>(),
            )
        }
        DataType::Float32 => {
            let pairs = numbers.as_primitive::<Float32Type>().iter().zip(digits);
            let pairs = pairs.map(|(x, n)| Some(round_float(x?.into(), n?, cuts) as f32));
            Arc::new(pairs.collect::<Float32Array>())
        }
        own => {
            let wide = cast(numbers, &DataType::Decimal128(20, 0))?;
            let wide = wide.as_primitive::<datafusion::arrow::datatypes::Decimal128Type>();
            let pairs = wide.iter().zip(digits);
            let values = pairs
                .map(|(x, n)| Some(round_int(x?, n?, cuts)))
                .collect::<Decimal128Array>();
            let values: ArrayRef = Arc::new(values.with_precision_and_scale(21, 0)?);
            let strict = datafusion::arrow::compute::CastOptions {
                safe: false,
                ..Default::default()
            };
            datafusion::arrow::compute::cast_with_options(&values, own, &strict)
                .map_err(|_| out_of_range("Overflow in round: the result does not fit its type"))?
        }
    })
}

/// As a number of that many digits behind the point, or before it; the number itself, or 0, where that cannot be said.
fn round_float(x: f64, digits: i64, cuts: bool) -> f64 {
    let whole = if cuts { f64::trunc } else { f64::round };
    if digits == 0 {
        return whole(x);
    }
    // The library's power is off by some digits where it is large.
    let factor = format!("1e{}", digits.unsigned_abs())
        .parse()
        .unwrap_or(f64::INFINITY);
    let (rounded, otherwise) = match digits > 0 {
        true => (whole(x * factor) / factor, x),
        false => (whole(x / factor) * factor, 0.0),
    };
    if rounded.is_finite() {
        rounded
    } else {
        otherwise
    }
}

fn round_int(x: i128, digits: i64, cuts: bool) -> i128 {
    if digits >= 0 {
        return x;
    }
    let factor = u32::try_from(digits.unsigned_abs()).ok();
    let Some(factor) = factor.and_then(|n| 10i128.checked_pow(n)) else {
        return 0;
    };
    let half = match (cuts, x < 0) {
        (true, _) => 0,
        (false, true) => -factor / 2,
        (false, false) => factor / 2,
    };
    (x + half) / factor * factor
}
