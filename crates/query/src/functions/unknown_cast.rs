//! Casts that DuckDB has not, as between days and numbers, or lists and numbers: an error for each value, NULL for TRY_CAST.
//!
//! What must hold: what a plan itself counts by days and ticks is no CAST, or is one that a function of its own does.

use super::convert::of_one_argument;
use datafusion::arrow::array::{Array, ArrayRef, new_null_array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::type_names::{enum_type, type_name};
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::UnionType;
use std::sync::Arc;

/// Whether DuckDB has no cast from a type to another. What is within nested ones is not looked at.
pub fn is_unknown_cast(from: &DataType, to: &DataType) -> bool {
    match [from, to].map(Kind::of) {
        [Some(from), Some(to)] => !from.casts_to(to),
        _ => false,
    }
}

/// What types have in common of which the same casts are known.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number,
    Bytes,
    Uuid,
    Day,
    Time,
    Instant,
    Interval,
    List,
    Struct,
    Map,
    Enum,
    Union,
}

impl Kind {
    fn of(ty: &DataType) -> Option<Self> {
        use DataType as T;
        Some(match ty {
            ty if enum_type(ty).is_some() => Self::Enum,
            ty if UnionType::members_of(ty).is_some() => Self::Union,
            T::List(_) | T::LargeList(_) | T::ListView(_) | T::LargeListView(_) => Self::List,
            T::FixedSizeList(..) => Self::List,
            T::Struct(_) => Self::Struct,
            T::Map(..) => Self::Map,
            T::Boolean => Self::Number,
            number if number.is_numeric() => Self::Number,
            T::Binary | T::BinaryView => Self::Bytes,
            T::FixedSizeBinary(16) => Self::Uuid,
            T::Date32 => Self::Day,
            T::Time64(_) => Self::Time,
            T::Timestamp(..) => Self::Instant,
            T::Interval(_) => Self::Interval,
            _ => return None,
        })
    }

    fn casts_to(self, to: Self) -> bool {
        match (self, to) {
            (of, to) if of == to => true,
            // Its text is what is read; which member takes a value, a union tells itself.
            (Self::Enum, _) | (_, Self::Union) => true,
            (Self::Bytes, Self::Uuid) | (Self::Uuid, Self::Bytes) => true,
            (Self::Day, Self::Instant) => true,
            (Self::Instant, Self::Day | Self::Time) => true,
            (Self::Struct, Self::Map) => true,
            _ => false,
        }
    }
}

/// The function of such a cast.
pub fn unknown_cast(to: &DataType, lenient: bool) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(UnknownCast {
        to: to.clone(),
        lenient,
        signature: Signature::any(1, Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct UnknownCast {
    to: DataType,
    /// What does not cast is NULL.
    lenient: bool,
    signature: Signature,
}

impl ScalarUDFImpl for UnknownCast {
    fn name(&self) -> &str {
        "$unknown_cast"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        of_one_argument(&args, |values| cast_unknown(values, &self.to, self.lenient))
    }
}

/// The NULLs that an array's values are as another type.
pub(super) fn cast_unknown(values: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    if !lenient && values.null_count() < values.len() {
        let (from, to) = (type_name(values.data_type()), type_name(to));
        let text = format!("Unimplemented type for cast ({from} -> {to})");
        return Err(Error::new(ErrorKind::Conversion, text).into());
    }
    Ok(new_null_array(to, values.len()))
}
