//! `nextval('s')` and `currval('s')`: numbers of sequences; `setval('s', 1)` and `lastval()`, which PostgreSQL has beside them.
//!
//! What must hold: every row of a call gets a number of its own; a call is neither computed ahead of time nor shared.

use super::snapshot::Snapshot;
use super::surroundings::Surroundings;
use datafusion::arrow::array::{Array, AsArray, Int64Array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, not_impl_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::{Error, ErrorKind, name_in_text, sqlstate};
use hushdb_storage::{Sequence, Store, TableId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The names of the functions.
pub const SEQUENCE_FUNCTIONS: [&str; 4] = ["nextval", "currval", "setval", "lastval"];

/// What a session has taken of sequences.
#[derive(Debug, Default)]
pub struct Taken {
    /// By database and id of the sequence.
    numbers: Mutex<HashMap<(String, TableId), i64>>,
    last: Mutex<Option<i64>>,
}

impl Taken {
    fn put(&self, database: &str, sequence: &Sequence, number: i64) {
        let key = (database.to_owned(), sequence.id());
        self.numbers.lock().insert(key, number);
    }

    /// Forgets what was taken of a database that is gone.
    pub fn forget(&self, database: &str) {
        self.numbers.lock().retain(|(of, _), _| of != database);
    }

    fn number(&self, database: &str, sequence: &Sequence) -> Option<i64> {
        let key = (database.to_owned(), sequence.id());
        self.numbers.lock().get(&key).copied()
    }
}

/// The function of that name over the sequences of a snapshot, if it is one of these.
pub(crate) fn sequence_function(
    name: &str,
    snapshot: &Snapshot,
    surroundings: &dyn Surroundings,
) -> Option<Arc<ScalarUDF>> {
    let name = *SEQUENCE_FUNCTIONS.iter().find(|known| **known == name)?;
    Some(Arc::new(ScalarUDF::from(OfSequence {
        name,
        snapshot: Arc::new(snapshot.clone()),
        taken: surroundings.taken(),
        of_session: surroundings.is_postgres(),
        signature: Signature::user_defined(Volatility::Volatile),
    })))
}

struct OfSequence {
    name: &'static str,
    snapshot: Arc<Snapshot>,
    taken: Arc<Taken>,
    /// Whether `currval` is what the session has taken, as in PostgreSQL, or anybody, as in DuckDB.
    of_session: bool,
    signature: Signature,
}

/// A sequence, and where it is.
struct Found {
    database: String,
    store: Arc<Store>,
    sequence: Arc<Sequence>,
}

impl PartialEq for OfSequence {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.snapshot, &other.snapshot)
    }
}

impl Eq for OfSequence {}

impl Hash for OfSequence {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for OfSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl OfSequence {
    /// The sequence that an argument names; `None` for NULL.
    fn sequence(&self, name: Option<&ScalarValue>) -> Result<Option<Found>> {
        let text = match name {
            None => return not_constant(),
            Some(ScalarValue::Null) => return Ok(None),
            Some(name) => match name.try_as_str() {
                Some(Some(text)) => text,
                Some(None) => return Ok(None),
                None => return wrong_arguments(self.name),
            },
        };
        let found = || -> hushdb_sql::Result<_> {
            let parts = name_in_text(text).unwrap_or_else(|_| vec![text.to_owned()]);
            let (place, sequence) = self.snapshot.sequence(&parts)?;
            let store = Arc::clone(&self.snapshot.database(&place.database)?.store);
            Ok(Some(Found {
                database: place.database,
                store,
                sequence,
            }))
        };
        found().map_err(DataFusionError::from)
    }
}

fn not_constant<T>() -> Result<T> {
    not_impl_err!(
        "currval/nextval requires a constant sequence - non-constant sequences are no longer supported"
    )
}

fn wrong_arguments<T>(name: &str) -> Result<T> {
    let takes = match name {
        "lastval" => "",
        "setval" => "VARCHAR, BIGINT[, BOOLEAN]",
        _ => "VARCHAR",
    };
    plan_err!("No function matches the given name and argument types: {name}({takes}) is there")
}

/// So many numbers more.
fn next_values(store: &Store, sequence: &Sequence, rows: usize) -> hushdb_sql::Result<Vec<i64>> {
    let values = store.next_values(sequence, rows)?;
    if values.len() == rows {
        return Ok(values);
    }
    let options = &sequence.options;
    let (end, value) = match options.increment > 0 {
        true => ("maximum", options.max),
        false => ("minimum", options.min),
    };
    Err(Error::new(
        ErrorKind::Sequence,
        format!(
            "nextval: reached {end} value of sequence \"{}\" ({value})",
            sequence.name
        ),
    ))
}

fn not_yet(function: &str) -> DataFusionError {
    let text = match function {
        "lastval" => "lastval is not yet defined in this session",
        _ => "currval: sequence is not yet defined in this session",
    };
    Error::new(ErrorKind::Sequence, text)
        .with_sqlstate(sqlstate::NOT_YET)
        .into()
}

impl OfSequence {
    fn next(&self, found: &Found, rows: usize) -> Result<ColumnarValue> {
        let values = next_values(&found.store, &found.sequence, rows);
        let values = values.map_err(DataFusionError::from)?;
        if let Some(last) = values.last() {
            self.taken.put(&found.database, &found.sequence, *last);
            *self.taken.last.lock() = Some(*last);
        }
        Ok(ColumnarValue::Array(Arc::new(Int64Array::from(values))))
    }

    fn current(&self, found: &Found) -> Result<ColumnarValue> {
        let value = match self.of_session {
            true => self.taken.number(&found.database, &found.sequence),
            false => found.sequence.last(),
        };
        let value = value.ok_or_else(|| not_yet(self.name))?;
        Ok(ColumnarValue::Scalar(ScalarValue::Int64(Some(value))))
    }

    /// Sets the sequence to the value of each row in turn, and gives these back.
    fn set(&self, found: &Found, args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().skip(1).map(|arg| arg.to_array(rows));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let Some(values) = arrays.first() else {
            return wrong_arguments(self.name);
        };
        let values = values.as_primitive::<Int64Type>();
        let given = arrays.get(1).map(|given| given.as_boolean());
        let one = |row: usize| -> Result<Option<i64>> {
            if values.is_null(row) || given.is_some_and(|given| given.is_null(row)) {
                return Ok(None);
            }
            let (value, is_given) = (values.value(row), given.is_none_or(|g| g.value(row)));
            let sequence = &found.sequence;
            let is_set = found.store.set_value(sequence, value, is_given);
            match is_set.map_err(|error| DataFusionError::from(Error::from(error)))? {
                true if is_given => self.taken.put(&found.database, sequence, value),
                true => {}
                false => return Err(out_of_bounds(sequence, value)),
            }
            Ok(Some(value))
        };
        let set = (0..rows).map(one).collect::<Result<Int64Array>>()?;
        Ok(ColumnarValue::Array(Arc::new(set)))
    }
}

fn out_of_bounds(sequence: &Sequence, value: i64) -> DataFusionError {
    Error::new(
        ErrorKind::OutOfRange,
        format!(
            "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
            sequence.name, sequence.options.min, sequence.options.max
        ),
    )
    .into()
}

impl ScalarUDFImpl for OfSequence {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let Some((name, others)) = types.split_first() else {
            return match self.name {
                "lastval" => Ok(vec![]),
                _ => wrong_arguments(self.name),
            };
        };
        let is_text = matches!(
            name,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null
        );
        let others = match (self.name, others.len()) {
            ("nextval" | "currval", 0) if is_text => vec![],
            ("setval", 1) if is_text => vec![DataType::Int64],
            ("setval", 2) if is_text => vec![DataType::Int64, DataType::Boolean],
            _ => return wrong_arguments(self.name),
        };
        Ok([vec![name.clone()], others].concat())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        // A parameter has no value yet.
        if let Some(name) = args.scalar_arguments.first().copied().flatten() {
            self.sequence(Some(name))?;
        }
        Ok(Arc::new(Field::new(self.name, DataType::Int64, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if self.name == "lastval" {
            let last = *self.taken.last.lock();
            let last = last.ok_or_else(|| not_yet(self.name))?;
            return Ok(ColumnarValue::Scalar(ScalarValue::Int64(Some(last))));
        }
        let name = match args.args.first() {
            Some(ColumnarValue::Scalar(name)) => Some(name),
            _ => None,
        };
        let Some(found) = self.sequence(name)? else {
            return Ok(ColumnarValue::Scalar(ScalarValue::Int64(None)));
        };
        match self.name {
            "nextval" => self.next(&found, args.number_rows),
            "currval" => self.current(&found),
            _ => self.set(&found, &args),
        }
    }
}
