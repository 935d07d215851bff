//! SQLSTATEs: the five characters by which programs tell errors apart (ISO/IEC 9075-2, subclause 24.1; the names and
//! the classes that are not of the standard are PostgreSQL's, appendix A of its manual).

use crate::ErrorKind;
use arrow::error::ArrowError;
use datafusion_common::SchemaError;

/// `insufficient_privilege`.
pub const INSUFFICIENT_PRIVILEGE: &str = "42501";
/// `cardinality_violation`.
pub const CARDINALITY_VIOLATION: &str = "21000";
/// `string_data_right_truncation`: a text of more characters than its column.
pub const TOO_LONG: &str = "22001";
/// `division_by_zero`.
pub const DIVISION_BY_ZERO: &str = "22012";
/// `not_null_violation`.
pub const NOT_NULL_VIOLATION: &str = "23502";
/// `unique_violation`.
pub const UNIQUE_VIOLATION: &str = "23505";
/// A row names one that is not there.
pub const FOREIGN_KEY_VIOLATION: &str = "23503";
/// `check_violation`.
pub const CHECK_VIOLATION: &str = "23514";
/// `active_sql_transaction`: BEGIN within a transaction.
pub const ACTIVE_TRANSACTION: &str = "25001";
/// `no_active_sql_transaction`: COMMIT or SAVEPOINT outside of one.
pub const NO_ACTIVE_TRANSACTION: &str = "25P01";
/// `read_only_sql_transaction`.
pub const READ_ONLY_TRANSACTION: &str = "25006";
/// `in_failed_sql_transaction`: only ROLLBACK is heeded.
pub const FAILED_TRANSACTION: &str = "25P02";
/// `invalid_sql_statement_name`: no prepared statement of that name.
pub const UNKNOWN_STATEMENT: &str = "26000";
/// `invalid_savepoint_specification`: no savepoint of that name.
pub const UNKNOWN_SAVEPOINT: &str = "3B001";
/// `invalid_catalog_name`: no database of that name.
pub const UNKNOWN_DATABASE: &str = "3D000";
/// `invalid_schema_name`.
pub const UNKNOWN_SCHEMA: &str = "3F000";
/// `duplicate_column`.
pub const DUPLICATE_COLUMN: &str = "42701";
/// A name that two tables or queries of a statement have.
pub const DUPLICATE_ALIAS: &str = "42712";
/// `ambiguous_column`.
const AMBIGUOUS_COLUMN: &str = "42702";
/// `undefined_column`.
pub const UNDEFINED_COLUMN: &str = "42703";
/// `undefined_object`: a type, an index, a setting.
pub const UNDEFINED_OBJECT: &str = "42704";
/// `duplicate_object`: an index, a constraint.
pub const DUPLICATE_OBJECT: &str = "42710";
/// `wrong_object_type`: a view where a table is needed.
pub const WRONG_OBJECT: &str = "42809";
/// `grouping_error`.
const GROUPING_ERROR: &str = "42803";
/// `datatype_mismatch`.
const DATATYPE_MISMATCH: &str = "42804";
/// `ambiguous_function`: an operator of which several fit.
pub const AMBIGUOUS_FUNCTION: &str = "42725";
/// `undefined_function`.
pub const UNDEFINED_FUNCTION: &str = "42883";
/// `duplicate_function`.
pub const DUPLICATE_FUNCTION: &str = "42723";
/// `deadlock_detected`.
pub const DEADLOCK: &str = "40P01";
/// `lock_not_available`: by NOWAIT, or within `lock_timeout`.
pub const LOCK_NOT_AVAILABLE: &str = "55P03";
/// `object_not_in_prerequisite_state`: a sequence that has given no number yet.
pub const NOT_YET: &str = "55000";
/// `generated_always`.
pub const GENERATED_ALWAYS: &str = "428C9";
/// `dependent_objects_still_exist`.
pub const DEPENDENT_OBJECTS: &str = "2BP01";
/// `undefined_table`: a table or a view.
pub const UNDEFINED_TABLE: &str = "42P01";
/// `duplicate_database`.
pub const DUPLICATE_DATABASE: &str = "42P04";
/// `duplicate_schema`.
pub const DUPLICATE_SCHEMA: &str = "42P06";
/// `duplicate_table`: a table or a view.
pub const DUPLICATE_TABLE: &str = "42P07";

/// What a value that cannot be cast has: a number that is too large, a day that no calendar has, or a text that is no day.
pub(crate) fn of_cast(error: &ArrowError) -> Option<&'static str> {
    let text = match error {
        ArrowError::CastError(text) => text,
        ArrowError::InvalidArgumentError(text) if text.contains(" to store in a Decimal") => {
            return Some(OUT_OF_RANGE);
        }
        _ => return None,
    };
    if text.starts_with("Can't cast value") {
        return Some(OUT_OF_RANGE);
    }
    let (before, to) = text.rsplit_once("' to value of ")?;
    let value = before.strip_prefix("Cannot cast string '")?.trim();
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let looks_like_a_day = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().filter(|byte| *byte == b'-').count() == 2;
    match to {
        to if to.contains("Int") && is_number => Some(OUT_OF_RANGE),
        to if to.starts_with("Date") || to.starts_with("Timestamp") => {
            Some(match looks_like_a_day {
                true => "22008",
                false => "22007",
            })
        }
        _ => None,
    }
}

/// `numeric_value_out_of_range`.
const OUT_OF_RANGE: &str = "22003";

/// What an error of a kind has that has none of its own.
pub(crate) fn of_kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Parser => "42601",
        ErrorKind::Binder => "42000",
        ErrorKind::Catalog => UNDEFINED_OBJECT,
        ErrorKind::Conversion => "22P02",
        ErrorKind::OutOfRange => "22003",
        ErrorKind::InvalidInput => "22023",
        ErrorKind::Constraint => "23000",
        ErrorKind::Transaction => "25000",
        ErrorKind::WrongKey => "28P01",
        ErrorKind::KeyRequired
        | ErrorKind::KeyRefused
        | ErrorKind::NotEncrypted
        | ErrorKind::MalformedKey => "28000",
        ErrorKind::KeyUnavailable => "58000",
        ErrorKind::Conflict => "40001",
        ErrorKind::Unsupported => "0A000",
        ErrorKind::Full => "53100",
        ErrorKind::OutOfMemory => "53200",
        ErrorKind::Busy => "55006",
        ErrorKind::Sequence => "2200H",
        ErrorKind::Interrupted => "57014",
        ErrorKind::Io => "58030",
        ErrorKind::Tampered | ErrorKind::Corrupted => "XX001",
        ErrorKind::Internal => "XX000",
    }
}

/// What the planner says of columns.
pub(crate) fn of_schema_error(error: &SchemaError) -> &'static str {
    match error {
        SchemaError::AmbiguousReference { .. } => AMBIGUOUS_COLUMN,
        SchemaError::DuplicateQualifiedField { .. }
        | SchemaError::DuplicateUnqualifiedField { .. } => DUPLICATE_COLUMN,
        SchemaError::FieldNotFound { .. } => UNDEFINED_COLUMN,
    }
}

/// What the planner says in words alone.
pub(crate) fn of_plan_error(message: &str) -> Option<&'static str> {
    const WORDS: [(&str, &str); 7] = [
        ("Invalid function", UNDEFINED_FUNCTION),
        ("No function matches", UNDEFINED_FUNCTION),
        ("must be in GROUP BY", GROUPING_ERROR),
        ("Aggregate function", GROUPING_ERROR),
        ("coerce", DATATYPE_MISMATCH),
        ("Invalid qualifier", UNDEFINED_TABLE),
        ("should only return one column", "42601"),
    ];
    let found = WORDS.iter().find(|(words, _)| message.contains(words));
    found.map(|(_, state)| *state)
}
