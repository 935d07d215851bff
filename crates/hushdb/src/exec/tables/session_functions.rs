//! What a session says of itself: `current_query()`, the numbers of its connection, statement and transaction, and
//! `duckdb_prepared_statements()`.

use crate::exec::{Columns, describe};
use crate::prepared::Prepared;
use crate::statement::Statement;
use datafusion::arrow::array::{ArrayRef, ListBuilder, StringArray, StringBuilder};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::ScalarUDF;
use hushdb_query::functions::constant_function;
use hushdb_sql::Statement as Parsed;
use hushdb_sql::type_names::display_type;
use std::sync::Arc;

/// Functions without arguments.
pub(super) const NAMES: [&str; 5] = [
    "current_connection_id",
    "current_query",
    "current_query_id",
    "current_transaction_id",
    "txid_current",
];

/// The function of that name, if it is one of [`NAMES`].
pub(super) fn function(statement: &Statement<'_>, name: &str) -> Option<Arc<ScalarUDF>> {
    let session = statement.session;
    let number = |number| ScalarValue::UInt64(Some(number));
    let value = match name {
        "current_connection_id" => number(session.number),
        "current_query" => ScalarValue::Utf8View(session.text.lock().clone()),
        "current_query_id" => number(session.statements()),
        "current_transaction_id" | "txid_current" => number(statement.transaction_number()),
        _ => return None,
    };
    Some(constant_function(name, value))
}

/// One row for each statement that PREPARE has named.
pub(super) fn prepared_statements(statement: &Statement<'_>) -> Columns {
    let mut all = statement.session.all_prepared();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    let texts = |texts: Vec<Option<String>>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
    let names = all.iter().map(|(name, _)| Some(name.clone())).collect();
    let shown = all.iter().map(|(_, prepared)| Some(shown(prepared)));
    let shown = shown.collect();
    let mut parameters = ListBuilder::new(StringBuilder::new());
    let mut results = ListBuilder::new(StringBuilder::new());
    for (_, prepared) in &all {
        // As in DuckDB: what they are is known when values are given.
        for _ in 0..prepared.parameters() {
            parameters.values().append_value("UNKNOWN");
        }
        parameters.append(prepared.parameters() > 0);
        match result_types(statement, prepared) {
            Some(types) => {
                types
                    .into_iter()
                    .for_each(|one| results.values().append_value(one));
                results.append(true);
            }
            None => results.append(false),
        }
    }
    vec![
        ("name", texts(names)),
        ("statement", texts(shown)),
        ("parameter_types", Arc::new(parameters.finish())),
        ("result_types", Arc::new(results.finish())),
    ]
}

fn shown(prepared: &Prepared) -> String {
    match &prepared.statement {
        Parsed::Sql(parsed) => hushdb_sql::sql_text(parsed.as_ref()),
        other => other.command().to_owned(),
    }
}

/// Those of the rows that come back, or of the number of rows that are changed; `None` where something is wrong with the statement now.
fn result_types(statement: &Statement<'_>, prepared: &Prepared) -> Option<Vec<String>> {
    let (_, columns) = describe::described(statement, prepared, &[]).ok()?;
    Some(match columns {
        Some(columns) => columns
            .fields()
            .iter()
            .map(|field| display_type(field))
            .collect(),
        None => vec!["BIGINT".to_owned()],
    })
}
