//! One statement run to its end: its rows as texts, its error, or its panic. Shared by what compares answers.

use hushdb::{Error, ErrorKind, QueryResult};
use hushdb_querygen::Answer;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A result of more rows is not compared: it may not fit into memory. As in rival_answers.py.
const MOST_ROWS: usize = 500_000;

/// What came of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// An answer.
    Rows(Answer),
    /// An error, and what it says.
    Error(ErrorKind, String),
    /// A panic, and what it says.
    Panic(String),
}

/// Runs a statement and reads all of its rows.
pub(crate) fn outcome(run: impl FnOnce() -> hushdb::Result<QueryResult>) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| run().and_then(read))) {
        Ok(Ok(answer)) => Outcome::Rows(answer),
        Ok(Err(error)) => Outcome::Error(error.kind(), error.message().to_owned()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|t| (*t).to_owned()));
            Outcome::Panic(text.unwrap_or_default())
        }
    }
}

fn read(result: QueryResult) -> hushdb::Result<Answer> {
    let schema = result.schema();
    let fields = schema.fields();
    let types = fields.iter().map(|field| hushdb::display_type(field));
    let mut answer = Answer {
        names: fields.iter().map(|field| field.name().clone()).collect(),
        types: types.collect(),
        rows: vec![],
    };
    for batch in result {
        let batch = batch?;
        if answer.rows.len() + batch.num_rows() > MOST_ROWS {
            return Err(Error::new(
                ErrorKind::OutOfMemory,
                "more rows than are compared",
            ));
        }
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter();
            let values = values.map(|column| Ok(hushdb::value_text(column, row)?));
            answer.rows.push(values.collect::<hushdb::Result<_>>()?);
        }
    }
    Ok(answer)
}
