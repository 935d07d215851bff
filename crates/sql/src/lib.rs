//! SQL text to statements: our own statements first, DuckDB's dialect of sqlparser for the rest.

mod aggregate_order;
mod balance;
mod column_names;
mod dialect;
mod grouping_sets;
mod integer_literals;
mod interval_text;
mod intervals;
mod key_literals;
mod lateral_unnest;
mod macros;
mod named_options;
mod named_windows;
mod namesakes;
mod nested_calls;
mod parameters;
mod parser;
mod patterns;
mod read_or_refuse;
mod reading;
mod recursive_queries;
mod rewrite;
mod secrets;
mod set_operations;
pub(crate) mod settings_text;
mod split;
mod sql_text;
pub(crate) mod type_names;
mod using_joins;
mod wildcards;

pub(crate) use integer_literals::{INTEGER_LITERAL, ONE_TYPE, SAME_TYPE_FUNCTIONS};
pub(crate) use interval_text::{interval, unreadable_interval};
pub(crate) use nested_calls::unnest_table;
pub(crate) use parameters::{number_parameters, substitute_parameters};
pub(crate) use parser::{
    AttachOption, CopyTarget, DatabaseParts, OnConflict, OptionValue, ROWS_OF, Statement,
    TransactionStatement, parse, parse_one,
};
pub(crate) use patterns::{FULL_MATCH, LIKE_PATTERN};
pub(crate) use reading::{parse_data_type, parse_expr};
pub(crate) use rewrite::{Place, rewrite, rewrite_expr};
pub use secrets::may_hold_secret;
pub(crate) use set_operations::{SetOperation, set_operation};
pub use split::{StatementSplit, split_statements};
pub(crate) use sql_text::sql_text;
pub(crate) use using_joins::merges;
pub(crate) use wildcards::IN_PLACE_OF;

use crate::error::{Error, Result};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

/// A name as it is looked up: quoted as it stands, unquoted in lower case.
pub(crate) fn normalize(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// The parts of a SQL name, unquoted ones folded to lower case.
pub(crate) fn name_parts(name: &ObjectName) -> Result<Vec<String>> {
    name.0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => Ok(normalize(ident)),
            ObjectNamePart::Function(_) => {
                Err(Error::binder(format!("{name} is not a name of a table")))
            }
        })
        .collect()
}

/// The parts of a name that is written in a string: `database.schema`, with quotes where they are needed.
pub(crate) fn name_in_text(text: &str) -> Result<Vec<String>> {
    match reading::parse_object_name(text) {
        Ok(name) => name_parts(&name),
        Err(_) => Err(Error::invalid(
            "a name reads like 'schema' or 'database.schema'",
        )),
    }
}

/// A name as SQL text, quoted where it has to be.
pub(crate) fn quote(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain {
        name.to_string()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}
