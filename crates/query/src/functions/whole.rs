//! Scalar functions that look at whole columns: what they take, what they give, and the columns that they make.
//!
//! What must hold: an argument of the untyped NULL comes as its own type, so that the function says what it makes of it.

use super::json::gives_json;
use super::json_within::{given_field, known_types, relabelled, taken};
use super::plain::called;
use super::room::Room;
use super::session_zone::in_session_zone;
use crate::common_types::STAND_IN;
use datafusion::arrow::array::{Array, ArrayRef, new_null_array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::Error;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The types that arguments are brought to; `None` where there is no such call. What it gave it takes again, as it is.
pub(super) type Takes = fn(&[DataType]) -> Option<Vec<DataType>>;
/// The type of the result, by the types and the constants among the arguments.
pub(super) type Gives = fn(&[DataType], &[Option<&ScalarValue>]) -> Option<DataType>;
/// The result's column.
pub(super) type Run = for<'a> fn(&Call<'a>, &mut Room) -> Result<ArrayRef>;

/// Columns of one length.
pub(super) struct Call<'a> {
    columns: Vec<ArrayRef>,
    fields: &'a [FieldRef],
    /// The type of the result.
    pub(super) to: &'a DataType,
}

impl Call<'_> {
    pub(super) fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// The field of an argument.
    pub(super) fn field(&self, at: usize) -> Option<&Field> {
        self.fields.get(at).map(AsRef::as_ref)
    }

    /// As many columns as the function takes.
    pub(super) fn take<const N: usize>(&self) -> Result<&[ArrayRef; N]> {
        let all: Result<&[ArrayRef; N], _> = self.columns.as_slice().try_into();
        all.map_err(|_| Error::internal("a function was called with other arguments").into())
    }

    /// The column, where the result is the untyped NULL.
    pub(super) fn nothing(&self) -> Option<ArrayRef> {
        self.to
            .is_null()
            .then(|| new_null_array(self.to, self.rows()))
    }

    /// NULLs of the result's type, if the first argument is a NULL without a type.
    pub(super) fn of_null(&self) -> Option<ArrayRef> {
        let first = self.columns.first()?;
        first
            .data_type()
            .is_null()
            .then(|| new_null_array(self.to, self.rows()))
    }

    pub(super) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.len())
    }
}

/// Names, of which the first is shown, and what the function is.
pub(super) type Whole = (&'static [&'static str], Takes, Gives, Run);

/// Functions to register.
pub(super) fn registered<const N: usize>(
    functions: [Whole; N],
    memory: &Arc<dyn MemoryPool>,
) -> Vec<Arc<ScalarUDF>> {
    let function = |(names, takes, gives, run): Whole| {
        let aliases = names.iter().skip(1).map(|name| name.to_string());
        Arc::new(ScalarUDF::from(Registered {
            names,
            takes,
            gives,
            run,
            aliases: aliases.collect(),
            memory: Arc::clone(memory),
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    };
    functions.map(function).into()
}

struct Registered {
    names: &'static [&'static str],
    takes: Takes,
    gives: Gives,
    run: Run,
    aliases: Vec<String>,
    memory: Arc<dyn MemoryPool>,
    signature: Signature,
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Registered {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl Eq for Registered {}

impl Hash for Registered {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.names.hash(state);
    }
}

impl ScalarUDFImpl for Registered {
    fn name(&self) -> &str {
        self.names.first().copied().unwrap_or_default()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        taken(self.name(), types, |known| match (self.takes)(known) {
            Some(types) => Ok(types),
            None => plan_err!(
                "No function matches the given name and argument types '{}'. You might need to add explicit type casts.",
                called(self.name(), types)
            ),
        })
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} may depend on constants", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types = known_types(self.name(), args.arg_fields);
        match (self.gives)(&types, args.scalar_arguments) {
            Some(result) => {
                let result = match gives_json(self.name()) {
                    true => of_json(result),
                    false => result,
                };
                let given = args.arg_fields.iter().map(AsRef::as_ref);
                Ok(Arc::new(given_field(self.name(), &result, given)))
            }
            None => plan_err!(
                "No function matches '{}' with these constants",
                called(self.name(), &types)
            ),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        in_session_zone(args, |args| self.called(&args))
    }
}

impl Registered {
    fn called(&self, args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        let scalar = args.args.iter().all(constant);
        let rows = if scalar { 1 } else { args.number_rows };
        let mut room = Room::new(&self.memory);
        let columns = args.args.iter().map(|arg| {
            if let ColumnarValue::Scalar(value) = arg
                && rows > 1
                && value.data_type().is_nested()
            {
                room.take_if_long(value.size().saturating_mul(rows))?;
            }
            arg.to_array(rows)
        });
        let call = Call {
            columns: columns.collect::<Result<_>>()?,
            fields: &args.arg_fields,
            to: args.return_field.data_type(),
        };
        let made = relabelled((self.run)(&call, &mut room)?, call.to)?;
        room.result(made, scalar, args.number_rows)
    }
}

/// The type of texts, or of lists of texts, that are JSON.
fn of_json(result: DataType) -> DataType {
    match item(&result) {
        Some(inner) if inner.is_string() => list_of(STAND_IN),
        None if result.is_string() => STAND_IN,
        _ => result,
    }
}

/// The list type of an item's.
pub(super) fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

/// The type of a list's items; that of the untyped NULL is untyped, too.
pub(super) fn item(list: &DataType) -> Option<DataType> {
    match list {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item) => Some(item.data_type().clone()),
        DataType::Null => Some(DataType::Null),
        _ => None,
    }
}

/// Where the items of a row's list lie: nowhere, if it is NULL, whatever lies beneath.
pub(super) fn items_of(
    list: &datafusion::arrow::array::ListArray,
    row: usize,
) -> std::ops::Range<usize> {
    if list.is_null(row) {
        return 0..0;
    }
    let offsets = list.value_offsets();
    let at = |n: usize| offsets.get(n).map_or(0, |offset| *offset as usize);
    at(row)..at(row + 1)
}

/// Lists of so many of the values each, one after the other.
pub(super) fn listed(
    values: ArrayRef,
    lengths: impl IntoIterator<Item = usize>,
    valid: Vec<bool>,
) -> Result<ArrayRef> {
    use datafusion::arrow::array::ListArray;
    use datafusion::arrow::buffer::OffsetBuffer;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let lists = ListArray::try_new(field, offsets, values, Some(valid.into()))?;
    Ok(Arc::new(lists))
}
