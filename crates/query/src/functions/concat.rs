//! `concat`, `concat_ws` and `list_concat`: values of any type one after the other as text, or lists as one list.
//!
//! What must hold: each value has the text that a CAST gives it.

use super::lists::common;
use super::plain::called;
use super::room::Room;
use super::text::value_text;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewBuilder};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::interleave;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// `list || list`, which is NULL when one of them is.
pub const LIST_AND_LIST: &str = "$list_and_list";

/// What NULL does, and what is put between values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Joins {
    /// Texts, or lists where all are lists.
    Values,
    /// Texts, with the first argument between them.
    WithSeparator,
    Lists,
    ListsOrNull,
}

struct Concat {
    joins: Joins,
    name: &'static str,
    aliases: Vec<String>,
    memory: Arc<dyn MemoryPool>,
    signature: Signature,
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let function = |joins, name, aliases: &[&str]| {
        Arc::new(ScalarUDF::from(Concat {
            joins,
            name,
            aliases: aliases.iter().map(|alias| alias.to_string()).collect(),
            memory: Arc::clone(memory),
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    };
    vec![
        function(Joins::Values, "concat", &[]),
        function(Joins::WithSeparator, "concat_ws", &[]),
        function(
            Joins::Lists,
            "list_concat",
            &["list_cat", "array_concat", "array_cat"],
        ),
        function(Joins::ListsOrNull, LIST_AND_LIST, &[]),
    ]
}

impl std::fmt::Debug for Concat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Concat {
    fn eq(&self, other: &Self) -> bool {
        self.joins == other.joins
    }
}

impl Eq for Concat {}

impl Hash for Concat {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.joins.hash(state);
    }
}

/// The one type of lists; `None` if one is something else.
fn list_type(types: &[DataType]) -> Option<DataType> {
    let mut all = DataType::Null;
    for data_type in types {
        if !matches!(
            data_type,
            DataType::List(_)
                | DataType::LargeList(_)
                | DataType::FixedSizeList(..)
                | DataType::Null
        ) {
            return None;
        }
        all = common(&all, data_type)?;
    }
    let item = match &all {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            item.data_type().clone()
        }
        _ => DataType::Null,
    };
    Some(DataType::List(Arc::new(Field::new_list_field(item, true))))
}

impl Concat {
    fn coerced(&self, types: &[DataType]) -> Option<Vec<DataType>> {
        let is_list = |t: &DataType| t.is_list();
        match self.joins {
            Joins::WithSeparator => {
                let [separator, _, ..] = types else {
                    return None;
                };
                let text = separator.is_string() || separator.is_null();
                text.then(|| types.to_vec())
            }
            Joins::Values if types.is_empty() => None,
            Joins::Values if !types.iter().any(is_list) => Some(types.to_vec()),
            _ if types.is_empty() => None,
            _ => Some(vec![list_type(types)?; types.len()]),
        }
    }
}

impl ScalarUDFImpl for Concat {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match self.coerced(types) {
            Some(types) => Ok(types),
            None => plan_err!(
                "Cannot concatenate types in '{}': an explicit cast is required",
                called(self.name, types)
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match (self.joins, types.first()) {
            (Joins::Values, Some(list)) if list.is_list() => Ok(list.clone()),
            (Joins::Lists | Joins::ListsOrNull, Some(list)) => Ok(list.clone()),
            _ => Ok(DataType::Utf8View),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if scalar { 1 } else { args.number_rows };
        let mut arrays = Vec::with_capacity(args.args.len());
        for arg in &args.args {
            arrays.push(arg.to_array(rows)?);
        }
        let mut room = Room::new(&self.memory);
        let joined = match (self.joins, args.return_type().is_list()) {
            (Joins::ListsOrNull, _) => lists(&arrays, rows, true, &mut room)?,
            (_, true) => lists(&arrays, rows, false, &mut room)?,
            (Joins::WithSeparator, _) => match arrays.split_first() {
                Some((separator, values)) => texts(values, Some(separator), rows)?,
                None => return plan_err!("concat_ws takes a separator"),
            },
            _ => texts(&arrays, None, rows)?,
        };
        if scalar {
            return ScalarValue::try_from_array(&joined, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(joined))
    }
}

fn shown(array: &ArrayRef, row: usize) -> Result<Option<Cow<'_, str>>> {
    if let (DataType::Utf8View, true) = (array.data_type(), array.is_valid(row)) {
        return Ok(Some(Cow::Borrowed(array.as_string_view().value(row))));
    }
    Ok(value_text(array, row)?.map(Cow::Owned))
}

/// NULL is left out, but as the separator.
fn texts(values: &[ArrayRef], separator: Option<&ArrayRef>, rows: usize) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::with_capacity(rows);
    let mut text = String::new();
    for row in 0..rows {
        let between = match separator {
            None => Some(Cow::Borrowed("")),
            Some(separator) => shown(separator, row)?,
        };
        let Some(between) = between else {
            out.append_null();
            continue;
        };
        text.clear();
        let mut first = true;
        for array in values {
            if let Some(value) = shown(array, row)? {
                if !first {
                    text.push_str(&between);
                }
                first = false;
                text.push_str(&value);
            }
        }
        out.try_append_value(&text)?;
    }
    Ok(Arc::new(out.finish()))
}

/// NULL is left out, but where it makes all NULL.
fn lists(arrays: &[ArrayRef], rows: usize, or_null: bool, room: &mut Room) -> Result<ArrayRef> {
    let lists: Vec<&ListArray> = arrays.iter().map(|array| array.as_list::<i32>()).collect();
    let is_typed = lists.iter().any(|list| !list.value_type().is_null());
    let (mut taken, mut lengths, mut valid) = (vec![], vec![], vec![]);
    for row in 0..rows {
        let before = taken.len();
        let known = lists.iter().filter(|list| list.is_valid(row)).count();
        let is_valid = if or_null {
            known == lists.len()
        } else {
            known > 0 || is_typed
        };
        valid.push(is_valid);
        for (n, list) in lists
            .iter()
            .enumerate()
            .filter(|(_, list)| is_valid && list.is_valid(row))
        {
            let offsets = list.value_offsets();
            let at = |n: usize| offsets.get(n).map_or(0, |offset| *offset as usize);
            let items = at(row)..at(row + 1);
            room.take_items(
                taken.len(),
                items.len() as u128,
                size_of::<(usize, usize)>(),
            )?;
            taken.extend(items.map(|item| (n, item)));
        }
        lengths.push(taken.len() - before);
    }
    let values: Vec<&dyn Array> = lists.iter().map(|list| list.values().as_ref()).collect();
    let values = match (taken.is_empty(), values.first()) {
        (true, Some(first)) => first.slice(0, 0),
        _ => interleave(&values, &taken)?,
    };
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(
        field,
        offsets,
        values,
        Some(valid.into()),
    )?))
}
