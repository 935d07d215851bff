//! `list_transform`, `list_filter` and `list_reduce`: functions of a list and of a lambda of its items, which may take the item's
//! place, counted from 1, as its last parameter.
//!
//! What must hold: a lambda sees the rows of its own items only, never those of a list that is NULL.

use super::json_within::{given_field, relabelled, taken};
use super::nested_cast::{cast_field, cast_nested};
use super::room::{Memory, Room, written_bytes};
use super::whole::{item, items_of, list_of, listed};
use crate::common_types::{common_type, stand_in};
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, ListArray, UInt32Array, new_null_array,
};
use datafusion::arrow::compute::{interleave, prep_null_mask_filter, take, take_arrays};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{
    ColumnarValue, HigherOrderFunctionArgs, HigherOrderReturnFieldArgs, HigherOrderSignature,
    HigherOrderUDF, HigherOrderUDFImpl, LambdaArgument, LambdaParametersProgress, ValueOrLambda,
    Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::plain_item;
use std::sync::Arc;

/// What an item takes beside its value: where it lies, and its row and place.
const ITEM_BYTES: usize = 16;
/// Steps of a reduction between two looks at the statement.
const LOOK_STEPS: usize = 64;

/// What becomes of the values that a lambda gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    Transform,
    Filter,
    Reduce,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfItems {
    purpose: Purpose,
    name: &'static str,
    aliases: Vec<String>,
    signature: HigherOrderSignature,
    memory: Memory,
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<HigherOrderUDF>> {
    let function = |purpose, name, aliases: &[&str]| {
        Arc::new(HigherOrderUDF::new_from_impl(OfItems {
            purpose,
            name,
            aliases: aliases.iter().map(|alias| alias.to_string()).collect(),
            signature: HigherOrderSignature::user_defined(Volatility::Immutable),
            memory: Memory(Arc::clone(memory)),
        }))
    };
    vec![
        function(Purpose::Transform, "list_transform", &["array_transform"]),
        function(Purpose::Filter, "list_filter", &["array_filter"]),
        function(Purpose::Reduce, "list_reduce", &["array_reduce", "reduce"]),
    ]
}

/// The list, the lambda and, of a reduction, the value that it begins with.
type Parts<'a, V, L> = (&'a V, &'a L, Option<&'a V>);

impl OfItems {
    fn parts<'a, V, L>(&self, args: &'a [ValueOrLambda<V, L>]) -> Result<Parts<'a, V, L>> {
        use ValueOrLambda::{Lambda, Value};
        match (self.purpose, args) {
            (_, [Value(list), Lambda(lambda)]) => Ok((list, lambda, None)),
            (Purpose::Reduce, [Value(list), Lambda(lambda), Value(first)]) => {
                Ok((list, lambda, Some(first)))
            }
            _ => plan_err!(
                "{} takes a list and a lambda, as in {}([1, 2], lambda {}{})",
                self.name,
                self.name,
                match self.purpose {
                    Purpose::Transform => "x: x + 1",
                    Purpose::Filter => "x: x > 1",
                    Purpose::Reduce => "x, y: x + y",
                },
                match self.purpose {
                    Purpose::Reduce => ", 0",
                    _ => "",
                }
            ),
        }
    }

    /// The types of the list and of what a reduction begins with.
    fn brought_to(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let unlike = || Error::binder(format!("{} takes a list as its first argument", self.name));
        let item = types.first().and_then(item).ok_or_else(unlike)?;
        match types {
            [_] => Ok(vec![list_of(item)]),
            [_, first] => {
                let common = match common_type(&[item.clone(), first.clone()]) {
                    Some(common) if !item.is_string() || first.is_string() || first.is_null() => {
                        common
                    }
                    _ => {
                        return plan_err!(
                            "The initial value type must be the same as the list child type or a common super type"
                        );
                    }
                };
                Ok(vec![list_of(common.clone()), common])
            }
            _ => Err(unlike().into()),
        }
    }
}

fn item_field(list: &DataType) -> Result<FieldRef> {
    match list {
        DataType::List(item) => Ok(Arc::new(plain_item(item))),
        other => plan_err!("expected a list, not {other}"),
    }
}

impl HigherOrderUDFImpl for OfItems {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &HigherOrderSignature {
        &self.signature
    }

    fn coerce_value_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        taken(self.name, types, |known| self.brought_to(known))
    }

    fn lambda_parameters(
        &self,
        _: usize,
        fields: &[ValueOrLambda<FieldRef, Option<FieldRef>>],
    ) -> Result<LambdaParametersProgress> {
        let (list, ..) = self.parts(fields)?;
        let item = item_field(list.data_type())?;
        let item = Arc::new(item.as_ref().clone().with_nullable(true));
        let place = Arc::new(Field::new("place", DataType::Int64, false));
        let parameters = match self.purpose {
            Purpose::Reduce => vec![Arc::clone(&item), item, place],
            _ => vec![item, place],
        };
        Ok(LambdaParametersProgress::Complete(vec![parameters]))
    }

    fn return_field_from_args(&self, args: HigherOrderReturnFieldArgs) -> Result<FieldRef> {
        let (list, lambda, _) = self.parts(args.arg_fields)?;
        let to = match self.purpose {
            Purpose::Transform => list_of(stand_in(lambda)),
            Purpose::Filter => list_of(stand_in(item_field(list.data_type())?.as_ref())),
            Purpose::Reduce => stand_in(item_field(list.data_type())?.as_ref()),
        };
        Ok(Arc::new(given_field(
            self.name,
            &to,
            [list.as_ref(), lambda.as_ref()],
        )))
    }

    /// The items of lists that are NULL are left out here; the library would write the list of a constant once for each row.
    fn clear_null_values(&self) -> bool {
        false
    }

    fn invoke_with_args(&self, args: HigherOrderFunctionArgs) -> Result<ColumnarValue> {
        let (list, lambda, first) = self.parts(&args.args)?;
        let mut room = Room::new(&self.memory.0);
        if let ColumnarValue::Scalar(value) = list
            && args.number_rows > 1
        {
            room.take_if_long(value.size().saturating_mul(args.number_rows))?;
        }
        let list = list.to_array(args.number_rows)?;
        if list.null_count() == list.len() {
            let nothing = new_null_array(args.return_type(), list.len());
            return Ok(ColumnarValue::Array(nothing));
        }
        let lists = list.as_list::<i32>();
        let made = match self.purpose {
            Purpose::Reduce => {
                let first = first.map(|first| first.to_array(args.number_rows));
                let (_, given, _) = self.parts(&args.arg_fields)?;
                reduced(lists, (lambda, given), first.transpose()?)?
            }
            Purpose::Transform => transformed(lists, lambda, &mut room)?,
            Purpose::Filter => filtered(lists, lambda, &mut room)?,
        };
        let made = relabelled(made, args.return_type())?;
        Ok(ColumnarValue::Array(made))
    }
}

/// The items of all lists, one after the other, and which row and place each is of.
struct Items {
    values: ArrayRef,
    rows: UInt32Array,
    places: ArrayRef,
    lengths: Vec<usize>,
    valid: Vec<bool>,
}

impl Items {
    fn of(lists: &ListArray, room: &mut Room) -> Result<Self> {
        let count: usize = lists.offsets().lengths().sum();
        let known = (0..lists.len()).filter(|row| lists.is_valid(*row));
        let mut items = known.flat_map(|row| items_of(lists, row));
        let values = written_bytes(lists.values(), &mut items);
        room.take_all(values.saturating_add(count.saturating_mul(ITEM_BYTES)))?;
        let (mut from, mut rows, mut places) = (vec![], vec![], vec![]);
        let (mut lengths, mut valid) = (vec![], vec![]);
        for row in 0..lists.len() {
            let items = match lists.is_valid(row) {
                true => items_of(lists, row),
                false => 0..0,
            };
            valid.push(lists.is_valid(row));
            lengths.push(items.len());
            places.extend(1..=items.len() as i64);
            rows.extend(std::iter::repeat_n(row as u32, items.len()));
            from.extend(items.map(|at| at as u32));
        }
        Ok(Self {
            values: take(lists.values(), &UInt32Array::from(from), None)?,
            rows: rows.into(),
            places: Arc::new(Int64Array::from(places)),
            lengths,
            valid,
        })
    }

    /// What the lambda makes of each.
    fn evaluate(&self, lambda: &LambdaArgument, room: &mut Room) -> Result<ArrayRef> {
        let value = || Ok(Arc::clone(&self.values));
        let place = || Ok(Arc::clone(&self.places));
        let made = lambda.evaluate(&[&value, &place], |captured| {
            let rows = || self.rows.values().iter().map(|row| *row as usize);
            for column in captured {
                room.take_all(written_bytes(column.as_ref(), &mut rows()))?;
            }
            Ok(take_arrays(captured, &self.rows, None)?)
        })?;
        if let ColumnarValue::Scalar(value) = &made {
            let one = value.to_array()?;
            let mut repeated = std::iter::repeat_n(0, self.values.len());
            room.take_all(written_bytes(one.as_ref(), &mut repeated))?;
        }
        made.into_array(self.values.len())
    }
}

fn transformed(lists: &ListArray, lambda: &LambdaArgument, room: &mut Room) -> Result<ArrayRef> {
    let items = Items::of(lists, room)?;
    let values = items.evaluate(lambda, room)?;
    listed(values, items.lengths, items.valid)
}

/// The items for which the lambda is true: neither false nor NULL.
fn filtered(lists: &ListArray, lambda: &LambdaArgument, room: &mut Room) -> Result<ArrayRef> {
    let items = Items::of(lists, room)?;
    let chosen = cast_nested(&items.evaluate(lambda, room)?, &DataType::Boolean, false)?;
    let Some(chosen) = chosen.as_any().downcast_ref::<BooleanArray>() else {
        return exec_err!("the lambda of a filter says neither true nor false");
    };
    let chosen = match chosen.null_count() {
        0 => chosen.clone(),
        _ => prep_null_mask_filter(chosen),
    };
    let mut at = 0;
    let lengths = items.lengths.iter().map(|length| {
        let kept = chosen.values().slice(at, *length).count_set_bits();
        at += length;
        kept
    });
    let lengths: Vec<_> = lengths.collect();
    let values = datafusion::arrow::compute::filter(&items.values, &chosen)?;
    listed(values, lengths, items.valid)
}

/// The items of each list put together two by two, from the left.
fn reduced(
    lists: &ListArray,
    lambda: (&LambdaArgument, &Field),
    first: Option<ArrayRef>,
) -> Result<ArrayRef> {
    let to = item_field(lists.data_type())?;
    let mut work = Reduction::begin(lists, first)?;
    let mut step = 0;
    while work.leave_ended()? {
        if step % LOOK_STEPS == 0 {
            check()?;
        }
        step += 1;
        let (values, rows, places) = work.next_items(lists)?;
        let so_far = put_together(lambda, [&work.so_far, &values, &places], &rows, &to)?;
        work.keep(so_far);
    }
    let arrays: Vec<&dyn Array> = work.arrays.iter().map(|array| array.as_ref()).collect();
    Ok(interleave(&arrays, &work.became)?)
}

/// Lists that are reduced at once, an item of each at a time.
struct Reduction {
    /// Rows, and where the items lie that they have left.
    open: Vec<(usize, std::ops::Range<usize>)>,
    /// What these have become.
    so_far: ArrayRef,
    /// What each row became in the end: one of the arrays, and the place in it. The first is that of lists that are NULL.
    arrays: Vec<ArrayRef>,
    became: Vec<(usize, usize)>,
    place: i64,
}

impl Reduction {
    fn begin(lists: &ListArray, first: Option<ArrayRef>) -> Result<Self> {
        let rows = (0..lists.len()).filter(|row| lists.is_valid(*row));
        let mut open: Vec<_> = rows.map(|row| (row, items_of(lists, row))).collect();
        let place = if first.is_some() { 1 } else { 2 };
        let so_far = match first {
            Some(first) => {
                let chosen = open.iter().map(|(row, _)| *row as u32);
                take(&first, &chosen.collect::<UInt32Array>(), None)?
            }
            None => {
                let firsts = open.iter_mut().map(|(_, items)| items.next());
                let firsts: Option<Vec<usize>> = firsts.collect();
                let Some(firsts) = firsts else {
                    let what = "Cannot perform list_reduce on an empty input list";
                    return Err(Error::new(ErrorKind::InvalidInput, what).into());
                };
                let firsts = firsts.into_iter().map(|at| at as u32);
                take(lists.values(), &firsts.collect::<UInt32Array>(), None)?
            }
        };
        Ok(Self {
            open,
            so_far,
            arrays: vec![new_null_array(&lists.value_type(), 1)],
            became: vec![(0, 0); lists.len()],
            place,
        })
    }

    /// Leaves lists that have no item left; whether there are others.
    fn leave_ended(&mut self) -> Result<bool> {
        let (mut left, mut has_ended) = (vec![], false);
        for (at, (row, items)) in self.open.iter().enumerate() {
            match items.is_empty() {
                true => {
                    self.became[*row] = (self.arrays.len(), at);
                    has_ended = true;
                }
                false => left.push(at as u32),
            }
        }
        if has_ended {
            self.arrays.push(Arc::clone(&self.so_far));
            self.so_far = take(&self.so_far, &UInt32Array::from(left), None)?;
            self.open.retain(|(_, items)| !items.is_empty());
        }
        Ok(!self.open.is_empty())
    }

    /// The next item of each list, the lists' rows, and the item's place.
    fn next_items(&mut self, lists: &ListArray) -> Result<(ArrayRef, UInt32Array, ArrayRef)> {
        let next = self.open.iter_mut().filter_map(|(_, items)| items.next());
        let next = next.map(|at| at as u32).collect::<UInt32Array>();
        let rows = self.open.iter().map(|(row, _)| *row as u32);
        let places = Int64Array::from(vec![self.place; self.open.len()]);
        Ok((
            take(lists.values(), &next, None)?,
            rows.collect(),
            Arc::new(places),
        ))
    }

    fn keep(&mut self, so_far: ArrayRef) {
        self.so_far = so_far;
        self.place += 1;
    }
}

/// What the lambda makes of what there is so far, of the next item, and of its place.
fn put_together(
    (lambda, given): (&LambdaArgument, &Field),
    [so_far, values, places]: [&ArrayRef; 3],
    rows: &UInt32Array,
    to: &Field,
) -> Result<ArrayRef> {
    let so_far = || Ok(Arc::clone(so_far));
    let value = || Ok(Arc::clone(values));
    let place = || Ok(Arc::clone(places));
    let made = lambda.evaluate(&[&so_far, &value, &place], |captured| {
        Ok(take_arrays(captured, rows, None)?)
    })?;
    cast_field(&made.into_array(values.len())?, given, to, false)
}
