//! SQL text to statements: our own statements first, DuckDB's dialect of sqlparser for the rest.

mod column_names;
mod dialect;
mod key_literals;
mod macros;
mod nested_calls;
mod parameters;
mod parser;
mod rewrite;
mod split;
mod sql_text;
pub(crate) mod type_names;

pub(crate) use dialect::HushDialect;
pub(crate) use parameters::{number_parameters, substitute_parameters};
pub(crate) use parser::{
    AttachOption, CopyTarget, OptionValue, ROWS_OF, Statement, TransactionStatement, parse,
    parse_one,
};
pub(crate) use rewrite::{rewrite, rewrite_expr};
pub use split::{StatementSplit, split_statements};
pub(crate) use sql_text::sql_text;

use datafusion::sql::sqlparser::ast::Ident;

/// A name as it is looked up: quoted as it stands, unquoted in lower case.
pub(crate) fn normalize(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
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
