//! What stands in brackets behind names of types that take nothing there.

use crate::error::{Error, Result};
use sqlparser::ast::{DataType as SqlType, ExactNumberInfo};

/// Refuses it.
///
/// # Errors
/// DuckDB's, of the same kind.
pub(super) fn refuse_parameters(sql: &SqlType) -> Result<()> {
    use SqlType as S;
    let name = match sql {
        // Words of the grammar, which a bracket does not follow.
        S::Int(Some(_)) | S::Integer(Some(_)) | S::SmallInt(Some(_)) | S::BigInt(Some(_)) => {
            return Err(Error::parser("syntax error at or near \"(\""));
        }
        S::Interval {
            precision: Some(_), ..
        } => {
            return Err(Error::binder(
                "INTERVAL type takes at most one type modifier",
            ));
        }
        S::TinyInt(Some(_)) => "TINYINT",
        S::Int2(Some(_)) => "SMALLINT",
        S::Int4(Some(_)) => "INTEGER",
        S::Int8(Some(_)) => "BIGINT",
        S::Double(ExactNumberInfo::Precision(_) | ExactNumberInfo::PrecisionAndScale(..)) => {
            "DOUBLE"
        }
        S::Blob(Some(_)) | S::Binary(Some(_)) | S::Varbinary(Some(_)) => "BLOB",
        S::Time(Some(_), _) => "TIME",
        S::Float(ExactNumberInfo::PrecisionAndScale(..)) => "FLOAT",
        _ => return Ok(()),
    };
    Err(no_parameters(name))
}

/// What is wrong with them.
pub(super) fn no_parameters(name: &str) -> Error {
    Error::binder(format!("Type '{name}' does not take any type parameters"))
}
