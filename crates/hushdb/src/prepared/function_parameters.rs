//! What types functions take, for parameters that stand there, and give, for what stands beside them: as PostgreSQL has them.

use datafusion::arrow::datatypes::TimeUnit;
use hushdb_sql::type_names::NUMERIC;
use hushdb_storage::ColumnType;

/// What an argument of a function is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Takes {
    /// Any type, or several: its place says nothing.
    Anything,
    /// This one.
    Type(ColumnType),
    /// That of the other arguments that are so.
    Alike,
    /// That of the elements of the first argument.
    Element,
}

/// Functions, and a letter for each argument: `i` INTEGER, `b` BIGINT, `d` DOUBLE, `n` NUMERIC, `s` alike, `e` an element of the first, `-`
/// anything. What comes behind the last is anything, too.
const FUNCTIONS: &[(&str, &str)] = &[
    ("abs", "d"),
    ("acos", "d"),
    ("age", "ss"),
    ("array_append", "-e"),
    ("array_length", "-i"),
    ("array_lower", "-i"),
    ("array_position", "-e"),
    ("array_positions", "-e"),
    ("array_remove", "-e"),
    ("array_replace", "-ee"),
    ("array_upper", "-i"),
    ("asin", "d"),
    ("atan", "d"),
    ("atan2", "dd"),
    ("cbrt", "d"),
    ("ceil", "d"),
    ("ceiling", "d"),
    ("chr", "i"),
    ("cos", "d"),
    ("degrees", "d"),
    ("divide", "ss"),
    ("exp", "d"),
    ("floor", "d"),
    ("generate_series", "ss"),
    ("get_bit", "-i"),
    ("get_byte", "-i"),
    ("lag", "sis"),
    ("lead", "sis"),
    ("left", "-i"),
    ("list_position", "-e"),
    ("ln", "d"),
    ("lpad", "-i-"),
    ("make_date", "iii"),
    ("make_time", "iid"),
    ("make_timestamp", "iiiiid"),
    ("make_timestamptz", "iiiiid"),
    ("mod", "ss"),
    ("nth_value", "-i"),
    ("ntile", "i"),
    ("pg_sleep", "d"),
    ("power", "dd"),
    ("radians", "d"),
    ("remainder", "ss"),
    ("repeat", "-i"),
    ("right", "-i"),
    ("rpad", "-i-"),
    ("setval", "-b"),
    ("sin", "d"),
    ("split_part", "--i"),
    ("sqrt", "d"),
    ("tan", "d"),
    // What `make_interval` is made of.
    ("to_days", "i"),
    ("to_hours", "i"),
    ("to_minutes", "i"),
    ("to_months", "i"),
    ("to_seconds", "d"),
    ("to_weeks", "i"),
    ("to_years", "i"),
    ("year", "i"),
];

/// What each of so many arguments of a function takes, by its name in small letters: its own, or that of ours which has PostgreSQL's
/// meaning.
pub(super) fn taken_by(name: &str, arguments: usize) -> Vec<Takes> {
    if name.starts_with("pg_advisory_") || name.starts_with("pg_try_advisory_") {
        let ty = if arguments == 1 { 'b' } else { 'i' };
        return vec![of_letter(ty); arguments];
    }
    let name = name.strip_suffix("_as_postgres").unwrap_or(name);
    let letters = match (name, arguments) {
        // With one argument they are of floats, with two of numerics.
        ("round" | "trunc", 1) => "d",
        ("round" | "trunc", 2) => "-i",
        ("log", 1) => "d",
        ("log", 2) => "nn",
        ("to_timestamp", 1) => "d",
        _ => match FUNCTIONS.binary_search_by_key(&name, |(known, _)| known) {
            Ok(at) => FUNCTIONS.get(at).map_or("", |(_, letters)| letters),
            Err(_) => "",
        },
    };
    letters.chars().take(arguments).map(of_letter).collect()
}

/// The type of what a function gives, by its name in small letters, for some of which that is the same whatever they take.
pub(super) fn given_by(name: &str) -> Option<ColumnType> {
    Some(match name {
        "length" | "char_length" | "character_length" | "octet_length" | "bit_length"
        | "strpos" | "ascii" | "array_length" | "cardinality" | "ntile" => ColumnType::Int32,
        "count" | "row_number" | "rank" | "dense_rank" | "nextval" | "currval" | "lastval" => {
            ColumnType::Int64
        }
        "random" | "cume_dist" | "percent_rank" | "date_part" => ColumnType::Double,
        _ => return None,
    })
}

/// The type of what the clock is asked for, by the name of its function in small letters.
pub(super) fn of_clock(name: &str) -> Option<ColumnType> {
    Some(match name {
        "now"
        | "current_timestamp"
        | "transaction_timestamp"
        | "statement_timestamp"
        | "clock_timestamp" => ColumnType::Timestamp(TimeUnit::Microsecond, true),
        "localtimestamp" => ColumnType::Timestamp(TimeUnit::Microsecond, false),
        "current_date" | "today" => ColumnType::Date,
        "localtime" => ColumnType::Time,
        _ => return None,
    })
}

/// The type of a sum of values of a type in PostgreSQL, or of their mean.
pub(super) fn of_sum(of: ColumnType, is_mean: bool) -> ColumnType {
    use ColumnType as T;
    if [T::Float, T::Double, T::Interval].contains(&of) {
        return of;
    }
    if !is_mean && [T::Int16, T::Int32].contains(&of) {
        return T::Int64;
    }
    NUMERIC
}

fn of_letter(letter: char) -> Takes {
    match letter {
        'i' => Takes::Type(ColumnType::Int32),
        'b' => Takes::Type(ColumnType::Int64),
        'd' => Takes::Type(ColumnType::Double),
        'n' => Takes::Type(NUMERIC),
        's' => Takes::Alike,
        'e' => Takes::Element,
        _ => Takes::Anything,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_names() {
        assert!(FUNCTIONS.is_sorted_by_key(|(name, _)| name));
        assert_eq!(taken_by("left", 2), [Takes::Anything, of_letter('i')]);
        assert_eq!(taken_by("round", 1), [of_letter('d')]);
        assert_eq!(taken_by("sqrt_as_postgres", 1), [of_letter('d')]);
        assert_eq!(taken_by("upper", 1), []);
        assert_eq!(
            taken_by("pg_advisory_lock", 2),
            [of_letter('i'), of_letter('i')]
        );
    }
}
