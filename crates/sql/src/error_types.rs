//! The planner's sentences about types, in DuckDB's words and names of types.

use arrow::datatypes::{DataType, TimeUnit};
use hushdb_storage::{BIT, HUGEINT, TIMETZ, UHUGEINT};

const NO_MATCH: &str = "No function matches the given name and argument types '";
const CAST: &str = "You might need to add explicit type casts.";

/// A type as Arrow writes it, as it is written in SQL; as it is if it is none.
fn in_sql(arrow: &str) -> String {
    let arrow = arrow.trim();
    arrow
        .parse::<DataType>()
        .map_or_else(|_| arrow.to_owned(), |of| name(&of))
}

/// The name of a type of which nothing but Arrow's is known: `type_names.rs` has those of columns, and makes errors itself.
fn name(of: &DataType) -> String {
    use DataType as T;
    let plain = match of {
        T::Null => "\"NULL\"",
        T::Boolean => "BOOLEAN",
        T::Int8 => "TINYINT",
        T::Int16 => "SMALLINT",
        T::Int32 => "INTEGER",
        T::Int64 => "BIGINT",
        T::UInt8 => "UTINYINT",
        T::UInt16 => "USMALLINT",
        T::UInt32 => "UINTEGER",
        T::UInt64 => "UBIGINT",
        T::Float16 | T::Float32 => "FLOAT",
        T::Float64 => "DOUBLE",
        of if *of == HUGEINT => "HUGEINT",
        of if *of == UHUGEINT => "UHUGEINT",
        T::Utf8 | T::LargeUtf8 | T::Utf8View => "VARCHAR",
        T::FixedSizeBinary(16) => "UUID",
        of if *of == TIMETZ => "TIME WITH TIME ZONE",
        of if *of == BIT => "BIT",
        T::Binary | T::BinaryView | T::FixedSizeBinary(_) => "BLOB",
        T::Date32 | T::Date64 => "DATE",
        T::Time32(_) | T::Time64(_) => "TIME",
        T::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE",
        T::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP",
        T::Timestamp(TimeUnit::Second, None) => "TIMESTAMP_S",
        T::Timestamp(TimeUnit::Millisecond, None) => "TIMESTAMP_MS",
        T::Timestamp(TimeUnit::Nanosecond, None) => "TIMESTAMP_NS",
        T::Interval(_) | T::Duration(_) => "INTERVAL",
        T::Decimal32(p, s) | T::Decimal64(p, s) | T::Decimal128(p, s) | T::Decimal256(p, s) => {
            return format!("DECIMAL({p},{s})");
        }
        T::List(item) | T::LargeList(item) | T::FixedSizeList(item, _) | T::ListView(item) => {
            return format!("{}[]", name(item.data_type()));
        }
        other => return other.to_string().to_uppercase(),
    };
    plain.to_owned()
}

/// What stands between commas that are in no brackets.
fn listed(types: &str) -> Vec<&str> {
    let (mut depth, mut from, mut all) = (0_usize, 0, vec![]);
    for (at, c) in types.char_indices() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.push(types.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(types.get(from..).unwrap_or_default());
    all.retain(|one| !one.trim().is_empty());
    all
}

fn no_match(name: &str, types: &[&str]) -> String {
    let types: Vec<String> = types.iter().map(|one| in_sql(one)).collect();
    format!("{NO_MATCH}{name}({})'. {CAST}", types.join(", "))
}

/// A call of a function with types that it does not take.
pub(crate) fn of_call(message: &str) -> Option<String> {
    let (before, typed) = message.rsplit_once(NO_MATCH)?;
    let (name, types) = typed.split_once("'. ")?.0.split_once('(')?;
    let typed = no_match(name, &listed(types.strip_suffix(')')?));
    let own = before.split_once("user-defined coercion failed with: ");
    let Some((_, own)) = own else {
        return (!before.is_empty()).then_some(typed);
    };
    let own = own.strip_prefix("Error during planning: ").map(str::trim);
    Some(match own {
        // What the function itself says of it.
        Some(own)
            if own.starts_with(NO_MATCH)
                || name.starts_with('$')
                || own.starts_with(&format!("{name}: ")) =>
        {
            own.strip_suffix('.').unwrap_or(own).to_owned()
        }
        Some(own) => format!("{typed}\n{own}"),
        None => typed,
    })
}

/// An operator between types that it does not take.
pub(crate) fn of_operator(message: &str) -> Option<String> {
    let operands = message.strip_prefix("Cannot coerce arithmetic expression ")?;
    let operands = operands.strip_suffix(" to valid types")?;
    let mut operators = ["+", "-", "*", "/", "%"].into_iter();
    operators.find_map(|operator| {
        let (left, right) = operands.split_once(&format!(" {operator} "))?;
        Some(no_match(operator, &[left, right]))
    })
}

/// A comparison of types that have none in common.
pub(crate) fn of_comparison(message: &str) -> Option<String> {
    let (left, right) = compared(message)?;
    let (left, right) = (in_sql(left), in_sql(right));
    Some(format!(
        "Cannot compare values of type {left} and type {right} - an explicit cast is required"
    ))
}

/// The types of a comparison, of one with values of a list, and of one that a CASE makes.
fn compared(message: &str) -> Option<(&str, &str)> {
    const OPERATORS: [&str; 8] = [
        "IS NOT DISTINCT FROM",
        "IS DISTINCT FROM",
        "<=",
        ">=",
        "!=",
        "=",
        "<",
        ">",
    ];
    if let Some(types) = message.strip_prefix("Can not find compatible types to compare ") {
        return types.strip_suffix(']')?.split_once(" with [");
    }
    if let Some(types) = message.strip_prefix("Failed to coerce case (") {
        let types = types.strip_suffix(") to common types in CASE WHEN expression")?;
        return types.split_once(") and when (");
    }
    let operands =
        message.strip_prefix("Cannot infer common argument type for comparison operation ")?;
    let mut operators = OPERATORS.iter();
    operators.find_map(|operator| operands.split_once(&format!(" {operator} ")))
}

/// A condition that is no BOOLEAN.
pub(crate) fn of_condition(message: &str) -> Option<String> {
    let (_, of) = message
        .strip_prefix("Cannot create filter with ")?
        .rsplit_once(" returning ")?;
    Some(format!(
        "Unimplemented type for cast ({} -> BOOLEAN)",
        in_sql(of)
    ))
}

/// A value that is none of a type, without it.
pub(crate) fn of_cast(shown: &str) -> Option<String> {
    if let Some(rest) = shown.strip_prefix("Cannot cast string '...' to value of ") {
        let of = rest.strip_suffix(" type")?;
        return Some(format!(
            "Could not convert string '...' to {}",
            physical(of)
        ));
    }
    if let Some(rest) = shown.strip_prefix("Cannot cast value '...' to value of ") {
        let of = rest.strip_suffix(" type")?;
        return Some(format!(
            "Could not convert string '...' to {}",
            physical(of)
        ));
    }
    let (_, of) = shown
        .strip_prefix("Can't cast value ")?
        .split_once(" to type ")?;
    Some(format!(
        "the value can't be cast because the value is out of range for the destination type {}",
        physical(of)
    ))
}

/// The name that DuckDB has for a type's values.
pub fn physical(arrow: &str) -> String {
    match arrow {
        "Boolean" => "BOOL".to_owned(),
        "Int8" | "Int16" | "Int32" | "Int64" | "UInt8" | "UInt16" | "UInt32" | "UInt64" => {
            arrow.to_uppercase()
        }
        other => in_sql(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_their_names_in_sql() {
        let own = "Function 'abs' user-defined coercion failed with: Error during planning: No function matches the given name and \
                   argument types 'abs(VARCHAR)'. You might need to add explicit type casts.. No function matches the given name and argument \
                   types 'abs(Utf8)'. You might need to add explicit type casts.";
        let said = "No function matches the given name and argument types 'abs(VARCHAR)'. You might need to add explicit type casts.";
        assert_eq!(of_call(own).as_deref(), Some(said));
        let library = "Function 'upper' requires String, but received Int32 (DataType: Int32).. No function matches the given name and \
                       argument types 'f(Int32, Timestamp(µs), Decimal64(4, 1), List(Utf8View))'. You might need to add explicit type casts.\n\
                       \tCandidate functions:\n\tf(String)";
        let said = "No function matches the given name and argument types 'f(INTEGER, TIMESTAMP, DECIMAL(4,1), VARCHAR[])'. You might need \
                    to add explicit type casts.";
        assert_eq!(of_call(library).as_deref(), Some(said));
        let said =
            of_operator("Cannot coerce arithmetic expression Utf8View + Int32 to valid types");
        assert!(said.is_some_and(|said| said.contains("'+(VARCHAR, INTEGER)'")));
        let said = of_comparison(
            "Cannot infer common argument type for comparison operation Int32 <= List(Int32)",
        );
        let wanted = "Cannot compare values of type INTEGER and type INTEGER[] - an explicit cast is required";
        assert_eq!(said.as_deref(), Some(wanted));
        for library in [
            "Cannot infer common argument type for comparison operation FixedSizeBinary(16) IS NOT DISTINCT FROM Int32",
            "Can not find compatible types to compare FixedSizeBinary(16) with [Int32]",
            "Failed to coerce case (FixedSizeBinary(16)) and when (Int32) to common types in CASE WHEN expression",
        ] {
            let wanted = "Cannot compare values of type UUID and type INTEGER - an explicit cast is required";
            assert_eq!(of_comparison(library).as_deref(), Some(wanted));
        }
        let said =
            of_condition("Cannot create filter with non-boolean predicate 't.d' returning Date32");
        let wanted = "Unimplemented type for cast (DATE -> BOOLEAN)";
        assert_eq!(said.as_deref(), Some(wanted));
    }

    #[test]
    fn values_are_left_out_of_casts() {
        for (shown, said) in [
            (
                "Cannot cast string '...' to value of Float64 type",
                "Could not convert string '...' to DOUBLE",
            ),
            (
                "Cannot cast value '...' to value of Boolean type",
                "Could not convert string '...' to BOOL",
            ),
            (
                "Can't cast value ... to type Int8",
                "the value can't be cast because the value is out of range for the destination type INT8",
            ),
        ] {
            assert_eq!(of_cast(shown).as_deref(), Some(said));
        }
        assert_eq!(of_cast("something else"), None);
    }
}
