//! `min` and `max`: DataFusion's, which find the extreme of texts and bytes faster where there are no groups. Intervals, lists
//! and structs are compared by their keys (`extreme_by_key.rs`).
//!
//! A view begins with the length and the first four bytes of its value: few values have to be compared whole.

use super::comparison_key::key_type;
use super::extreme_by_key::ExtremeByKey;
use super::float_extremes::of_floats;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, GenericByteViewArray};
use datafusion::arrow::datatypes::{ByteViewType, DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    Signature, StatisticsArgs,
};
use hushdb_sql::Error;
use hushdb_sql::type_names::{called_json, is_called_json};
use hushdb_storage::Collation;
use std::cmp::Ordering;
use std::sync::Arc;

/// Which extreme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Extreme {
    Least,
    Greatest,
}

/// DataFusion's function with our accumulator where that is faster.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct FastExtreme {
    extreme: Extreme,
    planned: Arc<AggregateUDF>,
    /// Another name than the planned function's, by which the library would let scans compare values with what it has found:
    /// as it compares them, not by keys.
    name: Option<&'static str>,
    /// Of texts.
    collation: Option<Collation>,
}

impl FastExtreme {
    pub(super) fn min() -> Self {
        Self {
            extreme: Extreme::Least,
            planned: min_udaf(),
            name: None,
            collation: None,
        }
    }

    pub(super) fn max() -> Self {
        Self {
            extreme: Extreme::Greatest,
            planned: max_udaf(),
            name: None,
            collation: None,
        }
    }
}

/// `min` or `max` for values that are compared by keys: of texts, those of a collation.
pub fn extreme_of_keys(
    function: &AggregateUDF,
    collation: Option<Collation>,
) -> Option<Arc<AggregateUDF>> {
    let (extreme, name) = match function.name() {
        "min" => (FastExtreme::min(), "$min"),
        "max" => (FastExtreme::max(), "$max"),
        _ => return None,
    };
    let name = Some(name);
    let keyed = FastExtreme {
        name,
        collation,
        ..extreme
    };
    Some(Arc::new(AggregateUDF::from(keyed)))
}

impl FastExtreme {
    /// The accumulator of values that are compared by keys.
    fn by_key(&self, ty: &DataType, moves: bool) -> Result<Option<Box<dyn Accumulator>>> {
        let key = match self.collation {
            Some(_) => DataType::Utf8View,
            None => match key_type(ty) {
                Some(key) => key,
                None => return Ok(None),
            },
        };
        let better = match self.extreme {
            Extreme::Least => Ordering::Less,
            Extreme::Greatest => Ordering::Greater,
        };
        let none = ScalarValue::try_from(ty)?;
        let extreme = ExtremeByKey::new(better, moves, none, key, self.collation)?;
        Ok(Some(Box::new(extreme)))
    }
}

impl AggregateUDFImpl for FastExtreme {
    fn name(&self) -> &str {
        self.name.unwrap_or_else(|| self.planned.name())
    }

    fn signature(&self) -> &Signature {
        self.planned.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        if let [_, _] = arg_types {
            let what = format!("{}(value, n), the list of n values", self.name());
            return Err(Error::unsupported(what).into());
        }
        self.planned.return_type(arg_types)
    }

    fn return_field(&self, args: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<_> = args.iter().map(|field| field.data_type().clone()).collect();
        let field = Field::new(self.name(), self.return_type(&types)?, true);
        let is_json = args.iter().any(|field| is_called_json(field));
        Ok(Arc::new(match is_json && field.data_type().is_string() {
            true => called_json(field),
            false => field,
        }))
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            // Refused when the type of the result is asked for.
            [_, _] => Ok(arg_types.to_vec()),
            _ => self.planned.coerce_types(arg_types),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.planned.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if let Some(by_key) = self.by_key(args.return_field.data_type(), false)? {
            return Ok(by_key);
        }
        let is_view = args.return_field.data_type();
        let is_view = matches!(is_view, DataType::Utf8View | DataType::BinaryView);
        let all = self.planned.accumulator(args)?;
        Ok(match is_view {
            true => Box::new(OneOfEachBatch {
                extreme: self.extreme,
                all,
            }),
            false => all,
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.collation.is_none()
            && key_type(args.return_field.data_type()).is_none()
            && self.planned.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match of_floats(&self.planned, &args)? {
            Some(of_floats) => Ok(of_floats),
            None => self.planned.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.by_key(args.return_field.data_type(), true)? {
            Some(by_key) => Ok(by_key),
            None => self.planned.create_sliding_accumulator(args),
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.planned.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.planned.reverse_udf()
    }

    fn is_descending(&self) -> Option<bool> {
        match self.name {
            None => self.planned.is_descending(),
            Some(_) => None,
        }
    }

    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        match self.collation {
            Some(_) => None,
            None => self.planned.value_from_stats(args),
        }
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.planned.inner().set_monotonicity(data_type)
    }
}

/// Shows the planned accumulator the extreme of each batch.
#[derive(Debug)]
struct OneOfEachBatch {
    extreme: Extreme,
    all: Box<dyn Accumulator>,
}

impl OneOfEachBatch {
    fn one(&self, values: &[ArrayRef]) -> Option<ArrayRef> {
        let values = values.first()?;
        let row = match values.data_type() {
            DataType::Utf8View => row_of(values.as_string_view(), self.extreme),
            _ => row_of(values.as_binary_view(), self.extreme),
        };
        row.map(|row| values.slice(row, 1))
    }
}

impl Accumulator for OneOfEachBatch {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        match self.one(values) {
            Some(one) => self.all.update_batch(&[one]),
            None => Ok(()),
        }
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.all.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.all.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.all.evaluate()
    }

    fn size(&self) -> usize {
        size_of::<Extreme>() + self.all.size()
    }
}

/// The first row that has the extreme value; `None` where all are NULL.
fn row_of<T: ByteViewType>(array: &GenericByteViewArray<T>, extreme: Extreme) -> Option<usize>
where
    T::Native: Ord,
{
    // The first bytes as a number that compares as they do; turned round where the least is wanted.
    let turn = match extreme {
        Extreme::Greatest => 0,
        Extreme::Least => u32::MAX,
    };
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    let mut found: Option<usize> = None;
    let (mut best, mut best_view) = (0, 0);
    for (row, &view) in array.views().iter().enumerate() {
        let prefix = ((view >> 32) as u32).swap_bytes() ^ turn;
        // One branch, which nearly always goes the same way; equal views of one array are equal values.
        if (prefix < best) | ((view == best_view) & found.is_some()) {
            continue;
        }
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            continue;
        }
        let is_better = found.is_none_or(|before| {
            let (new, old): (&T::Native, &T::Native) = (array.value(row), array.value(before));
            match extreme {
                Extreme::Greatest => new > old,
                Extreme::Least => new < old,
            }
        });
        if is_better {
            (found, best, best_view) = (Some(row), prefix, view);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::StringViewArray;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_extremes_are_those_of_the_values(
            texts in vec(option::of("[aü\u{0}]{0,6}|[ab]{10,15}|zz[ab]{10,13}"), 0..40),
            from in 0_usize..40,
        ) {
            let from = from.min(texts.len());
            let array = StringViewArray::from(texts.clone()).slice(from, texts.len() - from);
            let values = texts.get(from..).unwrap_or_default().iter().flatten().cloned();
            let value = |extreme| row_of(&array, extreme).map(|row| array.value(row).to_owned());
            prop_assert_eq!(value(Extreme::Greatest), values.clone().max());
            prop_assert_eq!(value(Extreme::Least), values.min());
        }
    }
}
