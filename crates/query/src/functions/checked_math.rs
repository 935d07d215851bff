//! Functions of a DOUBLE that are refused where they are not defined, as DuckDB refuses them: `ln(0)`, `sqrt(-1)`, `asin(2)`.

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::compute::try_binary;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// A function's value, or why it has none.
type Function = fn(f64) -> Result<f64, &'static str>;

const FUNCTIONS: [(&str, Function); 12] = [
    ("ln", |x| logarithm(x).map(f64::ln)),
    ("log", |x| logarithm(x).map(f64::log10)),
    ("log10", |x| logarithm(x).map(f64::log10)),
    ("log2", |x| logarithm(x).map(f64::log2)),
    ("sqrt", |x| match x < 0.0 {
        true => Err("cannot take square root of a negative number"),
        false => Ok(x.sqrt()),
    }),
    ("asin", |x| {
        within_one(x, "ASIN is undefined outside [-1,1]").map(f64::asin)
    }),
    ("acos", |x| {
        within_one(x, "ACOS is undefined outside [-1,1]").map(f64::acos)
    }),
    ("atanh", |x| {
        within_one(x, "ATANH is undefined outside [-1,1]").map(f64::atanh)
    }),
    ("sin", |x| finite(x).map(f64::sin)),
    ("cos", |x| finite(x).map(f64::cos)),
    ("tan", |x| finite(x).map(f64::tan)),
    ("cot", |x| match x == 0.0 {
        true => Err("zero is out of range for cot"),
        false => finite(x).map(|x| 1.0 / x.tan()),
    }),
];

pub(super) fn all() -> impl Iterator<Item = Arc<ScalarUDF>> {
    FUNCTIONS.iter().map(|(name, _)| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(CheckedMath { name, signature }))
    })
}

fn logarithm(x: f64) -> Result<f64, &'static str> {
    match x {
        0.0 => Err("cannot take logarithm of zero"),
        x if x < 0.0 => Err("cannot take logarithm of a negative number"),
        x => Ok(x),
    }
}

fn within_one(x: f64, refused: &'static str) -> Result<f64, &'static str> {
    match x.abs() > 1.0 {
        true => Err(refused),
        false => Ok(x),
    }
}

fn finite(x: f64) -> Result<f64, &'static str> {
    match x.is_infinite() {
        true => Err("infinity is out of range for trigonometric functions"),
        false => Ok(x),
    }
}

/// `log(base, x)`
fn log_to_base(base: f64, x: f64) -> Result<f64, &'static str> {
    let divisor = logarithm(base)?.log10();
    match divisor == 0.0 {
        true => Err("division by zero in based logarithm"),
        false => Ok(logarithm(x)?.log10() / divisor),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedMath {
    name: &'static str,
    signature: Signature,
}

impl CheckedMath {
    fn function(&self) -> Option<Function> {
        let mut functions = FUNCTIONS.iter();
        functions
            .find(|(name, _)| *name == self.name)
            .map(|(_, function)| *function)
    }
}

impl ScalarUDFImpl for CheckedMath {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let numbers = |ty: &DataType| ty.is_numeric() || ty.is_null() || ty.is_string();
        let places = types.len() == 1 || types.len() == 2 && self.name == "log";
        match places && types.iter().all(numbers) {
            true => Ok(vec![DataType::Float64; types.len()]),
            false => plan_err!("{} takes a number", self.name),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let doubles = |array: &ArrayRef| array.as_primitive::<Float64Type>().clone();
        let refused =
            |why: &str| ArrowError::ExternalError(Box::new(Error::new(ErrorKind::OutOfRange, why)));
        let result = match (arrays.as_slice(), self.function()) {
            ([of], Some(function)) => {
                let apply = |x| function(x).map_err(refused);
                doubles(of).try_unary::<_, Float64Type, ArrowError>(apply)?
            }
            ([base, of], _) => try_binary(&doubles(base), &doubles(of), |base, x| {
                log_to_base(base, x).map_err(refused)
            })?,
            _ => return internal_err!("{} has other arguments", self.name),
        };
        if scalar {
            let value = ScalarValue::try_from_array(&result, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(Arc::new(result)))
    }
}
