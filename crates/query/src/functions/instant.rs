//! `now()`, `current_date` and their like: the instant at which the transaction began, which is the statement's own outside of
//! one, and what clocks show then in the session's time zone. The planner makes them for the snapshot that it plans against, so that they are constants.

use super::zone::Zone;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_storage::TimeTz;
use std::sync::Arc;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The function of the instant at which the statement began, in a transaction too.
pub const STATEMENT_TIMESTAMP: &str = "statement_timestamp";

/// The function of that name at an instant, in a time zone, if it is one of these.
pub fn instant_function(name: &str, now: i64, zone: Zone) -> Option<Arc<ScalarUDF>> {
    let micros = zone.local(now)?;
    let value = match name {
        "now"
        | "current_timestamp"
        | "get_current_timestamp"
        | "transaction_timestamp"
        | STATEMENT_TIMESTAMP => ScalarValue::TimestampMicrosecond(Some(now), Some("UTC".into())),
        "localtimestamp" | "current_localtimestamp" => {
            ScalarValue::TimestampMicrosecond(Some(micros), None)
        }
        "current_date" | "today" => {
            let days = i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()?;
            ScalarValue::Date32(Some(days))
        }
        "current_time" | "get_current_time" => {
            let offset = i32::try_from((micros - now) / 1_000_000).ok()?;
            let time = TimeTz::new(micros.rem_euclid(MICROS_PER_DAY), offset)?;
            ScalarValue::FixedSizeBinary(8, Some(time.to_bytes().to_vec()))
        }
        "localtime" | "current_localtime" => {
            ScalarValue::Time64Microsecond(Some(micros.rem_euclid(MICROS_PER_DAY)))
        }
        _ => return None,
    };
    Some(constant_function(name, value))
}

/// A function without arguments that has one value in a statement.
pub fn constant_function(name: &str, value: ScalarValue) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Instant {
        name: name.to_string(),
        value,
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Instant {
    name: String,
    value: ScalarValue,
    signature: Signature,
}

impl ScalarUDFImpl for Instant {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [] => Ok(vec![]),
            _ => plan_err!("{} takes no arguments", self.name),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.value.data_type())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(self.value.clone()))
    }
}
